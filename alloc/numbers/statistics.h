/* The statistics behind a comparison of two builds or two strategies. Every function is a pure
 * function of its arguments; random ones take a seed. The expected values in tests come from SciPy
 * (tests/data/statistics). */
#ifndef TP_STATISTICS_H
#define TP_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_STAT_EXACT_MAX = 100, /* signed ranks: values up to which the test is exact */
    TP_STAT_RESAMPLES = 10000,
    TP_STAT_VALUES_MAX = 2000 /* values a side, at most: two sets of rounds */
};

/* Comparison of doubles for qsort; NAN sorts last. */
int tp_stat_by_value(const void *left, const void *right);

/* The mean of two numbers, even where their sum overflows a double. */
double tp_stat_between(double low, double high);

/* The median; sorts `values`, NANs last. With an even count the mean of the two values in the
 * middle. NAN for no values or where one is NAN. */
double tp_stat_median(double *values, size_t count);

/* A quantile of sorted values, by linear interpolation (Hyndman and Fan's type 7). `fraction` is
 * from 0 to 1. NAN for no values or where the last is NAN. */
double tp_stat_quantile(const double *sorted, size_t count, double fraction);

/* The geometric mean; NAN for no ratios, or where one is not above 0. */
double tp_stat_geometric_mean(const double *ratios, size_t count);

/* One-sided: are the values above 0? */
struct tp_rank_test {
    double w; /* sum of the ranks of the values above 0 */
    double p; /* probability of a sum at least this large if either sign were equally likely */
    bool exact;
};

/* Wilcoxon's signed-rank test. Values are ranked by their size without sign; equal ones share the
 * mean of their ranks. Values of 0 are ranked too, but count for no side (Pratt). The test is exact
 * for these very ranks up to TP_STAT_EXACT_MAX values, else the normal approximation with a
 * correction for continuity. p is 1 where all values are 0. w and p are NAN for no values, for more
 * than TP_STAT_VALUES_MAX, and where one is NAN. */
struct tp_rank_test tp_stat_signed_rank(const double *values, size_t count);

/* The smallest p that the test can give for this number of values; NAN for none or too many. */
double tp_stat_signed_rank_least(size_t count);

/* The smallest w with a p below `alpha`, for different values without a 0. INFINITY: none has. */
double tp_stat_signed_rank_bar(size_t count, double alpha);

/* Holm's step-down adjustment; `adjusted` may be `p`. NANs stay NAN and do not count as tests. The
 * time grows with the square of `count`, which suits the hundreds of tests of a job. */
void tp_stat_holm(const double *p, size_t count, double *adjusted);

struct tp_interval {
    double low, high;
};

/* Percentile bootstrap of the median: `resamples` samples (at most TP_STAT_RESAMPLES) of `count`
 * values are drawn with replacement, and the interval holds the share `confidence` (0.95) of their
 * medians. The same seed gives the same interval. Both ends are NAN for no values, for more than
 * TP_STAT_VALUES_MAX, or where one is not finite. */
struct tp_interval tp_stat_bootstrap_median(const double *values, size_t count, double confidence,
                                            unsigned resamples, uint64_t seed);

/* When a difference counts (CI-GATE's rule for class N). */
struct tp_stat_rule {
    double alpha;  /* 0.01, after Holm */
    double effect; /* 0.05: smallest relative slowdown that counts */
    size_t tests;  /* number of tests of the whole job, for Holm's worst case; 0 is taken as 1 */
    uint64_t seed;
    unsigned looks; /* decisions that share alpha in equal parts; 0 is taken as 1 */
};

/* The smallest slowdown (0.06: 6%), at least rule->effect, that the rule would find in at least
 * the share `power` (0.9) of runs with the spread of these values. `base` and `changed` are paired.
 * To simulate runs, the pairs are scaled to a median ratio of 1 and drawn with replacement, either
 * way round, and one side is slowed down. NAN where no slowdown up to 10 times would be found (too
 * few pairs for that many tests), where a value is not finite and above 0, and for more than
 * TP_STAT_VALUES_MAX pairs. */
double tp_stat_sensitivity(const double *base, const double *changed, size_t count, double power,
                           const struct tp_stat_rule *rule);

#endif
