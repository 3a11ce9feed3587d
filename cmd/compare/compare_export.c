/* Comparisons as Markdown, for people on a web page, and as CSV, for spreadsheets: there every
 * value is in full, one a line. */
#include "cmd/compare/compare.h"
#include "cmd/ui/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Markdown ---- */

static void put_cell(FILE *out, const char *text)
{
    tp_escape(out, TP_TO_MARKDOWN, text);
}

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
    char pick[TP_COMPARE_PICK];
    fputs("### ", out);
    put_cell(out, t->name);
    fputs("\n\n", out);
    tp_compare_fill(c, t, false, &table);
    int status = put_rows(&table, out, err);
    tp_compare_legend(c, t, c->column_count, legend);
    for (size_t i = 0; legend[i]; i++) {
        fputs(i ? "<br>\n" : "\n", out);
        put_cell(out, legend[i]);
    }
    fputs(legend[0] ? "\n" : "", out);
    tp_compare_pick(c, t, pick, sizeof pick);
    if (!*pick)
        return status;
    fputs("\n**", out);
    put_cell(out, pick);
    fputs("**\n", out);
    return status;
}

int tp_compare_markdown(const struct tp_compare *c, FILE *out, struct tp_err *err)
{
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
    for (size_t i = 0; i < c->note_count; i++) {
        fputs("\n", out);
        put_cell(out, c->notes[i]);
        fputs("\n", out);
    }
    return status;
}

/* ---- CSV ---- */

static void put_field(FILE *out, const char *text, bool last)
{
    tp_escape(out, TP_TO_CSV, text);
    fputc(last ? '\n' : ',', out);
}

static void put_number(FILE *out, double value, bool last)
{
    if (isfinite(value))
        fprintf(out, "%.15g", round(value * 1e6) / 1e6);
    fputc(last ? '\n' : ',', out);
}

static void put_value(const struct tp_compare_table *t, const struct tp_compare_row *r,
                      const struct tp_metric *m, const char *base, FILE *out)
{
    const struct tp_compare_cell *cell = &r->cells[m - tp_metrics];
    put_field(out, t->name, false);
    put_field(out, r->label, false);
    put_field(out, r->file ? r->file : "", false);
    put_field(out, r->run->source, false);
    put_field(out, m->name, false);
    put_field(
        out,
        tp_class_letter(m->class == TP_CLASS_EXACT && !r->run->exact ? TP_CLASS_REPORT : m->class),
        false);
    bool number = !tp_compare_drowned(r, m);
    put_number(out, number ? cell->value : (double)NAN, false);
    put_number(out, number ? cell->low : (double)NAN, false);
    put_number(out, number ? cell->high : (double)NAN, false);
    put_field(out, base, false);
    put_number(out, cell->change, false);
    put_number(out, cell->change_low, false);
    put_number(out, cell->change_high, false);
    put_number(out, cell->p, false);
    fprintf(out, "%zu,", cell->count);
    put_field(out, tp_mark_names[cell->mark], true);
}

static int put_values(const struct tp_compare *c, const struct tp_compare_table *t,
                      const struct tp_compare_row *r, FILE *out)
{
    const struct tp_compare_row *base = &t->rows[r->base];
    size_t size = strlen(base->label) + (base->file ? strlen(base->short_file) : 0) + 4;
    char *name = malloc(size); /* as long as it is: labels and paths have no end */
    if (!name)
        return TP_ENOMEM;
    tp_compare_name(base, name, size);
    for (size_t m = 0; m < c->column_count; m++)
        put_value(t, r, c->columns[m], name, out);
    free(name);
    return TP_OK;
}

int tp_compare_csv(const struct tp_compare *c, FILE *out, struct tp_err *err)
{
    fputs("trace,strategy,file,source,metric,class,value,low,high,base,change,change_low,"
          "change_high,p,count,mark\n",
          out);
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++)
            if (put_values(c, &c->tables[t], &c->tables[t].rows[r], out))
                return tp_fail(err, TP_ENOMEM, "out of memory");
    return TP_OK;
}
