/* A bounded series of repeated measurements, and its median. */
#ifndef TP_SERIES_H
#define TP_SERIES_H

#include <stdint.h>

#define TP_SERIES_MAX 1000 /* even */

/* Zeroed memory is an empty series. Each value is the mean of `per_value` consecutive measurements.
 * per_value is 1 at first; when the array is full, neighbours are merged and per_value doubles. */
struct tp_series {
    uint32_t count;
    uint64_t per_value;
    uint64_t total; /* measurements taken */
    double pending; /* sum of the measurements that are not yet part of a value */
    uint64_t pending_count;
    double values[TP_SERIES_MAX];
};

void tp_series_add(struct tp_series *s, double value);

/* A median and its 95 % confidence interval, from order statistics of the values (binomial, so no
 * distribution is assumed). With fewer than 6 values the interval is their range. */
struct tp_median {
    double median, low, high;
};
/* all members 0 for an empty series */
struct tp_median tp_series_median(const struct tp_series *s);

#endif
