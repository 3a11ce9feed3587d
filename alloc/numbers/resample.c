/* Statistics by resampling: the bootstrap interval of a median, and the smallest slowdown that a
 * run with this spread would have found.
 *
 * A resample is stored as the number of times that each value was drawn. The values are sorted
 * once, so every quantile of every resample is found by counting, without another sort:
 *
 *     values   3.1  3.3  3.4  3.9  4.0  7.2
 *     drawn      1    0    3    1    0    1      median: 3rd and 4th of 6, both 3.4
 *
 * Sensitivity works on logarithms, where a slowdown is a shift. For each simulated run the smallest
 * shift that satisfies all three conditions of the rule is computed, and the answer is a quantile
 * of these shifts. This replaces a search over shifts that would simulate runs for each shift.
 *
 * Known weakness: twenty pairs determine the spread only roughly, and its tails even less. For a
 * power of 90%, 84 to 88% of new runs were found (simulated with tails of 5 to 20%). The
 * condition that the interval excludes 1 is estimated; where it alone decides (one test, long
 * tails) the answer may be a third too large. */
#include "alloc/base/random.h"
#include "alloc/numbers/statistics.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUNS = 4000, /* simulated runs; a power of 0.9 is then accurate to half a percentage point */
    HALVINGS = 24
};

static const double confidence = 0.95; /* confidence of the rule's interval */
static const double slowest = 10;      /* largest slowdown considered, as a factor */

/* ---- drawing ---- */

/* Makes `count` draws from `of` values; drawn[i] says how often value i was drawn. */
static void draw(struct tp_random *random, size_t count, size_t of, uint16_t *drawn)
{
    for (size_t i = 0; i < of; i++)
        drawn[i] = 0;
    for (size_t i = 0; i < count; i++)
        drawn[tp_random_below(random, of)]++;
}

/* The index among the sorted values of the value with rank `rank` (from 0) in the resample. */
static size_t drawn_at(const uint16_t *drawn, size_t rank)
{
    size_t at = 0;
    for (size_t seen = drawn[0]; seen <= rank; seen += drawn[at])
        at++;
    return at;
}

static double drawn_median(const double *sorted, size_t count, const uint16_t *drawn)
{
    size_t low = drawn_at(drawn, (count - 1) / 2), high = drawn_at(drawn, count / 2);
    return tp_stat_between(sorted[low], sorted[high]);
}

/* ---- the interval ---- */

struct tp_interval tp_stat_bootstrap_median(const double *values, size_t count, double confident,
                                            unsigned resamples, uint64_t seed)
{
    struct tp_interval none = {NAN, NAN};
    double sorted[TP_STAT_VALUES_MAX], medians[TP_STAT_RESAMPLES];
    uint16_t drawn[TP_STAT_VALUES_MAX];
    struct tp_random random;
    if (count == 0 || count > TP_STAT_VALUES_MAX || resamples == 0)
        return none;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return none;
        sorted[i] = values[i];
    }
    qsort(sorted, count, sizeof *sorted, tp_stat_by_value);
    size_t times = resamples < TP_STAT_RESAMPLES ? resamples : TP_STAT_RESAMPLES;
    tp_random_seed(&random, seed);
    for (size_t i = 0; i < times; i++) {
        draw(&random, count, count, drawn);
        medians[i] = drawn_median(sorted, count, drawn);
    }
    qsort(medians, times, sizeof *medians, tp_stat_by_value);
    return (struct tp_interval){tp_stat_quantile(medians, times, (1 - confident) / 2),
                                tp_stat_quantile(medians, times, (1 + confident) / 2)};
}

/* ---- sensitivity ---- */

enum { POOL_MAX = 2 * TP_STAT_VALUES_MAX };

/* The conditions under which a run is a regression. */
struct bar {
    size_t count;  /* pairs of a run */
    double effect; /* smallest median of the logarithms of ratios */
    double w;      /* smallest sum of signed ranks that is significant */
    /* most pairs with a ratio of at most 1 with which the interval still excludes 1 */
    size_t may_be_lower;
};

static bool is_time(double value)
{
    return value > 0 && isfinite(value);
}

/* Fills `pool` with the logarithms of the ratios, scaled to a median of 0 and each in both
 * directions, because without a regression either side is as likely to be the slower one. Sorted.
 * False: a value is not finite and above 0. */
