/* The histogram: exact counts, bounded error, mergeable by addition. */
#include "alloc/numbers/histogram.h"
#include "tests/unit/test.h"

#include <stddef.h>

static struct tp_histogram h, other;

static int clear(void **state)
{
    (void)state;
    memset(&h, 0, sizeof h);
    memset(&other, 0, sizeof other);
    return 0;
}

TEST_WITH(empty_histogram_answers_zero, clear, NULL)
{
    assert_int_equal(tp_hist_quantile(&h, 0.5), 0);
}

TEST_WITH(small_values_are_exact, clear, NULL)
{
    for (uint64_t v = 1; v <= 60; v++)
        tp_hist_add(&h, v);
    assert_int_equal(h.count, 60);
    assert_int_equal(h.sum, 60 * 61 / 2);
    assert_int_equal(tp_hist_quantile(&h, 0.5), 30);
    assert_int_equal(tp_hist_quantile(&h, 0.9), 54);
    assert_int_equal(tp_hist_quantile(&h, 1), 60);
    assert_int_equal(tp_hist_quantile(&h, 0), 1);
}

TEST_WITH(every_value_lies_in_its_bucket_within_3_2_percent, clear, NULL)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < TP_HIST_BUCKETS; i++) {
        uint64_t upper = tp_hist_upper(i);
        assert_true(i == 0 || upper > last);
        memset(&h, 0, sizeof h);
        tp_hist_add(&h, upper);
        assert_int_equal(h.buckets[i], 1); /* the upper end belongs to the bucket ... */
        if (i + 1 < TP_HIST_BUCKETS) {
            memset(&h, 0, sizeof h);
            tp_hist_add(&h, upper + 1);
            assert_int_equal(h.buckets[i + 1], 1); /* ... and the next value to the next */
        }
        assert_true((double)(upper - last) <= 1 + 0.032 * (double)upper);
        last = upper;
    }
}

TEST_WITH(huge_values_share_the_last_bucket_and_keep_their_maximum, clear, NULL)
{
    tp_hist_add(&h, UINT64_MAX);
    tp_hist_add(&h, UINT64_C(1) << 41);
    assert_int_equal(h.buckets[TP_HIST_BUCKETS - 1], 2);
    assert_true(h.max == UINT64_MAX);
    assert_true(tp_hist_quantile(&h, 0.99) == UINT64_MAX);
}

/* Powers of two are bounds of buckets, so their counts are exact. */
TEST_WITH(powers_of_two_are_counted_exactly, clear, NULL)
{
    static const uint64_t values[] = {0, 1, 2, 3, 4, 63, 64, 127, 128, 1023, 1024, UINT64_MAX};
    uint64_t out[TP_HIST_DOUBLINGS];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        tp_hist_add(&h, values[i]);
    for (int k = 12; k < TP_HIST_DOUBLINGS; k++) {
        tp_hist_add(&h, UINT64_C(1) << k);
        tp_hist_add(&h, (UINT64_C(2) << k) - 1);
    }
    tp_hist_double(&h, out);
    static const uint64_t low[] = {2, 2, 1, 0, 0, 1, 2, 1, 0, 1, 1, 0};
    assert_memory_equal(out, low, sizeof low);
    for (int k = 12; k < TP_HIST_DOUBLINGS; k++)
        assert_int_equal(out[k], k == TP_HIST_DOUBLINGS - 1 ? 3 : 2); /* UINT64_MAX */
}

TEST_WITH(a_quantile_never_exceeds_the_maximum, clear, NULL)
{
    tp_hist_add(&h, 1000); /* its bucket ends at 1007 */
    assert_int_equal(tp_hist_quantile(&h, 0.5), 1000);
}

TEST_WITH(merging_is_adding, clear, NULL)
{
    static struct tp_histogram all;
    memset(&all, 0, sizeof all);
    for (uint64_t v = 0; v < 5000; v += 7) {
        tp_hist_add(v % 2 ? &h : &other, v);
        tp_hist_add(&all, v);
    }
    tp_hist_merge(&h, &other);
    assert_memory_equal(&h, &all, sizeof h);
    memset(&other, 0, sizeof other);
    tp_hist_merge(&h, &other);
    assert_memory_equal(&h, &all, sizeof h);
}
