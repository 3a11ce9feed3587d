/* The data of a comparison's page: tapool.compare/2 with what only charts need.
 *
 *     { ..., "page": { "marks": {NAME: words}, "heads": [ {METRIC: words}, ... of each table ],
 *                      "runs": [ {"table": 0, "row": 0, "strategy": {"label": NAME},
 *                                 "texts": {METRIC: {"value", "change", "interval"}},
 *                                 "rounds": {METRIC: [value, ... of each round]},
 *                                 "failed_allocations": 0,
 *                                 "page": {"marks": [], "devices": [ {"curve": {...}} ]}}, ... ] }
 * }
 *
 * A run is a row of a table; the runs are in the order of the tables and their rows. Curves are as
 * cmd/page/curve_data.h says, without times, and thinned where there are many. */
#include "cmd/compare/compare_html.h"

#include "cmd/compare/compare.h"
#include "cmd/page/curve_data.h"
#include "cmd/page/html_page.h"
#include "cmd/ui/json_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values of rounds, and points of curves, on a page. */
enum { ROUND_VALUES = 20000, CURVE_POINTS = 40000 };

/* ---- rounds ---- */

/* The values of a row in all rounds; NULL: they were not measured, or mean nothing. */
static const double *rounds_of(const struct tp_compare_row *r, const struct tp_metric *m)
{
    if (!r->rounds || !tp_metric_is_timed(m) || tp_compare_flattered(r))
        return NULL;
    const double *values = tp_rounds_values(r->rounds, r->side, m);
    for (unsigned i = 0; i < r->rounds->rounds; i++)
        if (isfinite(values[i]))
            return values;
    return NULL;
}

static size_t rows_with_rounds(const struct tp_compare_table *t, const struct tp_metric *m)
{
    size_t count = 0;
    for (size_t r = 0; r < t->count; r++)
        count += rounds_of(&t->rows[r], m) != NULL;
    return count;
}

int tp_compare_page_rooms(const struct tp_compare *c, bool **out, struct tp_err *err)
{
    bool *has = calloc(c->count * c->column_count + 1, sizeof *has);
    size_t values = 0;
    *out = has;
    if (!has)
        return tp_html_no_memory(err);
    for (size_t t = 0; c->live && t < c->count; t++)
        for (size_t m = 0; m < c->column_count; m++) {
            size_t rows = rows_with_rounds(&c->tables[t], c->columns[m]);
            values += rows * c->rounds;
            has[t * c->column_count + m] = rows && values <= ROUND_VALUES;
        }
    return TP_OK;
}

bool tp_compare_page_has_rounds(const struct tp_compare_page *p, size_t table, size_t column)
{
    return p->has_rounds[table * p->found->column_count + column];
}

static void write_rounds(struct tp_json *j, cJSON *run, const struct tp_compare_page *p,
                         size_t table, const struct tp_compare_row *r)
{
    const struct tp_compare *c = p->found;
    cJSON *rounds = tp_json_object(j, run, "rounds");
    for (size_t m = 0; m < c->column_count; m++) {
        const double *values = rounds_of(r, c->columns[m]);
        if (!values || !tp_compare_page_has_rounds(p, table, m))
            continue;
        cJSON *list = tp_json_array(j, rounds, c->columns[m]->name);
        for (unsigned i = 0; i < c->rounds; i++)
            tp_json_push(j, list,
                         isfinite(values[i]) ? cJSON_CreateNumber(tp_json_rounded(values[i]))
                                             : cJSON_CreateNull());
    }
}

/* ---- curves ---- */

static const struct tp_record_curve *curve_of(const struct tp_record *run, uint16_t device)
{
    static const struct tp_record_curve none = {0};
    return run->curves && device < run->devices ? &run->curves[device] : &none;
}

bool tp_compare_page_has_curves(const struct tp_compare_table *t)
{
    for (size_t r = 0; r < t->count; r++)
        for (uint16_t d = 0; d < t->rows[r].run->devices; d++)
            if (curve_of(t->rows[r].run, d)->count)
                return true;
    return false;
}

