/* See difference.h. For some metrics less is better, for others more. So all decisions are made on
 * `worse`, the ratio by which the second side is worse than the first. */
#include "cmd/stats/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CONFIDENCE 0.95

size_t tp_difference_pairs(const double *base, const double *now, size_t count, double *b,
                           double *n)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < TP_STAT_VALUES_MAX; i++) {
        if (!(base[i] > 0) || !(now[i] > 0) || !isfinite(base[i]) || !isfinite(now[i]))
            continue;
        b[kept] = base[i];
        n[kept++] = now[i];
    }
    return kept;
}

static void measure_pairs(double *b, double *n, size_t count, uint64_t seed,
                          struct tp_difference *out)
{
    double logs[TP_STAT_VALUES_MAX];
    for (size_t i = 0; i < count; i++)
        logs[i] = log(n[i] / b[i]);
    struct tp_interval in =
        tp_stat_bootstrap_median(logs, count, CONFIDENCE, TP_STAT_RESAMPLES, seed);
    out->interval = (struct tp_interval){exp(in.low), exp(in.high)};
    out->estimate = exp(tp_stat_median(logs, count));
    double more = tp_stat_signed_rank(logs, count).p;
    for (size_t i = 0; i < count; i++)
        logs[i] = -logs[i];
    double less = tp_stat_signed_rank(logs, count).p;
    bool less_is_better = out->better == TP_BETTER_LESS;
    out->p_worse = less_is_better ? more : less;
    out->p_better = less_is_better ? less : more;
    out->base = tp_stat_median(b, count); /* must come last, because it sorts the values */
    out->now = tp_stat_median(n, count);
}

void tp_difference_measure(const double *base, const double *now, size_t count,
                           enum tp_better better, uint64_t seed, struct tp_difference *out)
{
    double b[TP_STAT_VALUES_MAX], n[TP_STAT_VALUES_MAX];
    *out = (struct tp_difference){.better = better,
                                  .base = NAN,
                                  .now = NAN,
                                  .estimate = NAN,
                                  .interval = {NAN, NAN},
                                  .p_worse = NAN,
                                  .p_better = NAN,
                                  .adjusted_worse = NAN,
                                  .adjusted_better = NAN,
                                  .verdict = TP_SAME};
    out->pairs = tp_difference_pairs(base, now, count, b, n);
    if (out->pairs)
        measure_pairs(b, n, out->pairs, seed, out);
}

/* `least` is the smallest adjusted p value that this number of pairs can reach. Pairs get lost (a
 * time of 0, a percentile of too few calls), and a test that could not have found a regression must
 * not pass as "same". Nor must a slowdown that only its p keeps from being a regression. */
static enum tp_verdict decide(const struct tp_difference *d, double least, double alpha,
                              double effect)
{
    bool less = d->better == TP_BETTER_LESS;
    double worse = less ? d->estimate : 1 / d->estimate;
    double low = less ? d->interval.low : 1 / d->interval.high;
    double high = less ? d->interval.high : 1 / d->interval.low;
    if (!d->pairs)
        return TP_INCONCLUSIVE;
    bool slower = worse >= 1 + effect && low > 1;
    if (slower)
        return d->adjusted_worse < alpha ? TP_REGRESSION : TP_INCONCLUSIVE;
    if (d->adjusted_better < alpha && 1 / worse >= 1 + effect && high < 1)
        return TP_IMPROVED;
    return least < alpha && high <= 1 + 2 * effect ? TP_SAME : TP_INCONCLUSIVE;
}

/* Adjusts the p values of one direction over all differences that are tested, and all looks. */
static void adjust(struct tp_difference *all, size_t count, double looks, double *p, bool worse)
{
    for (size_t i = 0; i < count; i++) {
        p[i] = worse ? all[i].p_worse : all[i].p_better;
        if (all[i].verdict == TP_INSENSITIVE)
            p[i] = NAN;
    }
    tp_stat_holm(p, count, p);
    for (size_t i = 0; i < count; i++) {
        double *adjusted = worse ? &all[i].adjusted_worse : &all[i].adjusted_better;
        *adjusted = isnan(p[i]) ? NAN : fmin(1, looks * p[i]);
    }
}

int tp_differences_decide(struct tp_difference *all, size_t count, const struct tp_stat_rule *rule,
                          struct tp_err *err)
{
    double *p = calloc(count ? count : 1, sizeof *p);
    double looks = rule->looks ? rule->looks : 1, tests = 0;
    if (!p)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    adjust(all, count, looks, p, true);
    adjust(all, count, looks, p, false);
    free(p);
    for (size_t i = 0; i < count; i++)
        tests += all[i].verdict != TP_INSENSITIVE;
    for (size_t i = 0; i < count; i++)
        if (all[i].verdict != TP_INSENSITIVE)
            all[i].verdict =
                decide(&all[i], looks * tests * tp_stat_signed_rank_least(all[i].pairs),
                       rule->alpha, all[i].has_effect ? all[i].effect : rule->effect);
    return TP_OK;
}

double tp_difference_two_sided(const struct tp_difference *d)
{
    return fmin(1, 2 * fmin(d->p_worse, d->p_better));
}

bool tp_difference_shown(const struct tp_difference *d, double adjusted, double alpha,
                         double effect)
{
    bool excludes = d->interval.low > 1 || d->interval.high < 1;
    return adjusted < alpha && fabs(d->estimate - 1) >= effect && excludes;
}
