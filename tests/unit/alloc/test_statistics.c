/* The statistics: what SciPy, NumPy and statsmodels say (tests/data/statistics/golden.txt, written
 * by scripts/statistics_golden.py), edges, and the whole rule on simulated jobs: how often it
 * alarms about nothing, and how often it finds what is there. */
#include "alloc/base/random.h"
#include "alloc/numbers/statistics.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 20, TESTS = 18, LIST_MAX = 128 };

static bool near(double x, double expected, double relative)
{
    return (isnan(x) && isnan(expected)) || x == expected ||
           fabs(x - expected) <= relative * fabs(expected);
}

static void must_be(double x, double expected, double relative)
{
    if (!near(x, expected, relative))
        fail_msg("%.17g is not %.17g", x, expected);
}

#define assert_nan(x)    assert_true(isnan(x) != 0)
#define assert_number(x) assert_true(isnan(x) == 0)

/* ---- golden values ---- */

/* A line of the file: NAME numbers : values : values */
struct golden {
    char name[32];
    double list[3][LIST_MAX];
    size_t count[3];
};

static size_t parse_list(char **at, double *list)
{
    size_t count = 0;
    char *end;
    for (;; *at = end) {
        double value = strtod(*at, &end);
        if (end == *at)
            break;
        assert_in_range(count, 0, LIST_MAX - 1);
        list[count++] = value;
    }
    *at += strspn(*at, " :");
    return count;
}

static struct golden parse(char *line)
{
    struct golden g = {.name = ""};
    size_t length = strcspn(line, " \n");
    assert_in_range(length, 1, sizeof g.name - 1);
    memcpy(g.name, line, length);
    char *at = line + length;
    for (int i = 0; i < 3; i++) {
        if (i == 0 && strncmp(at, " :", 2) == 0)
            at += 2; /* no numbers */
        else
            g.count[i] = parse_list(&at, g.list[i]);
    }
    assert_string_equal(at, "\n");
    return g;
}

static void check_median(struct golden *g)
{
    must_be(tp_stat_median(g->list[1], g->count[1]), g->list[0][0], 0);
}

static void check_quantile(struct golden *g)
{
    must_be(tp_stat_quantile(g->list[1], g->count[1], g->list[0][0]), g->list[0][1], 1e-14);
}

static void check_geometric_mean(struct golden *g)
{
    must_be(tp_stat_geometric_mean(g->list[1], g->count[1]), g->list[0][0], 1e-13);
}

static void check_signed_rank(struct golden *g)
{
    struct tp_rank_test t = tp_stat_signed_rank(g->list[1], g->count[1]);
    must_be(t.w, g->list[0][0], 0);
    must_be(t.p, g->list[0][1], 1e-12);
    assert_int_equal(t.exact, g->list[0][2] > 0);
}

static void check_bar(struct golden *g)
{
    size_t count = (size_t)g->list[0][0];
    must_be(tp_stat_signed_rank_bar(count, g->list[0][1]), g->list[0][2], 0);
}

static void check_holm(struct golden *g)
{
    tp_stat_holm(g->list[1], g->count[1], g->list[1]);
    assert_int_equal(g->count[1], g->count[2]);
    for (size_t i = 0; i < g->count[1]; i++)
        must_be(g->list[1][i], g->list[2][i], 1e-15);
}

/* Two bootstraps with other random draws: the ends may be a few hundredths of their distance off.
 */
static void check_bootstrap(struct golden *g)
{
    const double *given = g->list[0];
    struct tp_interval ci =
        tp_stat_bootstrap_median(g->list[1], g->count[1], given[0], TP_STAT_RESAMPLES, 3);
    double off = 0.08 * (given[2] - given[1]);
    assert_true(fabs(ci.low - given[1]) <= off && fabs(ci.high - given[2]) <= off);
}

