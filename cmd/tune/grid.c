/* See grid.h. */
#include "cmd/tune/grid.h"

#include "alloc/base/str.h"
#include "alloc/strategies/torch/torch_rules.h"
#include "alloc/strategies/torch_pinned/torch_pinned_rules.h"

#include <stdio.h>
#include <string.h>

#define LEFT_OUT "default"

/* PyTorch splits no block above the limit, so a split limit below a segment's size means nothing.
 * Garbage is collected only below a share of the device, which is set here to all of it. */
const char *const tp_grid_default[] = {
    "max_split_size_mb:default|32|64|128|256|512,roundup_power2_divisions:default|2|4|8",
    "max_split_size_mb:64|128|256|512,max_non_split_rounding_mb:64|256",
    "large_segment_size_mb:40|64|128,roundup_power2_divisions:default|8",
    "large_segment_size_mb:40|64,max_split_size_mb:128|256|512",
    "garbage_collection_threshold:0.6|0.8|0.9,per_process_memory_fraction:1.0,"
    "max_split_size_mb:default|64|128|256",
    "expandable_segments:True,roundup_power2_divisions:default|2|4|8,"
    "large_segment_size_mb:default|64",
    NULL};

/* Two parts of a setting that harm each other. */
static const struct {
    const char *one, *other, *why;
} dangers[] = {{TP_GRID_GROWS,
                "max_split_size_mb:", "never set both: reserved memory can grow without bound"}};

/* Requests above the threshold of caching are not rounded either. A threshold of rounding below it
 * is not among these: see danger_of_pinned. The reserved segment saves calls. */
static const char *const pinned_grid[] = {
    "pinned_max_cached_size_mb:default|1|4|16|64|256|1024|4096,"
    "pinned_reserve_segment_size_mb:default|256|1024",
    NULL};

static const struct {
    const char *key, *device; /* NULL: of any */
} newer[] = {{"per_process_memory_fraction", NULL},
             {"large_segment_size_mb", NULL},
             {"max_non_split_rounding_mb", "npu"}};

/* ---- reading a grid ---- */

enum { KEYS_MOST = 16 };

/* A part of a text that is not ended by a NUL; `at` NULL: none. */
struct slice {
    const char *at;
    size_t length;
};

/* Cuts the part before the next separator outside brackets and braces off *rest, which is none
 * after the last part. */
static struct slice cut(struct slice *rest, char separator)
{
    struct slice part = {rest->at, 0};
    for (int depth = 0; part.length < rest->length; part.length++) {
        char c = rest->at[part.length];
        if (c == separator && !depth)
            break;
        depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    }
    if (part.length < rest->length)
        *rest = (struct slice){rest->at + part.length + 1, rest->length - part.length - 1};
    else
        *rest = (struct slice){NULL, 0};
    return part;
}

static struct slice whole(const char *text)
{
    return (struct slice){text, strlen(text)};
}

static bool begins(struct slice s, const char *start)
{
    size_t length = strlen(start);
    return s.length >= length && !memcmp(s.at, start, length);
}

/* One key, and its values "64|128". */
struct axis {
    struct slice key, values;
};

static int read_axis(struct slice text, struct axis *out, struct tp_err *err)
{
    size_t key = 0;
    while (key < text.length && text.at[key] != ':' && text.at[key] != '=')
        key++;
    if (!key || key == text.length)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "'%.*s' in a grid is not of the form key:value|value",
                               (int)(text.length < 200 ? text.length : 200), text.at),
                       "--grid 'max_split_size_mb:default|64|128' tries three");
    *out = (struct axis){{text.at, key}, {text.at + key + 1, text.length - key - 1}};
    return TP_OK;
}

static int read_axes(const char *grid, struct axis *axes, size_t *count, struct tp_err *err)
{
    struct slice rest = whole(grid);
    int status = TP_OK;
    for (*count = 0; !status && rest.at;) {
        struct slice part = cut(&rest, ',');
        if (part.length && *count == KEYS_MOST)
            status = tp_fail(err, TP_EUSAGE, "a grid has at most %d keys", KEYS_MOST);
        else if (part.length)
            status = read_axis(part, &axes[(*count)++], err);
    }
    return status;
}

/* ---- making texts ---- */

struct making {
    tp_grid_visit *visit;
    void *ctx;
    struct axis axes[KEYS_MOST];
    size_t count;
};

static int too_many(struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE, "a grid has at most %d settings", TP_GRID_MOST);
}

/* The value with this number; *last says that none follows. */
static struct slice value_of(const struct axis *a, size_t number, bool *last)
{
    struct slice rest = a->values, value = cut(&rest, '|');
    while (number-- && rest.at)
        value = cut(&rest, '|');
    *last = !rest.at;
    return value;
}

static bool is_left_out(struct slice value)
{
    return value.length == strlen(LEFT_OUT) && begins(value, LEFT_OUT);
}

/* Visits the setting whose value of each axis has the number in `digits`, and counts these on: the
 * last axis is the fastest. *more is false behind the last setting. */
