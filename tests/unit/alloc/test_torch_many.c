/* `torch` where there are thousands of segments, of free blocks that do not serve, or of blocks in
 * a segment: the pools are compiled into this test, so that their steps are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/torch/torch_pool.c"

#include "tests/unit/torch_rig.h"

enum { MANY = 2000, TREE = 30 }; /* TREE: more than a tree of so many is deep */

/* As get and put, without a check of all blocks. */
static tp_addr take(struct rig *r, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 1};
    struct tp_block b = {0};
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
    return b.addr;
}

static void give(struct rig *r, tp_addr addr, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 1};
    assert_int_equal(r->s->free(r->st, r->threads[0], addr, &rq), TP_OK);
}

/* A recording may have an out of memory behind every event. */
TEST_OPENED(what_would_go_back_is_known, open_torch(NULL))
{
    tp_addr *addr = calloc(MANY, sizeof *addr);
    uint64_t idle = 0;
    assert_non_null(addr);
    for (unsigned i = 0; i < MANY; i++)
        addr[i] = take(r, 11 * MIB);
    for (unsigned i = 0; i < MANY; i++)
        give(r, addr[i], 11 * MIB);
    steps = 0;
    assert_int_equal(tp_torch_serves(r->st, 30 * MIB, 0, &idle), 0);
    assert_in_range(steps, 1, TREE);
    assert_int_equal(idle, MANY * 12 * MIB);
    free(addr);
}

#define GROWING "conf=expandable_segments:True"
#define UNIT    (20 * MIB)

/* Blocks of 8 MiB, of which every second one is freed: no free one has a whole unit. */
static void make_scraps(struct rig *r)
{
    tp_addr *addr = calloc(MANY, sizeof *addr);
    assert_non_null(addr);
    for (unsigned i = 0; i < MANY; i++)
        addr[i] = take(r, 8 * MIB);
    for (unsigned i = 0; i < MANY; i += 2)
        give(r, addr[i], 8 * MIB);
    free(addr);
}

/* Segments of the same stream grew before; what is free in them serves nobody now. */
TEST_OPENED(what_grew_is_passed_at_once, open_torch(GROWING))
{
    make_scraps(r);
    tp_torch_rules_of(r->st)->expandable = 0;
    tp_addr addr = take(r, 7 * MIB);
    steps = 0;
    for (unsigned i = 0; i < MANY; i++) {
        give(r, addr, 7 * MIB);
        assert_int_equal(take(r, 7 * MIB), addr);
    }
    assert_in_range(steps, MANY, MANY * TREE);
}

/* Where memory is short again and again, what has no whole unit is not looked at. */
TEST_OPENED(what_cannot_go_back_is_passed_at_once, open_limited(GROWING, "capacity=20GiB"))
{
    const struct tp_req large = {.size = 30 * 1024 * MIB, .align = 1};
    struct tp_block none;
    make_scraps(r);
    steps = 0;
    for (unsigned i = 0; i < MANY; i++) {
        give(r, take(r, 2 * UNIT), 2 * UNIT);
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &large, &none), TP_EOOM);
    }
    assert_in_range(steps, MANY, MANY * 4 * TREE);
}

/* Where a recording contradicts the rules, each of its blocks is put where it was. */
TEST_OPENED(a_block_is_forced_among_many, open_torch(""))
{
    enum { BLOCKS = 6000, GRAIN = 512 };
    struct tp_torch_segment s = {.size = 2 * BLOCKS * GRAIN, .small = true};
    assert_int_equal(tp_torch_follow(r->st), TP_OK);
    assert_int_equal(tp_src_get(r->env.source, s.size, GRAIN, &s.base), TP_OK);
    assert_int_equal(tp_torch_place(r->st, &s, NULL, 0), TP_OK);
    for (unsigned i = 0; i < BLOCKS; i++) { /* from both ends */
        uint64_t at = i % 2 ? 2 * BLOCKS - 1 - i : i;
        const struct tp_torch_at block = {s.base + at * GRAIN, GRAIN, 1};
        steps = 0;
        assert_int_equal(tp_torch_force(r->st, &block), TP_OK);
        assert_in_range(steps, 1, 8 * TREE);
        assert_int_equal(tp_torch_force(r->st, &block), TP_EINVAL);
    }
    rig_check(r);
}
