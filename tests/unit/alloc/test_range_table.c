/* Ranges of addresses, against a list that is searched from end to end. test_mapping_many.c counts
 * the steps of a table, test_tree.c looks at the tree in it. */
#include "alloc/base/err.h"
#include "alloc/base/random.h"
#include "alloc/base/range_table.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

enum { SLOTS = 300, DEVICES = 3 };

#define NONE UINT64_MAX

/* The first has memory of its own, the others malloc's; the tag of a range is its slot. */
static struct tp_range_table tables[DEVICES] = {{.own = true}};

static int close_tables(void **state)
{
    (void)state;
    for (int d = 0; d < DEVICES; d++)
        tp_ranges_fini(&tables[d]);
    return 0;
}

static uint64_t overlap(uint32_t device, uint64_t addr, uint64_t size)
{
    const struct tp_address_range *r = tp_ranges_overlap(&tables[device], addr, size);
    return r ? r->tag_addr : NONE;
}

static void insert(uint32_t device, uint32_t slot, uint64_t addr, uint64_t size)
{
    assert_int_equal(tp_ranges_reserve(&tables[device]), TP_OK);
    tp_ranges_insert(&tables[device], (struct tp_address_range){addr, size, slot, 0});
}

static void take_out(uint32_t device, uint64_t addr)
{
    const struct tp_address_range *r = tp_ranges_find(&tables[device], addr);
    assert_true(r && r->addr == addr);
    tp_ranges_remove(&tables[device], r);
}

static uint64_t seed;

static uint64_t next_random(void)
{
    return tp_random_split(&seed);
}

/* ---- the list ---- */

struct listed {
    uint64_t addr;
    uint64_t size; /* 0: not live */
    uint32_t device;
};
static struct listed list[SLOTS];

static bool shares_a_byte(const struct listed *l, uint64_t addr, uint64_t size)
{
    return l->addr <= addr + (size - 1) && addr <= l->addr + (l->size - 1);
}

/* Live blocks are disjoint, but a query may reach over several: the answer must be one of them, and
 * none only where there is none. */
static void check_query(uint32_t device, uint64_t addr, uint64_t size)
{
    uint64_t got = overlap(device, addr, size);
    if (got != NONE) {
        assert_in_range(got, 0, SLOTS - 1);
        assert_true(list[got].size && list[got].device == device);
        assert_true(shares_a_byte(&list[got], addr, size));
        return;
    }
    for (uint32_t i = 0; i < SLOTS; i++)
        if (list[i].size && list[i].device == device && shares_a_byte(&list[i], addr, size))
            fail_msg("block [%llx, +%llx) of slot %u is not found by [%llx, +%llx), seed %llx",
                     (unsigned long long)list[i].addr, (unsigned long long)list[i].size, i,
                     (unsigned long long)addr, (unsigned long long)size, (unsigned long long)seed);
}

/* Just before, at, within and just behind every block. */
static void check_every_edge(void)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        const struct listed *l = &list[i];
        if (!l->size)
            continue;
        assert_int_equal(overlap(l->device, l->addr, 1), i);
        assert_int_equal(overlap(l->device, l->addr + l->size - 1, 1), i);
        assert_int_equal(overlap(l->device, l->addr + l->size / 2, 1), i);
        for (uint32_t d = 0; d < DEVICES; d++) {
            check_query(d, l->addr - 1, 1);
            if (!(l->addr + l->size))
                continue; /* it ends where addresses do */
            check_query(d, l->addr - 1, l->size + 2);
            check_query(d, l->addr + l->size, 1);
        }
    }
}

/* A walk meets every range once, in order. */
static void check_walks(void)
{
    uint32_t listed = 0, found = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        listed += list[i].size != 0;
    for (uint32_t d = 0; d < DEVICES; d++)
        for (const struct tp_address_range *r = tp_ranges_from(&tables[d], 0); r; found++)
            r = r->addr + r->size ? tp_ranges_from(&tables[d], r->addr + r->size) : NULL;
    assert_int_equal(found, listed);
}

static void random_step(uint64_t base, uint64_t span)
{
    uint32_t slot = (uint32_t)(next_random() % SLOTS), device = (uint32_t)(next_random() % DEVICES);
    if (list[slot].size) {
        take_out(list[slot].device, list[slot].addr);
        list[slot].size = 0;
        return;
    }
    uint64_t size = 1 + next_random() % (next_random() % 8 ? 16 : 400);
    uint64_t addr = base + next_random() % (span - size);
    check_query(device, addr, size);
    if (overlap(device, addr, size) != NONE)
        return;
    insert(device, slot, addr, size);
    list[slot] = (struct listed){addr, size, device};
}

/* Few addresses, so that blocks often touch, and the same ones on every device. */
TEST_WITH(it_agrees_with_a_list, NULL, close_tables)
{
    static const uint64_t bases[] = {1, UINT64_C(1) << 44, UINT64_MAX - 2999};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        seed = b + 1;
        for (int i = 0; i < 20000; i++) {
            random_step(bases[b], 3000);
            if (i % 500 == 0) {
                check_every_edge();
                check_walks();
            }
        }
        for (uint32_t i = 0; i < SLOTS; i++)
            if (list[i].size) {
                take_out(list[i].device, list[i].addr);
                list[i].size = 0;
                check_walks();
            }
        for (uint32_t d = 0; d < DEVICES; d++)
            assert_null(tp_ranges_any(&tables[d]));
    }
}

/* A chain of `SLOTS` blocks without a gap, put in by rising, falling and mixed addresses. */
TEST_WITH(neighbours_do_not_overlap, NULL, close_tables)
{
    static const uint32_t steps[] = {1, SLOTS - 1, 7, 133}; /* no factors of SLOTS */
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        const uint32_t step = steps[s];
        for (uint32_t k = 0; k < SLOTS; k++) {
            uint32_t i = k * step % SLOTS;
            assert_int_equal(overlap(0, 4096 + 10 * i, 10), NONE);
            insert(0, i, 4096 + 10 * i, 10);
        }
        assert_int_equal(overlap(0, 0, 4096), NONE);
        assert_int_equal(overlap(0, 0, 4097), 0);
        assert_int_equal(overlap(0, 4096 + 10 * SLOTS, 1), NONE);
        for (uint32_t i = 0; i < 10 * SLOTS; i++)
            assert_int_equal(overlap(0, 4096 + i, 1), i / 10);
        for (uint32_t k = 0; k < SLOTS; k++)
            take_out(0, 4096 + 10 * (k * step % SLOTS));
    }
}

TEST_WITH(the_last_address_is_an_address, NULL, close_tables)
{
    insert(0, 0, UINT64_MAX - 99, 100);
    assert_int_equal(overlap(0, UINT64_MAX, 1), 0);
    assert_int_equal(overlap(0, UINT64_MAX - 99, 100), 0);
    assert_int_equal(overlap(0, UINT64_MAX - 100, 1), NONE);
    assert_int_equal(overlap(0, 1, UINT64_MAX), 0);
    assert_int_equal(overlap(0, 1, UINT64_MAX - 100), NONE);
    take_out(0, UINT64_MAX - 99);
    insert(0, 1, 1, UINT64_MAX); /* all there is */
    assert_int_equal(overlap(0, UINT64_MAX, 1), 1);
    take_out(0, 1);
}
