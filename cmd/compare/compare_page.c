/* The page of `tapool compare`: an article for each trace, and one on how all of it was compared.
 * See compare_html.h. */
#include "cmd/compare/compare_html.h"

#include "cmd/compare/compare.h"
#include "cmd/page/html_page.h"
#include "cmd/page/html_parts.h"
#include "cmd/results/figures.h"
#include "cmd/results/metric_text.h"
#include "cmd/ui/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One trace. */
struct compare_part {
    const struct tp_compare_page *page;
    const struct tp_compare_table *table; /* with the rows that there is room for */
    size_t index;                         /* of the table */
};

/* ---- tables ---- */

static int write_answer(const void *of, FILE *out, struct tp_err *err)
{
    const struct compare_part *p = of;
    struct tp_page page = tp_html_flow(out);
    struct tp_table table = {0};
    fputs("<p class=\"pick\">", out);
    tp_compare_print_pick(p->page->found, p->table, &page);
    fputs("</p>\n<p>", out);
    tp_compare_fill(p->page->found, p->table, p->page->exact, &table);
    int rc = tp_table_html(&table, out, err);
    tp_table_drop(&table);
    tp_compare_print_below(p->page->found, p->table, 0, &page);
    fputs("</p>\n", out);
    tp_html_left_out(p->table->whole->count - p->table->count, "row", out);
    return rc;
}

static void add_p(double p, struct tp_table *out)
{
    if (isnan(p))
        tp_table_add(out, "-");
    else
        tp_table_add(out, p < 0.001 ? "<0.001" : "%.2g", p);
}

static void add_change(const struct compare_part *p, const struct tp_compare_row *r,
                       const struct tp_metric *m, struct tp_table *out)
{
    const struct tp_compare_cell *cell = &r->cells[m - tp_metrics];
    const struct tp_compare_row *base = &p->table->rows[r->base];
    char head[TP_COLUMN_TEXT];
    struct tp_column column = tp_compare_heading(m, p->table);
    tp_column_text(&column, head);
    tp_table_add(out, "%s", tp_compare_name(r).s);
    tp_table_add(out, "%s", head);
    tp_table_add(out, "%s", tp_compare_value_text(base, m, p->page->exact).s);
    tp_table_add(out, "%s", tp_compare_value_text(r, m, p->page->exact).s);
    tp_table_add(out, "%s", tp_compare_estimate_text(r, m).s);
    tp_table_add(out, "%s", tp_compare_interval_text(r, m).s);
    add_p(cell->p, out);
    tp_table_add(out, "%s", tp_mark_words[cell->mark]);
}

static int write_changes(const void *of, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {{.name = "strategy", .left = true},
                                               {.name = "figure", .left = true},
                                               {.name = "base"},
                                               {.name = "here"},
                                               {.name = "change"},
                                               {.name = "95 % interval"},
                                               {.name = "p"},
                                               {.name = "what that says", .left = true}};
    const struct compare_part *p = of;
    struct tp_table table = {0};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t m = 0; m < p->page->found->column_count; m++)
        for (size_t r = 0; r < p->table->count; r++)
            if (p->table->rows[r].base != r)
                add_change(p, &p->table->rows[r], p->page->found->columns[m], &table);
    return tp_html_table(&table, out, err);
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

/* ---- charts that only scripts draw ---- */

static int write_values(const void *of, FILE *out, struct tp_err *err)
{
    (void)of, (void)err;
    fputs("<noscript><p>The first table has these values.</p></noscript>\n", out);
    return TP_OK;
}

static int write_memory(const void *of, FILE *out, struct tp_err *err)
{
    (void)of, (void)err;
    fputs("<noscript><p>The chart needs JavaScript; the peaks are in the first "
          "table.</p></noscript>\n",
          out);
    return TP_OK;
}

static bool has_memory(const void *of)
{
    return tp_compare_page_has_curves(((const struct compare_part *)of)->table);
}

/* ---- rounds ---- */

