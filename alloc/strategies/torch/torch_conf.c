/* Reads the text of PYTORCH_CUDA_ALLOC_CONF: "key:value,key:[a:1,b:2]". One row is one key; keys
 * that do not change where blocks lie are known and skipped.
 *
 * A program may set another text while it runs. PyTorch's parser (c10/core/AllocatorConfig.cpp,
 * parseArgs; before 2.10 c10/cuda/CUDAAllocatorConfig.cpp) puts max_split_size_mb,
 * roundup_power2_divisions and garbage_collection_threshold back to their defaults at each call,
 * since 2.11 (pull request 172056) max_non_split_rounding_mb too, to the size of large segments;
 * all other keys keep their value. per_process_memory_fraction is read once, when the allocator of
 * a device is made (c10/cuda/CUDACachingAllocator.cpp). */
#include "alloc/base/opt.h"
#include "alloc/strategies/torch/torch_rules.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB        (UINT64_C(1) << 20)
#define MB_MOST    (UINT64_C(1) << 24) /* 16 TiB: more is more than any device */
#define SEGMENT_MB UINT64_C(11)        /* requests below 10 MiB must fit in a large segment */
#define DIVS_MOST  (UINT64_C(1) << 32) /* above, sizes are rounded as without */
#define LIST_OPEN  '['
#define LIST_CLOSE ']'
#define MARKS      ":[]" /* end a value */

enum { TEXT_MAX = 1024, NAMES = 40, THREADS_MOST = 128 };

struct torch_key {
    const char *name;
    int (*set)(struct tp_torch_rules *rules, const char *name, char *value, struct tp_err *err);
    uint16_t offset, size; /* of what it sets in the rules; a size of 0: nothing */
    bool resets;           /* a text without it sets the default */
    uint8_t only;          /* a bit for each device that has it; 0: all have it */
    uint8_t without;       /* a bit for each device whose allocator does not look at it */
};

static int bad_value(const char *name, const char *value, const char *wanted, struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE, "'%s:%.63s': not %s", name, value, wanted);
}

/* ---- values ---- */

/* PyTorch reads a number as far as it goes: "64MB" is 64, and "-1" the largest of 64 bits. */
static bool is_number(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return end != text && !errno && !strpbrk(end, MARKS);
}

static bool is_share(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && !strpbrk(end, MARKS) && *out >= 0 && *out <= 1;
}

/* A number of MiB, in bytes; what is too large for any device is as good as the largest. */
static int read_mib(const char *name, const char *value, uint64_t least, uint64_t *out,
                    struct tp_err *err)
{
    char wanted[64];
    uint64_t mb = 0;
    snprintf(wanted, sizeof wanted, "a number of MiB from %llu on", (unsigned long long)least);
    if (!is_number(value, &mb) || mb < least)
        return bad_value(name, value, wanted, err);
    *out = (mb < MB_MOST ? mb : MB_MOST) * MIB;
    return TP_OK;
}

static int read_bool(const char *name, const char *value, uint64_t *out, struct tp_err *err)
{
    *out = !strcmp(value, "True");
    if (!*out && strcmp(value, "False") != 0)
        return bad_value(name, value, "True or False", err);
    return TP_OK;
}

/* ---- keys that decide where blocks lie ---- */

/* The least is that of newer versions; older ones want more than 20. It is compared with the size
 * of segments, which is read first wherever it stands. */
static int set_split_limit(struct tp_torch_rules *r, const char *name, char *value,
                           struct tp_err *err)
{
    return read_mib(name, value, r->large_segment / MIB, &r->split_limit, err);
}

static int set_oversize_rest(struct tp_torch_rules *r, const char *name, char *value,
                             struct tp_err *err)
{
    return read_mib(name, value, r->large_segment / MIB, &r->oversize_rest, err);
}

static int set_large_segment(struct tp_torch_rules *r, const char *name, char *value,
                             struct tp_err *err)
{
    return read_mib(name, value, SEGMENT_MB, &r->large_segment, err);
}

static int set_collect(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    if (!is_share(value, &r->collect_above) || r->collect_above <= 0 || r->collect_above >= 1)
        return bad_value(name, value, "a share between 0 and 1", err);
    return TP_OK;
}

/* A share of 0 leaves no byte, where 0 in the rules is none that is set. */
static int set_fraction(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    if (!is_share(value, &r->memory_fraction))
        return bad_value(name, value, "a share from 0 to 1", err);
    r->memory_fraction = r->memory_fraction > 0 ? r->memory_fraction : DBL_MIN;
    return TP_OK;
}

