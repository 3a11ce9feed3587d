/* A bounded series of repeated measurements and the small statistics made of it. */
#ifndef TP_SERIES_H
#define TP_SERIES_H

#include <stdint.h>

#define TP_SERIES_MAX 1000 /* even */

/* Zeroed memory is an empty series. Each value is the mean of `per_value` consecutive measurements:
 * 1 until more than TP_SERIES_MAX come, then neighbours are merged and it doubles. */
struct tp_series {
    uint32_t count;
    uint64_t per_value;
    uint64_t total; /* measurements taken */
    double pending; /* sum of those not yet in a value */
    uint64_t pending_count;
    double values[TP_SERIES_MAX];
};

void tp_series_add(struct tp_series *s, double value);

/* A median and the interval that holds the true one with 95 % confidence, from the order statistics
 * of the values (binomial, so no shape is assumed). With under 6 values the interval is the range.
 */
struct tp_median {
    double median, low, high;
};
struct tp_median tp_series_median(const struct tp_series *s); /* all 0 when empty */

#endif
