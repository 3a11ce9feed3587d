/* The shadow of what is live, against a list that is searched from end to end. It is compiled into
 * this test, so that its steps are counted. */
static unsigned long long counted;
#define TP_STEP() ((void)counted++)
#include "alloc/engine/shadow.c"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

enum { SLOTS = 300, DEVICES = 3 };

static struct tp_shadow shadow;

static int open_shadow(void **state)
{
    (void)state;
    return tp_shadow_open(&shadow, SLOTS, DEVICES, NULL);
}

static int close_shadow(void **state)
{
    (void)state;
    tp_shadow_close(&shadow);
    return 0;
}

static uint64_t seed;

static uint64_t next_random(void)
{
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* ---- the list ---- */

struct listed {
    tp_addr addr;
    uint64_t size; /* 0: not live */
    uint32_t device;
};
static struct listed list[SLOTS];

static bool shares_a_byte(const struct listed *l, tp_addr addr, uint64_t size)
{
    return l->addr <= addr + (size - 1) && addr <= l->addr + (l->size - 1);
}

/* Live blocks are disjoint, but a query may reach over several: the answer must be one of them, and
 * none only where there is none. */
static void check_query(uint32_t device, tp_addr addr, uint64_t size)
{
    uint32_t got = tp_shadow_overlap(&shadow, device, addr, size);
    if (got != TP_SHADOW_NONE) {
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
        assert_int_equal(tp_shadow_overlap(&shadow, l->device, l->addr, 1), i);
        assert_int_equal(tp_shadow_overlap(&shadow, l->device, l->addr + l->size - 1, 1), i);
        assert_int_equal(tp_shadow_overlap(&shadow, l->device, l->addr + l->size / 2, 1), i);
        for (uint32_t d = 0; d < DEVICES; d++) {
            check_query(d, l->addr - 1, 1);
            if (!(l->addr + l->size))
                continue; /* it ends where addresses do */
            check_query(d, l->addr - 1, l->size + 2);
            check_query(d, l->addr + l->size, 1);
        }
    }
}

/* The tree, seen from outside: children lie on their side, and no side is deeper by more than 1. */
static uint32_t check_tree(const struct tp_tree_node *at, tp_addr low, tp_addr high)
{
    if (!at)
        return 0;
    const struct tp_shadow_block *b = block_of(at);
    assert_true(b->size && b->addr >= low && b->addr + (b->size - 1) <= high);
    assert_in_range(tp_tree_height(at->low) + 1 - tp_tree_height(at->high), 0, 2);
    uint32_t count = 1;
    if (at->low)
        count += check_tree(at->low, low, b->addr - 1);
    if (at->high)
        count += check_tree(at->high, b->addr + b->size, high);
    return count;
}

static void check_trees(void)
{
    uint32_t listed = 0, found = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        listed += list[i].size != 0;
    for (uint32_t d = 0; d < DEVICES; d++)
        found += check_tree(shadow.roots[d], 0, UINT64_MAX);
    assert_int_equal(found, listed);
}

static void random_step(tp_addr base, uint64_t span)
{
    uint32_t slot = (uint32_t)(next_random() % SLOTS), device = (uint32_t)(next_random() % DEVICES);
    if (list[slot].size) {
        tp_shadow_remove(&shadow, list[slot].device, slot);
        assert_int_equal(shadow.blocks[slot].size, 0);
        list[slot].size = 0;
        return;
    }
    uint64_t size = 1 + next_random() % (next_random() % 8 ? 16 : 400);
    tp_addr addr = base + next_random() % (span - size);
    check_query(device, addr, size);
    if (tp_shadow_overlap(&shadow, device, addr, size) != TP_SHADOW_NONE)
        return;
    tp_shadow_insert(&shadow, device, slot, addr, size);
    list[slot] = (struct listed){addr, size, device};
}

/* Few addresses, so that blocks often touch, and the same ones on every device. */
TEST_WITH(it_agrees_with_a_list, open_shadow, close_shadow)
{
    static const tp_addr bases[] = {1, UINT64_C(1) << 44, UINT64_MAX - 2999};
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        seed = b + 1;
        for (int i = 0; i < 20000; i++) {
            random_step(bases[b], 3000);
            if (i % 500 == 0) {
                check_every_edge();
                check_trees();
            }
        }
        for (uint32_t i = 0; i < SLOTS; i++)
            if (list[i].size) {
                tp_shadow_remove(&shadow, list[i].device, i);
                list[i].size = 0;
                check_trees();
            }
        for (uint32_t d = 0; d < DEVICES; d++)
            assert_null(shadow.roots[d]);
    }
}

