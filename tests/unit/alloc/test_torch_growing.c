/* The rules of segments that grow, one test each, with expectations that were derived by hand. The
 * pictures count in MiB: A, B, C are live, - is free, . is not mapped. */
#include "tests/unit/scenario.h"
#include "tests/unit/torch_rig.h"

#define GROWING "conf=expandable_segments:True"
#define UNIT    (20 * MIB)

/* Three blocks of a unit each, from the base on. */
#define THREE "a=20M b=20M@a+20M c=20M@a+40M "

/* AAAAA 5 ---------------- 20   AAAAA BBBBBBBBBBBBBBBB 21 ---- 40 */
REPLAYS(only_what_is_missing_is_mapped, open_torch(GROWING),
        "a=5M reserved=20M 16M@a+5M reserved=40M gets=2 19M@a+21M gets=2")

/* Not to a size of its own, as 33 MiB would get a segment of 34. */
TEST(mapped_sizes_are_whole_units)
{
    static const uint64_t sizes[][2] = {{1, 2 * MIB}, {MIB, 2 * MIB},       {MIB + 1, UNIT},
                                        {UNIT, UNIT}, {UNIT + 1, 2 * UNIT}, {33 * MIB, 2 * UNIT}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rig *r = open_torch(GROWING);
        get(r, 0, sizes[i][0]);
        assert_int_equal(reserved(r), sizes[i][1]);
        rig_end(r);
    }
    replay(open_torch("conf={expandable_segments:True,large_segment_size_mb:32}"),
           "33M reserved=64M");
}

TEST_OPENED(pools_and_streams_have_segments_of_their_own, open_torch(GROWING))
{
    get(r, 0, 2 * MIB);
    get(r, 0, MIB);
    get(r, 1, 2 * MIB);
    assert_int_equal(tp_torch_segments(r->st), 3);
    assert_int_equal(reserved(r), 42 * MIB);
    get(r, 0, UNIT);
    get(r, 1, UNIT);
    get(r, 0, MIB + 1);
    assert_int_equal(tp_torch_segments(r->st), 3);
}

/* expandable_segments_reserve: what does not fit into the addresses of one segment gets another,
 * and what is larger than one fails. 0.099 of 1,000 MiB are 5 units, 1 GiB is above 9/8 of 400 MiB.
 */
TEST(a_segment_reserves_what_the_setting_says)
{
    struct rig *r = open_limited(
        "conf={expandable_segments:True,expandable_segments_reserve:0.099}", "capacity=1000MiB");
    get(r, 0, 60 * MIB);
    get(r, 0, 40 * MIB);
    assert_int_equal(tp_torch_segments(r->st), 1);
    get(r, 0, 20 * MIB);
    assert_int_equal(tp_torch_segments(r->st), 2);
    refuse(r, 0, 101 * MIB);
    rig_end(r);
    replay(open_limited("conf={expandable_segments:True,expandable_segments_reserve:1G}",
                        "capacity=400MiB"),
           "390M 460M!");
}

/* Large blocks too are split wherever 512 bytes are left. */
REPLAYS(large_blocks_are_split_as_small_ones_are, open_torch(GROWING),
        "b=20M-512:20M-512 largest=512")

/* AA -- 30 BB 34 -- 40 ...: the 6 MiB behind B reach as far as the segment may, the 30 MiB do not:
 * they serve 5 MiB, though they are larger. */
REPLAYS(what_can_grow_serves_last, open_torch(GROWING),
        "a=30M 4M@a+30M -a 5M@a 26M@a+34M " /* 25 are left in front of B */
        "reserved=60M")

/* A ... C: the hole is the lowest, but 30 MiB do not fit between A and C. */
TEST(the_lowest_unmapped_bytes_with_room_serve)
{
    replay(open_torch(GROWING), THREE "-b trim reserved=40M 20M@b");
    replay(open_torch(GROWING), THREE "-b trim reserved=40M 30M@a+60M");
}

/* -- ... C: the free block in front of the hole is part of the room. */
REPLAYS(a_free_block_in_front_is_part_of_the_room, open_torch(GROWING),
        THREE "-b trim -a 40M@a reserved=60M gets=4")

/* A ... -- ...: two stretches are mapped for one request, around what is free already. */
REPLAYS(holes_are_mapped_one_by_one, open_torch(GROWING),
        THREE "-b trim -c 60M@b reserved=80M gets=5")