static bool read_ratios(const double *base, const double *changed, size_t count,
                        double pool[POOL_MAX])
{
    double ratios[TP_STAT_VALUES_MAX];
    for (size_t i = 0; i < count; i++) {
        if (!is_time(base[i]) || !is_time(changed[i]))
            return false;
        pool[i] = ratios[i] = log(changed[i]) - log(base[i]);
    }
    double middle = tp_stat_median(ratios, count);
    for (size_t i = 0; i < count; i++) {
        pool[i] -= middle;
        pool[count + i] = -pool[i];
    }
    qsort(pool, 2 * count, sizeof *pool, tp_stat_by_value);
    return true;
}

/* The share of resampled medians that are at most 1 when `lower` of `count` ratios are. The
 * interval's lower end is above 1 if this share is below 2.5%. A resampled median is at most 1
 * when more than half of the drawn ratios are, and about every second time when exactly half are;
 * the number drawn is binomial. */
static double lower_medians(size_t count, size_t lower)
{
    double odds = (double)lower / (double)(count - lower), tail = 0;
    /* probability that none of the `lower` ratios is drawn */
    double chance = pow(1 - (double)lower / (double)count, (double)count);
    for (size_t k = 1; k <= count; k++) {
        chance *= odds * (double)(count - k + 1) / (double)k;
        if (2 * k >= count)
            tail += 2 * k > count ? chance : chance / 2;
    }
    return tail;
}

static size_t may_be_lower(size_t count)
{
    size_t lower = 0;
    while (lower + 1 < count && lower_medians(count, lower + 1) < (1 - confidence) / 2)
        lower++;
    return lower;
}

/* The sum of signed ranks of a run whose sorted ratios are slowed down by `shift`: the number of
 * pairs of them, each with itself included, whose mean is above 0 (Tukey). */
static double run_w(const double *run, size_t count, double shift)
{
    size_t w = 0, from = count;
    for (size_t i = 0; i < count; i++) {
        while (from > 0 && run[i] + run[from - 1] + 2 * shift > 0)
            from--;
        w += count - (from > i ? from : i);
    }
    return (double)w;
}

/* The smallest shift with which this run would be a regression; INFINITY if it is above
 * `slowest`. */
static double run_needs(const double *run, const struct bar *bar)
{
    double middle = tp_stat_between(run[(bar->count - 1) / 2], run[bar->count / 2]);
    double low = fmax(bar->effect - middle, -run[bar->may_be_lower]), high = log(slowest);
    if (run_w(run, bar->count, low) >= bar->w)
        return low;
    if (low >= high || run_w(run, bar->count, high) < bar->w)
        return INFINITY;
    for (int i = 0; i < HALVINGS; i++) {
        double half = low + (high - low) / 2;
        if (run_w(run, bar->count, half) >= bar->w)
            high = half;
        else
            low = half;
    }
    return high;
}

/* Draws a run from the sorted pool; it is sorted as well. */
static void draw_run(struct tp_random *random, const double *pool, size_t count, double *run)
{
    uint16_t drawn[POOL_MAX];
    size_t n = 0;
    draw(random, count, 2 * count, drawn);
    for (size_t i = 0; i < 2 * count; i++)
        for (uint16_t k = 0; k < drawn[i]; k++)
            run[n++] = pool[i];
}

double tp_stat_sensitivity(const double *base, const double *changed, size_t count, double power,
                           const struct tp_stat_rule *rule)
{
    double pool[POOL_MAX], run[TP_STAT_VALUES_MAX], needs[RUNS];
    struct tp_random random;
    if (count == 0 || count > TP_STAT_VALUES_MAX || !read_ratios(base, changed, count, pool))
        return NAN;
    double tests = rule->tests ? (double)rule->tests : 1, looks = rule->looks ? rule->looks : 1;
    struct bar bar = {count, log1p(rule->effect),
                      tp_stat_signed_rank_bar(count, rule->alpha / tests / looks),
                      may_be_lower(count)};
    if (!isfinite(bar.w))
        return NAN;
    tp_random_seed(&random, rule->seed);
    for (size_t i = 0; i < RUNS; i++) {
        draw_run(&random, pool, count, run);
        needs[i] = run_needs(run, &bar);
    }
    qsort(needs, RUNS, sizeof *needs, tp_stat_by_value);
    double enough = ceil(fmin(fmax(power, 0), 1) * RUNS);
    double shift = fmax(needs[enough > 1 ? (size_t)enough - 1 : 0], bar.effect);
    return shift <= log(slowest) ? fmax(expm1(shift), rule->effect) : NAN;
}