static int visit_combination(const struct making *m, size_t digits[], bool *more,
                             struct tp_err *err)
{
    char room[1024];
    struct tp_str text = TP_STR_IN(room);
    bool carry = true, last[KEYS_MOST];
    for (size_t i = 0; i < m->count; i++) {
        const struct axis *a = &m->axes[i];
        struct slice value = value_of(a, digits[i], &last[i]);
        if (!is_left_out(value))
            tp_str_item(&text, ",", "%.*s:%.*s", (int)a->key.length, a->key.at, (int)value.length,
                        value.at);
    }
    for (size_t i = m->count; carry && i-- > 0;) {
        carry = last[i];
        digits[i] = carry ? 0 : digits[i] + 1;
    }
    *more = !carry;
    if (text.cut)
        return tp_fail(err, TP_EUSAGE, "a setting of the grid is longer than %zu characters",
                       sizeof room - 1);
    return m->visit(m->ctx, tp_str_text(&text), err);
}

int tp_grid_each(const char *grid, tp_grid_visit *visit, void *ctx, struct tp_err *err)
{
    struct making m = {.visit = visit, .ctx = ctx};
    size_t digits[KEYS_MOST] = {0};
    bool more = true;
    int status = read_axes(grid, m.axes, &m.count, err);
    /* Combinations are counted too: those with equal texts are few settings, and may be many. */
    for (size_t made = 0; !status && more; made++)
        status = made < TP_GRID_MOST ? visit_combination(&m, digits, &more, err) : too_many(err);
    return status;
}

int tp_grid_parts(const char *setting, tp_grid_visit *visit, void *ctx, struct tp_err *err)
{
    char room[1024];
    int status = TP_OK;
    for (struct slice rest = whole(setting); !status && rest.at;) {
        struct slice part = cut(&rest, ',');
        snprintf(room, sizeof room, "%.*s", (int)part.length, part.at);
        if (part.length)
            status = visit(ctx, room, err);
    }
    return status;
}

/* ---- settings of PyTorch ---- */

struct adding {
    struct tp_texts *set;
    struct tp_grid_whose whose;
};

static int add_text(void *ctx, const char *text, struct tp_err *err)
{
    const struct adding *a = ctx;
    struct tp_err refused;
    uint32_t number;
    int status = a->whose.target->check(text, a->whose.device, a->whose.usual ? &refused : err);
    if (status && a->whose.usual)
        return TP_OK;
    if (!status && a->set->count >= TP_GRID_MOST)
        status = too_many(err);
    return status ? status : tp_texts_need(a->set, text, strlen(text), &number, err);
}

int tp_grid_add(struct tp_texts *set, const char *grid, struct tp_grid_whose whose,
                struct tp_err *err)
{
    char plain[4096];
    struct adding a = {.set = set, .whose = whose};
    if (!tp_torch_plain(grid, plain, sizeof plain))
        return tp_fail(err, TP_EUSAGE, "a grid has at most %zu characters", sizeof plain - 1);
    return tp_grid_each(plain, add_text, &a, err);
}

/* ---- what a setting is ---- */

bool tp_grid_has(const char *conf, const char *start)
{
    for (struct slice rest = whole(conf); rest.at;)
        if (begins(cut(&rest, ','), start))
            return true;
    return false;
}

size_t tp_grid_keys(const char *conf)
{
    size_t keys = 0;
    for (struct slice rest = whole(conf); rest.at;)
        keys += cut(&rest, ',').length > 0;
    return keys;
}

/* A free segment of the usual size serves no request below the split limit, once that is not above
 * this size. */
static bool never_reuses(const char *conf, const char *device)
{
    struct tp_torch_rules r = tp_torch_rules_named(device, NULL);
    struct tp_err ignored;
    return !tp_torch_conf(&r, conf, &ignored) && r.split_limit <= r.large_segment;
}

const char *tp_grid_danger(const char *conf, const char *device)
{
    for (size_t i = 0; i < sizeof dangers / sizeof *dangers; i++)
        if (tp_grid_has(conf, dangers[i].one) && tp_grid_has(conf, dangers[i].other))
            return dangers[i].why;
    return never_reuses(conf, device)
               ? "max_split_size_mb is not above the segment size: freed segments "
                 "of that size are never reused"
               : NULL;
}

const char *tp_grid_newer(const char *conf, const char *device)
{
    for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
        bool here = !newer[i].device || (device && !strcmp(device, newer[i].device));
        if (here && tp_grid_has(conf, newer[i].key))
            return newer[i].key;
    }
    return NULL;
}

/* ---- whose settings they are ---- */

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

const struct tp_grid_target *tp_grid_target(const char *recorded_by)
{
    static const struct tp_grid_target targets[] = {
        {"PyTorch (pinned)", "torch-pinned", "PYTORCH_ALLOC_CONF", pinned_grid, check_pinned_conf,
         danger_of_pinned, tp_torch_pinned_conf_kept, false},
        {"PyTorch", "torch", NULL, tp_grid_default, check_gpu, tp_grid_danger, tp_torch_conf_kept,
         true}};
    return &targets[!recorded_by || strcmp(recorded_by, targets[0].by) != 0];
}
