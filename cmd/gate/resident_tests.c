/* The statistics of resident memory and of its parts, in pairs of two libraries; pure functions of
 * the series, as in noisy_tests.c.
 *
 *     resident    live | rounding | partly free pages | free pages | never part of a block
 *
 * Resident memory, partly free pages and free pages are tested. Beside resident memory that got
 * worse stands the part that grew most. */
#include "cmd/gate/check_job.h"
#include "cmd/stats/known_values.h"

#include <math.h>

static double median_of(const struct tp_rounds *r, size_t side, const struct tp_metric *m)
{
    return tp_known_median(tp_rounds_values(r, side, m), r->rounds);
}

static struct tp_grown grown_most(const struct tp_rounds *r, const struct tp_metric *whole)
{
    struct tp_grown most = {NULL, 0, 0};
    for (const struct tp_metric *m = tp_metrics; m < tp_metrics + tp_metric_count; m++) {
        if (!tp_metric_is_part_of(m, whole))
            continue;
        double base = median_of(r, 0, m), now = median_of(r, 1, m);
        if (now - base > fmax(m->least, most.now - most.base))
            most = (struct tp_grown){m, base, now};
    }
    return most;
}

/* A part may be nothing on one side, which has no ratio: bytes below the least change that counts
 * are taken for that many. */
bool tp_resident_measure(const struct tp_rounds *r, uint64_t seed, struct tp_noisy_test *test)
{
    const struct tp_metric *m = test->metric;
    struct tp_difference *d = &test->difference;
    double raised[2][TP_STAT_VALUES_MAX];
    unsigned rounds = r->rounds < TP_STAT_VALUES_MAX ? r->rounds : TP_STAT_VALUES_MAX;
    for (size_t side = 0; side < 2; side++)
        for (unsigned i = 0; i < rounds; i++) {
            double value = tp_rounds_values(r, side, m)[i];
            raised[side][i] = value < m->least ? m->least : value;
        }
    tp_difference_measure(raised[0], raised[1], rounds, m->better, seed, d);
    d->base = median_of(r, 0, m);
    d->now = median_of(r, 1, m);
    test->grown = grown_most(r, m);
    return d->pairs > 0;
}

void tp_resident_allow(struct tp_noisy_test *test, double bytes)
{
    double least = test->metric->least;
    test->difference.has_effect = true;
    test->difference.effect = fmax(bytes, least) / fmax(test->difference.base, least);
}

/* Whether a part got worse while the whole that it is a part of got better. */
static bool has_moved(const struct tp_noisy_test *part, const struct tp_noisy_tests *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tp_noisy_test *whole = &t->items[i];
        if (whole->cell == part->cell && whole->difference.verdict == TP_IMPROVED &&
            tp_metric_is_part_of(part->metric, whole->metric))
            return part->difference.verdict == TP_REGRESSION;
    }
    return false;
}

int tp_resident_decide(struct tp_noisy_tests *t, const struct tp_stat_rule *rule,
                       struct tp_err *err)
{
    int status = tp_noisy_decide(t, rule, err);
    for (size_t i = 0; !status && i < t->count; i++)
        if (has_moved(&t->items[i], t))
            t->items[i].difference.verdict = TP_SAME;
    return status;
}
