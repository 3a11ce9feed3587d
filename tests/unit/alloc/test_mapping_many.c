/* `torch` with expandable segments where a trace asks for terabytes: time and memory follow the
 * requests, not their bytes; and many ranges, in the orders in which memory may come. The source
 * and its tables are compiled into this test, so that their steps are counted.
 */
#include "tests/unit/counted_steps.h"

#include "alloc/base/range_table.c"
#include "alloc/sources/common/mappings.c"
#include "alloc/sources/virtual.c"

#include "tests/unit/many_rig.h"
#include "tests/unit/torch_rig.h"

/* ---- ranges ---- */

enum { RANGES = 1 << 16, LOG2 = 16, SIZE = 4096 };

static uint64_t place_of(unsigned order, uint64_t i)
{
    uint64_t turn[] = {i, RANGES - 1 - i, i * 40503 % RANGES};
    return (1 + turn[order]) * 2 * SIZE;
}

/* Rising, falling, and all over the place: none of them may cost more than the depth of a tree. */
TEST(many_ranges)
{
    for (unsigned order = 0; order < 3; order++) {
        struct tp_range_table t = {0};
        steps = 0;
        for (uint64_t i = 0; i < RANGES; i++) {
            assert_int_equal(tp_ranges_reserve(&t), TP_OK);
            tp_ranges_insert(&t, (struct tp_address_range){place_of(order, i), SIZE, i, SIZE});
        }
        for (uint64_t i = 0; i < RANGES; i++) {
            uint64_t at = place_of(order, i);
            assert_int_equal(tp_ranges_find(&t, at + SIZE - 1)->tag_addr, i);
            assert_null(tp_ranges_find(&t, at + SIZE));
            assert_null(tp_ranges_exact(&t, at, SIZE - 1));
            assert_int_equal(tp_ranges_from(&t, at)->addr, at);
            assert_int_equal(tp_ranges_from(&t, at - 1)->addr, at);
            assert_non_null(tp_ranges_overlap(&t, at - 1, 2));
            assert_null(tp_ranges_overlap(&t, at + SIZE, SIZE));
        }
        for (uint64_t i = 0; i < RANGES; i += 2)
            tp_ranges_remove(&t, tp_ranges_exact(&t, place_of(order, i), SIZE));
        for (uint64_t i = 0; i < RANGES; i++)
            assert_int_equal(tp_ranges_find(&t, place_of(order, i)) != NULL, i % 2);
        print_message("order %u: %llu steps\n", order, steps);
        assert_true(steps < 14ull * RANGES * LOG2);
        tp_ranges_fini(&t);
    }
}

/* ---- spaces ---- */

#define GROWING "conf={expandable_segments:True}"
#define TIB     (UINT64_C(1) << 40)

enum { TERABYTES = 4, REQUESTS = 2000, TREE = 100 }; /* TREE: more than a few trees are deep */

/* What the source knows of mapped memory takes the least that its table takes. */
static void takes_little(const struct rig *r)
{
    const struct virtual_source *s = r->stack[0].state;
    assert_ptr_equal(r->stack[0].ops, &tp_source_virtual);
    assert_in_range(s->spaces.parts.room, 1, 64);
}

/* A trace of 235 bytes: four blocks of 4 TiB, of two million units each. */
TEST_OPENED(a_few_blocks_of_terabytes, open_torch(GROWING))
{
    steps = 0;
    for (unsigned i = 0; i < TERABYTES; i++)
        assert_true(take(r, 0, TERABYTES * TIB) != 0);
    assert_in_range(steps, 1, TERABYTES * TREE);
    takes_little(r);
    rig_check(r);
}

/* A trace of 460 kB: terabytes are mapped and given back, again and again. */
TEST_OPENED(terabytes_that_come_and_go, open_torch(GROWING))
{
    steps = 0;
    for (unsigned i = 0; i < REQUESTS; i++) {
        give(r, 0, take(r, 0, TERABYTES * TIB), TERABYTES * TIB);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    }
    assert_in_range(steps, 1, REQUESTS * TREE);
    takes_little(r);
    rig_check(r);
}

/* The same bytes in many blocks: as many steps for each. */
TEST_OPENED(terabytes_in_many_blocks, open_torch(GROWING))
{
    steps = 0;
    for (unsigned i = 0; i < REQUESTS; i++)
        take(r, 0, TIB);
    assert_in_range(steps, 1, REQUESTS * TREE);
    rig_check(r);
}
