/* The rules of `stitch`, one test each, with expectations derived by hand from GMLake's paper (S1
 * to S4) and its published code. The strategy is compiled into this test, so that its steps are
 * counted. A map and each piece of a stitched block are one get, an unmap and a stitched block that
 * is dropped one put. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/stitch/stitch.c"
#include "alloc/strategies/stitch/stitch_check.c"
#include "alloc/strategies/stitch/stitch_joined.c"
#include "alloc/strategies/stitch/stitch_primitives.c"
#include "alloc/strategies/stitch/stitch_streams.c"

#include "alloc/conformance/conformance_gen.h"
#include "alloc/conformance/conformance_replay.h"
#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"
#include "tests/unit/scenario.h"
#include "tests/unit/twice_mapped.h"

/* As it comes, but stitching for requests of any size. */
static struct rig *open_full(const char *options, const char *limit)
{
    char text[160];
    snprintf(text, sizeof text, "frag_limit=0%s%s", *options ? "," : "", options);
    return open_device(&tp_strategy_stitch, text, limit);
}

static struct rig *open_stitch(const char *options)
{
    return open_full(options, NULL);
}

/* ---- S1: a block of this size ---- */

REPLAYS(a_block_of_the_size_serves, open_stitch(""),
        "a=40M b=20M c=20M -a -b -c 20M@b 20M@c 40M@a gets=3 free=0")

/* The addresses of a stitched block are kept, and cost nothing the next time. */
REPLAYS(a_stitched_block_of_the_size_serves_without_a_call, open_stitch(""),
        "a=20M b=30M -a -b c=50M gets=4 -c d=50M@c gets=4 puts=0 -d 50M@c gets=4 reserved=50M")

REPLAYS(its_memory_serves_others_meanwhile, open_stitch(""),
        "a=20M b=30M -a -b c=50M -c x=30M@b gets=4 "
        "d=50M@!c gets=7 reserved=80M " /* c lacks a piece: 30 MiB are new, and stitched to a */
        "-x -d e=50M@d 30M gets=7 -e 50M@d gets=7")

REPLAYS(the_one_freed_last_is_tried_first, open_stitch(""),
        "a=20M b=30M -a -b c=50M x=20M y=30M -x -y d=50M gets=8 -d -c 50M@c 50M@d gets=8")

/* ---- S2: a larger block ---- */

REPLAYS(a_larger_block_is_split, open_stitch(""),
        "a=40M b=20M -a -b c=16M@b d=24M@a free=20M e=16M@a+24M gets=2 -c -d -e largest=40M")

REPLAYS(a_primitive_block_that_is_larger_goes_before_a_stitched_one, open_stitch(""),
        "a=20M b=30M c=60M -a -b d=50M -c -d 44M@c")

/* The split is of memory that a stitched block has: it is right again once all of it is free. */
REPLAYS(a_split_block_leaves_the_stitched_one_right, open_stitch(""),
        "a=20M b=30M -a -b c=50M -c x=10M@a y=6M@a+10M z=4M@a+16M -x -z -y 50M@c gets=4")

REPLAYS(a_part_in_use_is_enough, open_stitch(""),
        "a=20M b=30M -a -b c=50M -c x=10M@a 50M@!c gets=8 reserved=60M")

REPLAYS(a_large_stitched_block_serves_in_part, open_stitch(""),
        "a=20M b=30M -a -b c=50M -c d=44M@c gets=4 6M@a+14M gets=4 free=0 -d "
        "50M@!c") /* 6 MiB of it are still in use */

REPLAYS(with_a_reuse_limit_of_1_only_its_size_counts, open_stitch("reuse_limit=1"),
        "a=20M b=30M -a -b c=50M -c d=44M@!c gets=6 -d 50M@c gets=6")

REPLAYS(the_reuse_limit_is_a_factor, open_stitch("reuse_limit=1.25,re_alloc=no"),
        "a=20M b=30M -a -b c=50M -c x=30M@b -x d=38M@!c gets=6 -d e=40M@c gets=6 -e 50M@c gets=6")

/* ---- S3: several blocks ---- */

