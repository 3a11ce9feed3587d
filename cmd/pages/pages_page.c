/* See why_pages.h: the page. Its data are the document of --json, of which it may have fewer rows
 * of sites, without blanks and with a member more:
 *
 *     "page": { "marks": [], "map": {...} }     as map_data.h says */
#include "cmd/charts/chart.h"
#include "cmd/charts/svg_file.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/pages/map_data.h"
#include "cmd/pages/map_picture.h"
#include "cmd/pages/pages_answer.h"
#include "cmd/pages/why_pages.h"
#include "cmd/report/report_pages.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <string.h>

struct pages_page {
    const struct tp_why_pages *w;
    struct tp_map_names names; /* of the groups that are told apart */
    struct tp_page_map map;
};

static const struct tp_why_pages *answer_of(const void *of)
{
    return ((const struct pages_page *)of)->w;
}

static const struct tp_page_parts *parts_of(const void *of)
{
    return &answer_of(of)->list->head.parts;
}

/* ---- the answer ---- */

static void print_summary(const void *of, struct tp_page *page)
{
    tp_pages_head_print(answer_of(of), page);
    tp_pages_answer_print(answer_of(of), page);
}

static int write_terms(const void *of, FILE *out, struct tp_err *err)
{
    (void)of;
    (void)err;
    fputs("<details><summary>Terms</summary>\n<p><b>resident</b>: memory that the kernel has given "
          "the process, in pages.<br>\n<b>partly free page</b>: a page with live blocks and free "
          "bytes. The malloc cannot give it back: its live blocks hold it.<br>\n<b>free page</b>: "
          "a page without live blocks, which the malloc keeps for reuse.<br>\n<b>never part of a "
          "block</b>: the malloc's own data, and memory that it has not used.</p></details>\n",
          out);
    return TP_OK;
}

/* ---- the sum ---- */

static void print_sum(const void *of, struct tp_page *page)
{
    tp_pages_sum_print(answer_of(of), page);
    tp_page_notes_print(&answer_of(of)->replay.resident, parts_of(of), NULL, 0, page);
}

static int write_sum(const void *of, FILE *out, struct tp_err *err)
{
    struct tp_sum_part parts[TP_PAGES_PARTS];
    int count = tp_pages_parts(answer_of(of), parts) - 1;
    (void)err;
    tp_html_sum(parts, count, parts[count].bytes, answer_of(of)->cfg->exact, out);
    return TP_OK;
}

/* ---- the map ---- */

/* The map at the moment of the answer; what it borrows is to be dropped. */
static struct tp_map_picture picture_of(const struct pages_page *p, struct tp_str *title,
                                        struct tp_str *about)
{
    const struct tp_page_list_head *h = &p->w->list->head;
    const struct tp_page_replay *r = &p->w->replay;
    tp_str_add(title, "Map of pages: %s with %s", p->w->trace->meta.name, tp_page_replay_name(r));
    tp_str_add(about, "%s resident after event %s; a cell is %s",
               tp_bytes(h->parts.resident, false).s, tp_count(h->event).s,
               tp_plural(UINT64_C(1) << p->map.shift, "page").s);
    return (struct tp_map_picture){.map = &p->map,
                                   .moment = (size_t)(p->w->list - r->lists.lists),
                                   .names = p->names,
                                   .title = tp_str_text(title),
                                   .about = tp_str_text(about)};
}

static int write_still(const void *of, FILE *out, struct tp_err *err)
{
    struct tp_str title = {0}, about = {0};
    const struct tp_map_picture picture = picture_of(of, &title, &about);
    (void)err;
    fputs("<noscript><style>\n", out);
    tp_chart_style(TP_CHART_AUTO, out);
    fprintf(out, "</style>\n<svg class=\"tp-chart\" viewBox=\"0 0 %u %u\">", TP_CHART_WIDTH,
            tp_map_picture_height(&picture));
    tp_map_picture_write(&picture, out);
    fputs("</svg>\n</noscript>\n", out);
    tp_str_drop(&title);
    tp_str_drop(&about);
    return TP_OK;
}

static bool has_cells(const void *of)
{
    return ((const struct pages_page *)of)->map.count != 0;
}

/* ---- by whom, over time, all figures ---- */

static bool has_holders(const void *of)
{
    return answer_of(of)->count != 0;
}

static void print_holders(const void *of, struct tp_page *page)
{
    tp_pages_holders_print(answer_of(of), page);
    tp_pages_growing_print(answer_of(of), page);
    tp_pages_ground_print(answer_of(of), page);
}

static bool has_remedies(const void *of)
{
    return answer_of(of)->remedies.base.replays != 0;
}

static void print_remedies(const void *of, struct tp_page *page)
{
    tp_pages_remedies_print(answer_of(of), page);
}

static void print_moments(const void *of, struct tp_page *page)
{
    tp_pages_moments_print(answer_of(of), page);
}