static size_t count_curves(const struct tp_compare *c)
{
    size_t count = 0;
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++)
            for (uint16_t d = 0; d < c->tables[t].rows[r].run->devices; d++)
                count += curve_of(c->tables[t].rows[r].run, d)->count > 0;
    return count;
}

static void write_curve(struct tp_json *j, cJSON *in, const struct tp_record_curve *curve,
                        size_t most)
{
    struct tp_curve_data data;
    const struct tp_curve_points points = {curve->count ? &curve->points[0][1] : NULL,
                                           sizeof *curve->points, curve->count, TP_CURVE_VALUES};
    struct tp_curve_thin thin = tp_curve_thin(&points, most);
    tp_curve_data_begin(&data, j, in, "curve");
    for (size_t i = 0; i < curve->count; i++)
        if (tp_curve_stays(&thin, i))
            tp_curve_data_add(&data, j, curve->points[i][0], NULL, &curve->points[i][1]);
}

static void write_memory(struct tp_json *j, cJSON *run, const struct tp_record *record,
                         uint16_t devices, size_t most)
{
    const struct tp_metric *failed = tp_metric_find("failed_allocations", NULL);
    cJSON *page = tp_json_object(j, run, "page");
    tp_json_array(j, page, "marks");
    cJSON *list = tp_json_array(j, page, "devices");
    for (uint16_t d = 0; d < devices; d++)
        write_curve(j, tp_json_item(j, list), curve_of(record, d), most);
    tp_json_real(j, run, "failed_allocations", tp_record_total(record, failed));
}

/* ---- the document ---- */

static void write_texts(struct tp_json *j, cJSON *run, const struct tp_compare_page *p,
                        const struct tp_compare_row *r)
{
    cJSON *texts = tp_json_object(j, run, "texts");
    for (size_t i = 0; i < p->found->column_count; i++) {
        const struct tp_metric *m = p->found->columns[i];
        cJSON *o = tp_json_object(j, texts, m->name);
        tp_json_text(j, o, "value", tp_compare_value_text(r, m, p->exact).s);
        tp_json_text(j, o, "change", tp_compare_estimate_text(r, m).s);
        tp_json_text(j, o, "interval", tp_compare_interval_text(r, m).s);
    }
}

static void write_runs(struct tp_json *j, cJSON *page, const struct tp_compare_page *p)
{
    const struct tp_compare *c = p->found;
    size_t curves = count_curves(c), most = curves ? CURVE_POINTS / curves : 0;
    cJSON *runs = tp_json_array(j, page, "runs");
    for (size_t t = 0; t < c->count; t++)
        for (size_t r = 0; r < c->tables[t].count; r++) {
            const struct tp_compare_row *row = &c->tables[t].rows[r];
            cJSON *run = tp_json_item(j, runs);
            tp_json_uint(j, run, "table", t);
            tp_json_uint(j, run, "row", r);
            tp_json_text(j, tp_json_object(j, run, "strategy"), "label", tp_compare_name(row).s);
            write_texts(j, run, p, row);
            write_rounds(j, run, p, t, row);
            write_memory(j, run, row->run, c->tables[t].run->devices, most);
        }
}

static void write_heads(struct tp_json *j, cJSON *page, const struct tp_compare *c)
{
    cJSON *marks = tp_json_object(j, page, "marks");
    for (int i = 0; i < TP_MARKS; i++)
        tp_json_text(j, marks, tp_mark_names[i], tp_mark_words[i]);
    cJSON *tables = tp_json_array(j, page, "heads");
    for (size_t t = 0; t < c->count; t++) {
        cJSON *heads = tp_json_item(j, tables);
        for (size_t m = 0; m < c->column_count; m++) {
            char text[TP_COLUMN_TEXT];
            struct tp_column head = tp_compare_heading(c->columns[m], &c->tables[t]);
            tp_column_text(&head, text);
            tp_json_text(j, heads, c->columns[m]->name, text);
        }
    }
}

int tp_compare_page_data(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_compare_page *p = of;
    struct tp_json j = {false};
    cJSON *root = tp_compare_tree(&j, p), *page = tp_json_object(&j, root, "page");
    write_heads(&j, page, p->found);
    write_runs(&j, page, p);
    return tp_json_print_line(&j, root, out, err);
}
