/* The rules of `torch`, one test each, with expectations that were derived by hand from what
 * PyTorch documents. Pages are those of a device, 2 MiB. */
#include "tests/unit/scenario.h"
#include "tests/unit/torch_rig.h"

/* ---- segments ---- */

TEST(a_segment_has_2_20_or_its_own_mib)
{
    static const uint64_t sizes[][2] = {{1, 2 * MIB},
                                        {512, 2 * MIB},
                                        {MIB, 2 * MIB},
                                        {MIB + 1, 20 * MIB},
                                        {10 * MIB - 512, 20 * MIB},
                                        {10 * MIB - 511, 10 * MIB},
                                        {10 * MIB, 10 * MIB},
                                        {10 * MIB + 1, 12 * MIB},
                                        {33 * MIB, 34 * MIB}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct rig *r = open_torch("");
        get(r, 0, sizes[i][0]);
        assert_int_equal(reserved(r), sizes[i][1]);
        rig_end(r);
    }
}

REPLAYS(large_segments_may_be_larger, open_torch("conf={large_segment_size_mb:32,backend:native}"),
        "2M reserved=32M")

/* ---- splitting and merging ---- */

REPLAYS(small_blocks_are_split_to_512_bytes, open_torch(""), "a=1M 1M-512@a+1M 1@a+2M-512 gets=1")

REPLAYS(a_large_rest_is_split_off_if_it_has_more_than_1_mib, open_torch(""),
        "a=9M 8M@a+9M b=2M@a+17M:3M -b b=2M-512@a+17M:2M-512")

REPLAYS(free_neighbours_become_one_block, open_torch(""),
        "a0=5M a1=5M a2=5M a3=5M -a0 -a2 spans=2 -a1 largest=15M 15M@a0 gets=1")

REPLAYS(segments_are_never_joined, open_torch(""), "a=10M b=10M -a -b spans=2")

/* ---- which block ---- */

REPLAYS(the_smallest_block_serves_and_of_equal_ones_the_first, open_torch(""),
        "a=30M b=16M c=16M -c -a -b 14M@b 15M@c 15M@a")

REPLAYS(small_and_large_requests_share_nothing, open_torch(""), "a=4M -a 1M reserved=22M")

REPLAYS(streams_share_nothing, open_torch(""), "a=4M/1 -a/1 4M/2@!a 4M@!a 4M/1@a")

/* ---- other streams ---- */

REPLAYS(a_block_waits_for_the_streams_that_used_it, open_torch(""),
        "a=4M use:a/1 -a cached=4M 4M@a+4M later 4M@a")

REPLAYS(a_block_that_another_stream_frees_waits_for_it, open_torch(""),
        "a=4M -a/3 4M@a+4M later 4M@a")

/* ---- memory is short ---- */

REPLAYS(free_segments_go_back_before_it_is_out_of_memory, open_limited("", "capacity=40MiB"),
        "a=30M b=1M/1 -a 38M refused_gets=1 reserved=40M -b/1 39M! reserved=38M retries=2")

REPLAYS(a_split_limit_gives_back_what_suffices,
        open_limited("conf=max_split_size_mb:30", "capacity=150MiB"),
        "a=40M b=60M c=12M -a -b -c 90M " /* 60 and 40 go, 12 stays */
        "reserved=102M retries=0" /* PyTorch counts whole releases */)

/* 60 MiB are refused beside 140 of 150. The 100 MiB, which would leave too much over, suffice: they
 * go alone, and that is no retry. */
REPLAYS(a_split_limit_gives_back_one_that_suffices,
        open_limited("conf=max_split_size_mb:30", "capacity=150MiB"),
        "a=40M b=100M -a -b 60M reserved=100M retries=0")

/* Of the own stream only 40 MiB are of the limit's size, which is not enough: then all goes that is
 * idle, of other streams too. */
REPLAYS(what_does_not_suffice_is_followed_by_all_that_is_idle,
        open_limited("conf=max_split_size_mb:30", "capacity=100MiB"),
        "a=40M b=12M c=36M/1 -a -b -c/1 90M reserved=90M puts=3 retries=1")

/* Before all that is idle goes, blocks that wait for other streams are waited for. */
REPLAYS(blocks_that_wait_go_back_too_when_memory_is_short, open_limited("", "capacity=40MiB"),
        "a=30M use:a/1 -a 38M waits=1 reserved=38M")

REPLAYS(a_share_of_the_memory_is_the_limit,
        open_limited("conf=per_process_memory_fraction:0.5", "capacity=100MiB"),
        "48M 1M+1! refused_gets=0 " /* the driver is not asked */
        "retries=1 1M")