REPLAYS(free_blocks_are_stitched_the_largest_first, open_stitch(""),
        "a=20M b=30M x=10M -a -b -x c=50M gets=5 reserved=60M 10M@x free=0")

REPLAYS(the_last_of_them_is_split, open_stitch(""),
        "a=20M b=30M -a -b c=44M gets=4 free=6M 6M@a+14M gets=4")

REPLAYS(stitched_memory_merges_where_it_was, open_stitch(""),
        "a=30M x=2M y=4M -a -x z=40M free=6M -y -z spans=2 largest=30M 30M@a")

/* Another stream's blocks are not stitched. */
REPLAYS(blocks_of_one_stream_are_stitched, open_stitch(""),
        "a=20M b=30M/1 -a -b/1 50M reserved=80M")

REPLAYS(below_the_limit_nothing_is_stitched, open_device(&tp_strategy_stitch, "", NULL),
        "a=256M b=254M -a -b c=510M gets=3 reserved=1020M -c 511M gets=5 reserved=1020M")

/* ---- S4: new memory ---- */

REPLAYS(only_what_is_missing_is_new, open_stitch(""),
        "a=20M b=30M -a -b 64M reserved=64M gets=6 free=0")

REPLAYS(below_10_mib_20_are_taken, open_stitch(""),
        "a=8M reserved=20M -a b=26M reserved=40M gets=4 free=14M")

REPLAYS(without_re_alloc_all_is_new, open_stitch("re_alloc=no"),
        "a=20M b=30M -a -b 64M reserved=114M gets=3 50M gets=5")

REPLAYS(a_full_device_gives_back_what_is_free_as_a_whole,
        open_full("re_alloc=no", "capacity=64MiB"),
        "a=20M b=30M -a -b c=64M reserved=64M gets=3 puts=2 refused_gets=1 retries=1 2M!")

REPLAYS(what_does_not_fit_with_all_that_is_free_is_refused, open_full("", "capacity=64MiB"),
        "a=20M b=30M -a 36M! retries=1 34M reserved=64M")

/* The rest of a block that is in use cannot go back, and is stitched. */
REPLAYS(what_cannot_go_back_is_stitched, open_full("", "capacity=64MiB"),
        "a=40M x=20M -a b=10M@a -x c=54M gets=5 reserved=64M free=0")

REPLAYS(level_1_stitches_on_a_full_device, open_full("defrag_level=1", "capacity=64MiB"),
        "a=20M b=30M -a -b c=40M gets=4 refused_gets=1 retries=0 reserved=50M")

REPLAYS(level_2_gives_back_first, open_full("defrag_level=2", "capacity=64MiB"),
        "a=20M b=30M -a -b c=40M gets=3 puts=2 retries=1 reserved=40M")

REPLAYS(level_2_stitches_what_stays, open_full("defrag_level=2", "capacity=64MiB"),
        "a=40M b=24M -b 2M@b -a 24M@a 38M gets=4 retries=1 reserved=64M")

/* ---- addresses ---- */

REPLAYS(the_least_recently_freed_goes_first, open_stitch("reuse_limit=1,auto_gc=100MiB"),
        "a=20M b=30M -a -b c=50M -c d=48M -d " /* 98 MiB of addresses */
        "50M@c puts=0 -c "                     /* freed later than d now */
        "e=46M puts=1 gets=8 -e 50M@c gets=8 -c "
        "f=48M@!d gets=10 puts=2") /* and e went for it */

REPLAYS(live_ones_are_not_dropped, open_stitch("auto_gc=0"),
        "a=20M b=30M -a -b c=50M puts=0 -c puts=0 x=20M@a y=40M puts=1 gets=7 reserved=60M")

REPLAYS(trim_drops_them_all, open_stitch(""), "a=20M b=30M -a -b c=50M -c trim reserved=0 puts=3")

REPLAYS(trim_keeps_what_it_is_told, open_stitch(""),
        "a=20M b=30M -b -a trim:20M reserved=20M 20M@a gets=2")

/* A live stitched block has addresses of memory that it does not use: they go with the memory. */
REPLAYS(unused_ends_of_live_ones_go, open_stitch(""),
        "a=30M b=20M c=10M -a -b -c d=60M -d e=44M@d trim reserved=50M puts=2 live=44M free=6M "
        "-e 50M@d gets=6")