static void print_screen(const void *of, struct tp_page *page)
{
    page->exact = true;
    tp_why_pages_text(answer_of(of), page);
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_why_pages *w = answer_of(of);
    char *word = (char *)(uintptr_t)w->trace->path;
    tp_html_command("why", &word, 1, w->cfg->rows, w->cfg->opts, out);
    return tp_html_folded(TP_HTML_SCREEN, print_screen, of, out, err);
}

/* ---- the page ---- */

static const struct tp_html_section sections[] = {
    {.id = "answer", .title = "Summary", .pick = print_summary, .write = write_terms},
    {.id = "sum", .title = "Resident memory by part", .print = print_sum, .write = write_sum},
    {.id = "page-map",
     .title = "Map of pages",
     .view = "Resident pages at a moment: a cell for each, with its live and free bytes",
     .lead = "Cells are in the order of addresses and filled to scale from below. Free bytes of "
             "partly free pages are hatched in the color of what holds most of them; free pages "
             "are cross-hatched.",
     .write = write_still,
     .there = has_cells},
    {.id = "holders",
     .title = "Partly free pages by what holds them",
     .print = print_holders,
     .there = has_holders},
    {.id = "tries", .title = "Alternatives", .print = print_remedies, .there = has_remedies},
    {.id = "page-parts",
     .title = "Resident memory over time",
     .view = "Resident memory over time as stacked areas: live, rounding, partly free pages, free "
             "pages, and what was never part of a block",
     .print = print_moments},
    {.id = "settings", .title = "All figures", .write = write_settings},
};

static void print_head(const void *of, struct tp_page *page)
{
    tp_page_put(page, 0, "Host trace: resident memory with %s, page by page.",
                tp_page_replay_name(&answer_of(of)->replay));
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct tp_page_parts *p = parts_of(of);
    double share = p->resident ? (double)tp_page_parts_free(p) / (double)p->resident : (double)NAN;
    tp_table_figure(t, "resident", tp_bytes(p->resident, exact).s, "");
    tp_table_figure(t, "free, share of resident", tp_percent(share).s, "");
    tp_table_figure(t, "partly free pages", tp_bytes(p->partly_free, exact).s, "");
    tp_table_figure(t, "free pages", tp_bytes(p->free_pages, exact).s, "");
}

static int write_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct pages_page *p = of;
    struct tp_json j = {false};
    cJSON *root = tp_why_pages_tree(&j, p->w);
    cJSON_DeleteItemFromObjectCaseSensitive(root, "partly_free_by");
    cJSON_DeleteItemFromObjectCaseSensitive(root, "lifetimes");
    cJSON *page = tp_json_object(&j, root, "page");
    tp_json_array(&j, page, "marks");
    tp_map_data(&j, page, &p->map, &p->names);
    return tp_json_print_line(&j, root, out, err);
}

/* The groups that hold most at the moment of the answer. */
static struct tp_map_names names_of(const struct tp_why_pages *w)
{
    struct tp_map_names out = {.sizes = w->by == TP_BY_SIZE};
    for (size_t i = 0; i < w->count && out.count < TP_MAP_HOLDERS; i++)
        if (w->rows[i].name)
            out.names[out.count++] = w->rows[i].name;
    return out;
}

/* `only`: the moment that is shown; NULL: all are. */
static int open_page(struct pages_page *p, const struct tp_why_pages *w,
                     const struct tp_page_list *only, struct tp_err *err)
{
    *p = (struct pages_page){.w = w, .names = names_of(w)};
    const struct tp_map_ask ask = {.trace = w->trace,
                                   .lists = &w->replay.lists,
                                   .sites = &w->cfg->sites,
                                   .by = w->by,
                                   .names = p->names,
                                   .only = only,
                                   .stop = w->cfg->stop};
    return tp_page_map_of(&ask, &p->map, err);
}

int tp_why_pages_page(const struct tp_why_pages *w, FILE *out, struct tp_err *err)
{
    struct pages_page p;
    const struct tp_html_article article = {.title = w->trace->meta.name,
                                            .head = print_head,
                                            .figures = add_figures,
                                            .sections = sections,
                                            .section_count = sizeof sections / sizeof *sections,
                                            .of = &p,
                                            .exact = w->cfg->exact};
    const struct tp_html_page page = {.article = &article, .data = write_data, .of = &p};
    int status = open_page(&p, w, NULL, err);
    if (!status)
        status = tp_html_write(&page, out, err);
    tp_page_map_close(&p.map);
    return status;
}

int tp_why_pages_svg(const struct tp_why_pages *w, FILE *out, struct tp_err *err)
{
    struct tp_str title = {0}, about = {0};
    struct pages_page p;
    int status = open_page(&p, w, w->list, err);
    if (!status) {
        const struct tp_map_picture picture = picture_of(&p, &title, &about);
        uint32_t height = tp_map_picture_height(&picture);
        tp_svg_begin(w->cfg->theme, picture.title, height, out);
        tp_svg_paper(height, out);
        tp_map_picture_write(&picture, out);
        tp_svg_end(NULL, height, out);
    }
    tp_page_map_close(&p.map);
    tp_str_drop(&title);
    tp_str_drop(&about);
    return status;
}
