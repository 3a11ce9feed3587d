/* Series of one value per process, of which some may not be known (NAN): what is left, and how much
 * it spreads. */
#ifndef TP_KNOWN_VALUES_H
#define TP_KNOWN_VALUES_H

#include "alloc/engine/statistics.h"

/* Copies the finite ones in their order into `out`, at most TP_STAT_VALUES_MAX; how many. */
size_t tp_known_values(const double *values, size_t count, double *out);

/* The median of the finite ones; NAN: there are none. */
double tp_known_median(const double *values, size_t count);

/* Standard deviation of the logarithms of those above 0, which is about the share by which two of
 * them differ. NAN: fewer than two are. */
double tp_known_spread(const double *values, size_t count);

#endif