static int set_base_grain(struct tp_torch_rules *r, const char *name, char *value,
                          struct tp_err *err)
{
    uint64_t kb = 0;
    if (!is_number(value, &kb) || kb > 16)
        return bad_value(name, value, "a number of KiB from 0 to 16", err);
    r->base_grain = kb << 10;
    return TP_OK;
}

static int set_rejects(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    return read_bool(name, value, &r->rejects, err);
}

/* "0.5" of the device, or "40G". */
static int set_reserve(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    char *end = NULL;
    double n = strtod(value, &end);
    bool gib = end != value && (*end == 'G' || *end == 'g');
    if (end == value || end[gib] || !(n > 0) || n > (double)MB_MOST)
        return bad_value(name, value, "a share of the device such as 0.5, or a size such as 40G",
                         err);
    r->reserve_share = gib ? 0 : n;
    r->reserve_bytes = gib ? (uint64_t)(n * (double)(MIB << 10)) : 0;
    return TP_OK;
}

static int set_expandable(struct tp_torch_rules *r, const char *name, char *value,
                          struct tp_err *err)
{
    return read_bool(name, value, &r->expandable, err);
}

/* ---- roundup_power2_divisions ---- */

struct torch_intervals {
    bool begun;    /* a size was named */
    unsigned last; /* the interval of the size named last */
};

static bool is_divisions(const char *text, uint64_t *out)
{
    return is_number(text, out) && *out <= DIVS_MOST && !(*out & (*out - 1));
}

/* Sets one "size:divisions" of a list. The first size also counts for all smaller ones, and ">" for
 * all intervals behind that of the size before it, or behind the first one; before 2.10 with it. */
static bool set_interval(struct tp_torch_rules *r, char *item, struct torch_intervals *at)
{
    char *colon = strchr(item, ':');
    uint64_t mb = 0, divisions = 0;
    unsigned first = at->last + (unsigned)r->behind_last, last = TP_TORCH_INTERVALS - 1u;
    if (!colon || !is_divisions(colon + 1, &divisions))
        return false;
    *colon = '\0';
    if (strcmp(item, ">") != 0) {
        if (!is_number(item, &mb) || !mb || mb & (mb - 1))
            return false;
        unsigned slot = 63 - (unsigned)__builtin_clzll(mb);
        last = slot < last ? slot : last;
        first = at->begun ? last : 0;
        *at = (struct torch_intervals){true, last};
    }
    for (unsigned i = first; i <= last; i++)
        r->divisions[i] = divisions;
    return true;
}

/* A number alone must be a power of two; 0 is allowed in a list only. A list may end with a comma,
 * or be empty. */
static int set_divisions(struct tp_torch_rules *r, const char *name, char *value,
                         struct tp_err *err)
{
    static const char wanted[] = "a power of two, or a list such as [256:1,512:2,>:4]";
    struct torch_intervals at = {false, 0};
    uint64_t all = 0;
    size_t length = strlen(value);
    if (is_divisions(value, &all) && all) {
        for (unsigned i = 0; i < TP_TORCH_INTERVALS; i++)
            r->divisions[i] = all;
        return TP_OK;
    }
    if (length < 2 || value[0] != LIST_OPEN || value[length - 1] != LIST_CLOSE)
        return bad_value(name, value, wanted, err);
    value[length - 1] = '\0';
    for (char *item, *rest = value + 1; rest && *rest;) {
        item = strsep(&rest, ",");
        if (!set_interval(r, item, &at))
            return bad_value(name, item, wanted, err);
    }
    return TP_OK;
}

/* ---- keys that do not ---- */

static int refuse_backend(struct tp_torch_rules *r, const char *name, char *value,
                          struct tp_err *err)
{
    (void)r;
    if (!strcmp(value, "native"))
        return TP_OK;
    if (strcmp(value, "cudaMallocAsync") != 0 && strcmp(value, "hipMallocAsync") != 0)
        return bad_value(name, value, "native or cudaMallocAsync", err);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s:%s' is not this allocator", name, value),
                   "'-s cudaMallocAsync' replays the driver's pool");
}

static int skip_bool(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    uint64_t unused = 0;
    (void)r;
    return read_bool(name, value, &unused, err);
}

static int skip_number(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    uint64_t n = 0;
    (void)r;
    return is_number(value, &n) && n ? TP_OK : bad_value(name, value, "a number above 0", err);
}

