/* The verdict on two series, with series whose verdict is known. */
#include "cmd/stats/difference.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stddef.h>

enum { PAIRS = 20 };

static const struct tp_stat_rule rule = {.alpha = 0.01, .effect = 0.05};

/* A spread of `share` around 100, the same one each time and without ties; times `factor`. */
static void fill(double *values, double share, double factor, unsigned turn)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        unsigned place = i * (turn ? 3 : 7) % PAIRS; /* both are coprime to it */
        values[i] = 100 * factor * (1 + share * ((double)place / (PAIRS - 1) - 0.5) + 1e-6 * turn);
    }
}

static struct tp_difference measured(double share, double factor, enum tp_better better)
{
    double base[PAIRS], now[PAIRS];
    struct tp_difference d;
    fill(base, share, 1, 0);
    fill(now, share, factor, 1);
    tp_difference_measure(base, now, PAIRS, better, 7, &d);
    return d;
}

static enum tp_verdict verdict(double share, double factor, enum tp_better better)
{
    struct tp_difference d = measured(share, factor, better);
    assert_int_equal(tp_differences_decide(&d, 1, &rule, NULL), TP_OK);
    return d.verdict;
}

TEST(what_is_told)
{
    struct tp_difference d = measured(0.02, 1.10, TP_BETTER_LESS);
    assert_int_equal(d.pairs, PAIRS);
    assert_true(fabs(d.estimate - 1.10) < 0.01);
    assert_true(d.interval.low <= d.estimate && d.estimate <= d.interval.high);
    assert_true(fabs(d.base - 100) < 1 && fabs(d.now - 110) < 1);
    assert_true(d.p_worse < 1e-6 && d.p_better > 0.99);
}

TEST(slower_faster_and_the_same)
{
    assert_int_equal(verdict(0.02, 1.00, TP_BETTER_LESS), TP_SAME);
    assert_int_equal(verdict(0.02, 1.04, TP_BETTER_LESS), TP_SAME); /* shown, but under 5% */
    assert_int_equal(verdict(0.02, 1.06, TP_BETTER_LESS), TP_REGRESSION);
    assert_int_equal(verdict(0.02, 0.94, TP_BETTER_LESS), TP_IMPROVED);
}

TEST(where_more_is_better)
{
    assert_int_equal(verdict(0.02, 1.10, TP_BETTER_MORE), TP_IMPROVED);
    assert_int_equal(verdict(0.02, 0.90, TP_BETTER_MORE), TP_REGRESSION);
    assert_int_equal(verdict(0.02, 1.00, TP_BETTER_MORE), TP_SAME);
}

TEST(noise_decides_nothing)
{
    assert_int_equal(verdict(1.5, 1.05, TP_BETTER_LESS), TP_INCONCLUSIVE);
    assert_int_equal(verdict(1.5, 1.05, TP_BETTER_MORE), TP_INCONCLUSIVE);
}

TEST(more_tests_need_more_evidence)
{
    enum { TESTS = 1000 };
    static struct tp_difference all[TESTS];
    double base[PAIRS], now[PAIRS];
    fill(base, 0.30, 1, 0);
    fill(now, 0.30, 1.10, 1);
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &all[0]);
    assert_true(all[0].p_worse < rule.alpha && all[0].p_worse * TESTS > rule.alpha);
    struct tp_difference alone = all[0];
    for (int i = 1; i < TESTS; i++)
        all[i] = measured(0.02, 1, TP_BETTER_LESS);
    assert_int_equal(tp_differences_decide(&alone, 1, &rule, NULL), TP_OK);
    assert_int_equal(tp_differences_decide(all, TESTS, &rule, NULL), TP_OK);
    assert_int_equal(alone.verdict, TP_REGRESSION);
    assert_int_not_equal(all[0].verdict, TP_REGRESSION);
    assert_true(all[0].adjusted_worse > alone.adjusted_worse);
}

TEST(insensitive_ones_are_no_tests)
{
    struct tp_difference all[2] = {measured(0.02, 1.10, TP_BETTER_LESS),
                                   measured(0.02, 1.10, TP_BETTER_LESS)};
    all[1].verdict = TP_INSENSITIVE;
    assert_int_equal(tp_differences_decide(all, 2, &rule, NULL), TP_OK);
    assert_int_equal(all[0].verdict, TP_REGRESSION);
    assert_int_equal(all[1].verdict, TP_INSENSITIVE);
    assert_true(all[0].adjusted_worse == all[0].p_worse);
    assert_true(isnan(all[1].adjusted_worse));
}

