/* What the keys of PYTORCH_CUDA_ALLOC_CONF are to the allocator of GPU memory (alloc_conf.h); those
 * that do not change where blocks lie are known and skipped.
 *
 * A program may set another text while it runs. PyTorch's parser (c10/core/AllocatorConfig.cpp,
 * parseArgs; before 2.10 c10/cuda/CUDAAllocatorConfig.cpp) puts max_split_size_mb,
 * roundup_power2_divisions and garbage_collection_threshold back to their defaults at each call,
 * since 2.11 (pull request 172056) max_non_split_rounding_mb too, to the size of large segments;
 * all other keys keep their value. per_process_memory_fraction is read once, when the allocator of
 * a device is made (c10/cuda/CUDACachingAllocator.cpp). */
#include "alloc/strategies/common/alloc_conf.h"
#include "alloc/strategies/torch/torch_rules.h"

#include <float.h>

#define SEGMENT_MB UINT64_C(11)        /* requests below 10 MiB must fit in a large segment */
#define DIVS_MOST  (UINT64_C(1) << 32) /* above, sizes are rounded as without */

struct torch_key {
    const char *name;
    conf_set_fn *set;
    uint16_t offset, size; /* of what it sets in the rules; a size of 0: nothing */
    bool resets;           /* a text without it sets the default */
    uint8_t only;          /* a bit for each device that has it; 0: all have it */
    uint8_t without;       /* a bit for each device whose allocator does not look at it */
};

/* ---- values ---- */

static bool is_share(const char *text, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && !strpbrk(end, CONF_MARKS) && *out >= 0 && *out <= 1;
}

/* ---- keys that decide where blocks lie ---- */

/* The least is that of newer versions; older ones want more than 20. It is compared with the size
 * of segments, which is read first wherever it stands. */
static int set_split_limit(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    return conf_mib(name, value, r->large_segment / CONF_MIB, &r->split_limit, err);
}

static int set_oversize_rest(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    return conf_mib(name, value, r->large_segment / CONF_MIB, &r->oversize_rest, err);
}

static int set_large_segment(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    return conf_mib(name, value, SEGMENT_MB, &r->large_segment, err);
}

static int set_collect(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    if (!is_share(value, &r->collect_above) || r->collect_above <= 0 || r->collect_above >= 1)
        return conf_bad(name, value, "a share between 0 and 1", err);
    return TP_OK;
}

/* A share of 0 leaves no byte, where 0 in the rules is none that is set. */
static int set_fraction(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    if (!is_share(value, &r->memory_fraction))
        return conf_bad(name, value, "a share from 0 to 1", err);
    r->memory_fraction = r->memory_fraction > 0 ? r->memory_fraction : DBL_MIN;
    return TP_OK;
}

static int set_base_grain(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    uint64_t kb = 0;
    if (!conf_is_number(value, &kb) || kb > 16)
        return conf_bad(name, value, "a number of KiB from 0 to 16", err);
    r->base_grain = kb << 10;
    return TP_OK;
}

static int set_rejects(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    return conf_bool(name, value, &r->rejects, err);
}

/* "0.5" of the device, or "40G". */
static int set_reserve(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    char *end = NULL;
    double n = strtod(value, &end);
    bool gib = end != value && (*end == 'G' || *end == 'g');
    if (end == value || end[gib] || !(n > 0) || n > (double)CONF_MB_MOST)
        return conf_bad(name, value, "a share of the device such as 0.5, or a size such as 40G",
                        err);
    r->reserve_share = gib ? 0 : n;
    r->reserve_bytes = gib ? (uint64_t)(n * (double)(CONF_MIB << 10)) : 0;
    return TP_OK;
}

static int set_expandable(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    return conf_bool(name, value, &r->expandable, err);
}

/* ---- roundup_power2_divisions ---- */

struct torch_intervals {
    bool begun;    /* a size was named */
    unsigned last; /* the interval of the size named last */
};

