/* What `tapool tune` and `tapool predict` know of PyTorch's recorded allocators: that of GPU
 * memory, whose settings are PYTORCH_CUDA_ALLOC_CONF, and that of pinned host memory, whose
 * settings are part of the same text under its newer name. */
#include "cmd/tune/tunable.h"

#include "alloc/strategies/torch/torch_rules.h"
#include "alloc/strategies/torch_pinned/torch_pinned_rules.h"
#include "cmd/tune/grid.h"
#include "cmd/ui/escape.h"
#include "traces/format.h"

#include <string.h>

extern const struct tp_tunable tp_tunable_torch, tp_tunable_torch_pinned;
extern const struct tp_recorded_strategy tp_recorded_strategy_torch,
    tp_recorded_strategy_torch_pinned;

#define GROWS "expandable_segments:True"

/* ---- GPU memory ---- */

/* PyTorch splits no block above the limit, so a split limit below a segment's size means nothing.
 * Garbage is collected only below a share of the device, which is set here to all of it. */
static const char *const torch_grids[] = {
    "max_split_size_mb:default|32|64|128|256|512,roundup_power2_divisions:default|2|4|8",
    "max_split_size_mb:64|128|256|512,max_non_split_rounding_mb:64|256",
    "large_segment_size_mb:40|64|128,roundup_power2_divisions:default|8",
    "large_segment_size_mb:40|64,max_split_size_mb:128|256|512",
    "garbage_collection_threshold:0.6|0.8|0.9,per_process_memory_fraction:1.0,"
    "max_split_size_mb:default|64|128|256",
    "expandable_segments:True,roundup_power2_divisions:default|2|4|8,"
    "large_segment_size_mb:default|64",
    NULL};

static const struct tp_tune_use torch_uses[] = {
    {"windows", GROWS}, {"vllm-sleep", GROWS}, {NULL, NULL}};

/* Two parts of a setting that harm each other. */
static const struct {
    const char *one, *other, *why;
} dangers[] = {
    {GROWS, "max_split_size_mb:", "never set both: reserved memory can grow without bound"}};

static const struct {
    const char *key, *device; /* NULL: of any */
} newer_keys[] = {{"per_process_memory_fraction", NULL},
                  {"large_segment_size_mb", NULL},
                  {"max_non_split_rounding_mb", "npu"}};

static int check_gpu(const char *conf, const char *device, struct tp_err *err)
{
    struct tp_torch_rules rules = tp_torch_rules_named(device, NULL);
    int rc = tp_torch_conf(&rules, conf, err);
    return rc || !rules.graph_reuse ? rc
                                    : tp_fail(err, TP_EUSAGE,
                                              "'graph_capture_record_stream_reuse:True' is not "
                                              "simulated: what it frees depends on the captured "
                                              "graph, which a snapshot does not have");
}

/* A free segment of the usual size serves no request below the split limit, once that is not above
 * this size. */
static bool never_reuses(const char *conf, const char *device)
{
    struct tp_torch_rules r = tp_torch_rules_named(device, NULL);
    struct tp_err ignored;
    return !tp_torch_conf(&r, conf, &ignored) && r.split_limit <= r.large_segment;
}

static const char *danger_of_gpu(const char *conf, const char *device)
{
    for (size_t i = 0; i < sizeof dangers / sizeof *dangers; i++)
        if (tp_grid_has(conf, dangers[i].one) && tp_grid_has(conf, dangers[i].other))
            return dangers[i].why;
    return never_reuses(conf, device)
               ? "max_split_size_mb is not above the segment size: freed segments "
                 "of that size are never reused"
               : NULL;
}

static const char *share_of_gpu(const char *conf)
{
    return tp_grid_has(conf, "garbage_collection_threshold:")
               ? "garbage_collection_threshold is a share of the GPU's memory, which the recording "
                 "does not tell: add --capacity SIZE"
               : NULL;
}

static const char *first_newer_key(const char *conf, const char *device)
{
    for (size_t i = 0; i < sizeof newer_keys / sizeof *newer_keys; i++) {
        bool here = !newer_keys[i].device || (device && !strcmp(device, newer_keys[i].device));
        if (here && tp_grid_has(conf, newer_keys[i].key))
            return newer_keys[i].key;
    }
    return NULL;
}

