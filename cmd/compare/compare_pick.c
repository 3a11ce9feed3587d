/* The Pick of a comparison. Its rows become records for the rule of cmd/report/pick.h. Which of two
 * rows is faster is decided by a test over the pairs of the rounds, adjusted over all such tests of
 * the table. */
#include "cmd/compare/compare.h"
#include "cmd/jobs/catalog.h"
#include "cmd/stats/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = TP_COMPARE_SIDES * TP_COMPARE_SIDES / 2 };

static double value_of(const struct tp_compare_row *r, const char *metric)
{
    return r->cells[tp_metric_find(metric, NULL) - tp_metrics].value;
}

static bool is_warned(const struct tp_compare_row *r, const char *id)
{
    return tp_record_option(&r->run->warnings, id) != NULL;
}

static bool has_failed(const struct tp_compare_row *r)
{
    return value_of(r, "failed_allocations") > 0;
}

/* ---- who is faster ---- */

/* The metric by which speed is judged: what passed for the user, if threads replayed. */
static const struct tp_metric *time_of(const struct tp_compare_table *t)
{
    const struct tp_metric *wall = tp_metric_find("wall_ns_per_op", NULL);
    for (size_t i = 0; i < t->count; i++)
        if (!isnan(value_of(&t->rows[i], wall->name)))
            return wall;
    return tp_metric_find("ns_per_op", NULL);
}

/* change[x][y]: by how much row x is faster than row y, as ns / ns - 1; 0: not shown by a test. */
struct races {
    double change[TP_COMPARE_SIDES][TP_COMPARE_SIDES];
};

static bool can_race(const struct tp_compare_row *a, const struct tp_compare_row *b,
                     const struct tp_metric *time)
{
    return a->rounds && b->rounds && a->cold == b->cold && !isnan(value_of(a, time->name)) &&
           !isnan(value_of(b, time->name)) && !has_failed(a) && !has_failed(b);
}

static void race(const struct tp_compare *c, const struct tp_compare_table *t, struct races *out)
{
    const struct tp_metric *time = time_of(t);
    struct tp_difference *d = calloc(PAIRS_MAX, sizeof *d);
    double p[PAIRS_MAX];
    double *places[PAIRS_MAX][2];
    size_t n = 0;
    for (size_t i = 0; d && i < t->count && i < TP_COMPARE_SIDES; i++)
        for (size_t j = 0; j < i; j++) {
            const struct tp_compare_row *x = &t->rows[i], *y = &t->rows[j];
            if (!can_race(x, y, time))
                continue;
            tp_difference_measure(tp_rounds_values(y->rounds, y->side, time),
                                  tp_rounds_values(x->rounds, x->side, time), c->rounds,
                                  time->better, c->seed, &d[n]);
            p[n] = d[n].pairs ? tp_difference_two_sided(&d[n]) : NAN;
            places[n][0] = &out->change[i][j];
            places[n++][1] = &out->change[j][i];
        }
    tp_stat_holm(p, n, p);
    for (size_t i = 0; i < n; i++) {
        double ratio = d[i].estimate;
        if (tp_difference_shown(&d[i], p[i], TP_COMPARE_ALPHA, TP_COMPARE_EFFECT))
            *places[i][ratio > 1] = ratio > 1 ? 1 / ratio - 1 : ratio - 1;
    }
    free(d);
}

static bool is_faster(const void *ctx, size_t x, size_t y, double *change)
{
    const struct races *races = ctx;
    bool tested = x < TP_COMPARE_SIDES && y < TP_COMPARE_SIDES;
    *change = tested ? races->change[x][y] : 0;
    return *change < 0;
}

/* ---- the records ---- */

static struct tp_choice choice_of(const struct tp_compare_row *r, bool resident,
                                  const struct tp_metric *time)
{
    const struct tp_strategy *known = tp_find_strategy(r->run->strategy, NULL);
    return (struct tp_choice){.label = r->label,
                              .reference = known && known->group == TP_GROUP_REFERENCE,
                              .region = known && known->caps & TP_CAP_NOFREE,
                              .failed = has_failed(r),
                              .unsafe = is_warned(r, "unsafe-reuse"),
                              .aged = r->run->aged,
                              .small = is_warned(r, "small-trace"),
                              .cold = r->cold,
                              .min_capacity = value_of(r, "min_capacity"),
                              .peak = value_of(r, resident ? "total_resident" : "peak_reserved"),
                              .calls_first = value_of(r, "driver_calls.total"),
                              .calls_later = value_of(r, "driver_calls.warm_calls"),
                              .ns = value_of(r, time->name),
                              .low = NAN,
                              .high = NAN};
}

