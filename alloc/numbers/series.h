/* A bounded series of repeated measurements, and its median. */
#ifndef TP_SERIES_H
#define TP_SERIES_H

#include <stdbool.h>
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

/* A median and its 95% confidence interval, from order statistics of the values (binomial, so no
 * distribution is assumed). With fewer than 6 values the interval is their range. */
struct tp_median {
    double median, low, high;
};
/* all members 0 for an empty series */
struct tp_median tp_series_median(const struct tp_series *s);

/* The course of a figure that is read now and then: the readings themselves, in bounded memory.
 *
 *     readings  . : ' . | . : . ' | ...      stretches of four
 *     points    the lowest and the highest of each, in the order of their events
 *
 * Up to TP_COURSE_POINTS readings are kept as they are. Then they are thinned to about half, and
 * again when there is no room. So no extreme is ever lost, and every point is a reading that took
 * place. Between two readings nothing is known. */

#define TP_COURSE_POINTS 512

/* A reading after `event`, which is numbered as in struct tp_curve_point; 0: before the first
 * event. */
struct tp_course_point {
    uint64_t bytes;
    uint64_t event;
    uint64_t clock; /* ns since the trace began, at the event; 0 in a trace without times */
};

/* Zeroed memory is an empty course. Plain memory without pointers. */
struct tp_course {
    uint32_t count;
    struct tp_course_point points[TP_COURSE_POINTS]; /* valid: the first `count` */
};

/* Adds a reading; events must not fall. Of two readings after one event the higher one stays.
 * Returns whether the course was thinned for that. */
bool tp_course_add(struct tp_course *c, const struct tp_course_point *reading);

#endif
