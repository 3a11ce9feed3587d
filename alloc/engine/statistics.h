/* The statistics behind a comparison of two builds or two strategies. Every function is a pure
 * function of its arguments; random ones take a seed. The expected values in tests come from SciPy
 * (tests/data/statistics). */
#ifndef TP_STATISTICS_H
#define TP_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Mann-Whitney: values a side up to which the test is exact, without ties */
    TP_STAT_EXACT_MAX = 20,
    TP_STAT_RESAMPLES = 10000,
    TP_STAT_VALUES_MAX = 1000 /* values a side, at most */
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

/* One-sided: are the values of `a` larger than those of `b`? */
struct tp_rank_test {
    double u; /* U of `a`: pairs in which a is larger; ties count a half */
    /* probability of a U at least this large; u and p are NAN where a side is empty or holds a
     * NAN */
    double p;
    bool exact;
};

/* Mann-Whitney U. Exact for at most TP_STAT_EXACT_MAX values a side without ties, else the normal
 * approximation with corrections for ties and continuity; p is 1 where all values are equal. A side
 * with more than TP_STAT_VALUES_MAX values is treated as empty. */
struct tp_rank_test tp_stat_mann_whitney(const double *a, size_t a_count, const double *b,
                                         size_t b_count);

/* The p of `u` for the given numbers of values, without ties; NAN where a side is empty. */
double tp_stat_mann_whitney_p(size_t a_count, size_t b_count, double u);

/* The smallest p that the test can give for the given numbers of values, without ties. */
double tp_stat_mann_whitney_least(size_t a_count, size_t b_count);

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
};

/* The smallest slowdown (0.06: 6 %), at least rule->effect, that the rule would find in at least
 * the share `power` (0.9) of runs with the spread of these values. `base` and `changed` are paired.
 * To simulate runs, the pairs are scaled to a median ratio of 1 and drawn with replacement, either
 * way round, and one side is slowed down. NAN where no slowdown up to 10 times would be found (too
 * few pairs for that many tests), where a value is not finite and above 0, and for more than
 * TP_STAT_VALUES_MAX pairs. */
double tp_stat_sensitivity(const double *base, const double *changed, size_t count, double power,
                           const struct tp_stat_rule *rule);

#endif
