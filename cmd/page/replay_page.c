/* See replay_page.h. */
#include "cmd/page/replay_page.h"

#include "cmd/charts/memory_chart.h"
#include "cmd/jobs/spec.h"
#include "cmd/page/holders_part.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/page/trace_page.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/results/captured.h"
#include "cmd/results/figures.h"
#include "cmd/results/result.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- where page ---- */

/* The section "Where the memory went" of a page. */

enum { REQUESTED, ROUNDING, CACHED, IDLE, DEAD, INTERNAL, PAGE_REST, UNKNOWN, PARTS };

/* `name` is the class of its colour and pattern too, with lines for blanks. */
static const struct {
    const char *css_class, *name;
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
        tp_html_piece(parts[i].css_class, b->bytes[i], w->chart->most, w->out);
    fputs("</span></li>\n", w->out);
}

static void add_where_row(void *ctx, const struct where_bar *b)
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
            tp_html_key(parts[i].css_class, parts[i].name, "", out);
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

/* Whether it is known of one of the results what its memory was taken by. */
static bool where_known(const struct tp_result *results, size_t count)
{
    struct where_chart c = {0};
    each_bar(NULL, results, count, measure_bar, &c);
    return c.most > 0;
}

/* Writes what each result had reserved when the program needed most, part by part: a bar for the
 * eye, and a table of the same bytes. */
static int where_write(const struct tp_report *rep, const struct tp_result *results, size_t count,
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
    each_bar(rep, results, count, add_where_row, &w);
    return tp_html_table(&w.table, out, err);
}

/* ---- fragmentation ---- */

/* The section on fragmentation: what a policy held, when the program needed most, that the program
 * had not asked for. assets/fragmentation.js draws the same shares over time. */

static bool was_followed(const struct tp_result *r, uint32_t device)
{
    return r->run->devices[device].curve.count != 0;
}

/* Whether any of the results was followed on a device, so that its memory is known over time. */
static bool fragmentation_known(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < results[i].run->device_count; d++)
            any |= was_followed(&results[i], d);
    return any;
}

/* The share of what is reserved that is not requested; NAN: nothing is reserved, or not known. */
static double not_requested(const struct tp_at_peak *at)
{
    bool known = at->reserved && at->reserved != TP_NONE && at->requested != TP_NONE;
    return known ? 1 - (double)at->requested / (double)at->reserved : NAN;
}

static void add_row(struct tp_table *t, const struct tp_result *r, uint32_t d)
{
    const struct tp_device_run *on = &r->run->devices[d];
    tp_table_add(t, "%s%s", r->spec->label, tp_html_device(r, d).s);
    tp_table_add(t, "%s", tp_percent(not_requested(&on->at_peak)).s);
    tp_table_add(t, "%s", tp_percent(on->unused_reserved).s);
    tp_table_add(t, "%s", tp_percent(on->internal_fragmentation).s);
}

/* Writes what the section shows, and a table with a row for each result and device that was
 * followed. TP_ENOMEM. */
static int fragmentation_write(const struct tp_report *rep, const struct tp_result *results,
                               size_t count, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.head = {"", ""}, .left = true},
                                               {.head = {"not requested,", "of reserved"}},
                                               {.head = {"idle,", "of reserved"}},
                                               {.head = {"rounding,", "of handed out"}}};
    struct tp_table t = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < tp_devices_shown(rep, &results[i]); d++)
            if (was_followed(&results[i], d))
                add_row(&t, &results[i], d);
    fputs("<p>The share of the memory of a policy that the program has not asked for: it lies idle "
          "(unused_reserved), or blocks are larger than what was asked for "
          "(internal_fragmentation). When the program needed most:</p>\n",
          out);
    return tp_html_table(&t, out, err);
}

/* The results of one trace. */
struct page_part {
    const struct tp_report *rep, *all; /* what is shown, and of what */
    const struct tp_result *results;
    size_t count;
    const struct tp_result *all_results; /* of the trace */
    size_t all_count;
    const struct tp_info *info;
};

/* ---- sections ---- */

/* Says what there is no room for. */
static void write_left(const struct page_part *p, FILE *out)
{
    uint32_t devices = p->results->facts->devices;
    tp_html_left_out(p->all_count - p->count, "row", out);
    if (p->rep->devices && p->rep->devices < devices)
        fprintf(out,
                "<p>Below are the first %u of %u devices: all would make the page too large. "
                "--export-json has them.</p>\n",
                (unsigned)p->rep->devices, (unsigned)devices);
}

static int write_answer(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    struct tp_page page = tp_html_flow(out);
    struct tp_pick pick;
    tp_report_pick(p->all_results, p->all_count, false, &pick);
    fputs("<p class=\"pick\">", out);
    tp_pick_print(&pick, &page);
    fputs("</p>\n<p>", out);
    int rc = tp_report_rows(p->rep, p->results, p->count, &page, err);
    tp_report_missing(p->rep, p->results->trace, &page);
    tp_report_warnings(p->results, p->count, 0, &page);
    fputs("</p>\n", out);
    write_left(p, out);
    return rc;
}

