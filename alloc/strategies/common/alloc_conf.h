/* Reads the text of PYTORCH_ALLOC_CONF: "key:value,key:[a:1,b:2]". Two strategies read it, each
 * with what the keys are to it: `torch` is the allocator of GPU memory, `torch-pinned` that of
 * pinned host memory. TORCH_CONF_KEYS is the table of both. */
#ifndef TP_ALLOC_CONF_H
#define TP_ALLOC_CONF_H

#include "alloc/base/err.h"
#include "alloc/base/opt.h"
#include "alloc/base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONF_MIB        (UINT64_C(1) << 20)
#define CONF_MB_MOST    (UINT64_C(1) << 24) /* 16 TiB: more is more than any machine has */
#define CONF_LIST_OPEN  '['
#define CONF_LIST_CLOSE ']'
#define CONF_MARKS      ":[]" /* end a value */

enum { CONF_TEXT_MAX = 1024, CONF_NAMES = 40, CONF_THREADS_MOST = 128 };

/* KEY(name, what `torch` does with its value, what that sets and on which devices, what
 * `torch-pinned` does with it). Each of the two defines the functions of its column that are not
 * here. Those of torch_npu are in its page on PYTORCH_NPU_ALLOC_CONF. The first is read before all
 * others. */
/* clang-format off */
#define TORCH_CONF_KEYS(KEY) \
    KEY("large_segment_size_mb", set_large_segment, (SETS(large_segment)), conf_skip) \
    KEY("max_split_size_mb", set_split_limit, \
        (SETS(split_limit), .resets = true, .without = ON_XPU), conf_skip) \
    KEY("max_non_split_rounding_mb", set_oversize_rest, \
        (SETS(oversize_rest), .without = ON_XPU), conf_skip) \
    KEY("garbage_collection_threshold", set_collect, \
        (SETS(collect_above), .resets = true, .without = ON_XPU), conf_skip) \
    KEY("per_process_memory_fraction", set_fraction, (SETS(memory_fraction)), conf_skip) \
    KEY("roundup_power2_divisions", set_divisions, (SETS(divisions), .resets = true), conf_skip) \
    KEY("expandable_segments", set_expandable, (SETS(expandable)), conf_skip) \
    KEY("base_addr_aligned_kb", set_base_grain, (SETS(base_grain), .only = ON_NPU), conf_skip) \
    KEY("page_size", refuse_unplayed, (.only = ON_NPU), conf_skip) \
    KEY("segment_size_mb", refuse_unplayed, (.only = ON_NPU), conf_skip) \
    KEY("multi_stream_lazy_reclaim", refuse_true, (.only = ON_NPU), conf_skip) \
    KEY("pin_memory_expandable_segments", conf_skip_bool, (.only = ON_NPU), conf_skip_bool) \
    KEY("pinned_mem_register", conf_skip_bool, (.only = ON_NPU), conf_skip_bool) \
    KEY("throw_on_npumalloc_oom", refuse_true, (.only = ON_NPU), conf_skip) \
    KEY("backend", refuse_backend, (), conf_skip) \
    KEY("throw_on_cudamalloc_oom", set_rejects, (SETS(rejects), .only = ON_CUDA | ON_HIP), \
        conf_skip) \
    KEY("expandable_segments_reserve", set_reserve, \
        (SETS_BOTH(reserve_share, reserve_bytes)), conf_skip) \
    KEY("expandable_segments_reserve_by_class", refuse_unplayed, (), conf_skip) \
    KEY("release_lock_on_cudamalloc", conf_skip_bool, (), conf_skip_bool) \
    KEY("release_lock_on_hipmalloc", conf_skip_bool, (), conf_skip_bool) \
    KEY("graph_capture_record_stream_reuse", set_graph_reuse, (SETS(graph_reuse)), \
        conf_skip_bool) \
    KEY("pinned_use_cuda_host_register", conf_skip_bool, (), conf_skip_bool) \
    KEY("pinned_use_hip_host_register", conf_skip_bool, (), conf_skip_bool) \
    KEY("pinned_use_background_threads", conf_skip_bool, (), set_pinned_background) \
    KEY("pinned_free_catch_all", conf_skip_bool, (), conf_skip_bool) \
    KEY("pinned_num_register_threads", conf_skip_threads, (), conf_skip_threads) \
    KEY("pinned_reserve_segment_size_mb", conf_skip_number, (), set_pinned_reserve) \
    KEY("pinned_max_round_threshold_mb", conf_skip_count, (), set_pinned_round) \
    KEY("pinned_max_cached_size_mb", conf_skip_count, (), set_pinned_cached)
/* clang-format on */

typedef int conf_set_fn(void *rules, const char *name, char *value, struct tp_err *err);

/* A key that is none of these names of `who`, which end with NULL. */
static inline int conf_unknown(const char *who, const char *name, const char *const *names,
                               struct tp_err *err)
{
    const char *near = tp_nearest(name, names);
    int rc = tp_fail(err, TP_EUSAGE, "%s has no setting '%.63s'", who, name);
    return near ? tp_hint(err, rc, "did you mean '%s'?", near) : rc;
}

