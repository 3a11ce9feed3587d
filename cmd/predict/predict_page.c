/* See predict_chart.h. */

#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/predict/predict_chart.h"
#include "cmd/ui/escape.h"

struct predict_room {
    const struct tp_predict_page *page;
    size_t sites; /* that are on it */
};

static const struct tp_predict_page *page_of(const void *of)
{
    return ((const struct predict_room *)of)->page;
}

/* Writes what `print` prints as a paragraph. */
static void write_flow(const struct tp_predict_page *p, const char *css_class,
                       void (*print)(const struct tp_predict_report *r, struct tp_page *page),
                       FILE *out)
{
    struct tp_page flow = tp_html_flow(out);
    flow.exact = p->exact;
    fprintf(out, "<p%s>", css_class);
    print(p->report, &flow);
    fputs("</p>\n", out);
}

static int write_answer(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_predict_page *p = page_of(of);
    (void)err;
    if (p->report->asking->n)
        write_flow(p, " class=\"pick\"", tp_predict_memory_print, out);
    write_flow(p, p->report->asking->n ? "" : " class=\"pick\"", tp_predict_fit_print, out);
    write_flow(p, "", tp_predict_checks_print, out);
    return TP_OK;
}

static int write_curve(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_predict_page *p = page_of(of);
    struct tp_predict_chart chart;
    struct tp_table t = {0};
    int rc = tp_predict_chart_make(p->report, &chart, err);
    if (rc == TP_OK) {
        fputs("<style>\n", out);
        tp_chart_style(TP_CHART_AUTO, out);
        fputs("</style>\n", out);
        tp_still_html(&chart.chart, out);
    }
    tp_predict_chart_drop(&chart);
    tp_predict_points_table(p->report, p->exact, &t);
    int shown = tp_html_table(&t, out, err);
    return rc == TP_OK ? shown : rc;
}

static bool has_sites(const void *of)
{
    const struct tp_predict_report *r = page_of(of)->report;
    return r->asking->n && !r->totals;
}

static int write_sites(const void *of, FILE *out, struct tp_err *err)
{
    const struct predict_room *room = of;
    const struct tp_predict_report *r = room->page->report;
    struct tp_table t = {0};
    size_t count = r->answer->peak.count;
    tp_predict_sites_table(r, room->sites, true, room->page->exact, &t);
    fputs("<p>Live memory at the predicted peak, by allocation site.</p>\n", out);
    int rc = tp_html_table(&t, out, err);
    tp_html_left_out(count - (count < room->sites ? count : room->sites), "site", out);
    return rc;
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
    {.id = "answer", .title = "How much memory", .write = write_answer},
    {.id = "curve", .title = "Memory by value", .write = write_curve},
    {.id = "sites", .title = "Who needs it", .write = write_sites, .there = has_sites},
    {.id = "settings", .title = "Every figure", .write = write_settings},
};

static void write_head(const void *of, FILE *out)
{
    struct tp_str from = {0};
    tp_predict_sources(page_of(of)->report->asking, &from);
    tp_put(out, TP_TO_XML, "Predicted from %s: nothing was run there.", tp_str_text(&from));
    tp_str_drop(&from);
}

static void add_title(const struct tp_predict_asking *q, struct tp_str *out)
{
    if (q->n) {
        tp_str_add(out, "Memory at ");
        tp_predict_target(q, out);
    } else
        tp_str_add(out, "What fits in %s", tp_bytes(q->capacity, false).s);
}

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    struct tp_str title = {0};
    add_title(page_of(of)->report->asking, &title);
    const struct tp_html_article article = {.title = tp_str_text(&title),
                                            .head = write_head,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = of};
    int rc = tp_html_article(&article, out, err);
    tp_str_drop(&title);
    return rc;
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
    const struct tp_html_page page = {.title = tp_str_text(&title),
                                      .articles = write_articles,
                                      .data = write_data,
                                      .of = &shown,
                                      .room = &room};
    int rc = tp_html_write(&page, out, err);
    tp_str_drop(&title);
    return rc;
}
