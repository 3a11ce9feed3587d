/* Quantiles, the signed-rank test and Holm's adjustment; resample.c has the functions that draw at
 * random.
 *
 * Under the hypothesis of the signed-rank test the sizes of the values are given, and only their
 * signs are random. So the distribution of w is that of a sum that holds each rank or does not,
 * with equal chance. It is built rank by rank, which is exact for tied ranks too; ranks are
 * doubled, so that shared ones are whole numbers:
 *
 *     values   -1  2  2  4      doubled ranks   2  5  5  8      2w = 5 + 5 + 8 = 18
 *
 * Known weakness: above 100 values the normal approximation is used. */
#include "alloc/numbers/statistics.h"

#include <math.h>
#include <stdlib.h>

enum { EXACT_SUM_MAX = TP_STAT_EXACT_MAX * (TP_STAT_EXACT_MAX + 1) };

int tp_stat_by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    if (isnan(a))
        return isnan(b) ? 0 : 1;
    if (isnan(b) || a < b)
        return -1;
    return a > b ? 1 : 0;
}

double tp_stat_between(double low, double high)
{
    double sum = low + high;
    /* the sum of two finite values may overflow */
    return isinf(sum) ? low / 2 + high / 2 : sum / 2;
}

double tp_stat_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, tp_stat_by_value);
    if (isnan(values[count - 1]))
        return NAN;
    return count % 2 ? values[count / 2]
                     : tp_stat_between(values[count / 2 - 1], values[count / 2]);
}

double tp_stat_quantile(const double *sorted, size_t count, double fraction)
{
    if (count == 0 || isnan(fraction) || isnan(sorted[count - 1]))
        return NAN;
    double place = (double)(count - 1) * fmin(fmax(fraction, 0), 1);
    size_t below = (size_t)place;
    double part = place - (double)below, low = sorted[below];
    /* the difference of two equal infinities would be NAN */
    if (part <= 0 || low == sorted[below + 1])
        return low;
    return low + (sorted[below + 1] - low) * part;
}

double tp_stat_geometric_mean(const double *ratios, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(ratios[i] > 0))
            return NAN;
        sum += log(ratios[i]);
    }
    return count ? exp(sum / (double)count) : NAN;
}

/* ---- signed ranks ---- */

/* The doubled ranks of the values that are not 0, and the sums that follow from them. */
struct signed_ranks {
    uint16_t doubled[TP_STAT_VALUES_MAX];
    size_t count;
    uint64_t sum, above; /* of all of them; of those whose value is above 0 */
};

static int by_size(const void *left, const void *right)
{
    double a = fabs(*(const double *)left), b = fabs(*(const double *)right);
    return tp_stat_by_value(&a, &b);
}

static bool is_empty(size_t count)
{
    return count == 0 || count > TP_STAT_VALUES_MAX;
}

/* Ranks `count` values that are sorted by size. */
static void rank_sorted(const double *sorted, size_t count, struct signed_ranks *out)
{
    *out = (struct signed_ranks){.count = 0};
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && fabs(sorted[end]) <= fabs(sorted[first]);)
            end++;
        for (size_t i = first; i < end && fabs(sorted[i]) > 0; i++) {
            size_t doubled = first + 1 + end; /* twice the mean of first + 1 to end */
            out->doubled[out->count++] = (uint16_t)doubled;
            out->sum += doubled;
            out->above += sorted[i] > 0 ? doubled : 0;
        }
    }
}

/* Sets chance[s] to the probability that the doubled ranks of the values above 0 have the sum s. */
static void distribute(const struct signed_ranks *r, double chance[EXACT_SUM_MAX + 1])
{
    size_t sum = 0;
    chance[0] = 1;
    for (size_t i = 0; i < r->count; i++) {
        size_t rank = r->doubled[i];
        for (size_t s = sum + rank + 1; s-- > 0;) {
            double without = s <= sum ? chance[s] : 0, with = s >= rank ? chance[s - rank] : 0;
            chance[s] = (without + with) / 2;
        }
        sum += rank;
    }
}

