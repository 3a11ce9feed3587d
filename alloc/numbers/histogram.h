/* A log-linear histogram of durations: integer, of fixed size, merged by addition.
 *
 *     0 1 2 ... 63 | 64 66 68 ... 126 | 128 132 ... 252 | ...
 *     32 buckets a doubling: within 3.2%
 *
 * Count, minimum and maximum are exact. (After the idea of HdrHistogram by Gil Tene.) */
#ifndef TP_HISTOGRAM_H
#define TP_HISTOGRAM_H

#include <stdint.h>

enum {
    TP_HIST_LINEAR = 64, /* durations below this many ns have a bucket per nanosecond */
    TP_HIST_LINEAR_LOG2 = 6,
    TP_HIST_SUB = 32,      /* buckets per doubling */
    TP_HIST_TOP_LOG2 = 40, /* durations from 2^40 ns (18 min) on share the last bucket */
    TP_HIST_BUCKETS = TP_HIST_LINEAR + (TP_HIST_TOP_LOG2 - TP_HIST_LINEAR_LOG2) * TP_HIST_SUB,
    TP_HIST_DOUBLINGS = TP_HIST_TOP_LOG2
};

/* Zeroed memory is an empty histogram. All durations are ns. */
struct tp_histogram {
    uint64_t count;
    uint64_t sum;
    uint64_t min, max; /* valid when count > 0 */
    uint64_t buckets[TP_HIST_BUCKETS];
};

void tp_hist_add(struct tp_histogram *h, uint64_t value);
void tp_hist_merge(struct tp_histogram *into, const struct tp_histogram *from);

/* A quantile in ns: the upper end of the bucket that holds it, at most the maximum. `fraction` is 0
 * to 1. 0 for an empty histogram. */
uint64_t tp_hist_quantile(const struct tp_histogram *h, double fraction);

/* The highest value of bucket `index`. */
uint64_t tp_hist_upper(uint32_t index);

/* Counts the values by powers of two: out[k] is how many lie in [2^k, 2^(k+1)), exactly; the first
 * has the zeros too, and the last one has no upper end. */
void tp_hist_double(const struct tp_histogram *h, uint64_t out[TP_HIST_DOUBLINGS]);

#endif
