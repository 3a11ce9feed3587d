/* tapool.check/2: all findings of a gate as JSON, described by cmd/gate/check.schema.json. Within a
 * major version members are only added, never renamed or removed. */
#include "cmd/gate/gate_markdown.h"
#include "cmd/gate/gate_words.h"
#include "cmd/results/report_json.h"
#include "cmd/ui/json_out.h"

#include "alloc/base/clean.h"

#include <math.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

/* Makes the text clean first, because an argument of the command line may not be valid UTF-8. */
static void add_text(struct tp_json *j, cJSON *in, const char *name, const char *value)
{
    char clean[TEXT_BYTES];
    tp_clean_text(value, clean, sizeof clean);
    tp_json_text(j, in, name, clean);
}

/* Writes a number with full precision, so that a p of 1e-9 does not become 0. */
static void add_number(struct tp_json *j, cJSON *in, const char *name, double value)
{
    if (!isfinite(value))
        tp_json_text(j, in, name, NULL);
    else
        j->failed |= !cJSON_AddNumberToObject(in, name, value);
}

/* Writes bytes and counts as whole numbers, above 2^53 as strings, like all documents of tapool. */
static void add_value(struct tp_json *j, cJSON *in, const char *name, const struct tp_metric *m,
                      double value)
{
    bool whole = m && (m->unit == TP_UNIT_BYTES || m->unit == TP_UNIT_COUNT);
    if (whole && value >= 0 && value < 0x1p64)
        tp_json_uint(j, in, name, (uint64_t)value);
    else
        add_number(j, in, name, value);
}

static void write_classes(struct tp_json *j, cJSON *root, const struct tp_gate *g)
{
    cJSON *classes = tp_json_array(j, root, "classes");
    for (int i = 0; i < TP_CLASS_REPORT; i++) {
        const struct tp_class_check *c = &g->classes[i];
        cJSON *o = tp_json_item(j, classes);
        tp_json_text(j, o, "class", tp_class_letter((enum tp_class)i));
        tp_json_text(j, o, "name", tp_class_words[i]);
        tp_json_bool(j, o, "checked", c->checked);
        tp_json_bool(j, o, "required", c->required);
        add_text(j, o, "against", c->against);
        add_text(j, o, "reason", c->reason);
        add_text(j, o, "how", c->how);
        tp_json_uint(j, o, "cells", c->cells);
        tp_json_uint(j, o, "values", c->values);
    }
}

static void write_cell(struct tp_json *j, cJSON *o, const struct tp_gate_cell *c)
{
    add_text(j, o, "trace", c ? c->trace : "");
    add_text(j, o, "strategy", c ? c->strategy : "");
    add_text(j, o, "source", c ? c->source : "");
}

static void write_cells(struct tp_json *j, cJSON *root, const struct tp_gate *g, size_t most)
{
    cJSON *cells = tp_json_array(j, root, "cells");
    for (size_t i = 0; i < g->cell_count && i < most; i++) {
        cJSON *o = tp_json_item(j, cells);
        write_cell(j, o, &g->cells[i]);
        add_text(j, o, "path", g->cells[i].path);
        add_text(j, o, "error", g->cells[i].failed ? g->cells[i].failed : "");
    }
}

static void write_difference(struct tp_json *j, cJSON *o, const struct tp_finding *f)
{
    const struct tp_difference *d = &f->difference;
    if (!tp_finding_is_timed(f)) {
        tp_json_text(j, o, "difference", NULL);
        return;
    }
    cJSON *in = tp_json_object(j, o, "difference");
    add_number(j, in, "estimate", d->estimate);
    add_number(j, in, "low", d->interval.low);
    add_number(j, in, "high", d->interval.high);
    add_number(j, in, "p_worse", d->p_worse);
    add_number(j, in, "p_better", d->p_better);
    add_number(j, in, "adjusted_p_worse", d->adjusted_worse);
    add_number(j, in, "adjusted_p_better", d->adjusted_better);
    tp_json_uint(j, in, "pairs", d->pairs);
    tp_json_uint(j, in, "sets", f->sets ? f->sets : 1);
}

static void write_grown(struct tp_json *j, cJSON *o, const struct tp_grown *g)
{
    if (!g->metric) {
        tp_json_text(j, o, "grown", NULL);
        return;
    }
    cJSON *in = tp_json_object(j, o, "grown");
    tp_json_text(j, in, "metric", g->metric->name);
    add_value(j, in, "base", g->metric, g->base);
    add_value(j, in, "now", g->metric, g->now);
}