static bool is_divisions(const char *text, uint64_t *out)
{
    return conf_is_number(text, out) && *out <= DIVS_MOST && !(*out & (*out - 1));
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
        if (!conf_is_number(item, &mb) || !mb || mb & (mb - 1))
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
static int set_divisions(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    static const char wanted[] = "a power of two, or a list such as [256:1,512:2,>:4]";
    struct torch_intervals at = {false, 0};
    uint64_t all = 0;
    size_t length = strlen(value);
    if (is_divisions(value, &all) && all) {
        for (unsigned i = 0; i < TP_TORCH_INTERVALS; i++)
            r->divisions[i] = all;
        return TP_OK;
    }
    if (length < 2 || value[0] != CONF_LIST_OPEN || value[length - 1] != CONF_LIST_CLOSE)
        return conf_bad(name, value, wanted, err);
    value[length - 1] = '\0';
    for (char *item, *rest = value + 1; rest && *rest;) {
        item = strsep(&rest, ",");
        if (!set_interval(r, item, &at))
            return conf_bad(name, item, wanted, err);
    }
    return TP_OK;
}

static int set_graph_reuse(void *rules, const char *name, char *value, struct tp_err *err)
{
    struct tp_torch_rules *r = rules;
    return conf_bool(name, value, &r->graph_reuse, err);
}

/* ---- keys that do not ---- */

static int refuse_backend(void *rules, const char *name, char *value, struct tp_err *err)
{
    (void)rules;
    if (!strcmp(value, "native"))
        return TP_OK;
    if (strcmp(value, "cudaMallocAsync") != 0 && strcmp(value, "hipMallocAsync") != 0)
        return conf_bad(name, value, "native or cudaMallocAsync", err);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s:%s' is not this allocator", name, value),
                   "'-s cudaMallocAsync' replays the driver's pool");
}

/* Keys that change what happens, in a way that is not simulated. */
static int refuse_unplayed(void *rules, const char *name, char *value, struct tp_err *err)
{
    (void)rules;
    return tp_fail(err, TP_EUSAGE, "'%s:%.63s' is a setting that torch does not simulate", name,
                   value);
}

static int refuse_true(void *rules, const char *name, char *value, struct tp_err *err)
{
    uint64_t set = 0;
    int rc = conf_bool(name, value, &set, err);
    return rc || !set ? rc : refuse_unplayed(rules, name, value, err);
}

enum {
    ON_CUDA = 1,
    ON_HIP = 1 << 1,
    ON_XPU = 1 << 2,
    ON_NPU = 1 << 3
}; /* by their place in tp_torch_devices */

#define SETS(member)                                                                               \
    .offset = offsetof(struct tp_torch_rules, member),                                             \
    .size = sizeof((const struct tp_torch_rules *)0)->member
/* Two that follow each other. */
#define SETS_BOTH(one, other)                                                                      \
    .offset = offsetof(struct tp_torch_rules, one),                                                \
    .size = offsetof(struct tp_torch_rules, other) + sizeof(uint64_t) -                            \
            offsetof(struct tp_torch_rules, one)

#define TORCH_EFFECT(...)                    __VA_ARGS__
#define TORCH_KEY(text, gpu, effect, pinned) {.name = text, .set = gpu, TORCH_EFFECT effect},
static const struct torch_key keys[] = {TORCH_CONF_KEYS(TORCH_KEY){.name = NULL}};

static bool has_device(const struct torch_key *key, const struct tp_torch_rules *rules)
{
    return !key->only || key->only >> rules->device & 1;
}

static int set_key(struct tp_torch_settings *conf, const char *name, char *value,
                   struct tp_err *err)
{
    const char *names[CONF_NAMES] = {NULL};
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
    return conf_unknown(ON_NPU >> conf->values.device & 1 ? "torch_npu" : "PyTorch", name, names,
                        err);
}

/* Keys that another tapool knows are kept too. */
static bool is_replayed(const char *name)
{
    for (size_t i = 0; keys[i].name; i++)
        if (!strcmp(keys[i].name, name))
            return !conf_is_skipped(keys[i].set) && keys[i].set != set_graph_reuse;
    return false;
}

void tp_torch_conf_kept(const char *text, struct tp_str *out)
{
    conf_kept(text, is_replayed, out);
}

bool tp_torch_plain(const char *text, char *to, size_t room)
{
    return tp_copy_plain(text, to, room);
}

