/* The series of repeated measurements, its median and its interval. */
#include "alloc/numbers/series.h"
#include "tests/unit/test.h"

#include <stddef.h>

static struct tp_series s;

static int clear(void **state)
{
    (void)state;
    memset(&s, 0, sizeof s);
    return 0;
}

static void near(double a, double b)
{
    assert_true(a - b < 1e-9 && b - a < 1e-9);
}

TEST_WITH(an_empty_series_is_zero, clear, NULL)
{
    near(tp_series_median(&s).median, 0);
}

TEST_WITH(few_values_give_their_range, clear, NULL)
{
    const double values[] = {3, 1, 2, 10};
    for (int i = 0; i < 4; i++)
        tp_series_add(&s, values[i]);
    struct tp_median m = tp_series_median(&s);
    near(m.median, 2.5);
    near(m.low, 1);
    near(m.high, 10);
}

/* For n = 100 the binomial gives the 40th and the 61st value (Conover, Practical Nonparametric
 * Statistics): 95.4%; ours may be one wider, never narrower. */
TEST_WITH(the_interval_of_a_hundred_values_is_that_of_the_binomial, clear, NULL)
{
    for (int i = 1; i <= 100; i++)
        tp_series_add(&s, (i * 37) % 101); /* 1..100 in another order */
    struct tp_median m = tp_series_median(&s);
    near(m.median, 50.5);
    assert_true(m.low >= 39 && m.low <= 40);
    assert_true(m.high >= 61 && m.high <= 62);
}

TEST_WITH(a_long_series_merges_neighbours_and_stays_bounded, clear, NULL)
{
    for (int i = 0; i < 10 * TP_SERIES_MAX; i++)
        tp_series_add(&s, i);
    assert_int_equal(s.total, 10 * TP_SERIES_MAX);
    assert_int_equal(s.per_value, 16);
    assert_int_equal(s.count, 10 * TP_SERIES_MAX / 16);
    near(s.values[0], 7.5); /* the mean of 0..15 */
    near(s.values[1], 23.5);
    for (uint32_t i = 0; i < s.count; i++)
        near(s.values[i], 16 * i + 7.5);
}
