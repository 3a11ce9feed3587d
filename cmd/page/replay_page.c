/* See replay_page.h. */
#include "cmd/page/replay_page.h"

#include "cmd/charts/memory_chart.h"
#include "cmd/jobs/spec.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/page/trace_page.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/report/report_sites.h"
#include "cmd/results/captured.h"
#include "cmd/results/figures.h"
#include "cmd/results/result.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <stddef.h>
#include <stdlib.h>

/* ---- where the memory went: a bar for the eye, and a table of the same bytes ---- */

enum { REQUESTED, ROUNDING, CACHED, FREE, DEAD, INTERNAL, PAGE_REST, UNKNOWN, PARTS };

static const struct {
    const char *css_class, *name; /* the class gives its colour and pattern */
} parts[PARTS] = {
    [REQUESTED] = {"live", "requested"},
    [ROUNDING] = {"rounding", "rounding"},
    [CACHED] = {"cached", "cached"},
    [FREE] = {"free", "free"},
    [DEAD] = {"dead", "dead"},
    [INTERNAL] = {"internal", "internal"},
    [PAGE_REST] = {"rest", "rest of pages"},
    [UNKNOWN] = {"free", "not allocated"},
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
    if (r->run->flags & TP_RUN_POOL || at->requested == TP_NONE || at->allocated == TP_NONE ||
        at->reserved == TP_NONE || !at->reserved)
        return false;
    b->bytes[REQUESTED] = at->requested;
    b->bytes[ROUNDING] = at->allocated - at->requested;
    if (at->cached == TP_NONE) {
        b->bytes[UNKNOWN] = at->free_bytes;
        return true;
    }
    b->bytes[CACHED] = at->cached;
    b->bytes[FREE] = at->span;
    b->bytes[DEAD] = at->dead;
    b->bytes[INTERNAL] = at->internal;
    b->bytes[PAGE_REST] = at->page_rest;
    return true;
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

bool tp_driver_calls_followed(const struct tp_result *r, uint32_t device)
{
    const struct tp_device_run *d = &r->run->devices[device];
    return d->curve.count && d->gets != TP_NONE && d->puts != TP_NONE;
}

/* Says what there is no room for. */
static int write_left(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    (void)err;
    uint32_t devices = p->results->facts->devices;
    tp_html_left_out(p->all_count - p->count, "row", out);
    if (p->rep->devices && p->rep->devices < devices)
        fprintf(out,
                "<p>Below are the first %u of %u devices: all would make the page too large. "
                "--export-json has them.</p>\n",
                (unsigned)p->rep->devices, (unsigned)devices);
    return TP_OK;
}

static void print_pick(const void *of, struct tp_page *page)
{
    const struct page_part *p = of;
    struct tp_pick pick;
    tp_report_pick(p->all_results, p->all_count, page->exact, &pick);
    tp_pick_print(&pick, page);
}

static void print_answer(const void *of, struct tp_page *page)
{
    const struct page_part *p = of;
    tp_report_rows(p->rep, p->results, p->count, page, NULL);
    tp_report_missing(p->rep, p->results->trace, page);
    tp_report_warnings(p->results, p->count, 0, page);
}

static bool has_ooms(const void *of)
{
    const struct page_part *p = of;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        any |= tp_run_failed(p->results[i].run) > 0;
    return any;
}

static void print_ooms(const void *of, struct tp_page *page)
{
    const struct page_part *p = of;
    tp_report_oom(p->results, p->count, page);
}

static bool has_where(const void *of)
{
    const struct page_part *p = of;
    struct where_bar b;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        for (uint32_t d = 0; d < p->results[i].run->device_count; d++)
            any |= bar_of(&p->results[i], d, &b);
    return any;
}

/* The bars of the devices that are shown; returns how many. */
static size_t find_bars(const struct page_part *p, struct where_bar *bars)
{
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        for (uint32_t d = 0; d < tp_devices_shown(p->rep, &p->results[i]); d++)
            count += bar_of(&p->results[i], d, &bars[count]);
    return count;
}

static void write_bars(const struct where_bar *bars, size_t count, const bool *there, FILE *out)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = bars[i].at->reserved > most ? bars[i].at->reserved : most;
    fputs("<ul class=\"keys\">", out);
    for (int k = 0; k < PARTS; k++)
        if (there[k])
            tp_html_key(parts[k].css_class, parts[k].name, out);
    fputs("</ul>\n<ul class=\"bars\" aria-hidden=\"true\">\n", out);
    for (size_t i = 0; i < count; i++) {
        tp_put(out, TP_TO_XML, "<li><span>%s%s</span> <span class=\"bar\">",
               bars[i].result->spec->label, tp_html_device(bars[i].result, bars[i].device).s);
        for (int k = 0; k < PARTS; k++)
            tp_html_piece(parts[k].css_class, bars[i].bytes[k], most, out);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void fill_bars(const struct where_bar *bars, size_t count, const bool *there,
                      struct tp_table *t)
{
    struct tp_column columns[PARTS + 4] = {{.left = true}};
    int used = 1;
    for (int k = 0; k < PARTS; k++)
        if (there[k])
            columns[used++].name = parts[k].name;
    columns[used++].name = "= reserved";
    columns[used++].name = "free blocks";
    columns[used++].name = "largest";
    tp_table_columns(t, columns, used);
    for (size_t i = 0; i < count; i++) {
        const struct where_bar *b = &bars[i];
        tp_table_add(t, "%s%s", b->result->spec->label, tp_html_device(b->result, b->device).s);
        for (int k = 0; k < PARTS; k++)
            if (there[k])
                tp_table_bytes(t, b->bytes[k], false);
        tp_table_bytes(t, b->at->reserved, false);
        tp_table_count(t, b->at->free_blocks);
        tp_table_bytes(t, b->at->free_blocks ? b->at->largest : TP_NONE, false);
    }
}

static int write_where(const void *of, FILE *out, struct tp_err *err)
{
    const struct page_part *p = of;
    size_t room = 1;
    for (size_t i = 0; i < p->count; i++)
        room += p->results[i].run->device_count;
    struct where_bar *bars = calloc(room, sizeof *bars);
    bool there[PARTS] = {false}; /* some bar has this part */
    struct tp_table table = {0};
    if (!bars)
        return tp_html_no_memory(err);
    size_t count = find_bars(p, bars);
    for (size_t i = 0; i < count * PARTS; i++)
        there[i % PARTS] |= bars[i / PARTS].bytes[i % PARTS] > 0;
    write_bars(bars, count, there, out);
    fill_bars(bars, count, there, &table);
    free(bars);
    return tp_html_table(&table, out, err);
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

/* The most that was resident. Its course is the view's: in the still picture of all strategies it
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

static bool has_frames(const void *of)
{
    const struct page_part *p = of;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        any |= p->results[i].frames != NULL;
    return any;
}

static const struct tp_sites *sites_of(const struct page_part *p)
{
    const struct tp_captured *c = p->results->captured;
    if (!c)
        return NULL;
    return c->sites ? c->sites : c->sizes;
}

static bool has_site_curve(const void *of)
{
    const struct page_part *p = of;
    return p->results->captured && p->results->captured->site_curve;
}

static bool has_sites(const void *of)
{
    return sites_of(of) || has_frames(of);
}

static void print_sites(const void *of, struct tp_page *page)
{
    tp_sites_print(sites_of(of), page);
    if (sites_of(of) && has_frames(of))
        tp_page_put(page, 0,
                    "The areas follow the map of the heap; the table stays at that moment.");
}

/* Whether what a strategy held is known over time. */
static bool has_curves(const void *of)
{
    const struct page_part *p = of;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        for (uint32_t d = 0; d < p->results[i].run->device_count; d++)
            any |= p->results[i].run->devices[d].curve.count != 0;
    return any;
}

static bool has_calls(const void *of)
{
    const struct page_part *p = of;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        for (uint32_t d = 0; d < p->results[i].run->device_count; d++)
            any |= tp_driver_calls_followed(&p->results[i], d);
    return any;
}

static bool has_latencies(const void *of)
{
    const struct page_part *p = of;
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        for (int k = 0; k < TP_LAT_KINDS; k++)
            any |= p->results[i].run->latency.kinds[k].hist.count != 0;
    return any;
}

/* A result and its report. */
struct one_result {
    const struct tp_report *rep;
    const struct tp_result *result;
};

/* What replay -v says of a strategy alone. */
static void print_in_full(const void *of, struct tp_page *page)
{
    const struct one_result *one = of;
    struct tp_report rep = *one->rep;
    rep.verbose = true;
    tp_report_detail(&rep, one->result, page);
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
        rc = tp_html_folded(p->results[i].spec->label, print_in_full, &one, out, err);
    }
    return rc;
}

/* ---- the page ---- */

static void print_trace(const void *of, struct tp_page *page)
{
    const struct page_part *p = of;
    tp_info_objects(&(struct tp_info_report){.trace = p->results->trace,
                                             .info = p->info,
                                             .captured = p->results->captured},
                    page);
}

static const struct tp_html_section sections[] = {
    {.id = "answer",
     .title = "Strategies",
     .pick = print_pick,
     .print = print_answer,
     .write = write_left},
    {.id = "oom",
     .title = "Out of memory",
     .lead = "The first failed request of each strategy, and its memory at that event.",
     .print = print_ooms,
     .there = has_ooms},
    {.id = "where",
     .title = "Reserved memory at the trace peak",
     .lead =
         "Memory of each strategy at the event with the most requested bytes. Free memory serves a "
         "request only if one free block is large enough.",
     .write = write_where,
     .there = has_where},
    {.id = "memory",
     .title = "Memory over time",
     .view = "Memory over time: requested, and reserved by each strategy",
     .write = write_memory},
    TP_SITE_CURVE_SECTION(has_site_curve),
    {.id = "heap",
     .title = "Heap map",
     .view = "Heap of a strategy at a moment: one range per row, with live and free blocks",
     .there = has_frames},
    {.id = "sites",
     .title = "Live memory by allocation site",
     .view = "Live memory by allocation site, as areas in proportion",
     .print = print_sites,
     .there = has_sites},
    {.id = "fragmentation",
     .title = "Fragmentation over time",
     .view = "Fragmentation over time: share of reserved memory that is not requested",
     .lead = "Share of reserved memory that is not requested: free (unused_reserved), or rounding "
             "(internal_fragmentation).",
     .there = has_curves},
    {.id = "calls",
     .title = "Driver calls over time",
     .view =
         "Driver calls over time: calls to the driver, or the system, to allocate and free memory",
     .lead =
         "Calls of a strategy to the driver (GPU) or the system (host), from the first event on.",
     .there = has_calls},
    {.id = "latency",
     .title = "Latency",
     .view = "Cumulative latency distribution of each strategy, logarithmic axes",
     .there = has_latencies},
    TP_TRACE_SECTION(print_trace, NULL),
    {.id = "settings", .title = "All settings and figures", .write = write_settings},
};

static void print_head(const void *of, struct tp_page *page)
{
    const struct page_part *p = of;
    const struct tp_result *r = tp_first_sourced(p->results, p->count);
    tp_report_head(r, tp_report_place(r).s, page);
}

/* Those of the strategy that is picked, or of the only one. */
static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct page_part *p = of;
    struct tp_pick pick;
    size_t failed = 0;
    tp_report_pick(p->all_results, p->all_count, exact, &pick);
    tp_pick_figure(&pick, t);
    if (pick.count || p->all_count == 1)
        tp_report_figures(p->all_results, p->all_count, pick.chosen[0], exact, t);
    else
        tp_table_figure(t, "peak requested",
                        tp_bytes(tp_run_trace_peak(p->all_results->run), exact).s, "");
    for (size_t i = 0; i < p->all_count; i++)
        failed += tp_run_failed(p->all_results[i].run) > 0;
    if (failed)
        tp_table_figure(t, "OOM",
                        tp_text_of("%s of %s", tp_count(failed).s, tp_count(p->all_count).s).s,
                        "bad");
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
                                                .head = print_head,
                                                .figures = add_figures,
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
