/* Series with one value per process, in which values may be missing (NAN): the known values, their
 * median and their spread. */
#ifndef TP_KNOWN_VALUES_H
#define TP_KNOWN_VALUES_H

#include "alloc/numbers/statistics.h"

/* Copies the finite values to `out` in their order, at most TP_STAT_VALUES_MAX, and returns their
 * number. */
size_t tp_known_values(const double *values, size_t count, double *out);

/* The median of the finite values; NAN: there are none. */
double tp_known_median(const double *values, size_t count);

/* The standard deviation of the logarithms of the values above 0. It is about the share by which
 * two values differ. NAN: fewer than two values are above 0. */
double tp_known_spread(const double *values, size_t count);

#endif
