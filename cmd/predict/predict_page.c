/* See predict_chart.h. */

#include "alloc/base/units.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/predict/predict_chart.h"

struct predict_room {
    const struct tp_predict_page *page;
    size_t sites; /* that are on it */
};

static const struct tp_predict_page *page_of(const void *of)
{
    return ((const struct predict_room *)of)->page;
}

static void print_memory(const void *of, struct tp_page *page)
{
    const struct tp_predict_report *r = page_of(of)->report;
    if (r->asking->n)
        tp_predict_memory_print(r, page);
    tp_predict_fit_print(r, page);
}

static void print_checks(const void *of, struct tp_page *page)
{
    tp_predict_checks_print(page_of(of)->report, page);
}

static int write_chart(const void *of, FILE *out, struct tp_err *err)
{
    struct tp_predict_chart chart;
    int rc = tp_predict_chart_make(page_of(of)->report, &chart, err);
    if (rc == TP_OK) {
        fputs("<style>\n", out);
        tp_chart_style(TP_CHART_AUTO, out);
        fputs("</style>\n", out);
        tp_still_html(&chart.chart, out);
    }
    tp_predict_chart_drop(&chart);
    return rc;
}

static void print_points(const void *of, struct tp_page *page)
{
    tp_predict_points_print(page_of(of)->report, page);
}

static bool has_sites(const void *of)
{
    return page_of(of)->report->asking->n != 0;
}

static void print_sites(const void *of, struct tp_page *page)
{
    const struct predict_room *room = of;
    tp_predict_sites_print(room->page->report, room->sites, page);
}

static void print_screen(const void *of, struct tp_page *page)
{
    page->exact = true;
    tp_predict_text(page_of(of)->report, page);
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_predict_page *p = page_of(of);
    tp_html_command("predict", p->words, p->word_count, p->rows, p->opts, out);
    return tp_html_folded(TP_HTML_SCREEN, print_screen, of, out, err);
}

/* ---- the page ---- */

static const struct tp_html_section sections[] = {
    {.id = "answer", .title = "Predicted memory", .pick = print_memory, .print = print_checks},
    {.id = "curve", .title = "Memory by value", .print = print_points, .write = write_chart},
    {.id = "sites",
     .title = "Live memory by allocation site",
     .print = print_sites,
     .there = has_sites},
    {.id = "settings", .title = "All figures", .write = write_settings},
};

static void print_head(const void *of, struct tp_page *page)
{
    struct tp_str from = {0};
    tp_predict_sources(page_of(of)->report->asking, &from);
    tp_page_put(page, 0, "Predicted from %s, not measured.", tp_str_text(&from));
    tp_str_drop(&from);
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_predict_report *r = page_of(of)->report;
    const struct tp_predict_try *own = &r->answer->tries[TP_PREDICT_RECORDED];
    const struct tp_predict_fit *fit = &r->answer->fit;
    bool totals = r->totals && r->totals->sound;
    if (totals || r->asking->n)
        tp_table_figure(t, "peak requested",
                        tp_bytes(totals ? r->totals->bytes : r->answer->peak.bytes, exact).s, "");
    if (r->asking->n && own->conf) {
        tp_table_figure(t, "peak reserved", tp_bytes(own->peak_reserved, exact).s, "");
        tp_table_figure(t, "min capacity",
                        own->min_capacity == TP_NONE ? "-" : tp_bytes(own->min_capacity, exact).s,
                        "");
    }
    if (fit->capacity && fit->fits)
        tp_table_figure(t, "max that fits", tp_count(fit->fits).s, "");
    if (fit->capacity && fit->fails)
        tp_table_figure(t, "first OOM", tp_count(fit->fails).s, "bad");
}

static void add_title(const struct tp_predict_asking *q, struct tp_str *out)
{
    if (q->n) {
        tp_str_add(out, "Memory at ");
        tp_predict_target(q, out);
    } else
        tp_str_add(out, "Largest value for %s", tp_bytes(q->capacity, false).s);
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct predict_room *room = of;
    struct tp_json j = {false};
    cJSON *root = tp_predict_tree(&j, room->page->report, room->sites);
    return tp_json_print_line(&j, root, out, err);
}

static int choose_sites(void *of, size_t most, struct tp_err *err)
{
    (void)err;
    ((struct predict_room *)of)->sites = most;
    return TP_OK;
}

int tp_predict_page(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_predict_page *p = of;
    struct predict_room shown = {.page = p};
    struct tp_html_room room = tp_html_room(p->report->answer->peak.count);
    struct tp_str title = {0};
    room.choose = choose_sites;
    room.of = &shown;
    add_title(p->report->asking, &title);
    const struct tp_html_article article = {.title = tp_str_text(&title),
                                            .head = print_head,
                                            .figures = add_figures,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = &shown,
                                            .exact = p->exact};
    const struct tp_html_page page = {
        .article = &article, .data = write_data, .of = &shown, .room = &room};
    int rc = tp_html_write(&page, out, err);
    tp_str_drop(&title);
    return rc;
}