/* A chain of `SLOTS` blocks without a gap, put in by rising, falling and mixed addresses. */
TEST_WITH(neighbours_do_not_overlap, open_shadow, close_shadow)
{
    static const uint32_t steps[] = {1, SLOTS - 1, 7, 133}; /* no factors of SLOTS */
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        const uint32_t step = steps[s];
        for (uint32_t k = 0; k < SLOTS; k++) {
            uint32_t i = k * step % SLOTS;
            assert_int_equal(tp_shadow_overlap(&shadow, 0, 4096 + 10 * i, 10), TP_SHADOW_NONE);
            tp_shadow_insert(&shadow, 0, i, 4096 + 10 * i, 10);
        }
        assert_int_equal(tp_shadow_overlap(&shadow, 0, 0, 4096), TP_SHADOW_NONE);
        assert_int_equal(tp_shadow_overlap(&shadow, 0, 0, 4097), 0);
        assert_int_equal(tp_shadow_overlap(&shadow, 0, 4096 + 10 * SLOTS, 1), TP_SHADOW_NONE);
        for (uint32_t i = 0; i < 10 * SLOTS; i++)
            assert_int_equal(tp_shadow_overlap(&shadow, 0, 4096 + i, 1), i / 10);
        for (uint32_t k = 0; k < SLOTS; k++)
            tp_shadow_remove(&shadow, 0, k * step % SLOTS);
    }
}

TEST_WITH(the_last_address_is_an_address, open_shadow, close_shadow)
{
    tp_shadow_insert(&shadow, 0, 0, UINT64_MAX - 99, 100);
    assert_int_equal(tp_shadow_overlap(&shadow, 0, UINT64_MAX, 1), 0);
    assert_int_equal(tp_shadow_overlap(&shadow, 0, UINT64_MAX - 99, 100), 0);
    assert_int_equal(tp_shadow_overlap(&shadow, 0, UINT64_MAX - 100, 1), TP_SHADOW_NONE);
    assert_int_equal(tp_shadow_overlap(&shadow, 0, 1, UINT64_MAX), 0);
    assert_int_equal(tp_shadow_overlap(&shadow, 0, 1, UINT64_MAX - 100), TP_SHADOW_NONE);
    tp_shadow_remove(&shadow, 0, 0);
    tp_shadow_insert(&shadow, 0, 1, 1, UINT64_MAX); /* all there is */
    assert_int_equal(tp_shadow_overlap(&shadow, 0, UINT64_MAX, 1), 1);
    tp_shadow_remove(&shadow, 0, 1);
}

TEST_WITH(devices_share_no_addresses, open_shadow, close_shadow)
{
    for (uint32_t d = 0; d < DEVICES; d++) {
        assert_int_equal(tp_shadow_overlap(&shadow, d, 5000, 100), TP_SHADOW_NONE);
        tp_shadow_insert(&shadow, d, 10 + d, 5000, 100);
    }
    for (uint32_t d = 0; d < DEVICES; d++)
        assert_int_equal(tp_shadow_overlap(&shadow, d, 5099, 1), 10 + d);
    tp_shadow_remove(&shadow, 1, 11);
    assert_int_equal(tp_shadow_overlap(&shadow, 0, 5000, 1), 10);
    assert_int_equal(tp_shadow_overlap(&shadow, 1, 5000, 1), TP_SHADOW_NONE);
    assert_int_equal(tp_shadow_overlap(&shadow, 2, 5000, 1), 12);
}

/* What a trace chooses must not choose the shape of the tree: addresses that rise, fall, and rise
 * as the numbers of a known generator do. */
TEST_WITH(chosen_addresses, open_shadow, close_shadow)
{
    enum { MANY = 20000 };
    for (int order = 0; order < 3; order++) {
        struct tp_shadow s;
        assert_int_equal(tp_shadow_open(&s, MANY, 1, NULL), TP_OK);
        counted = 0;
        for (uint64_t i = 1; i <= MANY; i++) {
            uint64_t z = i * UINT64_C(0x9E3779B97F4A7C15);
            z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
            const uint64_t at[] = {i, MANY - i, z >> 32};
            tp_shadow_insert(&s, 0, (uint32_t)i - 1, 4096 + 16 * at[order], 1);
        }
        for (uint32_t i = 0; i < MANY; i++)
            assert_int_equal(tp_shadow_overlap(&s, 0, s.blocks[i].addr, 1), i);
        for (uint32_t i = 0; i < MANY; i++)
            tp_shadow_remove(&s, 0, i);
        print_message("order %d: %llu steps\n", order, counted);
        assert_true(counted < 100ull * MANY);
        tp_shadow_close(&s);
    }
}

TEST_WITH(nothing_can_be_opened_and_closed_twice, open_shadow, close_shadow)
{
    struct tp_shadow s;
    assert_int_equal(tp_shadow_open(&s, 0, 1, NULL), TP_OK);
    assert_int_equal(tp_shadow_overlap(&s, 0, 1, UINT64_MAX), TP_SHADOW_NONE);
    tp_shadow_close(&s);
    tp_shadow_close(&s);
}
