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

/* Sorts. NAN of nothing. With an even count the mean of the two in the middle. */
double tp_stat_median(double *values, size_t count);

/* Of sorted values, by linear interpolation between them (Hyndman and Fan's type 7); NAN of
 * nothing. `fraction` from 0 to 1. */
double tp_stat_quantile(const double *sorted, size_t count, double fraction);

/* Mean of the logarithms, back as a ratio; NAN of nothing, or where one is not above 0. */
double tp_stat_geometric_mean(const double *ratios, size_t count);

/* One-sided: are the values of `a` larger than those of `b`? */
struct tp_rank_test {
    double u; /* of `a`: pairs in which a is larger, ties count a half */
    double p; /* of a U so large or larger; NAN where a side is empty or holds a NAN */
    bool exact;
};

/* Mann-Whitney U. Exact for at most TP_STAT_EXACT_MAX values a side without ties, else the normal
 * approximation with corrections for ties and continuity; all values equal: p = 1. At most
 * TP_STAT_VALUES_MAX a side, more are an empty side. */
struct tp_rank_test tp_stat_mann_whitney(const double *a, size_t a_count, const double *b,
                                         size_t b_count);

/* The smallest p that this test can give with so many values a side. */
double tp_stat_mann_whitney_least(size_t a_count, size_t b_count);

/* Holm's step-down adjustment; `adjusted` may be `p`. NANs stay, and are no tests. */
void tp_stat_holm(const double *p, size_t count, double *adjusted);

struct tp_interval {
    double low, high;
};

/* Percentile bootstrap of the median: `resamples` times as many values are drawn with replacement;
 * the interval holds `confidence` (0.95) of their medians. The same seed gives the same interval.
 * Both NAN of nothing. */
struct tp_interval tp_stat_bootstrap_median(const double *values, size_t count, double confidence,
                                            unsigned resamples, uint64_t seed);

/* When a difference counts (CI-GATE's rule for class N). */
struct tp_stat_rule {
    double alpha;  /* 0.01, after Holm */
    double effect; /* 0.05: at least so much slower */
    size_t tests;  /* of the whole job, for Holm's worst case */
    uint64_t seed;
};

/* The smallest slowdown (0.06: 6 %) that this rule would find in at least `power` (0.9) of runs
 * with the spread seen here: new and base values are resampled, brought to the same median and
 * slowed down. NAN where nothing up to 10 times slower is. `base` and `changed` are paired. */
double tp_stat_sensitivity(const double *base, const double *changed, size_t count, double power,
                           const struct tp_stat_rule *rule);

#endif