static bool has_rounds(const void *of)
{
    const struct compare_part *p = of;
    for (size_t m = 0; m < p->page->found->column_count; m++)
        if (tp_compare_page_has_rounds(p->page, p->index, m))
            return true;
    return false;
}

/* Fills a table of a row for each round, and a column for each row of the comparison. The table
 * borrows `names`, room for as many. */
static int fill_rounds(const struct compare_part *p, const struct tp_metric *m,
                       struct tp_compare_label *names, struct tp_table *out, struct tp_err *err)
{
    struct tp_column *columns = calloc(p->table->count + 1, sizeof *columns);
    int count = 1;
    for (size_t r = 0; names && columns && r < p->table->count; r++) {
        names[r] = tp_compare_name(&p->table->rows[r]);
        if (tp_compare_page_rounds(&p->table->rows[r], m))
            columns[count++].name = names[r].s;
    }
    if (names && columns) {
        columns->name = "round";
        columns->left = true;
        tp_table_columns(out, columns, count);
    }
    for (unsigned i = 0; names && columns && i < p->page->found->rounds; i++) {
        tp_table_add(out, "%u", i + 1);
        for (size_t r = 0; r < p->table->count; r++) {
            const double *values = tp_compare_page_rounds(&p->table->rows[r], m);
            if (values)
                tp_table_add(out, "%s", isfinite(values[i]) ? tp_digits(values[i]).s : "-");
        }
    }
    int rc = names && columns ? TP_OK : tp_html_no_memory(err);
    out->failed |= rc != TP_OK;
    free(columns);
    return rc;
}

static int write_rounds(const void *of, FILE *out, struct tp_err *err)
{
    const struct compare_part *p = of;
    const struct tp_compare *c = p->page->found;
    int rc = TP_OK;
    bool left = false;
    struct tp_compare_label *names = calloc(p->table->count, sizeof *names);
    for (size_t m = 0; rc == TP_OK && m < c->column_count; m++) {
        char head[TP_COLUMN_TEXT];
        struct tp_table table = {0};
        struct tp_column column = tp_compare_heading(c->columns[m], p->table);
        if (!tp_compare_page_has_rounds(p->page, p->index, m)) {
            left |= tp_metric_is_timed(c->columns[m]);
            continue;
        }
        tp_column_text(&column, head);
        tp_put(out, TP_TO_XML, "<details><summary>%s in each round</summary>\n", head);
        rc = fill_rounds(p, c->columns[m], names, &table, err);
        int put = tp_html_table(&table, out, rc == TP_OK ? err : &(struct tp_err){0});
        rc = rc == TP_OK ? put : rc;
        fputs("</details>\n", out);
    }
    free(names);
    if (left)
        fputs("<p>Not of every figure: too many values for a page.</p>\n", out);
    return rc;
}

/* ---- the articles of traces ---- */

static const struct tp_html_section trace_sections[] = {
    {.id = "answer", .title = "Which policy", .write = write_answer},
    {.id = "changes",
     .title = "Changes against the base",
     .view = "The change of each figure against the base, with its 95 % interval",
     .write = write_changes,
     .there = has_changes},
    {.id = "values",
     .title = "The values themselves",
     .view = "Each figure of each policy, from 0, with its 95 % interval where it has one",
     .write = write_values,
     .there = has_columns},
    {.id = "memory",
     .title = "Memory over time",
     .view = "Memory over time: what the program requested, and what each policy reserved",
     .write = write_memory,
     .there = has_memory},
    {.id = "rounds",
     .title = "Round by round",
     .view = "The time of each policy in each round: a drift or an outlier is seen here",
     .write = write_rounds,
     .there = has_rounds},
};

static void write_head(const void *of, FILE *out)
{
    const struct compare_part *p = of;
    struct tp_page page = tp_html_flow(out);
    tp_compare_print_head(p->page->found, p->table, &page);
}

/* ---- the article on how it was compared ---- */