/* Other draws there, and an interval by resampling, of which this one is a careful estimate. */
static void check_sensitivity(struct golden *g)
{
    const double *given = g->list[0];
    struct tp_stat_rule rule = {.alpha = given[1],
                                .effect = given[2],
                                .tests = (size_t)given[3],
                                .seed = 1,
                                .looks = (unsigned)given[5]};
    double found = tp_stat_sensitivity(g->list[1], g->list[2], g->count[1], given[0], &rule);
    double above = rule.tests > 1 ? 1.11 : 1.35; /* with one test the interval decides */
    if (isnan(given[4]))
        assert_nan(found);
    else
        assert_true(found >= 0.96 * given[4] && found <= above * given[4]);
}

static const struct {
    const char *name;
    void (*check)(struct golden *);
} checks[] = {{"median", check_median},
              {"quantile", check_quantile},
              {"geometric_mean", check_geometric_mean},
              {"signed_rank", check_signed_rank},
              {"bar", check_bar},
              {"holm", check_holm},
              {"bootstrap", check_bootstrap},
              {"sensitivity", check_sensitivity}};

TEST(golden_values_come_out)
{
    const size_t kinds = sizeof checks / sizeof *checks;
    size_t seen[sizeof checks / sizeof *checks] = {0}, capacity = 0;
    char *line = NULL;
    FILE *file = fopen(TAPOOL_ROOT "/tests/data/statistics/golden.txt", "r");
    assert_non_null(file);
    for (int number = 1; getline(&line, &capacity, file) > 0; number++) {
        if (*line == '#')
            continue;
        struct golden g = parse(line);
        size_t kind = 0;
        while (kind < kinds && strcmp(checks[kind].name, g.name) != 0)
            kind++;
        assert_true(kind < kinds);
        checks[kind].check(&g);
        seen[kind]++;
    }
    for (size_t i = 0; i < kinds; i++)
        assert_true(seen[i] >= 8);
    free(line);
    fclose(file);
}

/* ---- all signs, one by one ---- */

enum { FEW = 13 };

/* The rank of value `at`: values that are smaller without their sign, itself, and half of those
 * that are as large. */
static double rank_of(const double *values, size_t count, size_t at)
{
    double rank = 1;
    for (size_t i = 0; i < count; i++) {
        double x = fabs(values[i]), y = fabs(values[at]);
        rank += i == at ? 0 : (x < y) + 0.5 * (x == y);
    }
    return rank;
}

/* p by its definition: the share of all ways to give the values signs in which the ranks of those
 * above 0 have so large a sum. A 0 has no sign, and its rank is in no sum. */
static double counted_p(const double *values, size_t count, double *w)
{
    double ranks[FEW], so_large = 0;
    *w = 0;
    for (size_t i = 0; i < count; i++) {
        ranks[i] = values[i] == 0 ? 0 : rank_of(values, count, i);
        *w += values[i] > 0 ? ranks[i] : 0;
    }
    for (unsigned signs = 0; signs < 1U << count; signs++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += signs >> i & 1 ? ranks[i] : 0;
        so_large += sum >= *w;
    }
    return so_large / (1U << count);
}

/* Values of few sizes are often tied and often 0, as percentiles of a coarse clock are. */
TEST(p_is_the_share_of_all_signs)
{
    static const uint64_t sizes[] = {2, 3, 5, 9, 1000};
    struct tp_random random;
    tp_random_seed(&random, 31);
    for (size_t kind = 0; kind < sizeof sizes / sizeof *sizes; kind++)
        for (size_t count = 1; count <= FEW; count++)
            for (int turn = 0; turn < 5; turn++) {
                double values[FEW], w;
                for (size_t i = 0; i < count; i++)
                    values[i] = (double)tp_random_below(&random, 2 * sizes[kind] - 1) -
                                (double)(sizes[kind] - 1);
                double p = counted_p(values, count, &w);
                struct tp_rank_test t = tp_stat_signed_rank(values, count);
                must_be(t.w, w, 0);
                must_be(t.p, p, 1e-13);
                assert_true(t.exact);
            }
}

