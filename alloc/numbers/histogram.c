/* See histogram.h. Known weakness: a percentile is the upper end of a bucket, up to 3.2% above the
 * true value. */
#include "alloc/numbers/histogram.h"

static uint32_t bucket_of(uint64_t value)
{
    if (value < TP_HIST_LINEAR)
        return (uint32_t)value;
    uint32_t log2 = 63u - (uint32_t)__builtin_clzll(value);
    if (log2 >= TP_HIST_TOP_LOG2)
        return TP_HIST_BUCKETS - 1;
    uint32_t sub = (uint32_t)(value >> (log2 - 5)) - TP_HIST_SUB;
    return TP_HIST_LINEAR + (log2 - TP_HIST_LINEAR_LOG2) * TP_HIST_SUB + sub;
}

uint64_t tp_hist_upper(uint32_t index)
{
    if (index < TP_HIST_LINEAR)
        return index;
    uint32_t doubling = (index - TP_HIST_LINEAR) / TP_HIST_SUB;
    uint64_t sub = (index - TP_HIST_LINEAR) % TP_HIST_SUB + TP_HIST_SUB + 1;
    return (sub << (doubling + 1)) - 1;
}

void tp_hist_add(struct tp_histogram *h, uint64_t value)
{
    if (!h->count || value < h->min)
        h->min = value;
    if (!h->count || value > h->max)
        h->max = value;
    h->count++;
    h->sum += value;
    h->buckets[bucket_of(value)]++;
}

void tp_hist_merge(struct tp_histogram *into, const struct tp_histogram *from)
{
    if (!from->count)
        return;
    if (!into->count || from->min < into->min)
        into->min = from->min;
    if (!into->count || from->max > into->max)
        into->max = from->max;
    into->count += from->count;
    into->sum += from->sum;
    for (uint32_t i = 0; i < TP_HIST_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

uint64_t tp_hist_quantile(const struct tp_histogram *h, double fraction)
{
    if (!h->count)
        return 0;
    double exact = fraction * (double)h->count;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact || rank == 0)
        rank++;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < TP_HIST_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen >= rank)
            return i == TP_HIST_BUCKETS - 1 || tp_hist_upper(i) > h->max ? h->max
                                                                         : tp_hist_upper(i);
    }
    return h->max;
}

void tp_hist_double(const struct tp_histogram *h, uint64_t out[TP_HIST_DOUBLINGS])
{
    for (uint32_t k = 0; k < TP_HIST_DOUBLINGS; k++)
        out[k] = 0;
    for (uint32_t i = 0; i < TP_HIST_BUCKETS; i++)
        out[63 - __builtin_clzll(tp_hist_upper(i) | 1)] += h->buckets[i];
}
