/* Compares two series of the same metric that were measured in pairs, and decides whether the
 * second one is worse, better, the same, or cannot be judged. */
#ifndef TP_DIFFERENCE_H
#define TP_DIFFERENCE_H

#include "alloc/numbers/statistics.h"
#include "cmd/results/metrics.h"

enum tp_verdict {
    TP_SAME,
    TP_IMPROVED,
    TP_REGRESSION,
    TP_INCONCLUSIVE, /* a regression of twice the effect cannot be excluded */
    TP_INSENSITIVE,  /* the times are mostly tapool's own: a metric of another class decides */
    TP_VERDICTS
};

struct tp_difference {
    enum tp_better better;
    double base, now;            /* medians of the two series */
    double estimate;             /* now / base: exp of the median log ratio of the pairs */
    struct tp_interval interval; /* of the estimate */
    double p_worse, p_better;    /* one-sided p values of the signed-rank test, not adjusted */
    double adjusted_worse, adjusted_better; /* after Holm over all tests of the job, for all
                                             * looks at the data */
    size_t pairs;
    bool has_effect; /* `effect` is its own, else that of the rule is meant */
    double effect;   /* the smallest difference that counts, as a share */
    enum tp_verdict verdict;
};

/* Copies the pairs that have a ratio (both values finite and above 0) to `b` and `n`, which hold
 * TP_STAT_VALUES_MAX each, and returns their number. */
size_t tp_difference_pairs(const double *base, const double *now, size_t count, double *b,
                           double *n);

/* Fills `out` except for the adjusted p values, the verdict and an effect of its own. Pairs without
 * a ratio are left out. */
void tp_difference_measure(const double *base, const double *now, size_t count,
                           enum tp_better better, uint64_t seed, struct tp_difference *out);

/* Adjusts the p values over all `count` differences, each direction separately, and decides:
 *
 *     regression     adjusted p < alpha, estimate worse by `effect` or more, interval excludes 1
 *     improved       adjusted p < alpha, estimate better by `effect` or more, interval excludes 1
 *     inconclusive   neither, and the interval reaches beyond twice the effect; or only p is too
 *                    large for a regression; or fewer pairs than a regression would need
 *
 * Where a job may decide more than once on growing data, each of its `looks` has an equal part of
 * `alpha`, so that all of them together raise false alarms at that rate: adjusted p values are
 * multiplied by `looks`.
 *
 * Differences that the caller has set to TP_INSENSITIVE are not tested and keep that verdict. The
 * rule's `tests` and `seed` are not used. TP_ENOMEM. */
int tp_differences_decide(struct tp_difference *all, size_t count, const struct tp_stat_rule *rule,
                          struct tp_err *err);

/* The two-sided p value of a difference, not adjusted. */
double tp_difference_two_sided(const struct tp_difference *d);

/* Whether a difference in either direction is shown: `adjusted` (the caller's adjusted two-sided p)
 * < alpha, an estimate that is `effect` or more away from 1, and an interval that excludes 1. A NAN
 * shows nothing. */
bool tp_difference_shown(const struct tp_difference *d, double adjusted, double alpha,
                         double effect);

#endif