static int skip_threads(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    uint64_t n = 0;
    (void)r;
    if (!is_number(value, &n) || !n || n & (n - 1) || n > THREADS_MOST)
        return bad_value(name, value, "a power of two up to 128", err);
    return TP_OK;
}

/* Keys that change what happens, in a way that is not simulated. */
static int refuse_unplayed(struct tp_torch_rules *r, const char *name, char *value,
                           struct tp_err *err)
{
    (void)r;
    return tp_fail(err, TP_EUSAGE, "'%s:%.63s' is a setting that torch does not simulate", name,
                   value);
}

static int refuse_true(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    uint64_t set = 0;
    int rc = read_bool(name, value, &set, err);
    return rc || !set ? rc : refuse_unplayed(r, name, value, err);
}

enum { ON_XPU = 1 << 2, ON_NPU = 1 << 3 }; /* by their place in tp_torch_devices */

#define SETS(member)                                                                               \
    .offset = offsetof(struct tp_torch_rules, member),                                             \
    .size = sizeof((const struct tp_torch_rules *)0)->member

/* Those of torch_npu are in its page on PYTORCH_NPU_ALLOC_CONF. The first is read before all
 * others. */
static const struct torch_key keys[] = {
    {.name = "large_segment_size_mb", .set = set_large_segment, SETS(large_segment)},
    {.name = "max_split_size_mb",
     .set = set_split_limit,
     SETS(split_limit),
     .resets = true,
     .without = ON_XPU},
    {.name = "max_non_split_rounding_mb",
     .set = set_oversize_rest,
     SETS(oversize_rest),
     .without = ON_XPU},
    {.name = "garbage_collection_threshold",
     .set = set_collect,
     SETS(collect_above),
     .resets = true,
     .without = ON_XPU},
    {.name = "per_process_memory_fraction", .set = set_fraction, SETS(memory_fraction)},
    {.name = "roundup_power2_divisions", .set = set_divisions, SETS(divisions), .resets = true},
    {.name = "expandable_segments", .set = set_expandable, SETS(expandable)},
    {.name = "base_addr_aligned_kb", .set = set_base_grain, SETS(base_grain), .only = ON_NPU},
    {.name = "page_size", .set = refuse_unplayed, .only = ON_NPU},
    {.name = "segment_size_mb", .set = refuse_unplayed, .only = ON_NPU},
    {.name = "multi_stream_lazy_reclaim", .set = refuse_true, .only = ON_NPU},
    {.name = "throw_on_npumalloc_oom", .set = refuse_true, .only = ON_NPU},
    {.name = "backend", .set = refuse_backend},
    {.name = "throw_on_cudamalloc_oom", .set = set_rejects, SETS(rejects)},
    {.name = "expandable_segments_reserve",
     .set = set_reserve,
     .offset = offsetof(struct tp_torch_rules, reserve_share),
     .size = 2 * sizeof(uint64_t)},
    {.name = "expandable_segments_reserve_by_class", .set = refuse_unplayed},
    {.name = "release_lock_on_cudamalloc", .set = skip_bool},
    {.name = "release_lock_on_hipmalloc", .set = skip_bool},
    {.name = "graph_capture_record_stream_reuse", .set = skip_bool},
    {.name = "pinned_use_cuda_host_register", .set = skip_bool},
    {.name = "pinned_use_hip_host_register", .set = skip_bool},
    {.name = "pinned_use_background_threads", .set = skip_bool},
    {.name = "pinned_free_catch_all", .set = skip_bool},
    {.name = "pinned_num_register_threads", .set = skip_threads},
    {.name = "pinned_reserve_segment_size_mb", .set = skip_number},
    {.name = "pinned_max_round_threshold_mb", .set = skip_number},
    {.name = "pinned_max_cached_size_mb", .set = skip_number},
    {.name = NULL}};

static bool has_device(const struct torch_key *key, const struct tp_torch_rules *rules)
{
    return !key->only || key->only >> rules->device & 1;
}

static int set_key(struct tp_torch_settings *conf, const char *name, char *value,
                   struct tp_err *err)
{
    const char *names[NAMES] = {NULL};
    size_t known = 0;
    for (size_t i = 0; keys[i].name; i++) {
        if (!has_device(&keys[i], &conf->values))
            continue;
        names[known++] = keys[i].name;
        if (strcmp(keys[i].name, name) != 0)
            continue;
        conf->named |= UINT64_C(1) << i;
        return keys[i].set(&conf->values, name, value, err);
    }
    const char *near = tp_nearest(name, names);
    int rc = tp_fail(err, TP_EUSAGE, "PyTorch has no setting '%.63s'", name);
    return near ? tp_hint(err, rc, "did you mean '%s'?", near) : rc;
}

