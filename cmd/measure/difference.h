/* Two series of the same metric, measured in pairs: is the second one worse, better, or can it not
 * be said? */
#ifndef TP_DIFFERENCE_H
#define TP_DIFFERENCE_H

#include "alloc/engine/statistics.h"
#include "cmd/measure/metrics.h"

enum tp_verdict {
    TP_SAME,
    TP_IMPROVED,
    TP_REGRESSION,
    TP_INCONCLUSIVE, /* a regression of twice the effect cannot be excluded */
    TP_INSENSITIVE,  /* mostly tapool's own share: another class decides */
    TP_VERDICTS
};

struct tp_difference {
    enum tp_better better;
    double base, now; /* medians */
    double estimate;  /* now / base: exp of the median of the logarithms of the pairs */
    struct tp_interval interval;
    double p_worse, p_better;               /* one-sided; raw, as Mann-Whitney gives them */
    double adjusted_worse, adjusted_better; /* after Holm over all tests of the job */
    size_t pairs;
    enum tp_verdict verdict;
};

/* Copies the pairs that have a ratio (both above 0 and finite) to `b` and `n`, which hold
 * TP_STAT_VALUES_MAX; their number. */
size_t tp_difference_pairs(const double *base, const double *now, size_t count, double *b,
                           double *n);

/* All but the adjusted p and the verdict. Pairs with a NAN or without a logarithm are left out. */
void tp_difference_measure(const double *base, const double *now, size_t count,
                           enum tp_better better, uint64_t seed, struct tp_difference *out);

/* Adjusts over all of them (both directions apart) and decides:
 *
 *     regression     adjusted p < alpha, estimate worse by `effect` or more, interval excludes 1
 *     improved       its mirror image
 *     inconclusive   neither, and the interval reaches beyond twice the effect; or fewer pairs than
 *                    a regression would need
 *
 * Those whose verdict is TP_INSENSITIVE before are no tests and stay so. TP_ENOMEM. */
int tp_differences_decide(struct tp_difference *all, size_t count, double alpha, double effect,
                          struct tp_err *err);

/* For those who ask for a difference in either direction: its p, raw; and whether it is shown, p
 * being `adjusted` by then: p < alpha, `effect` or more either way, interval excludes 1. A NAN
 * shows nothing. */
double tp_difference_two_sided(const struct tp_difference *d);
bool tp_difference_shown(const struct tp_difference *d, double adjusted, double alpha,
                         double effect);

#endif
