/* The rules of `rmm-arena`, one test each, with expectations derived by hand from what RMM's
 * arena_memory_resource does. The strategy is compiled into this test, so that its steps are
 * counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/rmm_arena/rmm_arena.c"
#include "alloc/strategies/rmm_arena/rmm_arena_check.c"
#include "alloc/strategies/rmm_arena/rmm_arena_supers.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"
#include "tests/unit/scenario.h"

static struct rig *open_rmm(const char *options)
{
    return open_device(&tp_strategy_rmm_arena, options, NULL);
}

/* ---- where blocks come from ---- */

REPLAYS(one_range_is_all_there_is, open_rmm("arena_size=4MiB"),
        "reserved=4M a=4M 1! -a 4M+1! reserved=4M gets=1 refused_gets=0")

REPLAYS(each_stream_has_superblocks_of_its_own, open_rmm("arena_size=16MiB"),
        "a=1@base:256 300/1@base+1M 1@base+256 1/1@base+1M+512 "
        "1M@base+2M" /* no room in its first one */)

REPLAYS(more_than_1_mib_is_taken_from_the_global_arena, open_rmm("arena_size=16MiB"),
        "1M+1@base 256/1@base+1M+256 " /* cut to the request, not to MiB */
        "3M/2@base+2M+256")

TEST(a_superblock_is_cut_if_1_mib_is_left)
{
    replay(open_rmm("arena_size=4MiB"),
           "a=3M+256 "            /* less would be left over: it is used as it is */
           "512/1@a+3M+256 -a/1 " /* the superblock is that of stream 1 now, and stays so */
           "1M/1@a waits=1" /* for a large block, even in the own arena */);
    replay(open_rmm("arena_size=4MiB"),
           "a=3M 512/1@a+3M -a 1M/1@a " /* 1 MiB has no room for it: the next superblock */
           "1M/2@a+1M");
}

REPLAYS(the_first_fit_by_address_serves, open_rmm("arena_size=4MiB"),
        "a0=8K a1=256 a2=4K a3=256 -a2 -a0 4K@a0 " /* though the other fits exactly */
        "4K@a0+4K 4K@a2")

/* ---- frees ---- */

REPLAYS(only_frees_that_leave_the_arena_wait, open_rmm("arena_size=16MiB"),
        "a=256 b=2M -a waits=0 -b waits=1 256@a -a/1 " /* back to the arena of stream 0 */
        "waits=2 256/1@a+1M 256@a waits=2")

REPLAYS(empty_neighbours_of_the_global_arena_become_one, open_rmm("arena_size=8MiB"),
        "a=2M b=2M c=2M -a -c largest=4M -b largest=8M 8M/1@a waits=3")

REPLAYS(blocks_of_two_superblocks_are_not_merged, open_rmm("arena_size=4MiB"),
        "a=1M b=1M -a -b spans=3")

/* ---- without room ---- */

REPLAYS(arenas_keep_empty_superblocks_until_memory_is_short, open_rmm("arena_size=2MiB"),
        "a=1M b=1M/1 -a -b/1 waits=0 2M/2@a waits=3" /* for the streams that made calls */)

REPLAYS(superblocks_in_use_are_collected_too, open_rmm("arena_size=2MiB"),
        "a=256 b=256/1 256/2@a+256 " /* both had to be collected */
        "256/3@b+256 waits=3 "       /* the second is still in the global arena */
        "-a waits=4 256/2@a "        /* stream 2 has the superblock */
        "-a/2 waits=4" /* asked for by stream 2, and in its arena */)

REPLAYS(it_is_tried_once_more_and_no_more, open_rmm("arena_size=2MiB"),
        "a=256 2M! waits=1 -a " /* in the global arena by now */
        "2M/1@a waits=2")

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
        rig_end(r);
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

TEST_OPENED(classes_are_those_of_rmm, open_rmm("arena_size=4MiB,size_classes"))
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
    assert_int_equal(get_block(r, 0, 2049).allocated, 2560);
    refuse(r, 0, 256 * KIB * MIB + 1);
}

REPLAYS(without_memory_to_begin_with_every_request_fails,
        open_device(&tp_strategy_rmm_arena, "arena_size=8MiB", "capacity=4MiB"),
        "1! reserved=0 refused_gets=1")

/* ---- bounded work ---- */

TEST_OPENED(the_last_of_many_superblocks_is_found_at_once, open_rmm("arena_size=16GiB"))
{
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
}
