/* The page of `tapool compare`: an article for each trace, and one on how all of it was compared.
 * See compare_html.h. */
#include "cmd/compare/compare_html.h"

#include "cmd/compare/compare.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/figures.h"

#include <stdlib.h>

/* One trace. */
struct compare_part {
    const struct tp_compare_page *page;
    const struct tp_compare_table *table; /* with the rows that there is room for */
    size_t index;                         /* of the table */
};

/* ---- the articles of traces ---- */

static void print_pick(const void *of, struct tp_page *page)
{
    const struct compare_part *p = of;
    tp_compare_print_pick(p->page->found, p->table, page);
}

static void print_table(const void *of, struct tp_page *page)
{
    const struct compare_part *p = of;
    tp_compare_print_table(p->page->found, p->table, true, page);
}

static int write_rows_left(const void *of, FILE *out, struct tp_err *err)
{
    const struct compare_part *p = of;
    (void)err;
    tp_html_left_out(p->table->whole->count - p->table->count, "row", out);
    return TP_OK;
}

static bool has_changes(const void *of)
{
    const struct compare_part *p = of;
    for (size_t r = 0; r < p->table->count; r++)
        if (p->table->rows[r].base != r)
            return p->page->found->column_count > 0;
    return false;
}

static bool has_columns(const void *of)
{
    const struct compare_part *p = of;
    return p->page->found->column_count && p->table->count;
}

static bool has_memory(const void *of)
{
    return tp_compare_page_has_curves(((const struct compare_part *)of)->table);
}

static bool has_rounds(const void *of)
{
    const struct compare_part *p = of;
    for (size_t m = 0; m < p->page->found->column_count; m++)
        if (tp_compare_page_has_rounds(p->page, p->index, m))
            return true;
    return false;
}

static void print_rounds_left(const void *of, struct tp_page *page)
{
    const struct compare_part *p = of;
    const struct tp_compare *c = p->page->found;
    bool left = false;
    for (size_t m = 0; m < c->column_count; m++)
        left |=
            tp_metric_is_timed(c->columns[m]) && !tp_compare_page_has_rounds(p->page, p->index, m);
    if (left)
        tp_page_put(page, 0, "Not of all figures: too many values for a page.");
}

static const struct tp_html_section trace_sections[] = {
    {.id = "answer",
     .title = "Strategies",
     .pick = print_pick,
     .print = print_table,
     .write = write_rows_left},
    {.id = "changes",
     .title = "Changes vs the base",
     .view = "Change of each figure vs the base, with its 95% CI",
     .there = has_changes},
    {.id = "values",
     .title = "Values",
     .view = "Each figure of each strategy, from 0, with its 95% CI",
     .there = has_columns},
    {.id = "memory",
     .title = "Memory over time",
     .view = "Memory over time: requested, and reserved by each strategy",
     .there = has_memory},
    {.id = "rounds",
     .title = "Rounds",
     .view = "Time of each strategy in each round: shows drift and outliers",
     .print = print_rounds_left,
     .there = has_rounds},
};

static void print_head(const void *of, struct tp_page *page)
{
    const struct compare_part *p = of;
    tp_compare_print_head(p->page->found, p->table, page);
}

static void add_figures(const void *of, bool exact, struct tp_table *t)
{
    const struct compare_part *p = of;
    (void)exact;
    tp_compare_figures(p->page->found, p->table, t);
}

/* ---- the article on how it was compared ---- */

static bool has_means(const void *of)
{
    return ((const struct tp_compare_page *)of)->found->mean_count > 0;
}

static void print_means(const void *of, struct tp_page *page)
{
    tp_compare_print_means(((const struct tp_compare_page *)of)->found, true, page);
}

static bool has_remarks(const void *of)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    size_t count = c->note_count;
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++)
            count += c->tables[t].rows[r].run->warnings.count;
    return count > 0;
}

static void print_remarks(const void *of, struct tp_page *page)
{
    tp_compare_print_remarks(((const struct tp_compare_page *)of)->found, page);
}

static void print_origin(const void *of, struct tp_page *page)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    if (c->live)
        tp_html_machine(page);
    else
        tp_compare_print_files(c, page);
}

static void print_screen(const void *of, struct tp_page *page)
{
    page->exact = true;
    tp_compare_print(((const struct tp_compare_page *)of)->found, true, page);
}

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare_page *p = of;
    tp_html_command("compare", p->words, p->word_count, p->rows, p->opts, out);
    return tp_html_folded(TP_HTML_SCREEN, print_screen, of, out, err);
}

static const struct tp_html_section last_sections[] = {
    {.id = "means", .title = "Geometric means", .print = print_means, .there = has_means},
    {.id = "remarks", .title = "Warnings and notes", .print = print_remarks, .there = has_remarks},
    {.id = "origin", .title = "Machine", .print = print_origin},
    {.id = "settings", .title = "All figures", .write = write_settings},
};

/* ---- the page ---- */

static int write_trace(const struct tp_compare_page *p, size_t index, size_t first, FILE *out,
                       struct tp_err *err)
{
    const struct compare_part part = {p, &p->found->tables[index], index};
    const struct tp_html_article article = {.title = part.table->name,
                                            .head = print_head,
                                            .figures = add_figures,
                                            .sections = trace_sections,
                                            .section_count =
                                                sizeof trace_sections / sizeof *trace_sections,
                                            .of = &part,
                                            .first = first,
                                            .count = part.table->count,
                                            .exact = p->exact};
    return tp_html_article(&article, out, err);
}

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare_page *p = of;
    const struct tp_html_article last = {.title = "Method",
                                         .sections = last_sections,
                                         .section_count =
                                             sizeof last_sections / sizeof *last_sections,
                                         .of = p};
    int rc = TP_OK;
    for (size_t t = 0, first = 0; rc == TP_OK && t < p->found->count; t++) {
        rc = write_trace(p, t, first, out, err);
        first += p->found->tables[t].count;
    }
    tp_html_left_out(p->traces_left, "trace", out);
    return rc == TP_OK ? tp_html_article(&last, out, err) : rc;
}

/* What is written with as many rows as there is room for. */
struct compare_writing {
    const struct tp_compare *all;
    struct tp_compare_page page;
    struct tp_compare_shown shown;
    bool *has_rounds;
};

static int choose_rows(void *of, size_t most, struct tp_err *err)
{
    struct compare_writing *w = of;
    free(w->has_rounds);
    w->has_rounds = NULL;
    int rc = tp_compare_show(w->all, most, &w->shown, err);
    if (rc == TP_OK)
        rc = tp_compare_page_rooms(&w->shown.c, &w->has_rounds, err);
    w->page.found = &w->shown.c;
    w->page.has_rounds = w->has_rounds;
    w->page.traces_left = w->shown.traces_left;
    return rc;
}

static int write_html(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare_page *p = of;
    const struct tp_compare *c = p->found;
    struct compare_writing w = {.all = c, .page = *p};
    struct tp_html_room room = tp_html_room(tp_compare_rows(c));
    room.choose = choose_rows;
    room.of = &w;
    const struct tp_html_page page = {.title = c->count ? c->tables[0].name : "a comparison",
                                      .lacks = c->failed.status ? c->failed.text : NULL,
                                      .articles = write_articles,
                                      .data = tp_compare_page_data,
                                      .of = &w.page,
                                      .room = &room};
    int rc = tp_html_write(&page, out, err);
    tp_compare_shown_release(&w.shown);
    free(w.has_rounds);
    return rc;
}

const struct tp_exporter tp_compare_html = {
    .name = "html", .write = write_html, .check = tp_html_check};
