/* The statistics behind a comparison of two builds or two strategies. All of it is a pure function
 * of its arguments: what is random takes a seed. Golden values of these functions come from SciPy
 * (tests/data/statistics). */
#ifndef TP_STATISTICS_H
#define TP_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TP_STAT_EXACT_MAX = 20, /* Mann-Whitney: exact up to so many values a side, without ties */
    TP_STAT_RESAMPLES = 10000,
    TP_STAT_VALUES_MAX = 1000 /* of a side */
};

/* For qsort: NAN is above all. */
int tp_stat_by_value(const void *left, const void *right);

/* The mean of two; their sum may be too large for a double. */
double tp_stat_between(double low, double high);

/* Sorts, NANs last. NAN of nothing or where one is. With an even count the mean of the two in the
 * middle. */
double tp_stat_median(double *values, size_t count);

/* Of sorted values, by linear interpolation between them (Hyndman and Fan's type 7); NAN of
 * nothing or where the last is one. `fraction` from 0 to 1. */
double tp_stat_quantile(const double *sorted, size_t count, double fraction);

/* Mean of the logarithms, back as a ratio; NAN of nothing, or where one is not above 0. */
double tp_stat_geometric_mean(const double *ratios, size_t count);

/* One-sided: are the values of `a` larger than those of `b`? */
struct tp_rank_test {
    double u; /* of `a`: pairs in which a is larger, ties count a half */
    double p; /* of a U so large or larger; both NAN where a side is empty or holds a NAN */
    bool exact;
};

/* Mann-Whitney U. Exact for at most TP_STAT_EXACT_MAX values a side without ties, else the normal
 * approximation with corrections for ties and continuity; all values equal: p = 1. At most
 * TP_STAT_VALUES_MAX a side, more are an empty side. */
struct tp_rank_test tp_stat_mann_whitney(const double *a, size_t a_count, const double *b,
                                         size_t b_count);

/* The p of `u` with so many values a side, none of them equal; NAN where a side is empty. */
double tp_stat_mann_whitney_p(size_t a_count, size_t b_count, double u);

/* The smallest p that this test can give with so many values a side, none of them equal. */
double tp_stat_mann_whitney_least(size_t a_count, size_t b_count);

/* Holm's step-down adjustment; `adjusted` may be `p`. NANs stay, and are no tests. The time grows
 * with the square of `count`: for the hundreds of tests of a job. */
void tp_stat_holm(const double *p, size_t count, double *adjusted);

struct tp_interval {
    double low, high;
};

/* Percentile bootstrap of the median: `resamples` times (at most TP_STAT_RESAMPLES) as many values
 * are drawn with replacement; the interval holds `confidence` (0.95) of their medians. The same
 * seed gives the same interval. Both NAN of nothing, of more than TP_STAT_VALUES_MAX, or where one
 * is not finite. */
struct tp_interval tp_stat_bootstrap_median(const double *values, size_t count, double confidence,
                                            unsigned resamples, uint64_t seed);

/* When a difference counts (CI-GATE's rule for class N). */
struct tp_stat_rule {
    double alpha;  /* 0.01, after Holm */
    double effect; /* 0.05: at least so much slower */
    size_t tests;  /* of the whole job, for Holm's worst case; 0 is 1 */
    uint64_t seed;
};

/* The smallest slowdown (0.06: 6 %) that this rule would find in at least `power` (0.9) of runs
 * with the spread seen here: the pairs are brought to a median ratio of 1 and drawn with
 * replacement, either way round, and one side is slowed down. At least `effect`. NAN where nothing
 * up to 10 times slower would be found (too few pairs for so many tests), where a value is not
 * above 0 and finite, and where there are more than TP_STAT_VALUES_MAX. `base` and `changed` are
 * paired. */
double tp_stat_sensitivity(const double *base, const double *changed, size_t count, double power,
                           const struct tp_stat_rule *rule);

#endif
