/* The JSON of the answers of a sweep, which sweep.schema.json describes. */
#include "cmd/sweep/report_words.h"
#include "cmd/ui/escape.h"
#include "cmd/ui/json_out.h"

#include "alloc/base/units.h"

enum { FAILURES_MOST = 1000 };

/* What parts of the tree are made from. */
struct sweep_tree {
    struct tp_json *j;
    const struct tp_sweep_answers *all;
    const struct tp_sweep_picked *p;
    const struct tp_sweep_answer *a;
    size_t most; /* of each list that grows with the settings */
};

static const char *setting_text(const struct sweep_tree *t, uint32_t setting)
{
    return t->p->settings[setting].text;
}

static void write_costs(const struct sweep_tree *t, cJSON *o, uint32_t setting)
{
    static const char *const names[TP_SWEEP_COSTS] = {"driver_calls", "ns_per_op"};
    for (size_t i = 0; i < TP_SWEEP_COSTS; i++)
        tp_json_real(t->j, o, names[i], tp_sweep_cost(t->p, t->a, setting, i));
}

static void write_setting_row(const struct sweep_tree *t, cJSON *list, uint32_t setting)
{
    const struct tp_sweep_tried *of = &t->p->settings[setting];
    const struct tp_sweep_score *s = &t->a->scores[setting];
    cJSON *o = tp_json_item(t->j, list);
    tp_json_text(t->j, o, "setting", of->text);
    tp_json_text(t->j, o, "strategy", of->strategy);
    cJSON *options = tp_json_object(t->j, o, "options");
    for (size_t i = 0; i < t->p->option_count; i++)
        if (of->values[i])
            tp_json_text(t->j, options, t->p->options[i].name,
                         t->p->options[i].values[of->values[i]]);
    tp_json_bool(t->j, o, "competes", s->competes);
    tp_json_real(t->j, o, "geometric_mean", tp_sweep_mean(s));
    tp_json_real(t->j, o, "worst", s->traces ? exp(s->worst) : NAN);
    tp_json_text(t->j, o, "worst_trace", s->traces ? t->all->paths[s->worst_trace] : NULL);
    tp_json_uint(t->j, o, "traces", s->traces);
    tp_json_uint(t->j, o, "failed", s->failed + of->unread);
    tp_json_uint(t->j, o, "within_1_percent", s->within);
    write_costs(t, o, setting);
}

static void write_best(const struct sweep_tree *t, cJSON *root)
{
    const struct tp_sweep_answer *a = t->a;
    cJSON *o = tp_json_object(t->j, root, "best");
    bool has = a->competing > 0, second = a->competing > 1;
    tp_json_text(t->j, o, "setting", has ? setting_text(t, a->order[0]) : NULL);
    tp_json_text(t->j, o, "second", second ? setting_text(t, a->order[1]) : NULL);
    tp_json_uint(t->j, o, "better_than_second", a->better);
    tp_json_uint(t->j, o, "equal_to_second", a->equal);
    tp_json_uint(t->j, o, "worse_than_second", a->worse);
    tp_json_uint(t->j, o, "samples", a->draws);
    tp_json_uint(t->j, o, "best_in_samples", a->wins);
}

static void write_fronts(const struct sweep_tree *t, cJSON *root)
{
    cJSON *list = tp_json_array(t->j, root, "fronts");
    for (size_t i = 0; i < t->a->front_count; i++) {
        const struct tp_sweep_front *f = &t->a->fronts[i];
        cJSON *o = tp_json_item(t->j, list);
        tp_json_text(t->j, o, "cost", tp_sweep_cost_metric(t->p, f->cost)->name);
        cJSON *points = tp_json_array(t->j, o, "settings");
        for (size_t k = 0; k < f->count && k < t->most; k++) {
            cJSON *point = tp_json_item(t->j, points);
            tp_json_text(t->j, point, "setting", setting_text(t, f->settings[k]));
            tp_json_real(t->j, point, "geometric_mean",
                         tp_sweep_mean(&t->a->scores[f->settings[k]]));
            tp_json_real(t->j, point, "cost", tp_sweep_cost(t->p, t->a, f->settings[k], f->cost));
        }
    }
}