/* Two searches passed over the free 30 MiB and one over the free 34 MiB when 64 MiB exceed the half
 * of the memory: the older go, which is enough, and the younger stay. */
REPLAYS(garbage_of_the_average_age_goes_back,
        open_limited("conf={per_process_memory_fraction:1.0,garbage_collection_threshold:0.5}",
                     "capacity=100MiB"),
        "a=30M b=34M -a c=2M " /* of the 30 MiB */
        "-b -c b=32M -b 36M reserved=70M")

/* Three idle segments are 9, 3 and 1 searches old when 144 MiB exceed half of 200 by 44. Their
 * average is 4.3: the 30 MiB go, and 14 are still too much. The average of what is left is 2: the
 * 34 MiB go, which is enough, so the 38 MiB stay though the average is now theirs. */
TEST(garbage_is_collected_until_it_suffices)
{
    for (int broken = 0; broken < 2; broken++) {
        struct rig *r =
            open_limited("conf={per_process_memory_fraction:1.0,garbage_collection_threshold:0.5}",
                         "capacity=200MiB");
        if (broken)
            assert_int_equal(
                tp_mutate(tp_torch_rules_of(r->st), tp_torch_mutations, "one-collection", NULL),
                TP_OK);
        static const uint64_t sizes[] = {30 * MIB, 34 * MIB, 38 * MIB};
        static const int searches[] = {6, 2, 0}; /* while those freed so far are idle */
        tp_addr at[3], d;
        for (int i = 0; i < 3; i++)
            at[i] = get(r, 0, sizes[i]);
        d = get(r, 0, 42 * MIB);
        for (int i = 0; i < 3; i++) {
            put(r, 0, at[i], sizes[i]);
            for (int k = 0; k < searches[i]; k++) {
                put(r, 0, d, 42 * MIB);
                assert_int_equal(get(r, 0, 42 * MIB), d);
            }
        }
        get(r, 0, 50 * MIB);
        assert_int_equal(reserved(r), (broken ? 34 + 38 + 42 + 50 : 38 + 42 + 50) * MIB);
        assert_int_equal(tp_rig_stats(r).retries, 0);
        assert_int_equal(get(r, 0, 38 * MIB), at[2]);
        rig_end(r);
    }
}

/* A share of nothing is not the same as none. */
REPLAYS(a_share_of_0_leaves_no_memory,
        open_limited("conf=per_process_memory_fraction:0", "capacity=100MiB"), "1!")

REPLAYS(empty_cache_gives_whole_segments_back, open_torch(""),
        "a=30M b=4M 4M -a -b trim reserved=20M")

/* ---- breaking rules ---- */

TEST(every_rule_can_be_broken)
{
    size_t count = 0;
    struct tp_err err;
    struct tp_torch_rules rules;
    for (const struct tp_mutation *m = tp_torch_mutations; m->name; m++, count++) {
        rules = tp_torch_defaults;
        assert_int_equal(tp_mutate(&rules, tp_torch_mutations, m->name, &err), TP_OK);
        assert_memory_not_equal(&rules, &tp_torch_defaults, sizeof rules);
    }
    assert_int_equal(count, 16);
    assert_int_equal(tp_mutate(&rules, tp_torch_mutations, "worst-fitt", &err), TP_EUSAGE);
    assert_string_equal(err.hint, "did you mean 'worst-fit'?");
}