static bool has_means(const void *of)
{
    return ((const struct tp_compare_page *)of)->found->mean_count > 0;
}

static int write_means(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    struct tp_page page = tp_html_flow(out);
    struct tp_table table = {0};
    fprintf(out, "<p>Of the ratios to the base, over %zu traces.", c->count);
    tp_compare_fill_means(c, false, &table);
    int rc = tp_table_html(&table, out, err);
    tp_table_drop(&table);
    tp_compare_print_below_means(c, c->column_count, &page);
    fputs("</p>\n", out);
    return rc;
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

static int write_remarks(const void *of, FILE *out, struct tp_err *err)
{
    (void)err;
    struct tp_page page = tp_html_flow(out);
    fputs("<p>", out);
    tp_compare_print_remarks(((const struct tp_compare_page *)of)->found, &page);
    fputs("</p>\n", out);
    return TP_OK;
}

static void add_file(const struct tp_stored *f, struct tp_table *out)
{
    const char *const texts[] = {f->path, f->version, f->build, f->compiler,
                                 f->arch, f->cpu,     f->libc};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tp_table_add(out, "%s", tp_stored_known(texts[i]));
    tp_table_add(out, "%s", f->partial ? "yes: it was interrupted" : "no");
}

static int write_files(const struct tp_compare *c, FILE *out, struct tp_err *err)
{
    static const struct tp_column columns[] = {
        {.name = "file", .left = true},      {.name = "tapool", .left = true},
        {.name = "build", .left = true},     {.name = "compiler", .left = true},
        {.name = "machine", .left = true},   {.name = "CPU", .left = true},
        {.name = "C library", .left = true}, {.name = "partial", .left = true}};
    struct tp_table table = {0};
    tp_table_columns(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < c->file_count; i++)
        add_file(&c->files[i], &table);
    return tp_html_table(&table, out, err);
}

static int write_machine(const struct tp_compare *c, FILE *out, struct tp_err *err)
{
    struct tp_table table = {0};
    tp_html_facts(&table, "measured on", "this machine");
    tp_html_machine(&table);
    tp_html_fact(&table, "pinned to core", c->core < 0 ? "none" : tp_text_of("%d", c->core).s);
    return tp_html_table(&table, out, err);
}

static int write_origin(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    return c->live ? write_machine(c, out, err) : write_files(c, out, err);
}

/* ---- every setting and figure ---- */

enum { VALUES = 26 };

static void print_options(const char *name, const struct tp_record_options *list,
                          struct tp_page *page)
{
    struct tp_str text = {0};
    for (size_t i = 0; i < list->count; i++)
        tp_str_item(&text, ", ", "%s=%s", list->items[i].name, list->items[i].value);
    if (list->count)
        tp_page_row(page, 2, name, VALUES, "%s", tp_str_text(&text));
    tp_str_drop(&text);
}

static void print_settings(const struct tp_record *run, struct tp_page *page)
{
    print_options("options", &run->options, page);
    tp_page_row(page, 2, "source", VALUES, "%s", run->source);
    print_options("options of the source", &run->source_options, page);
    tp_page_row(page, 2, "--touch", VALUES, "%s", run->touch);
    for (int i = 0; i < TP_SETTINGS; i++)
        if (run->settings[i])
            tp_page_row(page, 2, tp_text_of("--%s", tp_settings[i].option).s, VALUES, "%s",
                        *run->settings[i] ? run->settings[i] : "not given");
}

/* Prints the settings of a row, and every figure that is known of it. */
static void print_row(const void *of, struct tp_page *page)
{
    const struct tp_compare_row *r = of;
    tp_page_row(page, 2, "strategy", VALUES, "%s", r->run->strategy);
    if (r->run->library)
        tp_page_row(page, 2, "library", VALUES, "%s", r->run->library);
    print_settings(r->run, page);
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        double value =
            r->rounds && tp_metric_is_timed(m) ? r->cells[i].value : tp_record_total(r->run, m);
        if (!isnan(value) && !tp_compare_drowned(r, m))
            tp_page_row(page, 2, m->name, VALUES, "%s", tp_metric_text(m, value, true).s);
    }
}

