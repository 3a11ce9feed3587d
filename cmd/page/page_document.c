/* See page_document.h. Names come from files and command lines: they are escaped. */
#include "cmd/page/page_document.h"

#include "cmd/measure/captured.h"
#include "cmd/measure/figures.h"
#include "cmd/page/page_assets.h"
#include "cmd/report/memory_chart.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The results of one trace. */
struct page_part {
    const struct tp_report *rep;
    const struct tp_result *results;
    size_t count;
    size_t first; /* index of the first in the report */
};

static struct tp_page page_of(FILE *out, enum tp_page_form form)
{
    return (struct tp_page){
        .out = out, .width = form == TP_PAGE_SCREEN ? 100 : INT_MAX, .form = form};
}

/* ---- sections ---- */

static int write_answer(const struct page_part *p, FILE *out, struct tp_err *err)
{
    struct tp_page page = page_of(out, TP_PAGE_HTML);
    struct tp_pick pick;
    tp_report_pick(p->results, p->count, false, &pick);
    fputs("<p class=\"pick\">", out);
    tp_pick_print(&pick, &page);
    fputs("</p>\n<p>", out);
    int rc = tp_report_rows(p->rep, p->results, p->count, &page, err);
    tp_report_missing(p->rep, p->results->trace, &page);
    tp_report_warnings(p->results, p->count, 0, &page);
    fputs("</p>\n", out);
    return rc;
}

enum { STILL_COLUMNS = 280, STILL_DEVICES = 4 };

/* The chart as a picture, for readers without JavaScript. */
static int write_still(const struct page_part *p, uint16_t device, FILE *out, struct tp_err *err)
{
    struct tp_memory_chart *m = NULL;
    int rc = tp_memory_chart_make(p->results, p->count, device, STILL_COLUMNS, &m, err);
    if (rc != TP_OK)
        return rc;
    fprintf(out, "<svg class=\"tp-chart\" viewBox=\"0 0 %u %u\">", TP_CHART_WIDTH,
            tp_chart_height(&m->chart));
    tp_chart_write(&m->chart, out);
    fputs("</svg>\n", out);
    tp_memory_chart_free(m);
    return TP_OK;
}

static int write_memory(const struct page_part *p, FILE *out, struct tp_err *err)
{
    int rc = TP_OK;
    fputs("<noscript><style>\n", out);
    tp_chart_style(TP_CHART_AUTO, out);
    fputs("</style>\n", out);
    for (uint16_t d = 0; rc == TP_OK && d < p->results->facts->devices && d < STILL_DEVICES; d++)
        rc = write_still(p, d, out, err);
    fputs("</noscript>\n", out);
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

static int write_latency(const struct page_part *p, FILE *out, struct tp_err *err)
{
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

static bool has_frames(const struct page_part *p)
{
    bool any = false;
    for (size_t i = 0; i < p->count; i++)
        any |= p->results[i].frames != NULL;
    return any;
}

static int write_heap(const struct page_part *p, FILE *out, struct tp_err *err)
{
    (void)p, (void)err;
    fputs("<noscript><p>The map needs JavaScript.</p></noscript>\n", out);
    return TP_OK;
}

static const struct tp_holders *holders_of(const struct page_part *p)
{
    return p->results->captured ? p->results->captured->holders : NULL;
}

static bool has_holders(const struct page_part *p)
{
    return holders_of(p) != NULL;
}

static void add_holder(struct tp_table *t, const struct tp_holders *h, const char *who, double held,
                       uint64_t blocks)
{
    tp_table_add(t, "%s", who);
    tp_table_bytes(t, held > 0 ? (uint64_t)held : 0, false);
    tp_table_add(t, "%s", tp_percent(held / (double)h->bytes).s);
    tp_table_count(t, blocks);
}

/* The rows add up to all that is held. */
static void fill_holders(struct tp_table *t, const struct tp_holders *h)
{
    double rest = (double)h->bytes - h->unknown;
    for (unsigned i = 0; i < h->count; rest -= h->rows[i++].bytes)
        add_holder(t, h, h->rows[i].place, h->rows[i].bytes, h->rows[i].blocks);
    if (h->places > h->count)
        add_holder(t, h, "others", rest, TP_NONE);
    if (h->unknown >= 1)
        add_holder(t, h, h->by == TP_BY_PHASE ? "in no phase" : "not known", h->unknown, TP_NONE);
}

static int write_holders(const struct page_part *p, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.head = {"", "asked for by"}, .left = true},
                                               {.head = {"", "holds"}},
                                               {.head = {"", "share"}},
                                               {.head = {"", "blocks"}}};
    const struct tp_holders *h = holders_of(p);
    struct tp_table t = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    fill_holders(&t, h);
    fputs("<p>", out);
    if (h->at == TP_AT_PEAK)
        fputs("When the program needed most", out);
    else
        fprintf(out, "After event %s", tp_count(h->at).s);
    fprintf(out, ", it held %s%s.", tp_bytes(h->bytes, false).s,
            h->estimated ? "; by whom is estimated from samples" : "");
    int rc = tp_table_html(&t, out, err);
    fputs("</p>\n", out);
    tp_table_drop(&t);
    return rc;
}

