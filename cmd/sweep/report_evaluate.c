/* Evaluates the cells of a sweep in two passes: the scores of settings, and then what needs to know
 * which of them are the best. See sweep_answers.h. */
#include "cmd/sweep/sweep_answers.h"

#include "alloc/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double tp_sweep_factors[TP_SWEEP_FACTORS] = {1, 1.01, 1.05, 1.1, 1.25, 1.5, 2};

/* ---- a row ---- */

/* One more of what is counted, so that none is not infinitely better than one. */
static double shift_of(const struct tp_metric *m)
{
    return m->unit == TP_UNIT_COUNT ? 1 : 0;
}

bool tp_sweep_logs(const struct tp_sweep_picked *p, const struct tp_sweep_answer *a,
                   const struct tp_sweep_row *row, double *ratios, double *over_best)
{
    double sign = a->metric->better == TP_BETTER_MORE ? -1 : 1, shift = shift_of(a->metric);
    double best = INFINITY, one;
    for (size_t i = 0; i < row->count; i++) {
        double value = row->cells[i].failed ? NAN : row->cells[i].values[a->figure] + shift;
        if (value <= 0)
            return false;
        ratios[i] = sign * log(value);
        best = ratios[i] < best ? ratios[i] : best;
    }
    one = best;
    if (a->ratio == TP_SWEEP_REGRET)
        one = p->references[row->trace].bytes > 0 ? log(p->references[row->trace].bytes) : NAN;
    if (isinf(best) || isnan(one))
        return false;
    for (size_t i = 0; i < row->count; i++) {
        over_best[i] = ratios[i] - best;
        ratios[i] -= one;
    }
    return true;
}

/* ---- the first pass ---- */

struct sweep_pass {
    struct tp_sweep_answers *all;
    double *ratios, *over_best; /* owned: of the cells of a row */
    double *by_setting;         /* owned: of all settings */
};

static void add_costs(const struct tp_sweep_picked *p, const struct tp_sweep_cell *cell,
                      struct tp_sweep_score *s)
{
    for (size_t i = 0; i < TP_SWEEP_COSTS; i++) {
        double value = cell->values[p->asked + i];
        bool counted = tp_sweep_cost_metric(p, i)->unit == TP_UNIT_COUNT;
        if (isnan(value) || (!counted && value <= 0))
            continue;
        s->costs[i] += counted ? value : log(value);
        s->cost_traces[i]++;
    }
}

static void add_score(struct tp_sweep_score *s, uint32_t trace, double ratio, double over_best)
{
    s->sum += ratio;
    if (!s->traces++ || ratio > s->worst) {
        s->worst = ratio;
        s->worst_trace = trace;
    }
    s->within += over_best <= TP_SWEEP_PERCENT + TP_SWEEP_SAME;
    for (size_t i = 0; i < TP_SWEEP_FACTORS; i++)
        s->factors[i] += over_best <= log(tp_sweep_factors[i]) + TP_SWEEP_SAME;
}

static void score_row(struct sweep_pass *pass, struct tp_sweep_answer *a,
                      const struct tp_sweep_row *row)
{
    const struct tp_sweep_picked *p = &pass->all->picked;
    uint32_t valued = 0, good = 0;
    double sum = 0;
    for (size_t i = 0; i < row->count; i++) {
        const struct tp_sweep_cell *cell = &row->cells[i];
        a->scores[cell->setting].failed += cell->failed;
        a->values += isnan(cell->values[a->figure]) ? 0 : 1;
        valued += !cell->failed && !isnan(cell->values[a->figure]);
    }
    if (!tp_sweep_logs(p, a, row, pass->ratios, pass->over_best)) {
        a->without += valued > 0;
        return;
    }
    for (size_t i = 0; i < row->count; i++) {
        if (isnan(pass->ratios[i]))
            continue;
        struct tp_sweep_score *s = &a->scores[row->cells[i].setting];
        add_score(s, row->trace, pass->ratios[i], pass->over_best[i]);
        add_costs(p, &row->cells[i], s);
        sum += pass->ratios[i];
        good++;
    }
    a->hardness[row->trace] = sum / good;
    a->traces++;
    a->bounds += a->ratio == TP_SWEEP_REGRET && p->references[row->trace].bound;
}

static void first_pass(void *ctx, const struct tp_sweep_row *row)
{
    struct sweep_pass *pass = ctx;
    for (size_t i = 0; i < pass->all->picked.asked; i++)
        score_row(pass, &pass->all->list[i], row);
}

