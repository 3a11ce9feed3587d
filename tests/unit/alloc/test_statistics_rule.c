/* The rule that says "slower" (Holm's p < 0.01, at least 5% slower, the interval excludes 1) on
 * simulated jobs of 18 tests: how often it alarms about nothing, how often it finds what is there,
 * and whether the sensitivity that it states is that. A test that is not slower after 20 pairs is
 * looked at again with 20 more, and each look has half of alpha.
 *
 * The noise is what runs of a benchmark have: a spread, a drift that both sides of a pair share,
 * and now and then a value far too long. Seeds are fixed: the counts are the same in every run. */
#include "alloc/base/random.h"
#include "alloc/numbers/statistics.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { PAIRS = 20, LOOKS = 2, MOST = LOOKS * PAIRS, TESTS = 18 };
enum { RESAMPLES = 2000 }; /* of the rule 10,000; these are many jobs */

static const struct tp_stat_rule rule = {.alpha = 0.01, .effect = 0.05, .tests = TESTS, .seed = 1};

/* ---- noise ---- */

struct noise {
    double spread; /* standard deviation of the logarithm */
    double drift;  /* of what a pair has in common */
    double tail;   /* share of values that are up to three times too long */
};

static double uniform(struct tp_random *random)
{
    return (double)(tp_random_next(random) >> 11) * 0x1p-53;
}

/* Close to a normal distribution, within 6 standard deviations. */
static double bell(struct tp_random *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(random);
    return sum;
}

static double noisy(struct tp_random *random, const struct noise *noise)
{
    double value = exp(bell(random) * noise->spread);
    return uniform(random) < noise->tail ? value * (1 + 2 * uniform(random)) : value;
}

struct sample {
    double base[MOST], changed[MOST];
};

static struct sample measure(struct tp_random *random, const struct noise *noise, double slower)
{
    struct sample s;
    for (size_t i = 0; i < MOST; i++) {
        double common = 20 * exp(bell(random) * noise->drift);
        s.base[i] = common * noisy(random, noise);
        s.changed[i] = common * noisy(random, noise) * (1 + slower);
    }
    return s;
}

/* ---- the rule ---- */

static void find_ratios(const struct sample *s, size_t pairs, double ratios[MOST])
{
    for (size_t i = 0; i < pairs; i++)
        ratios[i] = log(s->changed[i] / s->base[i]);
}

static double test_p(const struct sample *s, size_t pairs)
{
    double ratios[MOST];
    find_ratios(s, pairs, ratios);
    return tp_stat_signed_rank(ratios, pairs).p;
}

/* The interval costs the most: it is asked last. */
static bool is_slower(const struct sample *s, size_t pairs, double adjusted)
{
    double ratios[MOST];
    if (!(adjusted < rule.alpha))
        return false;
    find_ratios(s, pairs, ratios);
    if (exp(tp_stat_median(ratios, pairs)) < 1 + rule.effect)
        return false;
    return tp_stat_bootstrap_median(ratios, pairs, 0.95, RESAMPLES, rule.seed).low > 0;
}

struct verdict {
    bool naive; /* some p below 0.05 */
    bool holm;  /* some adjusted p below 0.01 */
    bool alarm; /* some test is slower, the first aside */
    bool first; /* the first is */
};

/* A job whose first test is `slower`, the others not. */
static struct verdict run_job(struct tp_random *random, const struct noise *noise, double slower)
{
    struct sample samples[TESTS];
    double p[TESTS], adjusted[TESTS];
    bool slow[TESTS] = {false};
    struct verdict v = {.alarm = false};
    for (size_t i = 0; i < TESTS; i++)
        samples[i] = measure(random, noise, i ? 0 : slower);
    for (size_t pairs = PAIRS; pairs <= MOST; pairs += PAIRS) {
        for (size_t i = 0; i < TESTS; i++) {
            p[i] = slow[i] ? p[i] : test_p(&samples[i], pairs);
            v.naive |= p[i] < 0.05;
        }
        tp_stat_holm(p, TESTS, adjusted);
        for (size_t i = 0; i < TESTS; i++) {
            slow[i] |= is_slower(&samples[i], pairs, LOOKS * adjusted[i]);
            v.holm |= LOOKS * adjusted[i] < rule.alpha;
        }
    }
    v.first = slow[0];
    for (size_t i = 1; i < TESTS; i++)
        v.alarm |= slow[i];
    return v;
}

static const struct noise noises[] = {
    {0.02, 0, 0.05}, {0.05, 0.05, 0.1}, {0.1, 0, 0.1}, {0.4, 0, 0.2}};

enum { NOISES = sizeof noises / sizeof *noises };

TEST(two_thousand_jobs_about_nothing_hardly_ever_alarm)
{
    struct tp_random random;
    unsigned naive = 0, holm = 0, alarms = 0;
    tp_random_seed(&random, 6);
    for (unsigned job = 0; job < 2000; job++) {
        struct verdict v = run_job(&random, &noises[job % NOISES], 0);
        naive += v.naive;
        holm += v.holm;
        alarms += v.first || v.alarm;
    }
    print_message("of 2000 jobs: naive %u, Holm %u, the rule %u\n", naive, holm, alarms);
    assert_in_range(naive, 800, 1800); /* 1 - 0.95^18 of 2000 is 1206, and there are two looks */
    assert_in_range(holm, 1, 20);      /* at most 1 in 100 by itself */
    assert_in_range(alarms, 0, 20);
}