static double exact_p(const struct signed_ranks *r)
{
    double chance[EXACT_SUM_MAX + 1], p = 0;
    distribute(r, chance);
    for (uint64_t s = r->sum + 1; s-- > r->above;) /* the rarest first, so that none is lost */
        p += chance[s];
    return fmin(p, 1);
}

/* The sum w is half of the doubled one, and varies by a quarter of the squares of its ranks. */
static double normal_p(const struct signed_ranks *r, uint64_t above)
{
    double squares = 0;
    for (size_t i = 0; i < r->count; i++)
        squares += (double)r->doubled[i] * r->doubled[i];
    if (!(squares > 0))
        return 1;
    double off = (double)above / 2 - (double)r->sum / 4 - 0.5;
    return erfc(off / sqrt(squares / 8)) / 2;
}

struct tp_rank_test tp_stat_signed_rank(const double *values, size_t count)
{
    struct tp_rank_test test = {.w = NAN, .p = NAN};
    double sorted[TP_STAT_VALUES_MAX];
    struct signed_ranks ranks;
    if (is_empty(count))
        return test;
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i];
    qsort(sorted, count, sizeof *sorted, by_size);
    if (isnan(sorted[count - 1]))
        return test;
    rank_sorted(sorted, count, &ranks);
    test.w = (double)ranks.above / 2;
    test.exact = count <= TP_STAT_EXACT_MAX;
    test.p = test.exact ? exact_p(&ranks) : normal_p(&ranks, ranks.above);
    return test;
}

/* The ranks of `count` different values above 0. */
static struct signed_ranks plain_ranks(size_t count)
{
    struct signed_ranks r = {.count = count, .sum = (uint64_t)count * (count + 1)};
    for (size_t i = 0; i < count; i++)
        r.doubled[i] = (uint16_t)(2 * (i + 1));
    r.above = r.sum;
    return r;
}

double tp_stat_signed_rank_least(size_t count)
{
    if (is_empty(count))
        return NAN;
    struct signed_ranks r = plain_ranks(count);
    return count <= TP_STAT_EXACT_MAX ? ldexp(1, -(int)count) : normal_p(&r, r.sum);
}

double tp_stat_signed_rank_bar(size_t count, double alpha)
{
    double chance[EXACT_SUM_MAX + 1], tail = 0;
    bool exact = count <= TP_STAT_EXACT_MAX;
    if (is_empty(count))
        return INFINITY;
    struct signed_ranks r = plain_ranks(count);
    uint64_t bar = r.sum + 2;
    if (exact)
        distribute(&r, chance);
    for (; bar > 0; bar -= 2) { /* doubled sums of whole ranks are even */
        tail = exact ? tail + chance[bar - 2] : normal_p(&r, bar - 2);
        if (!(tail < alpha))
            break;
    }
    return bar > r.sum ? INFINITY : (double)bar / 2;
}

/* ---- Holm ---- */

/* The index of the smallest p whose sign bit is not set; `count` where none is left. */
static size_t smallest_left(const double *p, size_t count)
{
    size_t found = count;
    for (size_t i = 0; i < count; i++)
        if (!isnan(p[i]) && !signbit(p[i]) && (found == count || p[i] < p[found]))
            found = i;
    return found;
}

void tp_stat_holm(const double *p, size_t count, double *adjusted)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        adjusted[i] = p[i] <= 0 ? 0 : p[i];
        left += isnan(adjusted[i]) ? 0 : 1;
    }
    double largest = 0;
    for (; left; left--) {
        size_t at = smallest_left(adjusted, count);
        largest = fmin(fmax(largest, adjusted[at] * (double)left), 1);
        adjusted[at] = -largest; /* negative (even -0.0) marks a p as done until all are adjusted */
    }
    for (size_t i = 0; i < count; i++)
        adjusted[i] = isnan(adjusted[i]) ? NAN : fabs(adjusted[i]);
}
