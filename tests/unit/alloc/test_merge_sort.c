/* Sorting without memory of its own: against qsort, stable, and in few steps where little is to be
 * done. */
#include "alloc/base/merge_sort.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 3000 };

struct sorted_item {
    uint32_t key, index; /* index: where it was at first */
    char more[12];
};

static size_t compared;

static bool before(const void *a, const void *b)
{
    compared++;
    return ((const struct sorted_item *)a)->key < ((const struct sorted_item *)b)->key;
}

static struct sorted_item items[ITEMS], spare[ITEMS];

static void sort_and_check(size_t count)
{
    compared = 0;
    tp_merge_sort(items, spare, count, sizeof *items, before);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(items[i].more[0], (char)(items[i].key * 7));
        assert_true(!i || items[i - 1].key < items[i].key ||
                    (items[i - 1].key == items[i].key && items[i - 1].index < items[i].index));
    }
}

static void set(size_t i, uint32_t key)
{
    items[i] = (struct sorted_item){.key = key, .index = (uint32_t)i, .more = {(char)(key * 7)}};
}

TEST(it_sorts)
{
    uint32_t random = 1;
    for (uint32_t keys = 1; keys < 10000; keys *= 10)
        for (size_t count = 0; count < ITEMS; count = 2 * count + 1) {
            for (size_t i = 0; i < count; i++)
                set(i, (random = random * 1664525u + 1013904223u) / 65536 % keys);
            sort_and_check(count);
            assert_true(compared <= 60 * (count + 1)); /* 2 n log n and a look at each stretch */
        }
}

TEST(what_is_in_order_takes_a_look_each)
{
    for (size_t i = 0; i < ITEMS; i++)
        set(i, (uint32_t)i / 3);
    sort_and_check(ITEMS);
    assert_int_equal(compared, ITEMS - 1);
}

TEST(what_falls_is_turned)
{
    for (size_t i = 0; i < ITEMS; i++)
        set(i, (uint32_t)(ITEMS - i));
    sort_and_check(ITEMS);
}
