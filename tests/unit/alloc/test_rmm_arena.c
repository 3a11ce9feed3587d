/* The rules of `rmm-arena`, one test each, with expectations derived by hand from what RMM's
 * arena_memory_resource does. The strategy is compiled into this test, so that its steps are
 * counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/rmm_arena/rmm_arena.c"
#include "alloc/strategies/rmm_arena/rmm_arena_check.c"
#include "alloc/strategies/rmm_arena/rmm_arena_supers.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"

static struct rig *open_rmm(const char *options)
{
    return open_device(&tp_strategy_rmm_arena, options, NULL);
}

static tp_addr base_of(const struct rig *r)
{
    return ((const struct rmm_arena *)r->st)->base;
}

/* ---- where blocks come from ---- */

TEST(one_range_is_all_there_is)
{
    struct rig *r = open_rmm("arena_size=4MiB");
    assert_int_equal(reserved(r), 4 * MIB);
    tp_addr a = get(r, 0, 4 * MIB);
    refuse(r, 0, 1);
    put(r, 0, a, 4 * MIB);
    refuse(r, 0, 4 * MIB + 1);
    assert_int_equal(reserved(r), 4 * MIB);
    assert_int_equal(r->account.gets + r->account.refused_gets, 1);
    close_device(r);
}

TEST(each_stream_has_superblocks_of_its_own)
{
    struct rig *r = open_rmm("arena_size=16MiB");
    struct tp_block a = get_block(r, 0, 1);
    assert_int_equal(a.addr, base_of(r));
    assert_int_equal(a.granted, 256);
    assert_int_equal(get(r, 1, 300), base_of(r) + MIB);
    assert_int_equal(get(r, 0, 1), base_of(r) + 256);
    assert_int_equal(get(r, 1, 1), base_of(r) + MIB + 512);
    assert_int_equal(get(r, 0, MIB), base_of(r) + 2 * MIB); /* no room in its first one */
    close_device(r);
}

TEST(more_than_1_mib_is_taken_from_the_global_arena)
{
    struct rig *r = open_rmm("arena_size=16MiB");
    assert_int_equal(get(r, 0, MIB + 1), base_of(r));
    assert_int_equal(get(r, 1, 256), base_of(r) + MIB + 256); /* cut to the request, not to MiB */
    assert_int_equal(get(r, 2, 3 * MIB), base_of(r) + 2 * MIB + 256);
    close_device(r);
}

TEST(a_superblock_is_cut_if_1_mib_is_left)
{
    struct rig *r = open_rmm("arena_size=4MiB");
    tp_addr a = get(r, 0, 3 * MIB + 256); /* less would be left over: it is used as it is */
    assert_int_equal(get(r, 1, 512), a + 3 * MIB + 256);
    put(r, 1, a, 3 * MIB + 256); /* the superblock is that of stream 1 now, and stays so */
    assert_int_equal(get(r, 1, MIB), a);
    assert_int_equal(r->account.waits, 1); /* for a large block, even in the own arena */
    close_device(r);
    r = open_rmm("arena_size=4MiB");
    a = get(r, 0, 3 * MIB);
    assert_int_equal(get(r, 1, 512), a + 3 * MIB);
    put(r, 0, a, 3 * MIB);
    assert_int_equal(get(r, 1, MIB), a); /* 1 MiB has no room for it: the next superblock */
    assert_int_equal(get(r, 2, MIB), a + MIB);
    close_device(r);
}

TEST(the_first_fit_by_address_serves)
{
    struct rig *r = open_rmm("arena_size=4MiB");
    static const uint64_t sizes[] = {8 * KIB, 256, 4 * KIB, 256};
    tp_addr a[4];
    for (int i = 0; i < 4; i++)
        a[i] = get(r, 0, sizes[i]);
    put(r, 0, a[2], 4 * KIB);
    put(r, 0, a[0], 8 * KIB);
    assert_int_equal(get(r, 0, 4 * KIB), a[0]); /* though the other fits exactly */
    assert_int_equal(get(r, 0, 4 * KIB), a[0] + 4 * KIB);
    assert_int_equal(get(r, 0, 4 * KIB), a[2]);
    close_device(r);
}

/* ---- frees ---- */

TEST(only_frees_that_leave_the_arena_wait)
{
    struct rig *r = open_rmm("arena_size=16MiB");
    tp_addr a = get(r, 0, 256), b = get(r, 0, 2 * MIB);
    put(r, 0, a, 256);
    assert_int_equal(r->account.waits, 0);
    put(r, 0, b, 2 * MIB);
    assert_int_equal(r->account.waits, 1);
    assert_int_equal(get(r, 0, 256), a);
    put(r, 1, a, 256); /* back to the arena of stream 0 */
    assert_int_equal(r->account.waits, 2);
    assert_int_equal(get(r, 1, 256), a + MIB);
    assert_int_equal(get(r, 0, 256), a);
    assert_int_equal(r->account.waits, 2);
    close_device(r);
}

TEST(empty_neighbours_of_the_global_arena_become_one)
{
    struct rig *r = open_rmm("arena_size=8MiB");
    tp_addr a = get(r, 0, 2 * MIB), b = get(r, 0, 2 * MIB), c = get(r, 0, 2 * MIB);
    put(r, 0, a, 2 * MIB);
    put(r, 0, c, 2 * MIB);
    assert_int_equal(rig_walk(r).largest_span, 4 * MIB);
    put(r, 0, b, 2 * MIB);
    assert_int_equal(rig_walk(r).largest_span, 8 * MIB);
    assert_int_equal(get(r, 1, 8 * MIB), a);
    assert_int_equal(r->account.waits, 3);
    close_device(r);
}