/* The end of an item: the next comma outside brackets, or the end of the text. */
static char *item_end(char *text)
{
    int depth = 0;
    for (; *text && (*text != ',' || depth > 0); text++)
        depth += (*text == LIST_OPEN) - (*text == LIST_CLOSE);
    return text;
}

bool tp_torch_plain(const char *text, char *to, size_t room)
{
    size_t n = 0;
    for (; *text && n + 1 < room; text++)
        if (!isspace((unsigned char)*text))
            to[n++] = *text;
    to[n] = '\0';
    return !*text;
}

const char *tp_torch_recorded(const char *said)
{
    static const char *const without[] = {" is empty", " is not recorded", NULL};
    size_t name = said ? strspn(said, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;
    if (!name)
        return NULL;
    if (said[name] == '=')
        return said + name + 1;
    for (const char *const *start = without; *start; start++)
        if (strncmp(said + name, *start, strlen(*start)) == 0)
            return strstr(said, "expandable_segments on") ? "expandable_segments:True" : "";
    return NULL;
}

int tp_torch_check_units(const struct tp_torch_rules *rules, struct tp_err *err)
{
    if (!rules->expandable || rules->large_segment % rules->small_segment == 0)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "'large_segment_size_mb' must be even with 'expandable_segments:True': memory "
                   "is mapped in multiples of 2 MiB");
}

/* Reads the items whose key is that of the size of segments, or all others. */
static int read_items(struct tp_torch_settings *conf, char *text, bool segments, struct tp_err *err)
{
    int rc = TP_OK;
    for (char *item = text; rc == TP_OK && *item;) {
        char *end = item_end(item), *next = *end ? end + 1 : end, kept = *end;
        *end = '\0';
        char *colon = strchr(item, ':');
        if (!colon)
            return tp_fail(err, TP_EUSAGE, "'%.63s' is no setting of the form key:value", item);
        *colon = '\0';
        if (!strcmp(item, keys[0].name) == segments)
            rc = set_key(conf, item, colon + 1, err);
        *colon = ':';
        *end = kept;
        item = next;
    }
    return rc;
}

int tp_torch_conf_read(struct tp_torch_settings *conf, const struct tp_torch_rules *rules,
                       const char *text, struct tp_err *err)
{
    char copy[TEXT_MAX];
    *conf = (struct tp_torch_settings){.values = *rules};
    if (!tp_torch_plain(text, copy, sizeof copy))
        return tp_fail(err, TP_EUSAGE, "the settings have more than %d characters", TEXT_MAX - 1);
    int rc = read_items(conf, copy, true, err);
    if (rc == TP_OK)
        rc = read_items(conf, copy, false, err);
    return rc == TP_OK ? tp_torch_check_units(&conf->values, err) : rc;
}

bool tp_torch_conf_has(const struct tp_torch_settings *conf, const char *key)
{
    for (size_t i = 0; keys[i].name; i++)
        if (!strcmp(keys[i].name, key))
            return conf->named >> i & 1;
    return false;
}

void tp_torch_conf_set(const struct tp_torch_settings *conf, struct tp_torch_rules *rules)
{
    for (size_t i = 0; keys[i].name; i++) {
        const struct torch_key *k = &keys[i];
        bool obeyed = !(k->without >> rules->device & 1), named = conf->named >> i & 1;
        const void *from = named ? &conf->values : k->resets ? &tp_torch_defaults : NULL;
        if (from && obeyed)
            memcpy((char *)rules + k->offset, (const char *)from + k->offset, k->size);
    }
    if (rules->rest_follows && !tp_torch_conf_has(conf, "max_non_split_rounding_mb"))
        rules->oversize_rest = rules->large_segment;
}

int tp_torch_conf(struct tp_torch_rules *rules, const char *text, struct tp_err *err)
{
    struct tp_torch_settings conf;
    int rc = tp_torch_conf_read(&conf, rules, text, err);
    if (rc == TP_OK)
        tp_torch_conf_set(&conf, rules);
    return rc;
}

bool tp_torch_makes_alike(const char *one, const char *other)
{
    struct tp_torch_rules a = tp_torch_defaults, b = tp_torch_defaults;
    struct tp_err ignored;
    return !tp_torch_conf(&a, one, &ignored) && !tp_torch_conf(&b, other, &ignored) &&
           a.expandable == b.expandable && !memcmp(a.divisions, b.divisions, sizeof a.divisions);
}
