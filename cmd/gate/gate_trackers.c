/* The measured values of a check for trackers of a trend over commits, each by one cell and metric:
 *
 *     bmf          {"web.tpt, arena": {"peak_reserved": {"value": 917504}}}     Bencher
 *     benchmarks   [{"name": "web.tpt, arena: peak_reserved", "unit": "bytes", "value": 917504,
 *                    "extra": "unchanged"}]                     github-action-benchmark, smaller is
 *                                                               better: shares of reuse are left
 * out
 *
 * Both read numbers alone, so bytes above 2^53 are rounded. */
#include "cmd/gate/gate_words.h"
#include "cmd/ui/json_out.h"

#include "alloc/base/clean.h"

#include <math.h>

/* A cell as a tracker knows it: the same from commit to commit. */
static struct tp_gate_line cell_name(const struct tp_gate_cell *c)
{
    struct tp_gate_line line;
    char text[sizeof line.s];
    snprintf(text, sizeof text, "%s, %s on %s", c->trace, c->strategy, c->source);
    tp_clean_text(text, line.s, sizeof line.s);
    return line;
}

static bool has_value(const struct tp_finding *f)
{
    return f->cell && f->metric && isfinite(f->now);
}

static void add_number(struct tp_json *j, cJSON *in, const char *name, double value)
{
    j->failed |= !cJSON_AddNumberToObject(in, name, value);
}

static int write_bmf(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = of;
    struct tp_json j = {false};
    const struct tp_gate_cell *last = NULL; /* whose object is `cell` */
    cJSON *root = tp_json_object(&j, NULL, NULL), *cell = NULL;
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        if (!has_value(f))
            continue;
        if (f->cell != last) {
            struct tp_gate_line name = cell_name(f->cell);
            cell = cJSON_GetObjectItemCaseSensitive(root, name.s);
            cell = cell ? cell : tp_json_object(&j, root, name.s);
            last = f->cell;
        }
        add_number(&j, tp_json_object(&j, cell, tp_finding_name(f).s), "value", f->now);
    }
    return tp_json_print(&j, root, out, err);
}

static int write_benchmarks(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_gate *g = of;
    struct tp_json j = {false};
    cJSON *root = cJSON_CreateArray();
    j.failed = !root;
    for (size_t i = 0; i < g->finding_count; i++) {
        const struct tp_finding *f = &g->findings[i];
        char name[sizeof(struct tp_gate_line) + sizeof(struct tp_text) + 2];
        if (!has_value(f) || f->metric->better != TP_BETTER_LESS)
            continue;
        snprintf(name, sizeof name, "%s: %s", cell_name(f->cell).s, tp_finding_name(f).s);
        cJSON *o = tp_json_item(&j, root);
        tp_json_text(&j, o, "name", name);
        tp_json_text(&j, o, "unit", tp_metric_unit_name(f->metric));
        add_number(&j, o, "value", f->now);
        tp_json_text(&j, o, "extra", tp_verdict_words[f->verdict]);
    }
    return tp_json_print(&j, root, out, err);
}

const struct tp_exporter tp_check_bmf = {.name = "bmf", .write = write_bmf};
const struct tp_exporter tp_check_benchmarks = {.name = "benchmarks", .write = write_benchmarks};
