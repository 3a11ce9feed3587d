/* See grid.h. */
#include "cmd/tune/grid.h"

#include "alloc/base/str.h"

#include <stdio.h>
#include <string.h>

#define LEFT_OUT "default"

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

int tp_grid_too_many(struct tp_err *err)
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
        status =
            made < TP_GRID_MOST ? visit_combination(&m, digits, &more, err) : tp_grid_too_many(err);
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
