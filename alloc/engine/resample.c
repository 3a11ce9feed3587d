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
 * power of 90 %, 84 to 88 % of new runs were found (simulated with tails of 5 to 20 %). The
 * condition that the interval excludes 1 is estimated; where it alone decides (one test, long
 * tails) the answer may be a third too large. */
#include "alloc/base/random.h"
#include "alloc/engine/statistics.h"

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

struct pair {
    double ratio; /* logarithm of changed / base, shifted so that the median of all is 0 */
    double base, changed;
};

struct by_side {
    double value;
    uint16_t pair;
};

enum { POOL_MAX = 2 * TP_STAT_VALUES_MAX };

/* The pairs to draw from: each pair as it is and with its sides exchanged, because without a
 * regression both are equally likely. Sorted by ratio, and each side also by its own values. */
struct pairs {
    size_t count;
    double ratio[POOL_MAX];
    struct by_side base[POOL_MAX], changed[POOL_MAX];
};

/* The conditions under which a run is a regression. */
struct bar {
    size_t count;  /* pairs of a run */
    double effect; /* smallest median of the logarithms of ratios */
    /* twice the smallest U whose p is below alpha divided by the number of tests */
    uint64_t twice_u;
    /* most pairs with a ratio of at most 1 with which the interval still excludes 1 */
    size_t may_be_lower;
};

static int by_ratio(const void *left, const void *right)
{
    return tp_stat_by_value(&((const struct pair *)left)->ratio,
                            &((const struct pair *)right)->ratio);
}

static int by_side_value(const void *left, const void *right)
{
    return tp_stat_by_value(&((const struct by_side *)left)->value,
                            &((const struct by_side *)right)->value);
}

static bool is_time(double value)
{
    return value > 0 && isfinite(value);
}

/* Reads the pairs as logarithms and scales them to a median ratio of 1. False: a value is not
 * finite and above 0. */
static bool read_pairs(const double *base, const double *changed, size_t count, struct pair *pairs)
{
    double ratios[TP_STAT_VALUES_MAX];
    for (size_t i = 0; i < count; i++) {
        if (!is_time(base[i]) || !is_time(changed[i]))
            return false;
        pairs[i] = (struct pair){.base = log(base[i]), .changed = log(changed[i])};
        ratios[i] = pairs[i].changed - pairs[i].base;
    }
    double middle = tp_stat_median(ratios, count);
    for (size_t i = 0; i < count; i++) {
        pairs[i].changed -= middle;
        pairs[i].ratio = pairs[i].changed - pairs[i].base;
    }
    return true;
}

static bool sort_pairs(const double *base, const double *changed, size_t count, struct pairs *p)
{
    struct pair pool[POOL_MAX];
    if (!read_pairs(base, changed, count, pool))
        return false;
    for (size_t i = 0; i < count; i++)
        pool[count + i] = (struct pair){-pool[i].ratio, pool[i].changed, pool[i].base};
    p->count = 2 * count;
    qsort(pool, p->count, sizeof *pool, by_ratio);
    for (size_t i = 0; i < p->count; i++) {
        p->ratio[i] = pool[i].ratio;
        p->base[i] = (struct by_side){pool[i].base, (uint16_t)i};
        p->changed[i] = (struct by_side){pool[i].changed, (uint16_t)i};
    }
    qsort(p->base, p->count, sizeof *p->base, by_side_value);
    qsort(p->changed, p->count, sizeof *p->changed, by_side_value);
    return true;
}

/* Twice the smallest U with a p below `alpha`; more than the largest possible value where there is
 * none. */
static uint64_t least_twice_u(size_t count, double alpha)
{
    uint64_t low = 0, high = (uint64_t)count * count + 1; /* the answer lies from low to high */
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (tp_stat_mann_whitney_p(count, count, (double)middle) < alpha)
            high = middle;
        else
            low = middle + 1;
    }
    return 2 * low;
}

/* The share of resampled medians that are at most 1 when `lower` of `count` ratios are. The
 * interval's lower end is above 1 if this share is below 2.5 %. A resampled median is at most 1
 * when more than half of the drawn ratios are, and about every second time when exactly half are;
 * the number drawn is binomial. */
static double lower_medians(size_t count, size_t lower)
{
    double odds = (double)lower / (double)(count - lower), tail = 0;
    /* probability that none of the `lower` ratios is drawn */
    double chance = pow(1 - (double)lower / (double)count, (double)count);
    for (size_t k = 1; k <= count; k++) {
        chance *= odds * (double)(count - k + 1) / (double)k;
        tail += 2 * k > count ? chance : 2 * k == count ? chance / 2 : 0;
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

/* Twice the U of `changed`, slowed down by `shift`, in a run that drew the pairs in `drawn`. */
static uint64_t run_twice_u(const struct pairs *p, const uint16_t *drawn, double shift)
{
    uint64_t twice = 0, below = 0, to_equal = 0;
    for (size_t i = 0, lower = 0, same = 0; i < p->count; i++) {
        double value = p->changed[i].value + shift;
        for (; lower < p->count && p->base[lower].value < value; lower++)
            below += drawn[p->base[lower].pair];
        for (; same < p->count && p->base[same].value <= value; same++)
            to_equal += drawn[p->base[same].pair];
        twice += drawn[p->changed[i].pair] * (below + to_equal);
    }
    return twice;
}

/* The smallest shift with which this run would be a regression; INFINITY if it is above
 * `slowest`. */
static double run_needs(const struct pairs *p, const uint16_t *drawn, const struct bar *bar)
{
    double low = bar->effect - drawn_median(p->ratio, bar->count, drawn);
    low = fmax(low, -p->ratio[drawn_at(drawn, bar->may_be_lower)]);
    if (run_twice_u(p, drawn, low) >= bar->twice_u)
        return low;
    double high = log(slowest);
    if (low >= high || run_twice_u(p, drawn, high) < bar->twice_u)
        return INFINITY;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = low + (high - low) / 2;
        if (run_twice_u(p, drawn, middle) >= bar->twice_u)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double tp_stat_sensitivity(const double *base, const double *changed, size_t count, double power,
                           const struct tp_stat_rule *rule)
{
    struct pairs pairs;
    double needs[RUNS];
    uint16_t drawn[POOL_MAX];
    struct tp_random random;
    if (count == 0 || count > TP_STAT_VALUES_MAX || !sort_pairs(base, changed, count, &pairs))
        return NAN;
    double tests = rule->tests ? (double)rule->tests : 1;
    struct bar bar = {count, log1p(rule->effect), least_twice_u(count, rule->alpha / tests),
                      may_be_lower(count)};
    if (bar.twice_u > 2 * (uint64_t)count * count)
        return NAN;
    tp_random_seed(&random, rule->seed);
    for (size_t i = 0; i < RUNS; i++) {
        draw(&random, count, pairs.count, drawn);
        needs[i] = run_needs(&pairs, drawn, &bar);
    }
    qsort(needs, RUNS, sizeof *needs, tp_stat_by_value);
    double enough = ceil(fmin(fmax(power, 0), 1) * RUNS);
    double shift = fmax(needs[enough > 1 ? (size_t)enough - 1 : 0], bar.effect);
    return shift <= log(slowest) ? fmax(expm1(shift), rule->effect) : NAN;
}