static void print_rule(const void *of, struct tp_page *page)
{
    const struct tp_compare *c = of;
    if (c->live) {
        tp_page_row(page, 2, "rounds", VALUES, "%u, each in random order", c->rounds);
        tp_page_row(page, 2, "min-time", VALUES, "%s", tp_duration(c->min_time_ns).s);
    }
    tp_page_row(page, 2, "seed", VALUES, "%llu", (unsigned long long)c->seed);
    tp_page_row(page, 2, "a difference is shown", VALUES, "at %s or more, with p < %g after Holm",
                tp_percent(TP_COMPARE_EFFECT).s, TP_COMPARE_ALPHA);
    for (size_t t = 0; t < c->count; t++)
        if (c->tables[t].tests)
            tp_page_row(page, 2, "tests", VALUES, "%zu in %s", c->tables[t].tests,
                        c->tables[t].name);
}

static int write_row_settings(const struct tp_compare *c, const struct tp_compare_table *t,
                              const struct tp_compare_row *r, FILE *out, struct tp_err *err)
{
    tp_put(out, TP_TO_XML, "<details><summary>%s%s%s</summary>\n", tp_compare_name(r).s,
           c->count > 1 ? ", " : "", c->count > 1 ? t->name : "");
    int rc = tp_html_printed(print_row, r, out, err);
    fputs("</details>\n", out);
    return rc;
}

/* Settings of some thousand rows would be no page to read. */
enum { SETTINGS_MAX = 256 };

static int write_settings(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare_page *p = of;
    const struct tp_compare *c = p->found;
    size_t count = 0;
    tp_html_command("compare", p->words, p->word_count, p->rows, p->opts, out);
    fputs("<details><summary>The comparison</summary>\n", out);
    int rc = tp_html_printed(print_rule, c, out, err);
    fputs("</details>\n", out);
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; rc == TP_OK && r < c->tables[t].count; r++)
            if (count++ < SETTINGS_MAX)
                rc = write_row_settings(c, &c->tables[t], &c->tables[t].rows[r], out, err);
    if (count > SETTINGS_MAX)
        fprintf(out, "<p>And %s more.</p>\n", tp_count(count - SETTINGS_MAX).s);
    return rc;
}

static const struct tp_html_section last_sections[] = {
    {.id = "means", .title = "Geometric means", .write = write_means, .there = has_means},
    {.id = "remarks", .title = "Warnings and notes", .write = write_remarks, .there = has_remarks},
    {.id = "origin", .title = "Where it was measured", .write = write_origin},
    {.id = "settings", .title = "Every setting and figure", .write = write_settings},
};

/* ---- the page ---- */

static int write_trace(const struct tp_compare_page *p, size_t index, size_t first, FILE *out,
                       struct tp_err *err)
{
    const struct compare_part part = {p, &p->found->tables[index], index};
    const struct tp_html_article article = {.title = part.table->name,
                                            .head = write_head,
                                            .sections = trace_sections,
                                            .section_count =
                                                sizeof trace_sections / sizeof *trace_sections,
                                            .of = &part,
                                            .first = first,
                                            .count = part.table->count};
    return tp_html_article(&article, out, err);
}

static void write_left(const void *of, FILE *out)
{
    tp_html_left_out(((const struct tp_compare_page *)of)->traces_left, "trace", out);
}

static int write_articles(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare_page *p = of;
    const struct tp_html_article last = {.title = "How this was compared",
                                         .head = p->traces_left ? write_left : NULL,
                                         .sections = last_sections,
                                         .section_count =
                                             sizeof last_sections / sizeof *last_sections,
                                         .of = p};
    int rc = TP_OK;
    for (size_t t = 0, first = 0; rc == TP_OK && t < p->found->count; t++) {
        rc = write_trace(p, t, first, out, err);
        first += p->found->tables[t].count;
    }
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