static void write_finding(struct tp_json *j, cJSON *o, const struct tp_finding *f)
{
    const struct tp_metric *m = f->metric;
    const char *better = NULL;
    if (m)
        better = m->better == TP_BETTER_LESS ? "less" : "more";
    write_cell(j, o, f->cell);
    tp_json_uint(j, o, "device", f->device);
    tp_json_text(j, o, "metric", m ? m->name : tp_finding_name(f).s);
    tp_json_text(j, o, "class", tp_class_letter(m ? m->metric_class : TP_CLASS_EXACT));
    tp_json_text(j, o, "unit", m ? tp_metric_unit_name(m) : NULL);
    tp_json_text(j, o, "better", better);
    tp_json_text(j, o, "verdict", tp_verdict_words[f->verdict]);
    add_value(j, o, "base", m, m ? f->base : NAN);
    add_value(j, o, "now", m, m ? f->now : NAN);
    add_number(j, o, "change", m ? f->change : NAN);
    add_number(j, o, "allowed", f->allowed);
    write_difference(j, o, f);
    write_grown(j, o, &f->grown);
    add_text(j, o, "note", f->note);
}

static void write_causes(struct tp_json *j, cJSON *root, const struct tp_gate *g,
                         const size_t *place, size_t most)
{
    cJSON *causes = tp_json_array(j, root, "causes");
    for (size_t i = 0; i < g->cause_count && i < most; i++) {
        const struct tp_cause *c = &g->causes[i];
        cJSON *o = tp_json_item(j, causes);
        write_cell(j, o, c->lead->cell);
        tp_json_text(j, o, "verdict", tp_verdict_words[c->verdict]);
        tp_json_text(j, o, "family", tp_family_names[c->family]);
        tp_json_text(j, o, "text", tp_cause_text(c).s);
        cJSON *findings = tp_json_array(j, o, "findings");
        for (size_t k = 0; k < c->count; k++) {
            size_t finding = (size_t)(c->figures[k].finding - g->findings);
            size_t number = place ? place[finding] : finding;
            if (number != SIZE_MAX)
                tp_json_push(j, findings, tp_json_number(j, number));
        }
    }
}

static void write_rule(struct tp_json *j, cJSON *root, const struct tp_gate *g)
{
    cJSON *rule = tp_json_object(j, root, "rule");
    add_number(j, rule, "alpha", g->alpha);
    add_number(j, rule, "effect", g->effect);
    tp_json_uint(j, rule, "pairs", g->pairs);
    add_number(j, rule, "sensitivity", g->sharpness.worst);
    add_number(j, rule, "sensitivity_median", g->sharpness.median);
    tp_json_uint(j, rule, "sensitivity_untold", g->sharpness.untold);
    add_number(j, rule, "sensitivity_required", g->sensitivity > 0 ? g->sensitivity : NAN);
}

cJSON *tp_gate_tree(struct tp_json *j, const struct tp_gate *g, const size_t *place, size_t most)
{
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.check/2");
    tp_json_tool(j, root);
    tp_json_machine(j, root);
    tp_json_text(j, root, "verdict", tp_gate_verdict(g).s);
    tp_json_uint(j, root, "exit_code", (uint64_t)g->exit_code);
    cJSON *counts = tp_json_object(j, root, "counts");
    for (int v = 0; v < TP_VERDICTS; v++)
        tp_json_uint(j, counts, tp_verdict_words[v], g->counts[v]);
    add_text(j, root, "baseline", g->baseline);
    add_text(j, root, "written", g->written);
    add_text(j, root, "set_by", tp_gate_set_by(g).s);
    write_rule(j, root, g);
    tp_json_uint(j, root, "seed", g->seed);
    tp_json_uint(j, root, "wall_ns", g->wall_ns);
    add_text(j, root, "error", g->error);
    add_text(j, root, "again", g->again);
    write_classes(j, root, g);
    tp_json_uint(j, root, "baseline_cells", g->cells_total);
    write_cells(j, root, g, most);
    write_causes(j, root, g, place, most);
    cJSON *findings = tp_json_array(j, root, "findings");
    for (size_t i = 0; i < g->finding_count; i++)
        if (!place || place[i] != SIZE_MAX)
            write_finding(j, tp_json_item(j, findings), &g->findings[i]);
    return root;
}

cJSON *tp_check_tree(struct tp_json *j, const void *of)
{
    return tp_gate_tree(j, of, NULL, SIZE_MAX);
}
