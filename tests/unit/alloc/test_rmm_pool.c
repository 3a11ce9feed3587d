/* The rules of `rmm-pool`, one test each, with expectations derived by hand from what RMM's
 * pool_memory_resource does. The strategy is compiled into this test, so that its steps are
 * counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/rmm_pool/rmm_pool.c"
#include "alloc/strategies/rmm_pool/rmm_pool_check.c"
#include "alloc/strategies/rmm_pool/rmm_pool_lists.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"

static struct rig *open_rmm(const char *options)
{
    return open_device(&tp_strategy_rmm_pool, options, NULL);
}

/* The only stream that had to wait since the last look, and the one that it waits for. */
static void expect_wait(struct rig *r, uint16_t stream, uint16_t after)
{
    struct follows *f = tp_rig_follows(r);
    assert_int_equal(f->count, 1);
    assert_int_equal(f->pairs[0][0], stream);
    assert_int_equal(f->pairs[0][1], after);
    f->count = 0;
}

static void expect_no_wait(struct rig *r)
{
    assert_int_equal(tp_rig_follows(r)->count, 0);
}

/* ---- one stream ---- */

TEST(sizes_are_multiples_of_256)
{
    struct rig *r = open_rmm("initial_pool_size=1MiB");
    struct tp_block a = get_block(r, 0, 1), b = get_block(r, 0, 257);
    assert_int_equal(a.granted, 256);
    assert_int_equal(b.granted, 512);
    assert_int_equal(b.addr, a.addr + 256);
    assert_int_equal(get(r, 0, 1), a.addr + 768);
    close_device(r);
}

TEST(the_smallest_block_serves_and_of_equal_ones_the_first)
{
    struct rig *r = open_rmm("initial_pool_size=64KiB");
    static const uint64_t sizes[] = {8 * KIB, 256, 4 * KIB, 256, 4 * KIB, 256};
    tp_addr a[6];
    for (int i = 0; i < 6; i++)
        a[i] = get(r, 0, sizes[i]);
    put(r, 0, a[4], 4 * KIB);
    put(r, 0, a[0], 8 * KIB);
    put(r, 0, a[2], 4 * KIB);
    assert_int_equal(get(r, 0, 3 * KIB), a[2]);
    assert_int_equal(get(r, 0, KIB), a[2] + 3 * KIB); /* the rest fits exactly */
    assert_int_equal(get(r, 0, 4 * KIB), a[4]);
    assert_int_equal(get(r, 0, 4 * KIB), a[0]);
    close_device(r);
}

TEST(a_freed_block_is_merged_with_both_neighbours)
{
    struct rig *r = open_rmm("initial_pool_size=3KiB");
    tp_addr a = get(r, 0, KIB), b = get(r, 0, KIB), c = get(r, 0, KIB);
    put(r, 0, a, KIB);
    put(r, 0, c, KIB);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_SPAN], 2);
    put(r, 0, b, KIB);
    assert_int_equal(rig_walk(r).largest_span, 3 * KIB);
    assert_int_equal(get(r, 0, 3 * KIB), a);
    close_device(r);
}

/* ---- other streams ---- */

TEST(the_initial_pool_is_that_of_the_default_stream)
{
    struct rig *r = open_rmm("initial_pool_size=1MiB");
    tp_addr a = get(r, 0, KIB);
    expect_no_wait(r);
    assert_int_equal(get(r, 1, KIB), a + KIB);
    expect_wait(r, 1, 0);
    assert_int_equal(r->account.gets, 1);
    close_device(r);
}

TEST(the_own_list_goes_before_a_better_fit_elsewhere)
{
    struct rig *r = open_rmm("initial_pool_size=64KiB");
    tp_addr a = get(r, 0, KIB), gap = get(r, 0, KIB), b = get(r, 0, 8 * KIB);
    put(r, 1, a, KIB);
    put(r, 2, b, 8 * KIB);
    assert_int_equal(get(r, 2, KIB), b);
    expect_no_wait(r);
    put(r, 0, gap, KIB);
    close_device(r);
}

TEST(what_is_left_of_a_block_of_another_stream_stays_there)
{
    struct rig *r = open_rmm("initial_pool_size=4KiB");
    tp_addr a = get(r, 0, 4 * KIB);
    put(r, 1, a, 4 * KIB);
    assert_int_equal(get(r, 2, KIB), a);
    expect_wait(r, 2, 1);
    assert_int_equal(get(r, 1, KIB), a + KIB);
    expect_no_wait(r);
    assert_int_equal(get(r, 2, KIB), a + 2 * KIB);
    expect_wait(r, 2, 1);
    close_device(r);
}

TEST(other_streams_are_asked_in_the_order_of_their_first_calls)
{
    struct rig *r = open_rmm("initial_pool_size=4KiB");
    tp_addr a = get(r, 0, 2 * KIB), b = get(r, 0, 2 * KIB);
    put(r, 3, a, 2 * KIB); /* both fit, the second one exactly: the first stream serves */
    put(r, 1, b, 2 * KIB);
    assert_int_equal(get(r, 2, KIB), a);
    expect_wait(r, 2, 3);
    assert_int_equal(get(r, 2, 2 * KIB), b);
    expect_wait(r, 2, 1);
    close_device(r);
}