/* ---- the second pass ---- */

/* The best setting against the second one, and against its rivals. */
static void compare_row(struct tp_sweep_answer *a, const double *by_setting)
{
    if (a->competing < 2)
        return;
    double one = by_setting[a->order[0]], other = by_setting[a->order[1]];
    a->better += one < other - TP_SWEEP_SAME;
    a->worse += one > other + TP_SWEEP_SAME;
    a->equal += fabs(one - other) <= TP_SWEEP_SAME;
    for (size_t i = 0; a->rivals && i < a->rival_count; i++)
        a->rivals[a->rival_traces * a->rival_count + i] = by_setting[a->order[i]];
    a->rival_traces++;
}

static void second_pass(void *ctx, const struct tp_sweep_row *row)
{
    struct sweep_pass *pass = ctx;
    const struct tp_sweep_picked *p = &pass->all->picked;
    for (size_t k = 0; k < p->asked; k++) {
        struct tp_sweep_answer *a = &pass->all->list[k];
        if (!tp_sweep_logs(p, a, row, pass->ratios, pass->over_best))
            continue;
        for (size_t i = 0; i < row->count; i++)
            pass->by_setting[row->cells[i].setting] = pass->ratios[i];
        compare_row(a, pass->by_setting);
        tp_sweep_effects_count(a, pass->by_setting);
        tp_sweep_heat_add(&a->heat, row, pass->ratios);
        for (size_t i = 0; i < row->count; i++)
            pass->by_setting[row->cells[i].setting] = NAN;
    }
}

/* ---- how sure ---- */

/* Draws as many traces as there are, with replacement, again and again: another choice of traces
 * of the same kind could have been like that. How often is none of the rivals better? */
static int draw_traces(struct tp_sweep_answer *a, struct tp_err *err)
{
    size_t n = a->rival_traces, rivals = a->rival_count;
    double *sums = malloc((rivals + 1) * sizeof *sums);
    struct tp_random random;
    if (!sums)
        return tp_sweep_no_memory(err);
    tp_random_seed(&random, 1);
    for (a->draws = 0; a->draws < TP_SWEEP_DRAWS; a->draws++) {
        memset(sums, 0, rivals * sizeof *sums);
        for (size_t i = 0; i < n; i++) {
            const double *row = &a->rivals[tp_random_below(&random, n) * rivals];
            for (size_t r = 0; r < rivals; r++)
                sums[r] += row[r];
        }
        bool wins = true;
        for (size_t r = 1; r < rivals; r++)
            wins &= sums[0] <= sums[r] + TP_SWEEP_SAME * (double)n;
        a->wins += wins;
    }
    free(sums);
    return TP_OK;
}

static int prepare_rivals(struct tp_sweep_answer *a, struct tp_err *err)
{
    a->rival_count = a->competing < TP_SWEEP_RIVALS ? a->competing : TP_SWEEP_RIVALS;
    if (a->traces < TP_SWEEP_DRAWN_LEAST || a->traces > TP_SWEEP_DRAWN_MOST || a->rival_count < 2)
        return TP_OK;
    a->rivals = malloc(a->traces * a->rival_count * sizeof *a->rivals);
    return a->rivals ? TP_OK : tp_sweep_no_memory(err);
}

/* ---- the whole ---- */

static int begin_answer(struct tp_sweep_answers *all, size_t i, struct tp_err *err)
{
    const struct tp_sweep_picked *p = &all->picked;
    struct tp_sweep_answer *a = &all->list[i];
    a->metric = p->metrics[i];
    a->figure = i;
    a->ratio = strcmp(a->metric->name, "peak_reserved") ? TP_SWEEP_VS_BEST : TP_SWEEP_REGRET;
    a->scores = calloc(p->setting_count + 1, sizeof *a->scores);
    a->order = calloc(p->setting_count + 1, sizeof *a->order);
    a->hardness = malloc((p->trace_count + 1) * sizeof *a->hardness);
    if (!a->scores || !a->order || !a->hardness)
        return tp_sweep_no_memory(err);
    for (size_t t = 0; t < p->trace_count; t++)
        a->hardness[t] = NAN;
    return TP_OK;
}