/* ---- small requests ---- */

REPLAYS(up_to_1_mib_torch_serves, open_stitch(""),
        "a=1M reserved=2M b=512@a+1M c=1M+1:2M reserved=22M -a -b -c free=22M")

REPLAYS(the_limit_of_small_requests_is_an_option, open_stitch("small_limit=0"),
        "a=1:2M reserved=20M")

REPLAYS(without_stitching_torch_serves_everything, open_stitch("vmm_defragment=no"),
        "a=20M b=30M -a -b c=50M gets=3 reserved=100M 1M+1:1M+512")

REPLAYS(each_gives_back_what_the_other_needs, open_full("", "capacity=22MiB"),
        "a=512 b=20M -b c=512/1 reserved=4M -a -c/1 22M reserved=22M")

REPLAYS(chunks_may_be_larger, open_stitch("chunk=4MiB"), "a=2M:4M reserved=40M b=6M@a+4M:8M")

/* ---- alignment ---- */

REPLAYS(more_alignment_takes_more, open_stitch(""),
        "a=3M^512 b=3M^4M -b c=2M^1024:4M-512 -a -c 4M^2M -a!")

/* ---- streams ---- */

REPLAYS(a_block_goes_back_to_its_stream, open_stitch(""), "a=20M -a 20M/1@!a 20M@a")

REPLAYS(other_streams_are_waited_for, open_stitch(""),
        "a=20M b=30M -a -b c=50M use:c/1 -c cached=50M d=50M@!c gets=5 done:1 50M@c gets=5")

REPLAYS(a_free_on_another_stream_counts_as_a_use, open_stitch(""),
        "a=20M -a/1 cached=20M b=20M@!a later 20M@a")

REPLAYS(a_full_device_waits_for_streams, open_full("", "capacity=50MiB"),
        "a=20M b=30M -a/1 -b/2 c=50M waits=3 gets=3 puts=2") /* for 1, for 2, and once for 0 */

/* ---- refused ---- */

TEST(a_source_without_aliases_is_refused)
{
    struct tp_source_ops plain = tp_source_virtual;
    struct rig r;
    struct rig_cfg cfg = device_cfg(&tp_strategy_stitch, "", NULL);
    plain.alias = NULL;
    plain.unalias = NULL;
    cfg.base = &plain;
    assert_int_equal(rig_open(&r, &cfg), TP_EUSAGE);
    cfg.options = "vmm_defragment=no";
    assert_int_equal(rig_open(&r, &cfg), TP_OK);
    rig_close(&r);
}

TEST(a_chunk_is_a_power_of_two)
{
    struct rig r;
    const struct rig_cfg cfg = device_cfg(&tp_strategy_stitch, "chunk=3MiB", NULL);
    assert_int_equal(rig_open(&r, &cfg), TP_EUSAGE);
}

/* ---- random programs ---- */

/* Those of the conformance suite, with sizes of many chunks: it knows which memory is at which
 * address, and whose it is. */
static void try_programs(struct rig_cfg cfg, unsigned programs)
{
    static struct model m;
    static struct gen g;
    struct rig *r = rig_new(cfg);
    tp_model_open(&m, r);
    m.check_every = 20;
    for (unsigned p = 0; p < programs && !m.failure.kind; p++) {
        tp_gen_start(&g, 77000 + p, 100);
        for (unsigned i = 0; i < 600 && !m.failure.kind; i++) {
            struct tp_insn in = tp_gen_next(&g);
            in.size = in.op == TP_POOL ? in.size : in.size * 30;
            tp_model_step(&m, &in, i);
        }
        if (!m.failure.kind)
            tp_model_drain(&m);
    }
    if (m.failure.kind)
        fail_msg("step %u: %s", m.failure.step, m.failure.text);
    tp_model_close(&m);
    rig_end(r);
    steps = 0;
}