/* The malloc that the recorded program had. */
static size_t find_had(const struct tp_compare_table *t)
{
    const char *had = t->head.trace ? t->head.trace->meta.allocator : NULL;
    size_t i = 0;
    while (i < t->count &&
           !(had && t->rows[i].run->library && !strcmp(t->rows[i].run->library, had)))
        i++;
    return i;
}

const struct tp_compare_row *tp_compare_pick(const struct tp_compare *c,
                                             const struct tp_compare_table *t, struct tp_pick *out)
{
    struct tp_choice list[TP_PICK_MAX];
    memset(out, 0, sizeof *out);
    t = t->whole ? t->whole : t;         /* what is not shown may be the best */
    if (t->count < 2 || t->rows[0].file) /* with several files the rows are the same strategies */
        return NULL;
    struct races *races = calloc(1, sizeof *races);
    if (!races)
        return NULL;
    bool resident = tp_compare_by_resident(t);
    for (size_t i = 0; i < t->count && i < TP_PICK_MAX; i++)
        list[i] = choice_of(&t->rows[i], resident, time_of(t));
    race(c, t, races);
    double operations = t->run->operations == TP_NONE ? NAN : (double)t->run->operations;
    uint64_t capacity = t->head.run ? t->head.run->devices[0].capacity : TP_NONE;
    tp_pick(&(struct tp_pick_question){.list = list,
                                       .count = t->count,
                                       .base = t->rows[0].base,
                                       .frees = t->run->frees > 0,
                                       .loop = t->run->loop,
                                       .resident = resident,
                                       .host = !strncmp(t->run->source, "host", 4),
                                       .goal = (enum tp_goal)c->goal,
                                       .share = tp_pick_share(&t->head),
                                       .had = find_had(t),
                                       .strategy_time = !strcmp(t->run->scope, "strategy"),
                                       .wall = !tp_metric_is_ns_per_op(time_of(t)),
                                       .operations = operations,
                                       .capacity = capacity == TP_NONE ? NAN : (double)capacity,
                                       .callee = tp_compare_callee(t->run),
                                       .faster = is_faster,
                                       .ctx = races},
            out);
    free(races);
    return out->count == 1 && !out->pair ? &t->rows[out->chosen[0]] : NULL;
}

/* ---- the largest figures ---- */

enum { FIGURES = 3 }; /* differences at most */

static bool is_base(const struct tp_compare_table *t, const struct tp_compare_row *r)
{
    return r->base == (size_t)(r - t->rows);
}

void tp_compare_figures(const struct tp_compare *c, const struct tp_compare_table *t,
                        struct tp_table *out)
{
    struct tp_pick pick;
    size_t shown = 0;
    tp_compare_pick(c, t, &pick);
    tp_pick_figure(&pick, out);
    if (!t->count)
        return;
    const struct tp_compare_table *of = pick.count && t->whole ? t->whole : t;
    const struct tp_compare_row *r = &of->rows[pick.count ? pick.chosen[0] : 0];
    for (size_t i = 0; i < t->count && is_base(of, r); i++) {
        of = t;
        r = &t->rows[i];
    }
    for (size_t m = 0; m < c->column_count && shown < FIGURES && !is_base(of, r); m++) {
        const struct tp_column column = tp_compare_heading(c->columns[m], of);
        char head[TP_COLUMN_TEXT], label[2 * sizeof(struct tp_compare_label) + TP_COLUMN_TEXT + 8];
        if (isnan(r->cells[c->columns[m] - tp_metrics].change))
            continue;
        tp_column_text(&column, head);
        snprintf(label, sizeof label, "%s, %s vs %s", head, tp_compare_name(r).s,
                 tp_compare_name(&of->rows[r->base]).s);
        tp_table_figure(out, label, tp_compare_change_text(r, c->columns[m]).s, "");
        shown++;
    }
}
