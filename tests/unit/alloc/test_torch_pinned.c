/* The rules of `torch-pinned`, one test each, with expectations that were derived by hand from what
 * PyTorch's CachingHostAllocator does. The strategy is compiled into this test, so that its steps
 * are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/torch_pinned/torch_pinned.c"
#include "alloc/strategies/torch_pinned/torch_pinned_check.c"
#include "alloc/strategies/torch_pinned/torch_pinned_conf.c"
#include "alloc/strategies/torch_pinned/torch_pinned_lists.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"
#include "tests/unit/scenario.h"

#define GIB (KIB * MIB)

static struct rig *open_pinned(const char *options)
{
    return open_device(&tp_strategy_torch_pinned, options, NULL);
}

/* Host memory of one stream, as a snapshot has it. */
static struct rig *open_host(const char *options)
{
    struct rig_cfg cfg = device_cfg(&tp_strategy_torch_pinned, options, NULL);
    cfg.kind = TP_KIND_HOST;
    cfg.streams = 1;
    return rig_new(cfg);
}

/* ---- sizes ---- */

TEST(sizes_are_rounded_up_to_powers_of_two)
{
    static const uint64_t sizes[][2] = {{1, 1},
                                        {3, 4},
                                        {4096, 4096},
                                        {4097, 8192},
                                        {UINT64_C(2236817408), 4 * GIB}, /* 2.08 GiB */
                                        {UINT64_C(21904333210), 32 * GIB} /* 20.4 GiB */};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rig *r = open_host("");
        assert_int_equal(get_block(r, 0, sizes[i][0]).allocated, sizes[i][1]);
        assert_int_equal(reserved(r), round_up(sizes[i][1], 4096));
        rig_end(r);
    }
}

TEST(above_the_threshold_they_are_not)
{
    static const char *const options[] = {"conf=pinned_max_round_threshold_mb:64",
                                          "conf=pinned_max_cached_size_mb:64"};
    for (size_t i = 0; i < 2; i++) {
        struct rig *r = open_host(options[i]);
        assert_int_equal(get_block(r, 0, 64 * MIB).allocated, 64 * MIB);
        assert_int_equal(get_block(r, 0, 33 * MIB).allocated, 64 * MIB);
        assert_int_equal(get_block(r, 0, UINT64_C(21904333210)).allocated, UINT64_C(21904333210));
        rig_end(r);
    }
}

/* ---- free lists ---- */

REPLAYS(the_block_freed_last_serves_first, open_host(""), "a=3M b=4M -b -a 4M-1@a 2M+1@b gets=2")

REPLAYS(sizes_share_nothing, open_host(""), "t=32M -t 16M 33M reserved=112M cached=32M")

/* The case that PyTorch's pull request 192722 describes. */
REPLAYS(a_block_that_is_too_small_does_not_serve,
        open_host("conf={pinned_max_round_threshold_mb:128,pinned_max_cached_size_mb:1024}"),
        "a=200M b=150M -a -b l=180M@a:200M 140M@b gets=2")

REPLAYS(what_is_too_large_to_keep_goes_back_at_once, open_host("conf=pinned_max_cached_size_mb:64"),
        "a=64M b=65M -a reserved=129M -b reserved=64M")

REPLAYS(emptying_gives_all_free_blocks_back, open_host(""),
        "a=1M b=2M 8M -a -b trim:2M reserved=10M trim reserved=8M")

REPLAYS(without_memory_nothing_is_tried_again,
        open_device(&tp_strategy_torch_pinned, "", "capacity=95MiB"),
        "a=64M -a later 32M! " /* 64 MiB are free, in another list, and 31 are left */
        "40M@a 40M! retries=0")

/* ---- streams ---- */

REPLAYS(a_freed_block_waits_for_the_streams_that_used_it, open_pinned(""),
        "a=1M use:a/2 -a/1 done:0 done:1 1M@!a " /* stream 2 may still work on it */
        "done:2 1M/3@a" /* any stream may have it then */)

