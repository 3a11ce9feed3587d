/* See series.h. Known weakness: the interval treats the values as independent and does not cover
 * differences between processes (layout, frequency), so one run of `replay` is a single
 * measurement. */
#include "alloc/numbers/series.h"

#include "alloc/numbers/statistics.h"

#include <math.h>
#include <string.h>

static void merge_neighbours(struct tp_series *s)
{
    for (uint32_t i = 0; i < s->count / 2; i++)
        s->values[i] = (s->values[2 * i] + s->values[2 * i + 1]) / 2;
    s->count /= 2;
    s->per_value *= 2;
}

void tp_series_add(struct tp_series *s, double value)
{
    if (!s->per_value)
        s->per_value = 1;
    s->total++;
    s->pending += value;
    if (++s->pending_count < s->per_value)
        return;
    double mean = s->pending / (double)s->pending_count;
    if (s->count == TP_SERIES_MAX) {
        merge_neighbours(s);
        /* `pending` is kept: this measurement is the first half of the next value */
        return;
    }
    s->values[s->count++] = mean;
    s->pending = 0;
    s->pending_count = 0;
}

struct tp_median tp_series_median(const struct tp_series *s)
{
    if (!s->count)
        return (struct tp_median){0};
    double sorted[TP_SERIES_MAX];
    uint32_t n = s->count;
    memcpy(sorted, s->values, n * sizeof *sorted);
    double median = tp_stat_median(sorted, n);
    uint32_t lowest = 0;
    if (n >= 6) {
        double rank = (n - 1.959963985 * sqrt(n)) / 2; /* normal approximation of the binomial */
        lowest = rank >= 1 ? (uint32_t)rank - 1 : 0;
    }
    return (struct tp_median){median, sorted[lowest], sorted[n - 1 - lowest]};
}
