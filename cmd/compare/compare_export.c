/* Writes comparisons as Markdown, for people on a web page, and as CSV, for spreadsheets. CSV has
 * one value per line, with all digits. */
#include "cmd/compare/compare.h"
#include "cmd/compare/compare_html.h"
#include "cmd/ui/escape.h"

#include <math.h>

/* ---- Markdown ---- */

static int put_rows(struct tp_table *t, FILE *out, struct tp_err *err)
{
    int status = tp_table_markdown(t, ":---", "---:", out, err);
    tp_table_drop(t);
    return status;
}

static int put_table(const struct tp_compare *c, const struct tp_compare_table *t, FILE *out,
                     struct tp_err *err)
{
    struct tp_table table = {0};
    const char *legend[TP_COMPARE_LEGEND + 1];
    struct tp_pick pick;
    char text[TP_COMPARE_PICK];
    tp_put(out, TP_TO_MARKDOWN, "### %s\n\n", t->name);
    tp_compare_fill(c, t, false, &table);
    int status = put_rows(&table, out, err);
    tp_compare_legend(c, t, c->column_count, legend);
    for (size_t i = 0; legend[i]; i++)
        tp_put(out, TP_TO_MARKDOWN, i ? "<br>\n%s" : "\n%s", legend[i]);
    fputs(legend[0] ? "\n" : "", out);
    tp_compare_pick(c, t, &pick);
    tp_pick_text(&pick, text, sizeof text);
    if (*text)
        tp_put(out, TP_TO_MARKDOWN, "\n**%s**\n", text);
    return status;
}

static int write_markdown(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    struct tp_table means = {0};
    int status = TP_OK;
    for (size_t t = 0; !status && t < c->count; t++) {
        fputs(t ? "\n" : "", out);
        status = put_table(c, &c->tables[t], out, err);
    }
    if (!status && c->mean_count) {
        fprintf(out, "\n### Geometric mean of the ratios to the base, over %zu traces\n\n",
                c->count);
        tp_compare_fill_means(c, true, &means);
        status = put_rows(&means, out, err);
    }
    if (c->live)
        fprintf(out,
                "\n%u rounds in random order, each in a fresh process, seed %llu, tapool %s.\n",
                c->rounds, (unsigned long long)c->seed, TAPOOL_VERSION);
    for (size_t i = 0; i < c->note_count; i++)
        tp_put(out, TP_TO_MARKDOWN, "\n%s\n", c->notes[i]);
    return status;
}

const struct tp_exporter tp_compare_markdown = {.name = "markdown", .write = write_markdown};

/* ---- CSV ---- */

static void add_real(struct tp_table *t, double value)
{
    tp_table_add(t, isfinite(value) ? "%.15g" : NULL, round(value * 1e6) / 1e6);
}

static void add_value(const struct tp_compare_table *t, const struct tp_compare_row *r,
                      const struct tp_metric *m, struct tp_table *out)
{
    const struct tp_compare_cell *cell = &r->cells[m - tp_metrics];
    const struct tp_compare_row *base = &t->rows[r->base];
    bool exact = r->run->exact || m->metric_class != TP_CLASS_EXACT,
         drowned = tp_compare_drowned(r, m);
    const char *const texts[] = {
        t->name,        r->label, r->file ? r->file : "",
        r->run->source, m->name,  tp_class_letter(exact ? m->metric_class : TP_CLASS_REPORT)};
    const double values[] = {cell->value, cell->low, cell->high};
    const double changes[] = {cell->change, cell->change_low, cell->change_high, cell->p};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tp_table_add(out, "%s", texts[i]);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        add_real(out, drowned ? (double)NAN : values[i]);
    tp_table_add(out, "%s%s%s%s", base->label, base->file ? " (" : "",
                 base->file ? base->short_file : "", base->file ? ")" : "");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        add_real(out, changes[i]);
    tp_table_add(out, "%zu", cell->count);
    tp_table_add(out, "%s", tp_mark_names[cell->mark]);
}

static int write_csv(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    static const char *const heads[] = {
        "trace", "strategy", "file",   "source",     "metric",      "class", "value", "low",
        "high",  "base",     "change", "change_low", "change_high", "p",     "count", "mark"};
    enum { HEADS = sizeof heads / sizeof *heads };
    struct tp_table all = {0};
    tp_table_columns(&all, NULL, HEADS);
    for (int i = 0; i < HEADS; i++)
        tp_table_add(&all, "%s", heads[i]);
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++)
            for (size_t m = 0; m < c->column_count; m++)
                add_value(&c->tables[t], &c->tables[t].rows[r], c->columns[m], &all);
    int status = tp_table_csv(&all, out, err);
    tp_table_drop(&all);
    return status;
}

const struct tp_exporter tp_compare_csv = {.name = "csv", .write = write_csv};