/* ------ 30 BB 34 -- 40: of the 30 free MiB one unit is whole. */
TEST_OPENED(only_whole_units_go_back, open_torch(GROWING))
{
    tp_addr a = get(r, 0, 30 * MIB), b = get(r, 0, 4 * MIB);
    put(r, 0, a, 30 * MIB);
    trim(r);
    assert_int_equal(reserved(r), 20 * MIB);
    assert_int_equal(rig_walk(r).largest_span, 10 * MIB);
    assert_int_equal(r->account.puts, 1);
    put(r, 0, b, 4 * MIB);
    trim(r);
    assert_int_equal(reserved(r), 0);
    assert_int_equal(tp_torch_segments(r->st), 0); /* nothing is left of it */
}

/* A keep of 20 MiB leaves one unit; the smaller blocks go first, as they do among whole segments.
 */
REPLAYS(empty_cache_may_keep_some, open_torch(GROWING),
        "a=20M b=40M/1 -a -b/1 trim:40M reserved=40M")

/* -- BB --: 40 MiB need 20 more behind the last, and the device has 60. What is free goes back, and
 * then the end has room. */
REPLAYS(memory_comes_back_before_it_is_out, open_limited(GROWING, "capacity=60MiB"),
        THREE "-a -c 40M@c reserved=60M refused_gets=1 20M!")

/* A ... --: 60 MiB map the hole, and then the device is full. The mapped part is free like any
 * other, and goes back with it. */
REPLAYS(what_was_mapped_in_vain_is_free, open_limited(GROWING, "capacity=70MiB"),
        THREE "-b trim -c 60M! gets=4 reserved=20M 40M@b")

/* The share of the device is 55 MiB. 40 are mapped of which 7 are free: 10.5 MiB would get a
 * segment of 12, which fit into the share; a unit is mapped, which does not. */
REPLAYS(the_share_counts_as_if_segments_did_not_grow,
        open_limited("conf={expandable_segments:True,per_process_memory_fraction:0.55}",
                     "capacity=100MiB"),
        "33M 10752K reserved=60M 1M/1!")

/* With both settings a block of a growing segment that is larger than the split limit serves nobody
 * below it, so that memory grows though it is free. */
REPLAYS(a_split_limit_wastes_what_grows,
        open_torch("conf={expandable_segments:True,max_split_size_mb:32}"),
        "a=50M 5M " /* up to 55 of 60 */
        "-a 30M@a+55M reserved=100M")

REPLAYS(free_segments_do_not_count_as_garbage_where_they_grow,
        open_limited("conf={expandable_segments:True,per_process_memory_fraction:1.0,"
                     "garbage_collection_threshold:0.5}",
                     "capacity=100MiB"),
        "a=60M -a 20M/1 " /* 60 exceed the half; nothing of it is a segment of its own */
        "reserved=80M")

/* The setting can change in a running program. */
TEST_OPENED(both_kinds_of_segments_live_side_by_side, open_torch(GROWING))
{
    struct tp_torch_rules *rules = tp_torch_rules_of(r->st);
    tp_addr a = get(r, 0, UNIT);
    put(r, 0, a, UNIT);
    rules->expandable = 0;
    tp_addr b = get(r, 0, UNIT); /* what grew serves nobody now */
    assert_true(b != a);
    assert_int_equal(tp_torch_segments(r->st), 2);
    rules->expandable = 1;
    assert_int_equal(get(r, 0, UNIT), a);
    put(r, 0, b, UNIT);
    struct tp_block c =
        get_block(r, 0, UNIT - 512); /* the segment of its own serves, and is split */
    assert_int_equal(c.addr, b);
    assert_int_equal(c.allocated, UNIT - 512);
    put(r, 0, b, UNIT - 512);
    trim(r);
    assert_int_equal(tp_torch_segments(r->st), 1);
    assert_int_equal(reserved(r), UNIT);
}

/* A block that waits for another stream is neither merged nor unmapped before its time. */
REPLAYS(blocks_that_wait_are_in_the_way, open_torch(GROWING),
        "a=20M use:a/1 -a 40M@a+20M later 20M@a")

/* A put that is refused leaves the units mapped; they serve on and go back another time. */
TEST(what_the_source_keeps_serves_on)
{
    struct rig_cfg cfg = device_cfg(&tp_strategy_torch, GROWING, NULL);
    cfg.fault = "put_at=1";
    struct rig *r = rig_new(cfg);
    replay(r, "a=20M -a trim reserved=20M b=20M@a -b trim reserved=0");
}
