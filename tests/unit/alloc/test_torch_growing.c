/* The rules of segments that grow, one test each, with expectations that were derived by hand. The
 * pictures count in MiB: A, B, C are live, - is free, . is not mapped. */
#include "tests/unit/torch_rig.h"

#define GROWING "conf=expandable_segments:True"
#define UNIT    (20 * MIB)

/* Three blocks of a unit each, from the base on. */
static tp_addr three(struct rig *r)
{
    tp_addr a = get(r, 0, UNIT);
    assert_int_equal(get(r, 0, UNIT), a + UNIT);
    assert_int_equal(get(r, 0, UNIT), a + 2 * UNIT);
    return a;
}

/* AAAAA 5 ---------------- 20   AAAAA BBBBBBBBBBBBBBBB 21 ---- 40 */
TEST(only_what_is_missing_is_mapped)
{
    struct rig *r = open_torch(GROWING);
    tp_addr a = get(r, 0, 5 * MIB);
    assert_int_equal(reserved(r), 20 * MIB);
    assert_int_equal(get(r, 0, 16 * MIB), a + 5 * MIB);
    assert_int_equal(reserved(r), 40 * MIB);
    assert_int_equal(r->account.gets, 2);
    assert_int_equal(get(r, 0, 19 * MIB), a + 21 * MIB);
    assert_int_equal(r->account.gets, 2);
    close_torch(r);
}

/* Not to a size of its own, as 33 MiB would get a segment of 34. */
TEST(mapped_sizes_are_whole_units)
{
    static const uint64_t sizes[][2] = {{1, 2 * MIB}, {MIB, 2 * MIB},       {MIB + 1, UNIT},
                                        {UNIT, UNIT}, {UNIT + 1, 2 * UNIT}, {33 * MIB, 2 * UNIT}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rig *r = open_torch(GROWING);
        get(r, 0, sizes[i][0]);
        assert_int_equal(reserved(r), sizes[i][1]);
        close_torch(r);
    }
    struct rig *r = open_torch("conf={expandable_segments:True,large_segment_size_mb:32}");
    get(r, 0, 33 * MIB);
    assert_int_equal(reserved(r), 64 * MIB);
    close_torch(r);
}

TEST(pools_and_streams_have_segments_of_their_own)
{
    struct rig *r = open_torch(GROWING);
    get(r, 0, 2 * MIB);
    get(r, 0, MIB);
    get(r, 1, 2 * MIB);
    assert_int_equal(tp_torch_segments(r->st), 3);
    assert_int_equal(reserved(r), 42 * MIB);
    get(r, 0, UNIT);
    get(r, 1, UNIT);
    get(r, 0, MIB + 1);
    assert_int_equal(tp_torch_segments(r->st), 3);
    close_torch(r);
}

static void refuse_one(struct rig *r, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 1};
    struct tp_block b;
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_EOOM);
    rig_check(r);
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
    refuse_one(r, 101 * MIB);
    close_torch(r);
    r = open_limited("conf={expandable_segments:True,expandable_segments_reserve:1G}",
                     "capacity=400MiB");
    get(r, 0, 390 * MIB);
    refuse_one(r, 460 * MIB);
    close_torch(r);
}

/* Large blocks too are split wherever 512 bytes are left. */
TEST(large_blocks_are_split_as_small_ones_are)
{
    struct rig *r = open_torch(GROWING);
    struct tp_block b = get_block(r, 0, UNIT - 512);
    assert_int_equal(b.granted, UNIT - 512);
    assert_int_equal(rig_walk(r).largest_span, 512);
    close_torch(r);
}

/* AA -- 30 BB 34 -- 40 ...: the 6 MiB behind B reach as far as the segment may, the 30 MiB do not:
 * they serve 5 MiB, though they are larger. */