static int between_passes(const struct tp_sweep_picked *p, struct tp_sweep_answer *a,
                          struct tp_err *err)
{
    if (!a->values) {
        int status = tp_fail(err, TP_EINPUT, "%s: no cell has the metric '%s'", p->sql->path,
                             a->metric->name);
        return tp_hint(err, status, "it is measured by --passes %s",
                       tp_metric_pass(a->metric)->name);
    }
    int status = tp_sweep_rank(p, a, err);
    if (!status)
        status = tp_sweep_effects_find(p, a, err);
    if (!status)
        status = tp_sweep_heat_begin(p, a, err);
    return status ? status : prepare_rivals(a, err);
}

static int name_trace(struct tp_sweep_answers *all, uint32_t trace, struct tp_err *err)
{
    return all->paths[trace] ? TP_OK : tp_sweep_path(&all->picked, trace, &all->paths[trace], err);
}

/* Those that are the worst of a setting, and the first of each row that is drawn. */
static int name_traces(struct tp_sweep_answers *all, const struct tp_sweep_answer *a,
                       struct tp_err *err)
{
    const struct tp_sweep_heat *h = &a->heat;
    int status = TP_OK;
    for (size_t i = 0; !status && i < a->ranked; i++)
        if (a->scores[a->order[i]].traces)
            status = name_trace(all, a->scores[a->order[i]].worst_trace, err);
    for (size_t i = 0; !status && i < h->rows; i++)
        status = name_trace(all, h->traces[tp_sweep_first(h->trace_count, h->rows, i)], err);
    return status;
}

static int finish_answer(struct tp_sweep_answers *all, struct tp_sweep_answer *a,
                         struct tp_err *err)
{
    int status = a->rivals ? draw_traces(a, err) : TP_OK;
    if (!status)
        status = tp_sweep_effects_sort(a, err);
    return status ? status : name_traces(all, a, err);
}

static int run_passes(struct tp_sweep_answers *all, struct sweep_pass *pass, struct tp_err *err)
{
    size_t count = all->picked.asked;
    int status = TP_OK;
    for (size_t i = 0; i < all->picked.setting_count; i++)
        pass->by_setting[i] = NAN;
    for (size_t i = 0; !status && i < count; i++)
        status = begin_answer(all, i, err);
    if (!status)
        status = tp_sweep_rows(&all->picked, first_pass, pass, err);
    for (size_t i = 0; !status && i < count; i++)
        status = between_passes(&all->picked, &all->list[i], err);
    if (!status)
        status = tp_sweep_rows(&all->picked, second_pass, pass, err);
    for (size_t i = 0; !status && i < count; i++)
        status = finish_answer(all, &all->list[i], err);
    return status;
}

int tp_sweep_evaluate(const struct tp_sweep_asking *asking, struct tp_sweep_answers *all,
                      struct tp_err *err)
{
    *all = (struct tp_sweep_answers){.asking = asking};
    struct sweep_pass pass = {.all = all};
    int status = tp_sweep_pick(asking, &all->picked, err);
    if (status)
        return status;
    size_t settings = all->picked.setting_count + 1;
    all->list = calloc(all->picked.asked, sizeof *all->list);
    all->paths = calloc(all->picked.trace_count + 1, sizeof *all->paths);
    pass.ratios = malloc(settings * sizeof *pass.ratios);
    pass.over_best = malloc(settings * sizeof *pass.over_best);
    pass.by_setting = malloc(settings * sizeof *pass.by_setting);
    if (all->list && all->paths && pass.ratios && pass.over_best && pass.by_setting)
        status = run_passes(all, &pass, err);
    else
        status = tp_sweep_no_memory(err);
    free(pass.ratios);
    free(pass.over_best);
    free(pass.by_setting);
    return status;
}

static void drop_answer(struct tp_sweep_answer *a)
{
    tp_sweep_effects_drop(a);
    tp_sweep_heat_drop(&a->heat);
    for (size_t i = 0; i < a->front_count; i++)
        free(a->fronts[i].settings);
    free(a->profiles);
    free(a->rivals);
    free(a->hardness);
    free(a->order);
    free(a->scores);
}

void tp_sweep_answers_drop(struct tp_sweep_answers *all)
{
    for (size_t i = 0; all->list && i < all->picked.asked; i++)
        drop_answer(&all->list[i]);
    for (size_t i = 0; all->paths && i < all->picked.trace_count; i++)
        free(all->paths[i]);
    free(all->list);
    free(all->paths);
    tp_sweep_picked_drop(&all->picked);
}