static void write_profiles(const struct sweep_tree *t, cJSON *root)
{
    cJSON *list = tp_json_array(t->j, root, "profiles");
    for (size_t i = 0; i < t->a->profile_count && i < t->most; i++) {
        uint32_t setting = t->a->profiles[i];
        cJSON *o = tp_json_item(t->j, list);
        tp_json_text(t->j, o, "strategy", t->p->settings[setting].strategy);
        tp_json_text(t->j, o, "setting", setting_text(t, setting));
        cJSON *points = tp_json_array(t->j, o, "points");
        for (size_t k = 0; k < TP_SWEEP_FACTORS; k++) {
            cJSON *point = tp_json_item(t->j, points);
            tp_json_real(t->j, point, "factor", tp_sweep_factors[k]);
            tp_json_uint(t->j, point, "traces", t->a->scores[setting].factors[k]);
        }
    }
}

static void write_effects(const struct sweep_tree *t, cJSON *root)
{
    cJSON *list = tp_json_array(t->j, root, "effects");
    for (size_t i = 0; i < t->a->effect_count && i < t->most; i++) {
        const struct tp_sweep_effect *e = &t->a->effects[i];
        cJSON *o = tp_json_item(t->j, list);
        tp_json_text(t->j, o, "strategy", e->strategy);
        tp_json_text(t->j, o, "option", e->option);
        tp_json_uint(t->j, o, "combinations", e->groups);
        tp_json_uint(t->j, o, "traces", e->traces);
        tp_json_uint(t->j, o, "traces_affected", e->affected);
        tp_json_real(t->j, o, "worst_vs_best", tp_sweep_effect_size(e));
        cJSON *values = tp_json_array(t->j, o, "values");
        for (size_t k = 0; k < e->count; k++) {
            if (k >= t->most && k + 1 < e->count) /* the worst value stays */
                continue;
            cJSON *value = tp_json_item(t->j, values);
            tp_json_text(t->j, value, "value", t->p->options[e->name].values[e->values[k]]);
            tp_json_bool(t->j, value, "default", !e->values[k]);
            tp_json_real(t->j, value, "geometric_mean", exp(e->means[k]));
        }
    }
}

static void write_heat(const struct sweep_tree *t, cJSON *root)
{
    const struct tp_sweep_heat *h = &t->a->heat;
    cJSON *o = tp_json_object(t->j, root, "heat_map");
    cJSON *traces = tp_json_array(t->j, o, "traces");
    for (size_t i = 0; i < h->rows; i++) {
        size_t first = tp_sweep_first(h->trace_count, h->rows, i);
        cJSON *row = tp_json_item(t->j, traces);
        tp_json_text(t->j, row, "first", t->all->paths[h->traces[first]]);
        tp_json_uint(t->j, row, "count", tp_sweep_first(h->trace_count, h->rows, i + 1) - first);
    }
    cJSON *settings = tp_json_array(t->j, o, "settings");
    for (size_t i = 0; i < h->columns; i++) {
        size_t first = tp_sweep_first(h->setting_count, h->columns, i);
        cJSON *column = tp_json_item(t->j, settings);
        tp_json_text(t->j, column, "first", setting_text(t, h->settings[first]));
        tp_json_uint(t->j, column, "count",
                     tp_sweep_first(h->setting_count, h->columns, i + 1) - first);
    }
    cJSON *ratios = tp_json_array(t->j, o, "ratios");
    for (size_t i = 0; i < h->rows; i++) {
        cJSON *row = cJSON_CreateArray();
        for (size_t k = 0; k < h->columns; k++) {
            double ratio = tp_sweep_square(h, i, k);
            tp_json_push(t->j, row,
                         isnan(ratio) ? cJSON_CreateNull()
                                      : cJSON_CreateNumber(tp_json_rounded(ratio)));
        }
        tp_json_push(t->j, ratios, row);
    }
}

