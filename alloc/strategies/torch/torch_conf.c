/* Reads the text of PYTORCH_CUDA_ALLOC_CONF: "key:value,key:[a:1,b:2]". One row is one key; keys
 * that do not change where blocks lie are known and skipped. */
#include "alloc/base/opt.h"
#include "alloc/strategies/torch/torch_rules.h"

#include <stdlib.h>
#include <string.h>

#define MIB        (UINT64_C(1) << 20)
#define MB_MOST    (UINT64_C(1) << 24) /* 16 TiB */
#define LEAST_MB   20                  /* PyTorch refuses to split above less than a segment */
#define DIVS_MOST  UINT64_C(65536)
#define LIST_OPEN  '['
#define LIST_CLOSE ']'

enum { TEXT_MAX = 1024, NAMES = 40 };

struct torch_key {
    const char *name;
    int (*set)(struct tp_torch_rules *rules, const char *name, char *value, struct tp_err *err);
};

static int bad_value(const char *name, const char *value, const char *wanted, struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE, "'%s:%.63s': not %s", name, value, wanted);
}

static bool is_number(const char *text, uint64_t most, uint64_t *out)
{
    char *end = NULL;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && *out <= most;
}

static bool is_share(const char *text, double most, double *out)
{
    char *end = NULL;
    *out = strtod(text, &end);
    return end != text && !*end && *out > 0 && *out <= most;
}

static int set_split_limit(struct tp_torch_rules *r, const char *name, char *value,
                           struct tp_err *err)
{
    uint64_t mb = 0;
    if (!is_number(value, MB_MOST, &mb) || mb <= LEAST_MB)
        return bad_value(name, value, "a number of MiB above 20", err);
    r->split_limit = mb * MIB;
    return TP_OK;
}

static int set_oversize_rest(struct tp_torch_rules *r, const char *name, char *value,
                             struct tp_err *err)
{
    uint64_t mb = 0;
    if (!is_number(value, MB_MOST, &mb) || mb <= LEAST_MB)
        return bad_value(name, value, "a number of MiB above 20", err);
    r->oversize_rest = mb * MIB;
    return TP_OK;
}

static int set_large_segment(struct tp_torch_rules *r, const char *name, char *value,
                             struct tp_err *err)
{
    uint64_t mb = 0;
    if (!is_number(value, MB_MOST, &mb) || mb < LEAST_MB)
        return bad_value(name, value, "a number of MiB from 20 on", err);
    r->large_segment = mb * MIB;
    return TP_OK;
}

static int set_collect(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    if (!is_share(value, 1, &r->collect_above) || r->collect_above >= 1)
        return bad_value(name, value, "a share between 0 and 1", err);
    return TP_OK;
}

static int set_fraction(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    if (!is_share(value, 1, &r->memory_fraction))
        return bad_value(name, value, "a share above 0, 1 at most", err);
    return TP_OK;
}

static bool is_divisions(const char *text, uint64_t *out)
{
    return is_number(text, DIVS_MOST, out) && !(*out & (*out - 1));
}

/* Sets one "size:divisions" of a list. The first one also counts for all smaller sizes, and ">" for
 * all sizes above the one before. *next is the first interval that nobody has set yet. */
static bool set_interval(struct tp_torch_rules *r, char *item, unsigned *next)
{
    char *colon = strchr(item, ':');
    uint64_t mb = 0, divisions = 0;
    if (!colon || !is_divisions(colon + 1, &divisions))
        return false;
    *colon = '\0';
    bool rest = !strcmp(item, ">");
    if (!rest && (!is_number(item, MB_MOST, &mb) || !mb || mb & (mb - 1)))
        return false;
    unsigned slot = rest ? *next : 63 - (unsigned)__builtin_clzll(mb);
    if (slot >= TP_TORCH_INTERVALS)
        slot = TP_TORCH_INTERVALS - 1;
    unsigned first = *next == 0 && !rest ? 0 : slot;
    for (unsigned i = first; i <= (rest ? TP_TORCH_INTERVALS - 1u : slot); i++)
        r->divisions[i] = divisions;
    *next = slot + 1;
    return true;
}

