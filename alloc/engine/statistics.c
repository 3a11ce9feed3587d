/* Quantiles, the Mann-Whitney test and Holm's adjustment; resample.c has the functions that draw at
 * random.
 *
 * The exact distribution of the test is computed in integers: the numbers of arrangements of a and
 * b values with each U are the coefficients of a Gaussian binomial, which is built factor by factor
 * (Mann and Whitney's recurrence, 1947, summed over one side):
 *
 *     [a+b over b] = product over i = 1..b of (1 - x^(a+i)) / (1 - x^i)
 *
 * Their sum is (a+b over b), at most 1.4e11 for 20 and 20 values, so nothing is rounded before the
 * one division at the end. Known weakness: above 20 values a side, or with ties, the normal
 * approximation is used, which is inaccurate where one side is very small and the other large. */
#include "alloc/engine/statistics.h"

#include <math.h>
#include <stdlib.h>

enum { EXACT_U_MAX = TP_STAT_EXACT_MAX * TP_STAT_EXACT_MAX };

int tp_stat_by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    return (a > b) - (a < b);
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

/* ---- Mann-Whitney ---- */

/* Sets counts[u] to the number of arrangements of a and b values in which the U of a side is u, for
 * u up to `most`. Terms above `most` do not affect those below. */
static void count_arrangements(size_t a, size_t b, size_t most, uint64_t counts[EXACT_U_MAX + 1])
{
    for (size_t u = 0; u <= most; u++)
        counts[u] = u == 0;
    for (size_t i = 1; i <= b; i++) {
        for (size_t u = most; u >= a + i; u--) /* multiplies by 1 - x^(a+i) */
            counts[u] -= counts[u - a - i];
        for (size_t u = i; u <= most; u++) /* divides by 1 - x^i */
            counts[u] += counts[u - i];
    }
}

/* Number of arrangements with a U of at most `most`. */
static uint64_t arrangements_to(size_t a, size_t b, size_t most)
{
    uint64_t counts[EXACT_U_MAX + 1], sum = 0;
    count_arrangements(a, b, most, counts);
    for (size_t u = 0; u <= most; u++)
        sum += counts[u];
    return sum;
}

/* The probability of a U of at least `u`. The distribution is symmetric, so the shorter tail is
 * counted. */
static double exact_p(size_t a, size_t b, size_t u)
{
    uint64_t all = 1, so_large;
    for (size_t i = 1; i <= b; i++)
        all = all * (a + i) / i;
    if (a * b - u < u)
        so_large = arrangements_to(a, b, a * b - u);
    else
        so_large = u ? all - arrangements_to(a, b, u - 1) : all;
    return (double)so_large / (double)all;
}

/* p by the normal approximation. `ties` is the sum of t^3 - t over all groups of t equal values. */
static double normal_p(double a, double b, double u, double ties)
{
    double all = a + b;
    double variance = a * b / 12 * (all + 1 - ties / (all * (all - 1)));
    if (!(variance > 0)) /* all values are equal */
        return 1;
    return erfc((u - a * b / 2 - 0.5) / sqrt(2 * variance)) / 2;
}

static bool is_exact(size_t a_count, size_t b_count)
{
    return a_count <= TP_STAT_EXACT_MAX && b_count <= TP_STAT_EXACT_MAX;
}

static bool is_empty(size_t count)
{
    return count == 0 || count > TP_STAT_VALUES_MAX;
}

double tp_stat_mann_whitney_p(size_t a_count, size_t b_count, double u)
{
    if (is_empty(a_count) || is_empty(b_count) || isnan(u))
        return NAN;
    double most = (double)(a_count * b_count);
    if (!is_exact(a_count, b_count))
        return normal_p((double)a_count, (double)b_count, u, 0);
    if (u > most)
        return 0;
    return exact_p(a_count, b_count, (size_t)ceil(fmax(u, 0)));
}

double tp_stat_mann_whitney_least(size_t a_count, size_t b_count)
{
    return tp_stat_mann_whitney_p(a_count, b_count, (double)(a_count * b_count));
}

static bool sorted_copy(const double *values, size_t count, double *copy)
{
    for (size_t i = 0; i < count; i++)
        copy[i] = values[i];
    qsort(copy, count, sizeof *copy, tp_stat_by_value);
    return !isnan(copy[count - 1]);
}

/* Number of values in `sorted`, from index `from` on, that equal `value`. */
static size_t run_of(const double *sorted, size_t count, size_t from, double value)
{
    size_t end = from;
    while (end < count && sorted[end] == value)
        end++;
    return end - from;
}

/* The smallest value at the heads of the two sorted sides. */
static double lower_head(const double *a, size_t a_left, const double *b, size_t b_left)
{
    if (!a_left || !b_left)
        return a_left ? *a : *b;
    return *a < *b ? *a : *b;
}

struct tp_rank_test tp_stat_mann_whitney(const double *a, size_t a_count, const double *b,
                                         size_t b_count)
{
    struct tp_rank_test test = {.u = NAN, .p = NAN};
    double as[TP_STAT_VALUES_MAX], bs[TP_STAT_VALUES_MAX];
    if (is_empty(a_count) || is_empty(b_count) || !sorted_copy(a, a_count, as) ||
        !sorted_copy(b, b_count, bs))
        return test;
    double twice_u = 0, ties = 0;
    for (size_t i = 0, j = 0; i < a_count || j < b_count;) {
        double value = lower_head(as + i, a_count - i, bs + j, b_count - j);
        size_t in_a = run_of(as, a_count, i, value), in_b = run_of(bs, b_count, j, value);
        double equal = (double)(in_a + in_b);
        twice_u += (double)in_a * (double)(2 * j + in_b);
        ties += equal * equal * equal - equal;
        i += in_a;
        j += in_b;
    }
    test.u = twice_u / 2;
    test.exact = ties <= 0 && is_exact(a_count, b_count);
    test.p = test.exact ? exact_p(a_count, b_count, (size_t)test.u)
                        : normal_p((double)a_count, (double)b_count, test.u, ties);
    return test;
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