static bool has_where(const void *of)
{
    const struct page_part *p = of;
    return where_known(p->results, p->count);
}

static int write_where(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    return where_write(p->rep, p->results, p->count, out, err);
}

/* The chart as a picture. */
static int write_still(const void *of, uint16_t device, uint32_t columns, FILE *out,
                       struct tp_err *err)
{
    const struct page_part *p = of;
    struct tp_memory_chart *m = NULL;
    int rc = tp_memory_chart_still(p->results, p->count, p->info, device, columns, &m, err);
    if (rc != TP_OK)
        return rc;
    tp_still_html(&m->chart, out);
    tp_memory_chart_free(m);
    return TP_OK;
}

/* The most that was resident. Its course is the view's: in the still picture of all policies it
 * would hide what they reserved. */
static void write_resident(const struct page_part *p, FILE *out)
{
    struct tp_str said = {0};
    for (size_t i = 0; i < p->count; i++) {
        const struct tp_resident *r = &p->results[i].run->resident;
        if (r->passes && r->peak.median != TP_NONE)
            tp_str_item(&said, ", ", "%s %s", p->results[i].spec->label,
                        tp_bytes(r->peak.median, false).s);
    }
    if (tp_str_text(&said)[0])
        tp_put(out, TP_TO_XML,
               "<p>Resident at most, as the kernel counts, blocks written wholly: "
               "%s.</p>\n",
               tp_str_text(&said));
    tp_str_drop(&said);
}

static int write_memory(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    int rc = tp_stills_html(write_still, p, p->results->facts->devices, out, err);
    if (rc == TP_OK)
        write_resident(p, out);
    return rc;
}

/* Adds a quantile, as text; "-" where too few calls lie beyond it. */
static void add_quantile(struct tp_table *t, const struct page_part *p, const struct tp_latency *l,
                         double fraction)
{
    uint64_t ns = 0;
    bool known = tp_percentile(l, fraction, &ns);
    tp_table_add(t, "%s", known ? tp_latency_text(ns, p->rep->clock.step_ns).s : "-");
}

static void add_latencies(struct tp_table *t, const struct page_part *p, const struct tp_result *r)
{
    for (int kind = 0; kind < TP_LAT_KINDS; kind++) {
        const struct tp_latency *l = &r->run->latency.kinds[kind];
        if (!l->hist.count)
            continue;
        tp_table_add(t, "%s", r->spec->label);
        tp_table_add(t, "%s", tp_latency_names[kind]);
        tp_table_count(t, l->hist.count);
        for (int i = 0; i < TP_PERCENTILES; i++)
            add_quantile(t, p, l, tp_percentiles[i].fraction);
        tp_table_add(t, "%s", tp_latency_text(l->hist.max, p->rep->clock.step_ns).s);
    }
}

static int write_latency(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    struct tp_column columns[4 + TP_PERCENTILES] = {{.head = {"", ""}, .left = true},
                                                    {.head = {"", "calls to"}, .left = true},
                                                    {.head = {"", "calls"}}};
    struct tp_table t = {0};
    for (int i = 0; i < TP_PERCENTILES; i++)
        snprintf(columns[3 + i].head[1], TP_COLUMN_HEAD, "%s, ns", tp_percentiles[i].head);
    snprintf(columns[3 + TP_PERCENTILES].head[1], TP_COLUMN_HEAD, "longest, ns");
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < p->count; i++)
        add_latencies(&t, p, &p->results[i]);
    fputs("<p>", out);
    int rc = tp_table_rows(&t) ? tp_table_html(&t, out, err) : TP_OK;
    tp_put(out, TP_TO_XML, "%s</p>\n",
           tp_table_rows(&t) ? "Shorter than a step of the clock is written as <= that step."
                             : "No latencies were measured.");
    tp_table_drop(&t);
    return rc;
}

static bool has_frames(const void *of)
{
    const struct page_part *p = of;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        any |= p->results[i].frames != NULL;
    return any;
}

static int write_heap(const void *of, FILE *out, struct tp_err *err)
{
    (void)of, (void)err;
    fputs("<noscript><p>The map needs JavaScript.</p></noscript>\n", out);
    return TP_OK;
}

static const struct tp_holders *holders_of(const struct page_part *p)
{
    const struct tp_captured *c = p->results->captured;
    if (!c)
        return NULL;
    return c->holders ? c->holders : c->sizes;
}

static bool has_holders(const void *of)
{
    return holders_of(of) || has_frames(of);
}

static int write_holders(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_holders *h = holders_of(of);
    int rc = h ? tp_holders_html(h, out, err) : TP_OK;
    if (!h)
        fputs("<noscript><p>The areas need JavaScript.</p></noscript>\n", out);
    else if (has_frames(of))
        fputs("<p>The areas follow the map of the heap; the table stays at that moment.</p>\n",
              out);
    return rc;
}

static bool has_fragmentation(const void *of)
{
    const struct page_part *p = of;
    return fragmentation_known(p->results, p->count);
}