/* Where the exact distribution ends, the approximation goes on. */
TEST(more_values_than_are_exact)
{
    double values[TP_STAT_EXACT_MAX + 1];
    struct tp_random random;
    tp_random_seed(&random, 32);
    for (size_t i = 0; i <= TP_STAT_EXACT_MAX; i++)
        values[i] = (double)tp_random_below(&random, 2001) - 950;
    struct tp_rank_test exact = tp_stat_signed_rank(values, TP_STAT_EXACT_MAX);
    struct tp_rank_test more = tp_stat_signed_rank(values, TP_STAT_EXACT_MAX + 1);
    assert_true(exact.exact && !more.exact);
    assert_true(fabs(more.p - exact.p) < 0.05);
    assert_true(tp_stat_signed_rank_bar(TP_STAT_EXACT_MAX + 1, 0.01) >
                tp_stat_signed_rank_bar(TP_STAT_EXACT_MAX, 0.01));
}

/* ---- edges ---- */

TEST(nothing_gives_nan)
{
    double one = 1;
    assert_nan(tp_stat_median(&one, 0));
    assert_nan(tp_stat_quantile(&one, 0, 0.5));
    assert_nan(tp_stat_geometric_mean(&one, 0));
    assert_nan(tp_stat_signed_rank(&one, 0).p);
    assert_nan(tp_stat_signed_rank(&one, 0).w);
    assert_nan(tp_stat_signed_rank_least(0));
    assert_true(isinf(tp_stat_signed_rank_bar(0, 1)));
    tp_stat_holm(&one, 0, &one);
    struct tp_interval ci = tp_stat_bootstrap_median(&one, 0, 0.95, 100, 1);
    assert_true(isnan(ci.low) && isnan(ci.high));
    ci = tp_stat_bootstrap_median(&one, 1, 0.95, 0, 1);
    assert_true(isnan(ci.low) && isnan(ci.high));
    struct tp_stat_rule rule = {0.01, 0.05, 1, 1, 1};
    assert_nan(tp_stat_sensitivity(&one, &one, 0, 0.9, &rule));
}

TEST(nan_goes_through)
{
    double values[] = {3, NAN, 1}, clean[] = {1, 2, 3};
    assert_nan(tp_stat_geometric_mean(values, 3));
    assert_nan(tp_stat_signed_rank(values, 3).p);
    assert_nan(tp_stat_signed_rank(values, 3).w);
    assert_nan(tp_stat_bootstrap_median(values, 3, 0.95, 100, 1).low);
    struct tp_stat_rule rule = {0.5, 0.05, 1, 1, 1};
    assert_nan(tp_stat_sensitivity(values, clean, 3, 0.9, &rule));
    assert_nan(tp_stat_sensitivity(clean, values, 3, 0.9, &rule));
    assert_nan(tp_stat_quantile(clean, 3, NAN));
    assert_nan(tp_stat_median(values, 3));
    assert_true(values[0] == 1 && values[1] == 3 && isnan(values[2])); /* sorted all the same */
    assert_nan(tp_stat_quantile(values, 3, 0));
}

TEST(infinities_have_their_rank)
{
    double both[] = {INFINITY, -INFINITY}, up[] = {INFINITY, 1, INFINITY, 2};
    double large[] = {1, 2, INFINITY}, small[] = {-INFINITY, 0, 1.5};
    assert_nan(tp_stat_median(both, 2));
    assert_nan(tp_stat_quantile(both, 2, 0.5));
    assert_true(tp_stat_median(up, 4) > 1e308);
    assert_true(tp_stat_quantile(up, 4, 0.9) > 1e308);
    assert_true(tp_stat_quantile(up, 4, 0) == 1);
    struct tp_rank_test t = tp_stat_signed_rank(large, 3);
    assert_true(t.exact && t.w == 6);
    must_be(t.p, 0.125, 1e-15); /* 1 of 8 ways to give them signs */
    assert_true(tp_stat_signed_rank(small, 3).w == 2);
    assert_nan(tp_stat_bootstrap_median(large, 3, 0.95, 100, 1).high);
    struct tp_stat_rule rule = {0.5, 0.05, 1, 1, 1};
    assert_nan(tp_stat_sensitivity(large, large, 3, 0.9, &rule));
    assert_nan(tp_stat_geometric_mean(small, 3));
    assert_true(tp_stat_geometric_mean(large, 3) > 1e308);
}