TEST(ten_percent_is_found_among_eighteen_tests)
{
    struct tp_random random;
    unsigned found = 0, alarms = 0;
    tp_random_seed(&random, 7);
    for (unsigned job = 0; job < 200; job++) {
        struct verdict v = run_job(&random, &noises[0], 0.1);
        found += v.first;
        alarms += v.alarm;
    }
    print_message("of 200 jobs: found %u, others %u\n", found, alarms);
    assert_in_range(found, 180, 200);
    assert_in_range(alarms, 0, 2);
}

/* What both sides of a pair have in common does not count. A test that ranks the values of the two
 * sides, and not their pairs, finds this in two jobs of a hundred (scripts/gate_simulation.py). */
TEST(a_drift_of_ten_percent_hides_no_slowdown_of_eight)
{
    struct tp_random random;
    unsigned found = 0;
    tp_random_seed(&random, 14);
    for (unsigned job = 0; job < 100; job++)
        found += run_job(&random, &(struct noise){0.02, 0.1, 0}, 0.08).first;
    assert_in_range(found, 99, 100);
}

TEST(three_percent_is_no_regression)
{
    struct tp_random random;
    unsigned found = 0;
    tp_random_seed(&random, 8);
    for (unsigned job = 0; job < 100; job++)
        found += run_job(&random, &noises[0], 0.03).first;
    assert_in_range(found, 0, 5); /* significant, but below the effect */
}

/* ---- sensitivity ---- */

static double sensitivity(const struct sample *s)
{
    return tp_stat_sensitivity(s->base, s->changed, PAIRS, 0.9, &rule);
}

enum { SAMPLES = 16, RUNS_OF_EACH = 25 };

/* New runs, slowed down by what a run said of itself, are found about as often as it said. */
static unsigned found_as_stated(struct tp_random *random, const struct noise *noise)
{
    unsigned found = 0;
    for (unsigned i = 0; i < SAMPLES; i++) {
        struct sample s = measure(random, noise, 0);
        double slower = sensitivity(&s);
        for (unsigned j = 0; j < RUNS_OF_EACH; j++) {
            s = measure(random, noise, slower);
            found += is_slower(&s, PAIRS, test_p(&s, PAIRS) * TESTS);
        }
    }
    return found;
}

TEST(what_is_stated_is_found_about_nine_times_of_ten)
{
    const unsigned runs = SAMPLES * RUNS_OF_EACH;
    struct tp_random random;
    tp_random_seed(&random, 9);
    for (unsigned n = 0; n < NOISES; n++) {
        unsigned found = found_as_stated(&random, &noises[n]);
        print_message("spread %g: found %u of %u\n", noises[n].spread, found, runs);
        assert_in_range(found, runs * 3 / 4, runs * 97 / 100);
    }
}

TEST(it_grows_with_the_spread_and_is_at_least_the_effect)
{
    double last = 0.05;
    for (double spread = 0.0001; spread < 0.5; spread *= 3) {
        struct tp_random random; /* the same draws, wider */
        tp_random_seed(&random, 10);
        struct sample s = measure(&random, &(struct noise){.spread = spread}, 0);
        double now = sensitivity(&s);
        assert_true(now >= last && now < 10);
        last = now;
    }
    assert_true(last > 0.2);
}

/* n pairs, and the same ones again and again: the spread stays, the test gets sharper. */
TEST(it_shrinks_with_more_pairs_and_fewer_tests)
{
    double base[PAIRS * 8], changed[PAIRS * 8], last = 10;
    struct tp_random random;
    tp_random_seed(&random, 11);
    struct sample s = measure(&random, &noises[2], 0);
    for (size_t i = 0; i < PAIRS * 8; i++) {
        base[i] = s.base[i % PAIRS];
        changed[i] = s.changed[i % PAIRS];
    }
    for (size_t count = PAIRS; count <= PAIRS * 8; count *= 2) {
        double now = tp_stat_sensitivity(base, changed, count, 0.9, &rule);
        assert_true(now < last);
        last = now;
    }
    struct tp_stat_rule one = rule;
    one.tests = 1;
    assert_true(tp_stat_sensitivity(base, changed, PAIRS, 0.9, &one) < sensitivity(&s));
    one.tests = 0;
    assert_true(tp_stat_sensitivity(base, changed, PAIRS, 0.9, &one) < sensitivity(&s));
}

TEST(a_regression_of_the_run_itself_does_not_change_it)
{
    struct tp_random random;
    tp_random_seed(&random, 12);
    struct sample s = measure(&random, &noises[0], 0);
    double before = sensitivity(&s);
    for (size_t i = 0; i < PAIRS; i++)
        s.changed[i] *= 2;
    assert_true(fabs(sensitivity(&s) / before - 1) < 1e-6);
}

TEST(seeds_repeat)
{
    struct tp_random random;
    tp_random_seed(&random, 13);
    struct sample s = measure(&random, &noises[2], 0);
    struct tp_interval once = tp_stat_bootstrap_median(s.base, PAIRS, 0.95, 1000, 1);
    struct tp_interval again = tp_stat_bootstrap_median(s.base, PAIRS, 0.95, 1000, 1);
    struct tp_interval other = tp_stat_bootstrap_median(s.base, PAIRS, 0.95, 1000, 2);
    assert_true(once.low == again.low && once.high == again.high);
    assert_true(once.low != other.low || once.high != other.high);
    assert_true(sensitivity(&s) == sensitivity(&s));
    struct tp_stat_rule reseeded = rule;
    reseeded.seed = 2;
    double found = tp_stat_sensitivity(s.base, s.changed, PAIRS, 0.9, &reseeded);
    assert_true(found != sensitivity(&s) && fabs(found / sensitivity(&s) - 1) < 0.1);
}