/* What replay -v says of a result, as it is on the screen. */
static int write_in_full(const struct page_part *p, size_t i, FILE *out, struct tp_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return tp_fail(err, TP_ENOMEM, "out of memory while writing a page");
    struct tp_page page = page_of(memory, TP_PAGE_SCREEN);
    tp_report_verbose(p->rep, &p->results[i], &page);
    int rc = fclose(memory) ? tp_fail(err, TP_ENOMEM, "out of memory while writing a page") : TP_OK;
    fputs("<pre>", out);
    for (char *line = text, *end; rc == TP_OK && *line; line = end) {
        end = line + strcspn(line, "\n");
        tp_escape_part(out, TP_TO_XML, line, (size_t)(end - line));
        fputs(*end ? "\n" : "", out);
        end += *end == '\n';
    }
    fputs("</pre>\n", out);
    free(text);
    return rc;
}

/* The command line that makes the page again. */
static void write_command(const struct page_part *p, FILE *out)
{
    struct tp_str s = {0};
    tp_str_add(&s, "tapool replay");
    for (size_t i = 0; i < p->rep->count; i++)
        if (!i || p->rep->results[i].trace != p->rep->results[i - 1].trace)
            tp_str_word(&s, p->rep->results[i].trace->path);
    for (const struct tp_opt *row = p->rep->rows; row && row->name; row++)
        if (!row->same)
            tp_str_row(&s, row, p->rep->opts);
    fputs("<p>Made again by:</p>\n<pre>", out);
    tp_put(out, TP_TO_XML, "%s</pre>\n", tp_str_text(&s));
    tp_str_drop(&s);
}

static int write_settings(const struct page_part *p, FILE *out, struct tp_err *err)
{
    int rc = TP_OK;
    if (p->rep->rows)
        write_command(p, out);
    for (size_t i = 0; rc == TP_OK && i < p->count; i++) {
        tp_put(out, TP_TO_XML, "<details><summary>%s</summary>\n", p->results[i].spec->label);
        rc = write_in_full(p, i, out, err);
        fputs("</details>\n", out);
    }
    return rc;
}

/* ---- the document ---- */

/* The sections of a trace, in their order on the page. A view draws into the figure of its
 * section, if it has one. */
static const struct section {
    const char *id, *title;
    const char *view; /* what the figure shows, for who does not see it; NULL: no figure */
    /* NULL: the figure alone */
    int (*write)(const struct page_part *p, FILE *out, struct tp_err *err);
    bool (*there)(const struct page_part *p); /* NULL: always */
} sections[] = {
    {.id = "answer", .title = "Which policy", .write = write_answer},
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
     .view = "What each place of the program holds, as areas",
     .write = write_holders,
     .there = has_holders},
    {.id = "latency",
     .title = "How long calls took",
     .view = "Cumulative distributions of the latencies of each policy, on logarithmic axes",
     .write = write_latency},
    {.id = "settings", .title = "Every setting and figure", .write = write_settings},
};

static int write_part(const struct page_part *p, FILE *out, struct tp_err *err)
{
    struct tp_page page = page_of(out, TP_PAGE_HTML);
    int rc = TP_OK;
    tp_put(out, TP_TO_XML, "<article><h1>%s</h1>\n<p class=\"head\">",
           p->results->trace->meta.name);
    tp_report_head(tp_first_sourced(p->results, p->count),
                   tp_report_place(tp_first_sourced(p->results, p->count)).s, &page);
    fputs("</p>\n", out);
    for (size_t i = 0; rc == TP_OK && i < sizeof sections / sizeof *sections; i++) {
        const struct section *s = &sections[i];
        if (s->there && !s->there(p))
            continue;
        fprintf(out, "<section class=\"%s\"><h2>%s</h2>\n", s->id, s->title);
        if (s->view)
            fprintf(
                out,
                "<figure data-view=\"%s\" data-first=\"%zu\" data-count=\"%zu\" aria-label=\"%s\">"
                "</figure>\n",
                s->id, p->first, p->count, s->view);
        if (s->write)
            rc = s->write(p, out, err);
        fputs("</section>\n", out);
    }
    fputs("</article>\n", out);
    return rc;
}

/* The last line of a script or of a style may be the place of its source, which a browser would
 * look for. */
static const char *end_of(const struct tp_page_asset *a)
{
    static const char place[] = "# sourceMappingURL=";
    const char *found = memmem(a->begin, (size_t)(a->end - a->begin), place, sizeof place - 1);
    while (found && found > a->begin && found[-1] != '\n')
        found--;
    return found ? found : a->end;
}

static void write_asset(const struct tp_page_asset *a, const char *tag, FILE *out)
{
    fprintf(out, "<%s>\n", tag);
    fwrite(a->begin, 1, (size_t)(end_of(a) - a->begin), out);
    fprintf(out, "\n</%s>\n", tag);
}

static void write_head(const struct tp_report *r, const char *lacks, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          out);
    tp_put(out, TP_TO_XML, "%s: tapool</title>\n", r->results->trace->meta.name);
    for (const struct tp_page_asset *a = tp_page_styles; a->name; a++)
        write_asset(a, "style", out);
    fputs("</head>\n<body><main>\n", out);
    if (lacks)
        fprintf(out, "<p><b class=\"bad\">%s</b></p>\n", lacks);
}

int tp_page_begin(const struct tp_report *r, const char *lacks, FILE *out, struct tp_err *err)
{
    int rc = TP_OK;
    write_head(r, lacks, out);
    for (size_t first = 0, n; rc == TP_OK && first < r->count; first += n) {
        n = tp_results_of_trace(&r->results[first], r->count - first);
        const struct page_part p = {r, &r->results[first], n, first};
        rc = write_part(&p, out, err);
    }
    return rc;
}

void tp_page_end(FILE *out)
{
    for (const struct tp_page_asset *a = tp_page_scripts; a->name; a++)
        write_asset(a, "script", out);
    fputs("</body></html>\n", out);
}