/* Events are looked at in the order of their recording. */
REPLAYS(an_event_holds_back_those_behind_it, open_pinned(""),
        "a=1M b=2M/1 -a -b/1 done:1 2M/1@!b done:0 2M/1@b 1M/1@a")

REPLAYS(of_one_stream_nothing_waits, open_host("conf=pinned_use_background_threads:True"),
        "a=1M -a 1M@a")

/* ---- the reserved segment ---- */

REPLAYS(the_reserved_segment_serves_until_it_is_used_up,
        open_host("conf=pinned_reserve_segment_size_mb:4"),
        "reserved=0 a=1 reserved=4M 2M@a+4K 2M " /* no room: 4 KiB are missing */
        "reserved=6M 1M@a+2052K -a 1@a")

REPLAYS(what_goes_back_of_it_is_lost, open_host("conf=pinned_reserve_segment_size_mb:4"),
        "a=1M -a trim dead=1M 1M@a+1M reserved=4M")

REPLAYS(without_room_for_it_requests_fail,
        open_device(&tp_strategy_torch_pinned, "conf=pinned_reserve_segment_size_mb:64",
                    "capacity=32MiB"),
        "1M! reserved=0")

/* ---- settings ---- */

TEST(settings_of_gpu_memory_are_skipped)
{
    struct tp_torch_pinned_rules rules = tp_torch_pinned_defaults;
    static const char text[] =
        "expandable_segments:True,backend:cudaMallocAsync,roundup_power2_divisions:[256:1,>:4],"
        "pinned_use_cuda_host_register:True,pinned_num_register_threads:8,"
        "pinned_max_round_threshold_mb:64,pinned_max_cached_size_mb:0,"
        "pinned_reserve_segment_size_mb:2048";
    assert_int_equal(tp_torch_pinned_conf(&rules, text, NULL), TP_OK);
    assert_int_equal(rules.round_most, 64 * MIB);
    assert_int_equal(rules.cached_most, 0);
    assert_int_equal(rules.reserve, 2 * GIB);
}

TEST(wrong_settings_are_refused)
{
    static const char *const wrong[][2] = {
        {"pinned_max_round_threshhold_mb:64", "no setting 'pinned_max_round_threshhold_mb'"},
        {"pinned_max_cached_size_mb:x", "not a number of MiB from 0 on"},
        {"pinned_reserve_segment_size_mb:0", "not a number of MiB from 1 on"},
        {"pinned_num_register_threads:3", "not a power of two up to 128"},
        {"pinned_use_background_threads:1", "not True or False"},
        {"pinned_max_cached_size_mb", "not a setting of the form key:value"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tp_torch_pinned_rules rules = tp_torch_pinned_defaults;
        struct tp_err err;
        assert_int_equal(tp_torch_pinned_conf(&rules, wrong[i][0], &err), TP_EUSAGE);
        if (!strstr(err.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], err.text);
    }
}

TEST(a_thread_is_not_simulated_beside_several_streams)
{
    struct rig *r = calloc(1, sizeof *r);
    const struct rig_cfg cfg =
        device_cfg(&tp_strategy_torch_pinned, "conf=pinned_use_background_threads:True", NULL);
    assert_non_null(r);
    assert_int_equal(rig_open(r, &cfg), TP_EUSAGE);
    assert_non_null(strstr(r->err.text, "is not simulated for traces with several streams"));
    free(r);
}

/* ---- bounded work ---- */

/* Blocks of one class that are too small for a request, each freed after those that are not. */
TEST_OPENED(many_blocks_of_a_class_are_not_looked_through,
            open_host("conf=pinned_max_round_threshold_mb:0"))
{
    static tp_addr at[MANY];
    for (unsigned i = 0; i < MANY; i++)
        at[i] = take(r, 0, 2 * MIB - i);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++)
        give(r, 0, at[i], 2 * MIB - i);
    is_linear("frees");
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(take(r, 0, 2 * MIB), at[0]);
        give(r, 0, at[0], 2 * MIB);
        assert_int_equal(take(r, 0, 2 * MIB), at[0]);
        give(r, 0, at[0], 2 * MIB);
    }
    is_linear("requests for the largest");
}