TEST(blocks_of_two_superblocks_are_not_merged)
{
    struct rig *r = open_rmm("arena_size=4MiB");
    tp_addr a = get(r, 0, MIB), b = get(r, 0, MIB);
    put(r, 0, a, MIB);
    put(r, 0, b, MIB);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_SPAN], 3);
    close_device(r);
}

/* ---- without room ---- */

TEST(arenas_keep_empty_superblocks_until_memory_is_short)
{
    struct rig *r = open_rmm("arena_size=2MiB");
    tp_addr a = get(r, 0, MIB), b = get(r, 1, MIB);
    put(r, 0, a, MIB);
    put(r, 1, b, MIB);
    assert_int_equal(r->account.waits, 0);
    assert_int_equal(get(r, 2, 2 * MIB), a);
    assert_int_equal(r->account.waits, 3); /* for the streams that made calls */
    close_device(r);
}

TEST(superblocks_in_use_are_collected_too)
{
    struct rig *r = open_rmm("arena_size=2MiB");
    tp_addr a = get(r, 0, 256), b = get(r, 1, 256);
    assert_int_equal(get(r, 2, 256), a + 256); /* both had to be collected */
    assert_int_equal(get(r, 3, 256), b + 256); /* the second is still in the global arena */
    uint64_t waits = r->account.waits;
    put(r, 0, a, 256); /* stream 2 has the superblock */
    assert_int_equal(r->account.waits, waits + 1);
    assert_int_equal(get(r, 2, 256), a);
    put(r, 2, a, 256); /* asked for by stream 2, and in its arena */
    assert_int_equal(r->account.waits, waits + 1);
    close_device(r);
}

TEST(it_is_tried_once_more_and_no_more)
{
    struct rig *r = open_rmm("arena_size=2MiB");
    tp_addr a = get(r, 0, 256);
    refuse(r, 0, 2 * MIB);
    assert_int_equal(r->account.waits, 1);
    put(r, 0, a, 256); /* in the global arena by now */
    assert_int_equal(get(r, 1, 2 * MIB), a);
    assert_int_equal(r->account.waits, 2);
    close_device(r);
}

/* ---- options ---- */

TEST(half_of_the_device_is_taken)
{
    static const struct {
        const char *limit;
        uint64_t bytes;
    } cases[] = {{"capacity=64MiB", 32 * MIB}, {"capacity=2MiB", MIB}, {NULL, 40 * KIB * MIB}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig *r = open_device(&tp_strategy_rmm_arena, "", cases[i].limit);
        assert_int_equal(reserved(r), cases[i].bytes);
        close_device(r);
    }
}

static void refuses_to_open(const char *options)
{
    struct rig r;
    const struct rig_cfg cfg = device_cfg(&tp_strategy_rmm_arena, options, NULL);
    assert_int_equal(rig_open(&r, &cfg), TP_EUSAGE);
}

TEST(sizes_that_rmm_refuses_are_refused)
{
    refuses_to_open("arena_size=1023KiB");
}

TEST(classes_are_those_of_rmm)
{
    static const uint64_t sizes[][2] = {{1, 256},
                                        {2048, 2048},
                                        {2049, 2560},
                                        {4097, 5 * KIB},
                                        {49 * KIB, 54 * KIB}, /* not 56 */
                                        {54 * KIB + 1, 64 * KIB},
                                        {64 * KIB + 1, 80 * KIB},
                                        {MIB + 1, 1280 * KIB},
                                        {256 * KIB * MIB, 256 * KIB * MIB},
                                        {256 * KIB * MIB + 1, UINT64_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(class_of(sizes[i][0]), sizes[i][1]);
    struct rig *r = open_rmm("arena_size=4MiB,size_classes");
    assert_int_equal(get_block(r, 0, 2049).granted, 2560);
    refuse(r, 0, 256 * KIB * MIB + 1);
    close_device(r);
}

TEST(without_memory_to_begin_with_every_request_fails)
{
    struct rig *r = open_device(&tp_strategy_rmm_arena, "arena_size=8MiB", "capacity=4MiB");
    refuse(r, 0, 1);
    assert_int_equal(reserved(r), 0);
    assert_int_equal(r->account.refused_gets, 1);
    close_device(r);
}

/* ---- bounded work ---- */

TEST(the_last_of_many_superblocks_is_found_at_once)
{
    struct rig *r = open_rmm("arena_size=16GiB");
    tp_addr last = 0;
    struct tp_block none;
    for (unsigned i = 0; i < MANY; i++)
        last = take(r, 0, MIB);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++) {
        give(r, 0, last, MIB);
        assert_int_equal(take(r, 0, MIB), last);
    }
    is_linear("requests for the last superblock");
    for (unsigned i = 0; i < MANY; i++) {
        const struct tp_req rq = {.size = 16 * KIB * MIB, .align = 1, .stream = (uint16_t)(i & 3)};
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &none), TP_EOOM);
    }
    is_linear("requests in vain");
    close_device(r);
}