static int write_fragmentation(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    return fragmentation_write(p->rep, p->results, p->count, out, err);
}

static bool has_calls(const void *of)
{
    const struct page_part *p = of;
    return tp_source_calls_known(p->results, p->count);
}

static int write_calls(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    return tp_source_calls_write(p->rep, p->results, p->count, out, err);
}

/* A result and its report. */
struct one_result {
    const struct tp_report *rep;
    const struct tp_result *result;
};

/* What replay -v says of a result. */
static void print_in_full(const void *of, struct tp_page *page)
{
    const struct one_result *one = of;
    tp_report_verbose(one->rep, one->result, page);
}

static int write_command(const struct tp_report *rep, FILE *out, struct tp_err *err)
{
    char **words = calloc(rep->count, sizeof *words);
    size_t count = 0;
    if (!words)
        return tp_html_no_memory(err);
    for (size_t i = 0; i < rep->count; i++)
        if (!i || rep->results[i].trace != rep->results[i - 1].trace)
            words[count++] = rep->results[i].trace->path;
    tp_html_command("replay", words, count, rep->rows, rep->opts, out);
    free(words);
    return TP_OK;
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    int rc = p->rep->rows ? write_command(p->all, out, err) : TP_OK;
    for (size_t i = 0; rc == TP_OK && i < p->count; i++) {
        const struct one_result one = {p->rep, &p->results[i]};
        tp_put(out, TP_TO_XML, "<details><summary>%s</summary>\n", p->results[i].spec->label);
        rc = tp_html_printed(print_in_full, &one, out, err);
        fputs("</details>\n", out);
    }
    return rc;
}

/* ---- the page ---- */

static int write_trace(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    return tp_trace_section(
        &(struct tp_info_report){p->results->trace, p->info, p->results->captured}, out, err);
}

static const struct tp_html_section sections[] = {
    {.id = "answer", .title = "Which policy", .write = write_answer},
    {.id = "where", .title = "Where the memory went", .write = write_where, .there = has_where},
    {.id = "memory",
     .title = "Memory over time",
     .view = "Memory over time: what the program requested, and what each policy reserved",
     .write = write_memory},
    {.id = "heap",
     .title = "The map of the heap",
     .view = "What a policy held at a moment: each range a row, its blocks and its idle holes",
     .write = write_heap,
     .there = has_frames},
    {.id = "holders",
     .title = "Who holds the memory",
     .view = "Who holds the memory, as areas: the larger one is, the more it holds",
     .write = write_holders,
     .there = has_holders},
    {.id = "fragmentation",
     .title = "Fragmentation over time",
     .view = "Fragmentation over time: the share of what each policy reserved that the program had "
             "not requested",
     .write = write_fragmentation,
     .there = has_fragmentation},
    {.id = "calls",
     .title = "Source calls over time",
     .view = "Source calls over time: how often each policy had asked the system or the driver for "
             "memory, and given some back",
     .write = write_calls,
     .there = has_calls},
    {.id = "latency",
     .title = "How long calls took",
     .view = "Cumulative distributions of the latencies of each policy, on logarithmic axes",
     .write = write_latency},
    TP_TRACE_SECTION(write_trace, NULL),
    {.id = "settings", .title = "Every setting and figure", .write = write_settings},
};

static void write_head(const void *of, FILE *out)
{
    const struct page_part *p = of;
    struct tp_page page = tp_html_flow(out);
    const struct tp_result *r = tp_first_sourced(p->results, p->count);
    tp_report_head(r, tp_report_place(r).s, &page);
}

/* `first`: the first result of the traces that are not shown. */
static void write_traces_left(const struct tp_report *all, size_t first, FILE *out)
{
    size_t left = 0;
    for (; first < all->count; left++)
        first += tp_results_of_trace(&all->results[first], all->count - first);
    tp_html_left_out(left, "trace", out);
}

int tp_replay_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_replay_page *page = of;
    const struct tp_report *r = page->rep;
    int rc = TP_OK;
    size_t all = 0, all_n = 0;
    for (size_t first = 0, n; rc == TP_OK && first < r->count; first += n) {
        n = tp_results_of_trace(&r->results[first], r->count - first);
        for (all += all_n; page->all->results[all].trace != r->results[first].trace;)
            all++;
        all_n = tp_results_of_trace(&page->all->results[all], page->all->count - all);
        const struct page_part p = {.rep = r,
                                    .all = page->all,
                                    .results = &r->results[first],
                                    .count = n,
                                    .all_results = &page->all->results[all],
                                    .all_count = all_n,
                                    .info = page->infos[first]};
        const struct tp_html_article article = {.title = p.results->trace->meta.name,
                                                .head = write_head,
                                                .sections = sections,
                                                .section_count = sizeof sections / sizeof *sections,
                                                .of = &p,
                                                .first = first,
                                                .count = n};
        rc = tp_html_article(&article, out, err);
    }
    write_traces_left(page->all, all + all_n, out);
    return rc;
}