TEST(the_mean_of_two_huge_values_does_not_overflow)
{
    double huge[] = {1.6e308, 1.2e308};
    must_be(tp_stat_median(huge, 2), 1.4e308, 1e-15);
    struct tp_interval ci = tp_stat_bootstrap_median(huge, 2, 0.95, 100, 1);
    assert_true(ci.low >= 1.2e308 && ci.high <= 1.6e308);
}

TEST(equal_values_say_nothing)
{
    double same[30];
    for (size_t i = 0; i < 30; i++)
        same[i] = 7;
    const double none[] = {0, -0.0, 0};
    struct tp_rank_test t = tp_stat_signed_rank(none, 3);
    assert_true(t.w == 0 && t.p == 1);
    must_be(tp_stat_signed_rank(same, 30).p, ldexp(1, -30), 1e-12);
    struct tp_interval ci = tp_stat_bootstrap_median(same, 30, 0.95, 100, 1);
    assert_true(ci.low == 7 && ci.high == 7);
    struct tp_stat_rule rule = {0.01, 0.05, 18, 1, 1};
    assert_true(tp_stat_sensitivity(same, same, 20, 0.9, &rule) == 0.05); /* no spread */
}

TEST(more_than_the_most_is_an_empty_side)
{
    static double values[TP_STAT_VALUES_MAX + 1];
    for (size_t i = 0; i <= TP_STAT_VALUES_MAX; i++)
        values[i] = 1 + (double)(i % 17);
    const size_t most = TP_STAT_VALUES_MAX;
    struct tp_stat_rule rule = {0.01, 0.05, 18, 1, 1};
    assert_number(tp_stat_signed_rank(values, most).p);
    assert_nan(tp_stat_signed_rank(values, most + 1).p);
    assert_number(tp_stat_signed_rank_least(most));
    assert_nan(tp_stat_signed_rank_least(most + 1));
    assert_nan(tp_stat_signed_rank_least(SIZE_MAX));
    assert_true(isinf(tp_stat_signed_rank_bar(SIZE_MAX, 1)));
    assert_nan(tp_stat_bootstrap_median(values, most + 1, 0.95, 10, 1).low);
    assert_number(tp_stat_bootstrap_median(values, most, 0.95, 10, 1).low);
    assert_nan(tp_stat_sensitivity(values, values, most + 1, 0.9, &rule));
    assert_true(tp_stat_sensitivity(values, values, most, 0.9, &rule) >= 0.05);
    assert_true(tp_stat_median(values, most + 1) == 9); /* these take as many as there are */
    assert_true(tp_stat_quantile(values, most + 1, 1) == 17);
}

TEST(one_and_two_values_work)
{
    double one[] = {5}, two[] = {6, 7};
    struct tp_rank_test t = tp_stat_signed_rank(two, 2);
    assert_true(t.w == 3 && t.exact);
    must_be(t.p, 0.25, 1e-15);
    must_be(tp_stat_signed_rank(one, 1).p, 0.5, 1e-15);
    struct tp_interval ci = tp_stat_bootstrap_median(one, 1, 0.95, 10, 1);
    assert_true(ci.low == 5 && ci.high == 5);
    ci = tp_stat_bootstrap_median(two, 2, 0.95, 1000, 1);
    assert_true(ci.low == 6 && ci.high == 7);
    struct tp_stat_rule rule = {0.01, 0.05, 1, 1, 1};
    assert_nan(tp_stat_sensitivity(one, one, 1, 0.9, &rule)); /* no p of 1 is below 0.01 */
    assert_nan(tp_stat_sensitivity(two, two, 2, 0.9, &rule));
    rule.alpha = 0.3; /* 1 of 4 is */
    assert_number(tp_stat_sensitivity(two, two, 2, 0.9, &rule));
}
