/* The ranges of a source: many of them, in the orders in which memory may come. */
#include "tests/unit/counted_steps.h"

#include "alloc/range_table.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { RANGES = 1 << 16, LOG2 = 16, SIZE = 4096 };

static tp_addr place_of(unsigned order, uint64_t i)
{
    uint64_t turn[] = {i, RANGES - 1 - i, i * 40503 % RANGES};
    return (1 + turn[order]) * 2 * SIZE;
}

/* Rising, falling, and all over the place: none of them may cost more than the depth of a tree. */
static void many_ranges(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 3; order++) {
        struct range_table t = {0};
        steps = 0;
        for (uint64_t i = 0; i < RANGES; i++) {
            assert_int_equal(range_table_reserve(&t), TP_OK);
            range_table_insert(&t, (struct range_item){place_of(order, i), SIZE, i, SIZE});
        }
        for (uint64_t i = 0; i < RANGES; i++) {
            tp_addr at = place_of(order, i);
            assert_int_equal(range_table_find(&t, at + SIZE - 1)->tag_addr, i);
            assert_null(range_table_find(&t, at + SIZE));
            assert_null(range_table_exact(&t, at, SIZE - 1));
            assert_int_equal(range_table_from(&t, at)->addr, at);
            assert_int_equal(range_table_from(&t, at - 1)->addr, at);
            assert_true(range_table_overlaps(&t, at - 1, 2));
            assert_false(range_table_overlaps(&t, at + SIZE, SIZE));
        }
        for (uint64_t i = 0; i < RANGES; i += 2)
            range_table_remove(&t, range_table_exact(&t, place_of(order, i), SIZE));
        for (uint64_t i = 0; i < RANGES; i++)
            assert_int_equal(range_table_find(&t, place_of(order, i)) != NULL, i % 2);
        print_message("order %u: %llu steps\n", order, steps);
        assert_true(steps < 14ull * RANGES * LOG2);
        range_table_fini(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