TEST(lists_are_merged_until_something_fits)
{
    struct rig *r = open_rmm("initial_pool_size=4KiB");
    tp_addr a[4];
    for (int i = 0; i < 4; i++)
        a[i] = get(r, 0, KIB);
    put(r, 1, a[0], KIB);
    put(r, 2, a[1], KIB);
    put(r, 3, a[2], KIB);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_SPAN], 3); /* neighbours, but in three lists */
    tp_rig_follows(r)->count = 0;
    assert_int_equal(get(r, 1, 2 * KIB), a[0]);
    const struct follows *f = tp_rig_follows(r);
    assert_int_equal(f->count, 2); /* the default stream has an empty list, and 2 what is missing */
    assert_int_equal(f->pairs[0][1], 0);
    assert_int_equal(f->pairs[1][1], 2);
    tp_rig_follows(r)->count = 0;
    assert_int_equal(get(r, 3, KIB), a[2]); /* its list was left alone */
    expect_no_wait(r);
    assert_int_equal(r->account.gets, 1);
    close_device(r);
}

TEST(what_was_merged_belongs_to_the_stream_that_asked)
{
    struct rig *r = open_rmm("initial_pool_size=4KiB");
    tp_addr a = get(r, 0, 2 * KIB), b = get(r, 0, 2 * KIB);
    put(r, 1, a, 2 * KIB);
    put(r, 2, b, 2 * KIB);
    assert_int_equal(get(r, 1, 3 * KIB), a);
    tp_rig_follows(r)->count = 0;
    assert_int_equal(get(r, 1, KIB), a + 3 * KIB);
    expect_no_wait(r);
    close_device(r);
}

/* ---- growth ---- */

TEST(without_a_maximum_the_pool_doubles)
{
    struct rig *r = open_rmm("initial_pool_size=0,maximum_pool_size=none");
    assert_int_equal(reserved(r), 0);
    get(r, 0, 4 * MIB);
    assert_int_equal(reserved(r), 4 * MIB);
    get(r, 0, 256);
    assert_int_equal(reserved(r), 8 * MIB);
    get(r, 0, 20 * MIB); /* more than its own size */
    assert_int_equal(reserved(r), 28 * MIB);
    close_device(r);
}

TEST(with_a_maximum_the_pool_grows_by_half_of_the_rest)
{
    struct rig *r = open_rmm("initial_pool_size=4MiB,maximum_pool_size=12MiB");
    get(r, 0, 4 * MIB);
    get(r, 0, 256);
    assert_int_equal(reserved(r), 8 * MIB);
    get(r, 0, 4 * MIB - 256);
    get(r, 0, 3 * MIB); /* more than half of the rest */
    assert_int_equal(reserved(r), 11 * MIB);
    refuse(r, 0, MIB + 1);
    assert_int_equal(r->account.refused_gets, 0); /* the source is not even asked */
    get(r, 0, MIB);
    assert_int_equal(reserved(r), 12 * MIB);
    refuse(r, 0, 1);
    close_device(r);
}

TEST(what_the_source_refuses_is_halved_down_to_the_request)
{
    struct rig *r = open_device(&tp_strategy_rmm_pool, "initial_pool_size=16MiB", "capacity=24MiB");
    get(r, 0, 16 * MIB);
    get(r, 0, 2 * MIB);
    assert_int_equal(reserved(r), 24 * MIB); /* 16 more were refused */
    assert_int_equal(r->account.refused_gets, 1);
    get(r, 0, 6 * MIB);
    refuse(r, 0, 5 * MIB); /* 24, 12, 6, 5 */
    assert_int_equal(r->account.refused_gets, 5);
    close_device(r);
}

TEST(ranges_are_never_merged_and_never_go_back)
{
    struct rig *r = open_rmm("initial_pool_size=4MiB,maximum_pool_size=12MiB");
    tp_addr a = get(r, 0, 4 * MIB), b = get(r, 0, 4 * MIB);
    put(r, 0, a, 4 * MIB);
    put(r, 0, b, 4 * MIB);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_SPAN], 2);
    refuse(r, 0, 8 * MIB);
    assert_int_equal(reserved(r), 8 * MIB);
    assert_int_equal(r->account.puts, 0);
    close_device(r);
}

/* ---- options ---- */

TEST(the_initial_pool_is_half_of_the_device)
{
    struct rig *r = open_device(&tp_strategy_rmm_pool, "", "capacity=64MiB");
    assert_int_equal(reserved(r), 32 * MIB);
    close_device(r);
    r = open_device(&tp_strategy_rmm_pool, "maximum_pool_size=8MiB", "capacity=64MiB");
    assert_int_equal(reserved(r), 8 * MIB);
    close_device(r);
    r = open_rmm("");
    assert_int_equal(reserved(r), 0);
    close_device(r);
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

TEST(without_memory_to_begin_with_every_request_fails)
{
    struct rig *r = open_device(&tp_strategy_rmm_pool, "initial_pool_size=8MiB", "capacity=4MiB");
    refuse(r, 0, 1);
    assert_int_equal(reserved(r), 0);
    assert_int_equal(r->account.refused_gets, 1);
    close_device(r);
}

/* ---- bounded work ---- */

/* Requests that fit nowhere merge all lists, once for one stream and once for the other. */
TEST(merging_in_vain_costs_little)
{
    struct rig *r = open_rmm("initial_pool_size=64MiB,maximum_pool_size=64MiB");
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
    close_device(r);
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
    close_device(r);
}