static inline int conf_bad(const char *name, const char *value, const char *wanted,
                           struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE, "'%s:%.63s': not %s", name, value, wanted);
}

/* ---- values ---- */

/* PyTorch reads a number as far as it goes: "64MB" is 64, and "-1" the largest of 64 bits. */
static inline bool conf_is_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return end != text && !errno && !strpbrk(end, CONF_MARKS);
}

/* A number of MiB, in bytes; what is too large for any machine is as good as the largest. */
static inline int conf_mib(const char *name, const char *value, uint64_t least, uint64_t *out,
                           struct tp_err *err)
{
    char wanted[64];
    uint64_t mb = 0;
    snprintf(wanted, sizeof wanted, "a number of MiB from %llu on", (unsigned long long)least);
    if (!conf_is_number(value, &mb) || mb < least)
        return conf_bad(name, value, wanted, err);
    *out = (mb < CONF_MB_MOST ? mb : CONF_MB_MOST) * CONF_MIB;
    return TP_OK;
}

static inline int conf_bool(const char *name, const char *value, uint64_t *out, struct tp_err *err)
{
    *out = !strcmp(value, "True");
    if (!*out && strcmp(value, "False") != 0)
        return conf_bad(name, value, "True or False", err);
    return TP_OK;
}

/* ---- keys that decide nothing about where blocks lie ---- */

/* A key of the other strategy: that one looks at its value. */
static inline int conf_skip(void *rules, const char *name, char *value, struct tp_err *err)
{
    (void)rules, (void)name, (void)value, (void)err;
    return TP_OK;
}

static inline int conf_skip_bool(void *rules, const char *name, char *value, struct tp_err *err)
{
    uint64_t unused = 0;
    (void)rules;
    return conf_bool(name, value, &unused, err);
}

static inline int conf_skip_count(void *rules, const char *name, char *value, struct tp_err *err)
{
    uint64_t n = 0;
    (void)rules;
    return conf_is_number(value, &n) ? TP_OK : conf_bad(name, value, "a number", err);
}

static inline int conf_skip_number(void *rules, const char *name, char *value, struct tp_err *err)
{
    uint64_t n = 0;
    (void)rules;
    return conf_is_number(value, &n) && n ? TP_OK : conf_bad(name, value, "a number above 0", err);
}

static inline int conf_skip_threads(void *rules, const char *name, char *value, struct tp_err *err)
{
    uint64_t n = 0;
    (void)rules;
    if (!conf_is_number(value, &n) || !n || n & (n - 1) || n > CONF_THREADS_MOST)
        return conf_bad(name, value, "a power of two up to 128", err);
    return TP_OK;
}

/* Whether a key of this function decides nothing. */
static inline bool conf_is_skipped(conf_set_fn *set)
{
    return set == conf_skip || set == conf_skip_bool || set == conf_skip_count ||
           set == conf_skip_number || set == conf_skip_threads;
}

/* ---- the text ---- */

/* The end of an item: the next comma outside brackets, or the end of the text. */
static inline char *conf_item_end(char *text)
{
    int depth = 0;
    for (; *text && (*text != ',' || depth > 0); text++) {
        depth += *text == CONF_LIST_OPEN;
        depth -= *text == CONF_LIST_CLOSE;
    }
    return text;
}

typedef int conf_item_fn(void *ctx, const char *name, char *value, struct tp_err *err);

/* Visits the items of a text, which `fn` may change. TP_EUSAGE: it is none. */
static inline int conf_each(const char *text, conf_item_fn *fn, void *ctx, struct tp_err *err)
{
    char copy[CONF_TEXT_MAX];
    int rc = TP_OK;
    if (!tp_copy_plain(text, copy, sizeof copy))
        return tp_fail(err, TP_EUSAGE, "the settings have more than %d characters",
                       CONF_TEXT_MAX - 1);
    for (char *item = copy; rc == TP_OK && *item;) {
        char *end = conf_item_end(item), *next = *end ? end + 1 : end;
        *end = '\0';
        char *colon = strchr(item, ':');
        if (!colon)
            return tp_fail(err, TP_EUSAGE, "'%.63s' is not a setting of the form key:value", item);
        *colon = '\0';
        rc = fn(ctx, item, colon + 1, err);
        item = next;
    }
    return rc;
}

struct conf_keeping {
    bool (*is_replayed)(const char *name);
    struct tp_str *out;
};

static inline int conf_keep(void *ctx, const char *name, char *value, struct tp_err *err)
{
    const struct conf_keeping *k = ctx;
    (void)err;
    if (!k->is_replayed(name))
        tp_str_item(k->out, ",", "%s:%s", name, value);
    return TP_OK;
}

/* Adds the items whose keys are not simulated. A text that is none adds nothing. */
static inline void conf_kept(const char *text, bool (*is_replayed)(const char *name),
                             struct tp_str *out)
{
    char room[CONF_TEXT_MAX];
    struct tp_str kept = TP_STR_IN(room);
    struct conf_keeping k = {is_replayed, &kept};
    struct tp_err ignored;
    if (!conf_each(text, conf_keep, &k, &ignored))
        tp_str_add(out, "%s", tp_str_text(&kept));
}

#endif