/* What finds it if they do: contents are not at stake on a simulated device. */
TEST(a_model_knows_what_memory_is_at_two_addresses)
{
    static struct model m;
    const struct tp_insn first = {.op = TP_ALLOC, .size = 1000};
    const struct tp_insn second = {.op = TP_ALLOC, .size = 1000, .slot = 1};
    struct rig *r = rig_new(device_cfg(&twice, "", NULL));
    tp_model_open(&m, r);
    m.probes = false;
    assert_true(tp_model_step(&m, &first, 0));
    assert_false(tp_model_step(&m, &second, 1));
    assert_int_equal(m.failure.kind, MODEL_OVERLAP);
    assert_non_null(strstr(m.failure.text, "at another address"));
    tp_model_close(&m);
    rig_close(r);
    free(r);
}

TEST(random_programs_share_no_memory)
{
    static const char *const options[] = {"frag_limit=0", "frag_limit=8MiB,reuse_limit=1",
                                          "frag_limit=0,auto_gc=64MiB,re_alloc=no",
                                          "frag_limit=0,defrag_level=2"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int limited = 0; limited < 2; limited++) {
            struct rig_cfg cfg =
                device_cfg(&tp_strategy_stitch, options[i], limited ? "capacity=256MiB" : NULL);
            cfg.shuffle = i % 2;
            try_programs(cfg, 12);
        }
}

/* ---- bounded work ---- */

enum { PIECE_STEPS = 64 }; /* trees of a few thousand nodes, several times */

static void is_bounded(const char *what, unsigned long long calls)
{
    print_message("%s: %llu steps\n", what, steps);
    assert_true(steps < calls * STITCH_PIECES * PIECE_STEPS);
    steps = 0;
}

/* Every second chunk is free: no two are side by side. */
static void leave_holes(struct rig *r)
{
    static tp_addr chunks[2 * MANY];
    for (unsigned i = 0; i < 2 * MANY; i++)
        chunks[i] = take(r, 0, 2 * MIB);
    for (unsigned i = 0; i < 2 * MANY; i += 2)
        give(r, 0, chunks[i], 2 * MIB);
    is_linear("to set up");
}

TEST_OPENED(a_request_stitches_a_bounded_number_of_blocks, open_stitch("reuse_limit=1"))
{
    enum { CALLS = 200 };
    leave_holes(r);
    uint64_t gets = r->account.gets, held = reserved(r);
    for (unsigned i = 0; i < CALLS; i++)
        give(r, 0, take(r, 0, 2 * MIB * (STITCH_PIECES - i)), 2 * MIB * (STITCH_PIECES - i));
    is_bounded("requests for 1,024 blocks", CALLS);
    assert_int_equal(reserved(r), held);
    assert_true(r->account.gets - gets > CALLS * (STITCH_PIECES - CALLS));
    gets = r->account.gets;
    tp_addr large = take(r, 0, 2 * MIB * (STITCH_PIECES + 8)); /* of one more, 9 chunks are new */
    assert_int_equal(r->account.gets - gets, 1 + STITCH_PIECES);
    give(r, 0, large, 2 * MIB * (STITCH_PIECES + 8));
    steps = 0;
}

/* Each is free, but for one piece, which all of them have. */
TEST_OPENED(stitched_blocks_that_cannot_serve_cost_little, open_stitch("reuse_limit=1"))
{
    enum { CALLS = 3000 };
    tp_addr shared = take(r, 0, 40 * MIB), kept[CALLS];
    for (unsigned i = 0; i < CALLS; i++) {
        tp_addr own = take(r, 0, 20 * MIB);
        give(r, 0, shared, 40 * MIB);
        give(r, 0, own, 20 * MIB);
        kept[i] = take(r, 0, 60 * MIB);
        give(r, 0, kept[i], 60 * MIB);
        shared = take(r, 0, 40 * MIB);
        kept[i] = take(r, 0, 20 * MIB); /* so that the next one is of other memory */
    }
    is_bounded("to stitch them", CALLS);
    for (unsigned i = 0; i < CALLS; i++)
        assert_true(!tp_stitch_find(r->st, 0, 60 * MIB, 60 * MIB));
    is_bounded("to look for one", CALLS);
}

TEST_OPENED(requests_that_never_fit_cost_little, open_full("", "capacity=64GiB"))
{
    leave_holes(r);
    for (unsigned i = 0; i < MANY; i++)
        take(r, 0, 80 * KIB * MIB);
    is_bounded("requests for more than there is", MANY);
}
