/* See where_page.h.
 *
 *     torch   [ requested by the program          |rounding| idle | cached ]   bars, all to one
 * scale arena   [ requested by the program          | idle ]
 *
 * Parts have the words and the patterns of the map of the heap. */
#include "cmd/page/where_page.h"

#include "cmd/jobs/spec.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/figures.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <stddef.h>

enum { REQUESTED, ROUNDING, CACHED, IDLE, DEAD, INTERNAL, PAGE_REST, UNKNOWN, PARTS };

/* `name` is the class of its colour and pattern too, with lines for blanks. */
static const struct {
    const char *class, *name;
} parts[PARTS] = {
    [REQUESTED] = {"live", "requested by the program"},
    [ROUNDING] = {"rounding", "rounding"},
    [CACHED] = {"cached", "cached"},
    [IDLE] = {"idle", "idle"},
    [DEAD] = {"dead", "dead"},
    [INTERNAL] = {"internal", "internal"},
    [PAGE_REST] = {"rest", "rest of pages"},
    [UNKNOWN] = {"idle", "not handed out"},
};

/* One bar: a result on a device. */
struct where_bar {
    const struct tp_result *result;
    uint32_t device;
    const struct tp_at_peak *at;
    uint64_t bytes[PARTS];
};

/* False: it is not known. */
static bool bar_of(const struct tp_result *r, uint32_t device, struct where_bar *b)
{
    const struct tp_at_peak *at = &r->run->devices[device].at_peak;
    *b = (struct where_bar){.result = r, .device = device, .at = at};
    if (r->run->flags & TP_RUN_POOL || at->requested == TP_NONE || at->granted == TP_NONE ||
        at->reserved == TP_NONE || !at->reserved)
        return false;
    b->bytes[REQUESTED] = at->requested;
    b->bytes[ROUNDING] = at->granted - at->requested;
    if (at->cached == TP_NONE) {
        b->bytes[UNKNOWN] = at->idle;
        return true;
    }
    b->bytes[CACHED] = at->cached;
    b->bytes[IDLE] = at->span;
    b->bytes[DEAD] = at->dead;
    b->bytes[INTERNAL] = at->internal;
    b->bytes[PAGE_REST] = at->page_rest;
    return true;
}

/* What all bars have in common. */
struct where_chart {
    uint64_t most;     /* reserved by the longest bar */
    bool there[PARTS]; /* some bar has this part */
};

typedef void take_bar(void *ctx, const struct where_bar *b);

/* `rep`: says which devices are shown; NULL: all. */
static void each_bar(const struct tp_report *rep, const struct tp_result *results, size_t count,
                     take_bar *take, void *ctx)
{
    struct where_bar b;
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0;
             d < (rep ? tp_devices_shown(rep, &results[i]) : results[i].run->device_count); d++)
            if (bar_of(&results[i], d, &b))
                take(ctx, &b);
}

static void measure_bar(void *ctx, const struct where_bar *b)
{
    struct where_chart *c = ctx;
    c->most = b->at->reserved > c->most ? b->at->reserved : c->most;
    for (int i = 0; i < PARTS; i++)
        c->there[i] |= b->bytes[i] > 0;
}

/* ---- writing ---- */

struct where_writing {
    const struct where_chart *chart;
    FILE *out;
    struct tp_table table;
};

static void write_bar(void *ctx, const struct where_bar *b)
{
    const struct where_writing *w = ctx;
    tp_put(w->out, TP_TO_XML, "<li><span>%s%s</span> <span class=\"bar\">", b->result->spec->label,
           tp_html_device(b->result, b->device).s);
    for (int i = 0; i < PARTS; i++)
        tp_html_piece(parts[i].class, b->bytes[i], w->chart->most, w->out);
    fputs("</span></li>\n", w->out);
}

static void add_row(void *ctx, const struct where_bar *b)
{
    struct where_writing *w = ctx;
    tp_table_add(&w->table, "%s%s", b->result->spec->label, tp_html_device(b->result, b->device).s);
    for (int i = 0; i < PARTS; i++)
        if (w->chart->there[i])
            tp_table_bytes(&w->table, b->bytes[i], false);
    tp_table_bytes(&w->table, b->at->reserved, false);
    tp_table_count(&w->table, b->at->pieces);
    tp_table_bytes(&w->table, b->at->pieces ? b->at->largest : TP_NONE, false);
}

static void write_keys(const struct where_chart *c, FILE *out)
{
    fputs("<ul class=\"keys\">", out);
    for (int i = 0; i < PARTS; i++)
        if (c->there[i])
            tp_html_key(parts[i].class, parts[i].name, "", out);
    fputs("</ul>\n", out);
}

static void set_columns(const struct where_chart *c, struct tp_table *t)
{
    struct tp_column columns[PARTS + 4] = {{.head = {"", ""}, .left = true}};
    int count = 1;
    for (int i = 0; i < PARTS; i++)
        if (c->there[i])
            snprintf(columns[count++].head[1], TP_COLUMN_HEAD, "%s", parts[i].name);
    static const char *const last[] = {"= reserved then", "pieces", "largest piece"};
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        snprintf(columns[count++].head[1], TP_COLUMN_HEAD, "%s", last[i]);
    tp_table_columns(t, columns, count);
}

bool tp_where_known(const struct tp_result *results, size_t count)
{
    struct where_chart c = {0};
    each_bar(NULL, results, count, measure_bar, &c);
    return c.most > 0;
}

int tp_where_write(const struct tp_report *rep, const struct tp_result *results, size_t count,
                   FILE *out, struct tp_err *err)
{
    struct where_chart c = {0};
    struct where_writing w = {.chart = &c, .out = out};
    each_bar(rep, results, count, measure_bar, &c);
    set_columns(&c, &w.table);
    fputs("<p>What each policy had reserved when the program needed most. Idle memory could serve "
          "another request only as far as one of its pieces is large enough.</p>\n",
          out);
    write_keys(&c, out);
    fputs("<ul class=\"bars\" aria-hidden=\"true\">\n", out);
    each_bar(rep, results, count, write_bar, &w);
    fputs("</ul>\n", out);
    each_bar(rep, results, count, add_row, &w);
    return tp_html_table(&w.table, out, err);
}