TEST(what_can_grow_serves_last)
{
    struct rig *r = open_torch(GROWING);
    tp_addr a = get(r, 0, 30 * MIB);
    assert_int_equal(get(r, 0, 4 * MIB), a + 30 * MIB);
    put(r, 0, a, 30 * MIB);
    assert_int_equal(get(r, 0, 5 * MIB), a);
    assert_int_equal(get(r, 0, 26 * MIB), a + 34 * MIB); /* 25 are left in front of B */
    assert_int_equal(reserved(r), 60 * MIB);
    close_torch(r);
}

/* A ... C: the hole is the lowest, but 30 MiB do not fit between A and C. */
TEST(the_lowest_unmapped_bytes_with_room_serve)
{
    for (uint64_t size = UNIT; size <= 30 * MIB; size += 10 * MIB) {
        struct rig *r = open_torch(GROWING);
        tp_addr a = three(r);
        put(r, 0, a + UNIT, UNIT);
        trim(r);
        assert_int_equal(reserved(r), 40 * MIB);
        assert_int_equal(get(r, 0, size), size == UNIT ? a + UNIT : a + 3 * UNIT);
        close_torch(r);
    }
}

/* -- ... C: the free block in front of the hole is part of the room. */
TEST(a_free_block_in_front_is_part_of_the_room)
{
    struct rig *r = open_torch(GROWING);
    tp_addr a = three(r);
    put(r, 0, a + UNIT, UNIT);
    trim(r);
    put(r, 0, a, UNIT);
    assert_int_equal(get(r, 0, 2 * UNIT), a);
    assert_int_equal(reserved(r), 3 * UNIT);
    assert_int_equal(r->account.gets, 4);
    close_torch(r);
}

/* A ... -- ...: two stretches are mapped for one request, around what is free already. */
TEST(holes_are_mapped_one_by_one)
{
    struct rig *r = open_torch(GROWING);
    tp_addr a = three(r);
    put(r, 0, a + UNIT, UNIT);
    trim(r);
    put(r, 0, a + 2 * UNIT, UNIT);
    assert_int_equal(get(r, 0, 3 * UNIT), a + UNIT);
    assert_int_equal(reserved(r), 4 * UNIT);
    assert_int_equal(r->account.gets, 5);
    close_torch(r);
}

/* ------ 30 BB 34 -- 40: of the 30 free MiB one unit is whole. */
TEST(only_whole_units_go_back)
{
    struct rig *r = open_torch(GROWING);
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
    close_torch(r);
}

/* A keep of 20 MiB leaves one unit; the smaller blocks go first, as they do among whole segments.
 */
TEST(empty_cache_may_keep_some)
{
    struct rig *r = open_torch(GROWING);
    tp_addr a = get(r, 0, UNIT), b = get(r, 1, 2 * UNIT);
    put(r, 0, a, UNIT);
    put(r, 1, b, 2 * UNIT);
    assert_int_equal(r->s->trim(r->st, 2 * UNIT), TP_OK);
    assert_int_equal(reserved(r), 2 * UNIT);
    close_torch(r);
}

/* -- BB --: 40 MiB need 20 more behind the last, and the device has 60. What is free goes back, and
 * then the end has room. */
TEST(memory_comes_back_before_it_is_out)
{
    struct rig *r = open_limited(GROWING, "capacity=60MiB");
    tp_addr a = three(r);
    put(r, 0, a, UNIT);
    put(r, 0, a + 2 * UNIT, UNIT);
    assert_int_equal(get(r, 0, 2 * UNIT), a + 2 * UNIT);
    assert_int_equal(reserved(r), 60 * MIB);
    assert_int_equal(r->account.refused_gets, 1);
    refuse(r, 0, UNIT);
    close_torch(r);
}

/* A ... --: 60 MiB map the hole, and then the device is full. The mapped part is free like any
 * other, and goes back with it. */