TEST(values_that_are_none_are_left_out)
{
    double base[PAIRS], now[PAIRS];
    struct tp_difference d;
    fill(base, 0.02, 1, 0);
    fill(now, 0.02, 1.10, 1);
    base[0] = NAN, now[1] = 0, base[2] = -1, now[3] = INFINITY;
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &d);
    assert_int_equal(d.pairs, PAIRS - 4);
    assert_true(isfinite(d.estimate) && isfinite(d.interval.high) && isfinite(d.p_worse));
    for (int i = 0; i < PAIRS; i++)
        now[i] = NAN;
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &d);
    assert_int_equal(d.pairs, 0);
    assert_true(isnan(d.estimate) && isnan(d.p_worse));
    assert_int_equal(tp_differences_decide(&d, 1, &rule, NULL), TP_OK);
    assert_int_equal(d.verdict, TP_INCONCLUSIVE); /* never a silent green */
}

/* Eight pairs give p = 1/256 at best: enough for one or two tests, not for three. */
TEST(too_few_pairs_are_no_green)
{
    double base[PAIRS], now[PAIRS];
    struct tp_difference all[3];
    fill(base, 0.02, 1, 0);
    fill(now, 0.02, 1, 1);
    for (int i = 8; i < PAIRS; i++)
        base[i] = 0;
    for (int i = 0; i < 3; i++)
        tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &all[i]);
    assert_int_equal(all[0].pairs, 8);
    assert_int_equal(tp_differences_decide(all, 2, &rule, NULL), TP_OK);
    assert_int_equal(all[0].verdict, TP_SAME);
    assert_int_equal(tp_differences_decide(all, 3, &rule, NULL), TP_OK);
    assert_int_equal(all[0].verdict, TP_INCONCLUSIVE);
    all[0].verdict = all[2].verdict = TP_INSENSITIVE; /* no tests: one is left */
    assert_int_equal(tp_differences_decide(all, 3, &rule, NULL), TP_OK);
    assert_int_equal(all[1].verdict, TP_SAME);
}

/* One of two looks has half of alpha. */
TEST(two_looks_share_alpha)
{
    struct tp_stat_rule looks = rule;
    double base[PAIRS], now[PAIRS];
    struct tp_difference once, twice;
    fill(base, 0.30, 1, 0);
    fill(now, 0.30, 1.10, 1);
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &once);
    twice = once;
    looks.alpha = 1.5 * once.p_worse;
    assert_int_equal(tp_differences_decide(&once, 1, &looks, NULL), TP_OK);
    looks.looks = 2;
    assert_int_equal(tp_differences_decide(&twice, 1, &looks, NULL), TP_OK);
    assert_int_equal(once.verdict, TP_REGRESSION);
    assert_int_not_equal(twice.verdict, TP_REGRESSION);
    assert_true(twice.adjusted_worse == 2 * once.adjusted_worse);
    assert_true(twice.adjusted_better <= 1);
}

/* A slowdown beyond the effect, with an interval that excludes none, never passes for the want of a
 * small p. */
TEST(what_only_p_excuses_is_open)
{
    struct tp_stat_rule strict = rule;
    struct tp_difference d = measured(0.02, 1.07, TP_BETTER_LESS);
    assert_true(d.interval.low > 1 && d.interval.high < 1 + 2 * rule.effect);
    strict.alpha = d.p_worse / 2 * 1.5; /* p is above it, and least p below */
    d.p_worse *= 2;
    assert_int_equal(tp_differences_decide(&d, 1, &strict, NULL), TP_OK);
    assert_int_equal(d.verdict, TP_INCONCLUSIVE);
}

/* What both sides of a pair have in common is no noise. */
TEST(a_common_drift_hides_nothing)
{
    double base[PAIRS], now[PAIRS];
    struct tp_difference d;
    fill(base, 0.02, 1, 0);
    fill(now, 0.02, 1.08, 1);
    for (int i = 0; i < PAIRS; i++) {
        double common = 1 + 0.5 * i / PAIRS;
        base[i] *= common;
        now[i] *= common;
    }
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &d);
    assert_int_equal(tp_differences_decide(&d, 1, &rule, NULL), TP_OK);
    assert_int_equal(d.verdict, TP_REGRESSION);
}

TEST(the_seed_gives_the_interval)
{
    double base[PAIRS], now[PAIRS];
    struct tp_difference a, b, c;
    fill(base, 0.3, 1, 0);
    fill(now, 0.3, 1.1, 1);
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &a);
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 7, &b);
    tp_difference_measure(base, now, PAIRS, TP_BETTER_LESS, 8, &c);
    assert_true(a.interval.low == b.interval.low && a.interval.high == b.interval.high);
    assert_true(a.estimate == c.estimate);
}