static int set_divisions(struct tp_torch_rules *r, const char *name, char *value,
                         struct tp_err *err)
{
    static const char wanted[] = "a power of two, or a list such as [256:1,512:2,>:4]";
    uint64_t all = 0;
    size_t length = strlen(value);
    if (is_divisions(value, &all)) {
        for (unsigned i = 0; i < TP_TORCH_INTERVALS; i++)
            r->divisions[i] = all;
        return TP_OK;
    }
    if (length < 2 || value[0] != LIST_OPEN || value[length - 1] != LIST_CLOSE)
        return bad_value(name, value, wanted, err);
    value[length - 1] = '\0';
    char *rest = value + 1;
    unsigned next = 0;
    for (char *item; (item = strsep(&rest, ","));)
        if (!set_interval(r, item, &next))
            return bad_value(name, item, wanted, err);
    return TP_OK;
}

static int set_expandable(struct tp_torch_rules *r, const char *name, char *value,
                          struct tp_err *err)
{
    r->expandable = !strcmp(value, "True");
    if (!r->expandable && strcmp(value, "False") != 0)
        return bad_value(name, value, "True or False", err);
    return TP_OK;
}

static int refuse_backend(struct tp_torch_rules *r, const char *name, char *value,
                          struct tp_err *err)
{
    (void)r;
    if (!strcmp(value, "native"))
        return TP_OK;
    if (strcmp(value, "cudaMallocAsync") != 0)
        return bad_value(name, value, "native or cudaMallocAsync", err);
    return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s:%s' is not this allocator", name, value),
                   "'-s cudaMallocAsync' replays the driver's pool");
}

static int skip(struct tp_torch_rules *r, const char *name, char *value, struct tp_err *err)
{
    (void)r, (void)name, (void)value, (void)err;
    return TP_OK;
}

static const struct torch_key keys[] = {{"max_split_size_mb", set_split_limit},
                                        {"max_non_split_rounding_mb", set_oversize_rest},
                                        {"large_segment_size_mb", set_large_segment},
                                        {"garbage_collection_threshold", set_collect},
                                        {"per_process_memory_fraction", set_fraction},
                                        {"roundup_power2_divisions", set_divisions},
                                        {"expandable_segments", set_expandable},
                                        {"backend", refuse_backend},
                                        {"release_lock_on_cudamalloc", skip},
                                        {"release_lock_on_hipmalloc", skip},
                                        {"pinned_use_cuda_host_register", skip},
                                        {"pinned_use_hip_host_register", skip},
                                        {"pinned_num_register_threads", skip},
                                        {"pinned_use_background_threads", skip},
                                        {"pinned_reserve_segment_size_mb", skip},
                                        {"graph_capture_record_stream_reuse", skip},
                                        {NULL, NULL}};

static int set_key(struct tp_torch_rules *rules, const char *name, char *value, struct tp_err *err)
{
    const char *names[NAMES] = {NULL};
    for (size_t i = 0; keys[i].name; i++) {
        names[i] = keys[i].name;
        if (!strcmp(keys[i].name, name))
            return keys[i].set(rules, name, value, err);
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
        if (*text != ' ')
            to[n++] = *text;
    to[n] = '\0';
    return !*text;
}

const char *tp_torch_recorded(const char *said)
{
    static const char empty[] = " is empty";
    size_t name = said ? strspn(said, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") : 0;
    if (!name)
        return NULL;
    if (said[name] == '=')
        return said + name + 1;
    if (strncmp(said + name, empty, sizeof empty - 1) != 0)
        return NULL;
    return strstr(said, "expandable_segments on") ? "expandable_segments:True" : "";
}

int tp_torch_conf(struct tp_torch_rules *rules, const char *text, struct tp_err *err)
{
    char copy[TEXT_MAX];
    int rc = TP_OK;
    if (!tp_torch_plain(text, copy, sizeof copy))
        return tp_fail(err, TP_EUSAGE, "the settings have more than %d characters", TEXT_MAX - 1);
    for (char *item = copy; rc == TP_OK && *item;) {
        char *end = item_end(item), *next = *end ? end + 1 : end;
        *end = '\0';
        char *colon = strchr(item, ':');
        if (*item && !colon)
            return tp_fail(err, TP_EUSAGE, "'%.63s' is no setting of the form key:value", item);
        if (colon)
            *colon = '\0';
        if (*item)
            rc = set_key(rules, item, colon + 1, err);
        item = next;
    }
    if (rc == TP_OK && rules->expandable && rules->large_segment % rules->small_segment)
        rc = tp_fail(err, TP_EUSAGE,
                     "'large_segment_size_mb' must be even with 'expandable_segments:True': memory "
                     "is mapped in multiples of 2 MiB");
    return rc;
}