TEST(what_was_mapped_in_vain_is_free)
{
    struct rig *r = open_limited(GROWING, "capacity=70MiB");
    tp_addr a = three(r);
    put(r, 0, a + UNIT, UNIT);
    trim(r);
    put(r, 0, a + 2 * UNIT, UNIT);
    refuse(r, 0, 3 * UNIT);
    assert_int_equal(r->account.gets, 4);
    assert_int_equal(reserved(r), UNIT);
    assert_int_equal(get(r, 0, 2 * UNIT), a + UNIT);
    close_torch(r);
}

/* The share of the device is 55 MiB. 40 are mapped of which 7 are free: 10.5 MiB would get a
 * segment of 12, which fit into the share; a unit is mapped, which does not. */
TEST(the_share_counts_as_if_segments_did_not_grow)
{
    struct rig *r = open_limited("conf={expandable_segments:True,per_process_memory_fraction:0.55}",
                                 "capacity=100MiB");
    get(r, 0, 33 * MIB);
    get(r, 0, 10 * MIB + MIB / 2);
    assert_int_equal(reserved(r), 60 * MIB);
    refuse(r, 1, MIB);
    close_torch(r);
}

/* With both settings a block of a growing segment that is larger than the split limit serves nobody
 * below it, so that memory grows though it is free. */
TEST(a_split_limit_wastes_what_grows)
{
    struct rig *r = open_torch("conf={expandable_segments:True,max_split_size_mb:32}");
    tp_addr a = get(r, 0, 50 * MIB);
    get(r, 0, 5 * MIB); /* up to 55 of 60 */
    put(r, 0, a, 50 * MIB);
    assert_int_equal(get(r, 0, 30 * MIB), a + 55 * MIB);
    assert_int_equal(reserved(r), 100 * MIB);
    close_torch(r);
}

TEST(idle_segments_do_not_count_as_garbage_where_they_grow)
{
    struct rig *r = open_limited("conf={expandable_segments:True,per_process_memory_fraction:1.0,"
                                 "garbage_collection_threshold:0.5}",
                                 "capacity=100MiB");
    tp_addr a = get(r, 0, 60 * MIB);
    put(r, 0, a, 60 * MIB);
    get(r, 1, UNIT); /* 60 exceed the half; nothing of it is a segment of its own */
    assert_int_equal(reserved(r), 80 * MIB);
    close_torch(r);
}

/* The setting can change in a running program. */
TEST(both_kinds_of_segments_live_side_by_side)
{
    struct rig *r = open_torch(GROWING);
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
    assert_int_equal(c.granted, UNIT - 512);
    put(r, 0, b, UNIT - 512);
    trim(r);
    assert_int_equal(tp_torch_segments(r->st), 1);
    assert_int_equal(reserved(r), UNIT);
    close_torch(r);
}

/* A block that waits for another stream is neither merged nor unmapped before its time. */
TEST(blocks_that_wait_are_in_the_way)
{
    struct rig *r = open_torch(GROWING);
    tp_addr a = get(r, 0, UNIT);
    assert_int_equal(r->s->use(r->st, r->threads[0], a, 1), TP_OK);
    put(r, 0, a, UNIT);
    assert_int_equal(get(r, 0, 2 * UNIT), a + UNIT);
    r->now_ns += 2 * LAG;
    assert_int_equal(get(r, 0, UNIT), a);
    close_torch(r);
}

/* A put that is refused leaves the units mapped; they serve on and go back another time. */
TEST(what_the_source_keeps_serves_on)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    const struct rig_cfg cfg = {.strategy = &tp_strategy_torch,
                                .options = GROWING,
                                .base = &tp_source_virtual,
                                .kind = TP_KIND_DEVICE,
                                .fault = "put_at=1"};
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    tp_addr a = get(r, 0, UNIT);
    put(r, 0, a, UNIT);
    trim(r);
    assert_int_equal(reserved(r), UNIT);
    assert_int_equal(get(r, 0, UNIT), a);
    put(r, 0, a, UNIT);
    trim(r);
    assert_int_equal(reserved(r), 0);
    close_torch(r);
}