static bool makes_alike_heaps(const struct tp_meta *m, const char *one, const char *other)
{
    return tp_torch_makes_alike(m->allocator_device, m->allocator_release, one, other);
}

static const char *title_of_torch(const char *device)
{
    return tp_torch_device(device)->title;
}

/* ---- how a setting is said ---- */

#define OLDER_VARIABLE "PYTORCH_CUDA_ALLOC_CONF"
#define NEWER_VARIABLE "PYTORCH_ALLOC_CONF"

static const char *variable_of_gpu(const struct tp_meta *m, const char *others)
{
    const char *own = tp_torch_variable(m->allocator_device, m->settings, m->allocator_release);
    bool older = others && strlen(own) > strlen(others); /* all versions read that one */
    return !others || older ? own : others;
}

static const char *variable_of_pinned(const struct tp_meta *m, const char *others)
{
    (void)m;
    (void)others;
    return NEWER_VARIABLE;
}

static void add_order(const struct tp_meta *m, const char *variable, const char *conf,
                      struct tp_str *out)
{
    bool unset = m->settings && strstr(m->settings, " is empty");
    if (*conf) {
        tp_str_add(out, "Set %s=", variable);
        tp_str_escape(out, TP_TO_SHELL, conf);
    } else if (unset) {
        tp_str_add(out, "Remove the call that sets expandable_segments");
    } else {
        tp_str_add(out, "Leave %s unset", variable);
    }
}

/* The variable has another name in older releases, and the file may not tell the release. */
static const char *older_name(const struct tp_meta *m, const char *variable)
{
    bool both = m->settings && strstr(m->settings, OLDER_VARIABLE);
    return both && !strcmp(variable, NEWER_VARIABLE) ? "PyTorch before 2.10 reads " OLDER_VARIABLE
                                                       " instead"
                                                     : NULL;
}

/* ---- pinned memory ---- */

/* Requests above the threshold of caching are not rounded either. A threshold of rounding below it
 * is not among these: see danger_of_pinned. The reserved segment saves calls. */
static const char *const pinned_grids[] = {
    "pinned_max_cached_size_mb:default|1|4|16|64|256|1024|4096,"
    "pinned_reserve_segment_size_mb:default|256|1024",
    NULL};

static int check_pinned_conf(const char *conf, const char *device, struct tp_err *err)
{
    (void)device;
    struct tp_torch_pinned_rules rules = tp_torch_pinned_defaults;
    return tp_torch_pinned_conf(&rules, conf, err);
}

/* A cached block that was not rounded may be handed out for a larger request (pull request 192722
 * of PyTorch, which ends that). */
static const char *danger_of_pinned(const char *conf, const char *device)
{
    (void)device;
    struct tp_torch_pinned_rules rules = tp_torch_pinned_defaults;
    struct tp_err ignored;
    bool read = !tp_torch_pinned_conf(&rules, conf, &ignored);
    return read && rules.round_most < rules.cached_most
               ? "blocks that are cached but not rounded may serve larger requests, in PyTorch "
                 "without its change 192722: set pinned_max_cached_size_mb as low"
               : NULL;
}

/* ---- the rows ---- */

#define OF_BOTH                                                                                    \
    .uses = torch_uses, .newer = first_newer_key, .newer_major = 2, .newer_minor = 11,             \
    .since = "PyTorch from 2026 on", .makes_alike = makes_alike_heaps, .title = title_of_torch,    \
    .order = add_order, .note = older_name

const struct tp_tunable tp_tunable_torch = {.of = &tp_recorded_strategy_torch,
                                            .usual = torch_grids,
                                            .pool = "backend:cudaMallocAsync",
                                            .check = check_gpu,
                                            .danger = danger_of_gpu,
                                            .needs_size = share_of_gpu,
                                            .kept = tp_torch_conf_kept,
                                            .variable = variable_of_gpu,
                                            OF_BOTH};

const struct tp_tunable tp_tunable_torch_pinned = {.of = &tp_recorded_strategy_torch_pinned,
                                                   .host = true,
                                                   .usual = pinned_grids,
                                                   .check = check_pinned_conf,
                                                   .danger = danger_of_pinned,
                                                   .kept = tp_torch_pinned_conf_kept,
                                                   .variable = variable_of_pinned,
                                                   OF_BOTH};