const char *tp_torch_recorded(const char *said)
{
    static const char empty[] = " is empty", none[] = "no setting is recorded";
    size_t name = said ? strspn(said, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;
    if (name && said[name] == '=')
        return said + name + 1;
    if (!said || (strncmp(said, none, sizeof none - 1) != 0 &&
                  (!name || strncmp(said + name, empty, sizeof empty - 1) != 0)))
        return NULL;
    return strstr(said, "expandable_segments on") ? "expandable_segments:True" : "";
}

bool tp_torch_conf_has(const struct tp_torch_settings *conf, const char *key)
{
    for (size_t i = 0; keys[i].name; i++)
        if (!strcmp(keys[i].name, key))
            return conf->named >> i & 1;
    return false;
}

/* torch_npu ends a program whose text sets both. */
static int check_growing(const struct tp_torch_settings *conf, struct tp_err *err)
{
    bool beside = tp_torch_conf_has(conf, "max_split_size_mb") ||
                  tp_torch_conf_has(conf, "garbage_collection_threshold");
    bool grows = tp_torch_conf_has(conf, "expandable_segments") && conf->values.expandable;
    if (!(ON_NPU >> conf->values.device & 1) || !grows || !beside)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "torch_npu refuses 'expandable_segments:True' beside 'max_split_size_mb' or "
                   "'garbage_collection_threshold'");
}

int tp_torch_check_units(const struct tp_torch_rules *rules, struct tp_err *err)
{
    if (!rules->expandable || rules->large_segment % rules->small_segment == 0)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "'large_segment_size_mb' must be even with 'expandable_segments:True': memory "
                   "is mapped in multiples of 2 MiB");
}

/* Reading of a text: that of the size of segments, or all other keys. */
struct torch_reading {
    struct tp_torch_settings *conf;
    bool segments;
};

static int read_item(void *ctx, const char *name, char *value, struct tp_err *err)
{
    const struct torch_reading *r = ctx;
    return !strcmp(name, keys[0].name) == r->segments ? set_key(r->conf, name, value, err) : TP_OK;
}

int tp_torch_conf_read(struct tp_torch_settings *conf, const struct tp_torch_rules *rules,
                       const char *text, struct tp_err *err)
{
    struct torch_reading first = {conf, true}, others = {conf, false};
    *conf = (struct tp_torch_settings){.values = *rules};
    if (strpbrk(text, "@;"))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "'%.63s': ';' and '@' make settings of phases, "
                               "which only a replay has",
                               text),
                       "tapool replay TRACE -s 'torch:conf={A;B@PHASE}'");
    int rc = conf_each(text, read_item, &first, err);
    if (rc == TP_OK)
        rc = conf_each(text, read_item, &others, err);
    if (rc == TP_OK)
        rc = check_growing(conf, err);
    return rc == TP_OK ? tp_torch_check_units(&conf->values, err) : rc;
}

void tp_torch_conf_set(const struct tp_torch_settings *conf, struct tp_torch_rules *rules)
{
    for (size_t i = 0; keys[i].name; i++) {
        const struct torch_key *k = &keys[i];
        bool obeyed = !(k->without >> rules->device & 1), named = conf->named >> i & 1;
        const void *from = NULL;
        if (named)
            from = &conf->values;
        else if (k->resets)
            from = &tp_torch_defaults;
        if (from && obeyed)
            memcpy((char *)rules + k->offset, (const char *)from + k->offset, k->size);
    }
    /* both came with one release */
    bool follows = rules->rest_follows || tp_torch_conf_has(conf, keys[0].name);
    if (follows && !tp_torch_conf_has(conf, "max_non_split_rounding_mb"))
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

bool tp_torch_makes_alike(const char *device, const char *release, const char *one,
                          const char *other)
{
    struct tp_torch_rules a = tp_torch_rules_named(device, release), b = a;
    struct tp_err ignored;
    return !tp_torch_conf(&a, one, &ignored) && !tp_torch_conf(&b, other, &ignored) &&
           a.expandable == b.expandable && !memcmp(a.divisions, b.divisions, sizeof a.divisions);
}