static void write_answer(const struct sweep_tree *t, cJSON *list)
{
    const struct tp_sweep_answer *a = t->a;
    static const char *const ratios[] = {
        [TP_SWEEP_REGRET] = "regret", [TP_SWEEP_VS_BEST] = "vs_best"};
    cJSON *o = tp_json_item(t->j, list);
    tp_json_text(t->j, o, "metric", a->metric->name);
    tp_json_text(t->j, o, "unit", tp_metric_unit_name(a->metric));
    tp_json_bool(t->j, o, "more_is_better", a->metric->better == TP_BETTER_MORE);
    tp_json_text(t->j, o, "ratio", ratios[a->ratio]);
    tp_json_uint(t->j, o, "traces", a->traces);
    tp_json_uint(t->j, o, "traces_over_lower_bound", a->bounds);
    tp_json_uint(t->j, o, "traces_without_ratio", a->without);
    tp_json_uint(t->j, o, "settings_competing", a->competing);
    write_best(t, o);
    cJSON *rows = tp_json_array(t->j, o, "settings");
    for (size_t i = 0; i < a->ranked && i < t->most; i++)
        write_setting_row(t, rows, a->order[i]);
    write_fronts(t, o);
    write_profiles(t, o);
    write_effects(t, o);
    write_heat(t, o);
}

static void write_left_out(const struct sweep_tree *t, cJSON *root)
{
    const struct tp_sweep_left_out *left = &t->p->left;
    cJSON *o = tp_json_object(t->j, root, "left_out");
    tp_json_uint(t->j, o, "other_tools", (uint64_t)left->tools);
    tp_json_uint(t->j, o, "other_machines", (uint64_t)left->machines);
    tp_json_uint(t->j, o, "unknown", (uint64_t)left->lost);
    tp_json_uint(t->j, o, "older", (uint64_t)left->older);
    tp_json_uint(t->j, o, "invalid_values", (uint64_t)left->invalid);
}

/* A text as the store has it; "" is null. */
static void write_clean(const struct sweep_tree *t, cJSON *o, const char *name, const char *text)
{
    struct tp_str clean = {0};
    tp_str_escape(&clean, TP_TO_LINE, text);
    t->j->failed |= clean.cut;
    tp_json_text(t->j, o, name, clean.length ? tp_str_text(&clean) : NULL);
    tp_str_drop(&clean);
}

struct failure_list {
    struct tp_json *j;
    cJSON *list;
};

static void push_failure(void *ctx, const struct tp_sweep_failure *f)
{
    const struct failure_list *l = ctx;
    cJSON *o = tp_json_item(l->j, l->list);
    tp_json_text(l->j, o, "path", f->path);
    tp_json_text(l->j, o, "setting", *f->setting ? f->setting : NULL);
    tp_json_text(l->j, o, "error", f->error);
}

cJSON *tp_sweep_tree(struct tp_json *j, const struct tp_sweep_answers *all, size_t most)
{
    struct sweep_tree t = {.j = j, .all = all, .p = &all->picked, .most = most};
    const struct tp_sweep_picked *p = t.p;
    cJSON *root = tp_json_object(j, NULL, NULL);
    struct tp_err ignored;
    tp_json_text(j, root, "schema", "tapool.sweep/1");
    tp_json_tool(j, root);
    tp_json_text(j, root, "store", p->sql->path);
    write_clean(&t, root, "replayed_by", p->tool);
    write_clean(&t, root, "machine", p->machine);
    tp_json_uint(j, root, "traces", p->trace_count);
    tp_json_uint(j, root, "settings", p->setting_count);
    tp_json_uint(j, root, "cells", (uint64_t)p->cells);
    tp_json_uint(j, root, "cells_expected", p->expected < 0 ? TP_NONE : (uint64_t)p->expected);
    write_left_out(&t, root);
    cJSON *answers = tp_json_array(j, root, "answers");
    for (size_t i = 0; i < p->asked; i++) {
        t.a = &all->list[i];
        write_answer(&t, answers);
    }
    tp_json_uint(j, root, "failure_count", (uint64_t)p->failures);
    struct failure_list list = {j, tp_json_array(j, root, "failures")};
    j->failed |= tp_sweep_failures(p, FAILURES_MOST, push_failure, &list, &ignored) != TP_OK;
    return root;
}