/* Rules on which no recording of the corpus depends (test_verify_snapshot.c has the others). */
TEST(a_broken_edge_changes_the_segment)
{
    static const struct {
        const char *rule;
        uint64_t size, as_it_is, broken;
    } cases[] = {
        {"segment-edge", MIB, 2 * MIB, 20 * MIB},
        {"own-edge", 10 * MIB, 10 * MIB, 20 * MIB},
        {"own-grain", 10 * MIB + 512, 12 * MIB, 11 * MIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        assert_int_equal(tp_torch_segment_bytes(&rules, cases[i].size), cases[i].as_it_is);
        assert_int_equal(tp_mutate(&rules, tp_torch_mutations, cases[i].rule, NULL), TP_OK);
        assert_int_equal(tp_torch_segment_bytes(&rules, cases[i].size), cases[i].broken);
    }
}

TEST(a_broken_edge_changes_the_pool)
{
    for (int broken = 0; broken < 2; broken++) {
        struct rig *r = open_torch("");
        if (broken)
            assert_int_equal(
                tp_mutate(tp_torch_rules_of(r->st), tp_torch_mutations, "small-edge", NULL), TP_OK);
        get(r, 0, 512);
        get(r, 0, MIB);
        assert_int_equal(reserved(r), broken ? 4 * MIB : 2 * MIB);
        rig_end(r);
    }
}

/* ---- placing ---- */

static struct tp_torch_segment placed_segment(struct rig *r, uint64_t size)
{
    struct tp_torch_segment s = {.size = size};
    assert_int_equal(tp_src_get(r->env.source, size, 512, &s.base), TP_OK);
    return s;
}

TEST_OPENED(a_heap_is_placed_exactly, open_torch(""))
{
    assert_int_equal(tp_torch_follow(r->st), TP_OK);
    const struct tp_torch_segment s = placed_segment(r, 20 * MIB);
    const struct tp_torch_at at[] = {{s.base + 2 * MIB, 4 * MIB, 4 * MIB - 7},
                                     {s.base + 9 * MIB, 5 * MIB, 5 * MIB}};
    assert_int_equal(tp_torch_place(r->st, &s, at, 2), TP_OK);
    rig_check(r);
    assert_true(tp_torch_is_at(r->st, &s, at, 2, 3));
    assert_false(tp_torch_is_at(r->st, &s, at, 2, 2));
    assert_false(tp_torch_is_at(r->st, &s, at, 1, 3));
    struct tp_torch_free choices[4];
    assert_int_equal(tp_torch_choices(r->st, 3 * MIB - 5, 0, choices, 4), 2);
    assert_int_equal(choices[0].addr, s.base + 6 * MIB);
    assert_int_equal(choices[1].addr, s.base + 14 * MIB);
    assert_int_equal(get(r, 0, 3 * MIB - 5), s.base + 6 * MIB);
    put(r, 0, s.base + 2 * MIB, 4 * MIB - 7);
    assert_int_equal(rig_walk(r).largest_span, 6 * MIB);
}

TEST_OPENED(equal_blocks_serve_by_their_addresses, open_torch(""))
{
    assert_int_equal(tp_torch_follow(r->st), TP_OK);
    struct tp_torch_segment low = placed_segment(r, 20 * MIB), high = placed_segment(r, 20 * MIB);
    assert_true(low.base < high.base);
    assert_int_equal(tp_torch_place(r->st, &high, NULL, 0), TP_OK);
    assert_int_equal(tp_torch_place(r->st, &low, NULL, 0), TP_OK);
    assert_int_equal(get(r, 0, 19 * MIB), low.base);
    assert_int_equal(get(r, 0, 19 * MIB), high.base);
}

TEST_OPENED(what_contradicts_itself_is_not_placed, open_torch(""))
{
    assert_int_equal(tp_torch_follow(r->st), TP_OK);
    struct tp_torch_segment s = placed_segment(r, 20 * MIB), over = s;
    const struct tp_torch_at two[] = {{s.base, 4 * MIB, 1}, {s.base + 4 * MIB - 512, MIB, 1}};
    const struct tp_torch_at beyond = {s.base + 19 * MIB, 2 * MIB, 1};
    const struct tp_torch_at more = {s.base, MIB, MIB + 1};
    assert_int_equal(tp_torch_place(r->st, &s, two, 2), TP_EINVAL);
    assert_int_equal(tp_torch_place(r->st, &s, &beyond, 1), TP_EINVAL);
    assert_int_equal(tp_torch_place(r->st, &s, &more, 1), TP_EINVAL);
    assert_int_equal(tp_torch_place(r->st, &s, NULL, 0), TP_OK);
    over.base += 2 * MIB;
    over.size = 2 * MIB;
    assert_int_equal(tp_torch_place(r->st, &over, NULL, 0), TP_EINVAL);
}

TEST_OPENED(a_block_is_forced_where_there_is_room, open_torch(""))
{
    assert_int_equal(tp_torch_follow(r->st), TP_OK);
    const struct tp_torch_segment s = placed_segment(r, 20 * MIB);
    const struct tp_torch_at at = {s.base + 5 * MIB, 2 * MIB, 2 * MIB};
    assert_int_equal(tp_torch_place(r->st, &s, NULL, 0), TP_OK);
    assert_int_equal(tp_torch_force(r->st, &at), TP_OK);
    rig_check(r);
    assert_int_equal(tp_torch_force(r->st, &at), TP_EINVAL);
    assert_true(tp_torch_is_at(r->st, &s, &at, 1, 2));
    assert_int_equal(tp_torch_drop(r->st, s.base, s.size), TP_EINVAL);
    put(r, 0, at.addr, 2 * MIB);
    assert_int_equal(tp_torch_drop(r->st, s.base, s.size), TP_OK);
    assert_int_equal(tp_torch_segments(r->st), 0);
    assert_int_equal(reserved(r), 0);
}

/* What a reader says of a recording's settings. Segments may have been made to grow by a call, and
 * then the text is empty. */
