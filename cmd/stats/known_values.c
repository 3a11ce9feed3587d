/* See known_values.h. */
#include "cmd/stats/known_values.h"

#include <math.h>

size_t tp_known_values(const double *values, size_t count, double *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count && kept < TP_STAT_VALUES_MAX; i++)
        if (isfinite(values[i]))
            out[kept++] = values[i];
    return kept;
}

double tp_known_median(const double *values, size_t count)
{
    double known[TP_STAT_VALUES_MAX];
    size_t kept = tp_known_values(values, count, known);
    return tp_stat_median(known, kept);
}

double tp_known_spread(const double *values, size_t count)
{
    double logs[TP_STAT_VALUES_MAX], sum = 0, squares = 0;
    size_t known = tp_known_values(values, count, logs), n = 0;
    for (size_t i = 0; i < known; i++)
        if (logs[i] > 0) {
            logs[n] = log(logs[i]);
            sum += logs[n++];
        }
    for (size_t i = 0; i < n; i++)
        squares += (logs[i] - sum / (double)n) * (logs[i] - sum / (double)n);
    return n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
}
