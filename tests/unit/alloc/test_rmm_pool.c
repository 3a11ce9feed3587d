/* The rules of `rmm-pool`, one test each, with expectations derived by hand from what RMM's
 * pool_memory_resource does. The strategy is compiled into this test, so that its steps are
 * counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/rmm_pool/rmm_pool.c"
#include "alloc/strategies/rmm_pool/rmm_pool_check.c"
#include "alloc/strategies/rmm_pool/rmm_pool_lists.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"
#include "tests/unit/scenario.h"

static struct rig *open_rmm(const char *options)
{
    return open_device(&tp_strategy_rmm_pool, options, NULL);
}

/* ---- one stream ---- */

REPLAYS(sizes_are_multiples_of_256, open_rmm("initial_pool_size=1MiB"),
        "a=1:256 b=257@a+256:512 1@a+768")

REPLAYS(
    the_smallest_block_serves_and_of_equal_ones_the_first, open_rmm("initial_pool_size=64KiB"),
    "a0=8K a1=256 a2=4K a3=256 a4=4K a5=256 -a4 -a0 -a2 3K@a2 1K@a2+3K " /* the rest fits exactly */
    "4K@a4 4K@a0")

REPLAYS(a_freed_block_is_merged_with_both_neighbours, open_rmm("initial_pool_size=3KiB"),
        "a=1K b=1K c=1K -a -c spans=2 -b largest=3K 3K@a")

/* ---- other streams ---- */

REPLAYS(the_initial_pool_is_that_of_the_default_stream, open_rmm("initial_pool_size=1MiB"),
        "a=1K follows=none 1K/1@a+1K follows=1>0 gets=1")

REPLAYS(the_own_list_goes_before_a_better_fit_elsewhere, open_rmm("initial_pool_size=64KiB"),
        "a=1K g=1K b=8K -a/1 -b/2 1K/2@b follows=none -g")

REPLAYS(what_is_left_of_a_block_of_another_stream_stays_there, open_rmm("initial_pool_size=4KiB"),
        "a=4K -a/1 1K/2@a follows=2>1 1K/1@a+1K follows=none 1K/2@a+2K follows=2>1")

REPLAYS(other_streams_are_asked_in_the_order_of_their_first_calls,
        open_rmm("initial_pool_size=4KiB"),
        "a=2K b=2K -a/3 " /* both fit, the second one exactly: the first stream serves */
        "-b/1 1K/2@a follows=2>3 2K/2@b follows=2>1")

REPLAYS(lists_are_merged_until_something_fits, open_rmm("initial_pool_size=4KiB"),
        "a=1K b=1K c=1K d=1K -a/1 -b/2 -c/3 spans=3 " /* neighbours, but in three lists */
        "follows=any 2K/1@a follows=1>0,1>2 "         /* the default stream has an empty list */
        "1K/3@c follows=none gets=1" /* its list was left alone */)

REPLAYS(what_was_merged_belongs_to_the_stream_that_asked, open_rmm("initial_pool_size=4KiB"),
        "a=2K b=2K -a/1 -b/2 3K/1@a follows=any 1K/1@a+3K follows=none")

/* ---- growth ---- */

REPLAYS(without_a_maximum_the_pool_doubles, open_rmm("initial_pool_size=0,maximum_pool_size=none"),
        "reserved=0 4M reserved=4M 256 reserved=8M 20M " /* more than its own size */
        "reserved=28M")

REPLAYS(with_a_maximum_the_pool_grows_by_half_of_the_rest,
        open_rmm("initial_pool_size=4MiB,maximum_pool_size=12MiB"),
        "4M 256 reserved=8M 4M-256 3M "      /* more than half of the rest */
        "reserved=11M 1M+1! refused_gets=0 " /* the source is not even asked */
        "1M reserved=12M 1!")

REPLAYS(what_the_source_refuses_is_halved_down_to_the_request,
        open_device(&tp_strategy_rmm_pool, "initial_pool_size=16MiB", "capacity=24MiB"),
        "16M 2M reserved=24M "   /* 16 more were refused */
        "refused_gets=1 6M 5M! " /* 24, 12, 6, 5 */
        "refused_gets=5")

REPLAYS(ranges_are_never_merged_and_never_go_back,
        open_rmm("initial_pool_size=4MiB,maximum_pool_size=12MiB"),
        "a=4M b=4M -a -b spans=2 8M! reserved=8M puts=0")

/* ---- options ---- */

TEST(the_initial_pool_is_half_of_the_device)
{
    replay(open_device(&tp_strategy_rmm_pool, "", "capacity=64MiB"), "reserved=32M");
    replay(open_device(&tp_strategy_rmm_pool, "maximum_pool_size=8MiB", "capacity=64MiB"),
           "reserved=8M");
    replay(open_rmm(""), "reserved=0");
}

static void refuses_to_open(const char *options)
{
    struct rig r;
    const struct rig_cfg cfg = device_cfg(&tp_strategy_rmm_pool, options, NULL);
    assert_int_equal(rig_open(&r, &cfg), TP_EUSAGE);
}

TEST(sizes_that_rmm_refuses_are_refused)
{
    refuses_to_open("initial_pool_size=1000");
    refuses_to_open("maximum_pool_size=1000");
    refuses_to_open("initial_pool_size=2MiB,maximum_pool_size=1MiB");
}

REPLAYS(without_memory_to_begin_with_every_request_fails,
        open_device(&tp_strategy_rmm_pool, "initial_pool_size=8MiB", "capacity=4MiB"),
        "1! reserved=0 refused_gets=1")

/* ---- bounded work ---- */

/* Requests that fit nowhere merge all lists, once for one stream and once for the other. */
TEST_OPENED(merging_in_vain_costs_little,
            open_rmm("initial_pool_size=64MiB,maximum_pool_size=64MiB"))
{
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    struct tp_block none;
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = take(r, 0, KIB);
    for (unsigned i = 0; i < MANY; i += 2)
        give(r, 0, blocks[i], KIB);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++) {
        const struct tp_req rq = {.size = 64 * MIB, .align = 1, .stream = (uint16_t)(i & 1)};
        assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &none), TP_EOOM);
    }
    is_linear("requests that merge in vain");
    free(blocks);
}

/* A stream that has nothing finds the only one that fits behind all others. */
TEST(one_of_many_streams_is_found_at_once)
{
    struct rig *r = calloc(1, sizeof *r);
    struct rig_cfg cfg = device_cfg(&tp_strategy_rmm_pool, "initial_pool_size=64MiB", NULL);
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    cfg.streams = MANY + 2;
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = take(r, 0, KIB);
    tp_addr large = take(r, 0, 64 * KIB);
    take(r, 0, 64 * MIB - 64 * KIB - MANY * KIB);
    for (unsigned i = 0; i < MANY; i += 2)
        give(r, i + 1, blocks[i], KIB);
    give(r, MANY, large, 64 * KIB);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(take(r, MANY + 1, 32 * KIB), large);
        give(r, MANY, large, 32 * KIB);
    }
    is_linear("requests that other streams serve");
    free(blocks);
    rig_end(r);
}
