/* Writes tapool.compare/2. Within a major version names never change, they are only added. */
#include "cmd/compare/compare.h"
#include "cmd/compare/compare_html.h"

#include "cmd/results/report_json.h"

#include <math.h>

static void write_metrics(struct tp_json *j, cJSON *root, const struct tp_compare *c)
{
    cJSON *list = tp_json_array(j, root, "metrics");
    for (size_t i = 0; i < c->column_count; i++) {
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "name", c->columns[i]->name);
        tp_json_text(j, o, "unit", tp_metric_unit_name(c->columns[i]));
        tp_json_text(j, o, "class", tp_class_letter(c->columns[i]->metric_class));
        tp_json_text(j, o, "better", c->columns[i]->better == TP_BETTER_LESS ? "less" : "more");
    }
}

static void write_cell(struct tp_json *j, cJSON *in, const struct tp_compare_row *r,
                       const struct tp_metric *m)
{
    const struct tp_compare_cell *cell = &r->cells[m - tp_metrics];
    bool number = !tp_compare_drowned(r, m);
    cJSON *o = tp_json_object(j, in, m->name);
    tp_json_real(j, o, "value", number ? cell->value : (double)NAN);
    tp_json_real(j, o, "low", number ? cell->low : (double)NAN);
    tp_json_real(j, o, "high", number ? cell->high : (double)NAN);
    tp_json_real(j, o, "change", cell->change);
    tp_json_real(j, o, "change_low", cell->change_low);
    tp_json_real(j, o, "change_high", cell->change_high);
    tp_json_real(j, o, "p", cell->p);
    tp_json_uint(j, o, "count", cell->count);
    tp_json_text(j, o, "mark", tp_mark_names[cell->mark]);
}

static void write_row(struct tp_json *j, cJSON *list, const struct tp_compare *c,
                      const struct tp_compare_row *r)
{
    cJSON *o = tp_json_item(j, list);
    tp_json_text(j, o, "label", r->label);
    tp_json_text(j, o, "strategy", r->run->strategy);
    if (r->run->library)
        tp_json_text(j, o, "library", r->run->library);
    tp_json_text(j, o, "file", r->file);
    tp_json_text(j, o, "source", r->run->source);
    tp_json_uint(j, o, "base", r->base);
    tp_json_text(j, o, "memory_class", r->run->exact ? "E" : "R");
    cJSON *metrics = tp_json_object(j, o, "metrics");
    for (size_t m = 0; m < c->column_count; m++)
        write_cell(j, metrics, r, c->columns[m]);
    cJSON *warnings = tp_json_array(j, o, "warnings");
    for (size_t w = 0; w < r->run->warnings.count; w++) {
        cJSON *warning = tp_json_item(j, warnings);
        tp_json_text(j, warning, "id", r->run->warnings.items[w].name);
        tp_json_text(j, warning, "text", r->run->warnings.items[w].value);
    }
}

static void write_table(struct tp_json *j, cJSON *list, const struct tp_compare *c,
                        const struct tp_compare_table *t)
{
    struct tp_pick why;
    char text[TP_COMPARE_PICK];
    cJSON *o = tp_json_item(j, list);
    cJSON *trace = tp_json_object(j, o, "trace");
    tp_json_text(j, trace, "name", t->name);
    tp_json_text(j, trace, "kind", t->run->kind);
    tp_json_text(j, trace, "program_hash", t->hash);
    tp_json_uint(j, trace, "events", t->run->events);
    tp_json_uint(j, trace, "operations", t->run->operations);
    tp_json_uint(j, trace, "devices", t->run->devices);
    tp_json_text(j, o, "latency_scope", t->run->scope);
    tp_json_text(j, o, "touch", t->run->touch);
    tp_json_uint(j, o, "tests", t->tests);
    tp_json_uint(j, o, "rounds_needed", t->rounds_needed ? t->rounds_needed : TP_NONE);
    const struct tp_compare_row *pick = tp_compare_pick(c, t, &why);
    tp_pick_text(&why, text, sizeof text);
    tp_json_text(j, o, "pick", pick ? pick->label : NULL);
    tp_json_text(j, o, "pick_text", text);
    cJSON *rows = tp_json_array(j, o, "rows");
    for (size_t r = 0; r < t->count; r++)
        write_row(j, rows, c, &t->rows[r]);
}

static void write_means(struct tp_json *j, cJSON *root, const struct tp_compare *c)
{
    cJSON *list = tp_json_array(j, root, "geometric_means");
    for (size_t i = 0; i < c->mean_count; i++) {
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "label", c->means[i].name.s);
        cJSON *metrics = tp_json_object(j, o, "metrics");
        for (size_t m = 0; m < c->column_count; m++) {
            size_t at = (size_t)(c->columns[m] - tp_metrics);
            cJSON *mean = tp_json_object(j, metrics, c->columns[m]->name);
            tp_json_real(j, mean, "ratio", c->means[i].ratio[at]);
            tp_json_uint(j, mean, "traces", c->means[i].traces[at]);
        }
    }
}

static void write_files(struct tp_json *j, cJSON *root, const struct tp_compare *c)
{
    cJSON *list = tp_json_array(j, root, "files");
    for (size_t i = 0; i < c->file_count; i++) {
        const struct tp_stored *f = &c->files[i];
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "path", f->path);
        tp_json_text(j, o, "version", f->version);
        tp_json_text(j, o, "build", f->build);
        tp_json_text(j, o, "compiler", f->compiler);
        tp_json_text(j, o, "arch", f->arch);
        tp_json_text(j, o, "cpu", f->cpu);
        tp_json_text(j, o, "libc", f->libc);
        tp_json_bool(j, o, "partial", f->partial);
    }
}

/* How the times were measured; null if stored results were read. */
static void write_rounds(struct tp_json *j, cJSON *root, const struct tp_compare *c)
{
    uint64_t wall = 0;
    for (size_t t = 0; t < c->count; t++)
        wall += c->tables[t].wall_ns;
    tp_json_uint(j, root, "rounds", c->live ? c->rounds : TP_NONE);
    tp_json_uint(j, root, "seed", c->live ? c->seed : TP_NONE);
    tp_json_uint(j, root, "min_time_ns", c->live ? c->min_time_ns : TP_NONE);
    tp_json_uint(j, root, "core", c->live && c->core >= 0 ? (uint64_t)c->core : TP_NONE);
    tp_json_uint(j, root, "wall_ns", c->live ? wall : TP_NONE);
}

cJSON *tp_compare_tree(struct tp_json *j, const void *of)
{
    const struct tp_compare *c = ((const struct tp_compare_page *)of)->found;
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.compare/2");
    tp_json_tool(j, root);
    tp_json_machine(j, root);
    tp_json_text(j, root, "mode", c->live ? "live" : "stored");
    write_rounds(j, root, c);
    tp_json_real(j, root, "alpha", TP_COMPARE_ALPHA);
    tp_json_real(j, root, "effect", TP_COMPARE_EFFECT);
    write_files(j, root, c);
    write_metrics(j, root, c);
    cJSON *tables = tp_json_array(j, root, "tables");
    for (size_t t = 0; t < c->count; t++)
        write_table(j, tables, c, &c->tables[t]);
    write_means(j, root, c);
    cJSON *notes = tp_json_array(j, root, "notes");
    for (size_t i = 0; i < c->note_count; i++)
        tp_json_push(j, notes, cJSON_CreateString(c->notes[i]));
    return root;
}
