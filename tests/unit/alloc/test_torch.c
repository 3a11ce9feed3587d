/* The rules of `torch`, one test each, with expectations that were derived by hand from what
 * PyTorch documents. Pages are those of a device, 2 MiB. */
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
        close_torch(r);
    }
}

TEST(large_segments_may_be_larger)
{
    struct rig *r = open_torch("conf={large_segment_size_mb:32,backend:native}");
    get(r, 0, 2 * MIB);
    assert_int_equal(reserved(r), 32 * MIB);
    close_torch(r);
}

/* ---- splitting and merging ---- */

TEST(small_blocks_are_split_to_512_bytes)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, MIB);
    assert_int_equal(get(r, 0, MIB - 512), a + MIB);
    assert_int_equal(get(r, 0, 1), a + 2 * MIB - 512);
    assert_int_equal(r->account.gets, 1);
    close_torch(r);
}

TEST(a_large_rest_is_split_off_if_it_has_more_than_1_mib)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 9 * MIB);
    assert_int_equal(get(r, 0, 8 * MIB), a + 9 * MIB);
    struct tp_block b = get_block(r, 0, 2 * MIB);
    assert_int_equal(b.addr, a + 17 * MIB);
    assert_int_equal(b.granted, 3 * MIB);
    put(r, 0, b.addr, 2 * MIB);
    b = get_block(r, 0, 2 * MIB - 512);
    assert_int_equal(b.addr, a + 17 * MIB);
    assert_int_equal(b.granted, 2 * MIB - 512);
    close_torch(r);
}

TEST(free_neighbours_become_one_block)
{
    struct rig *r = open_torch("");
    tp_addr a[4];
    for (int i = 0; i < 4; i++)
        a[i] = get(r, 0, 5 * MIB);
    put(r, 0, a[0], 5 * MIB);
    put(r, 0, a[2], 5 * MIB);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_SPAN], 2);
    put(r, 0, a[1], 5 * MIB);
    assert_int_equal(rig_walk(r).largest_span, 15 * MIB);
    assert_int_equal(get(r, 0, 15 * MIB), a[0]);
    assert_int_equal(r->account.gets, 1);
    close_torch(r);
}

TEST(segments_are_never_joined)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 10 * MIB), b = get(r, 0, 10 * MIB);
    put(r, 0, a, 10 * MIB);
    put(r, 0, b, 10 * MIB);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_SPAN], 2);
    close_torch(r);
}

/* ---- which block ---- */

TEST(the_smallest_block_serves_and_of_equal_ones_the_first)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 30 * MIB), b = get(r, 0, 16 * MIB), c = get(r, 0, 16 * MIB);
    put(r, 0, c, 16 * MIB);
    put(r, 0, a, 30 * MIB);
    put(r, 0, b, 16 * MIB);
    assert_int_equal(get(r, 0, 14 * MIB), b);
    assert_int_equal(get(r, 0, 15 * MIB), c);
    assert_int_equal(get(r, 0, 15 * MIB), a);
    close_torch(r);
}

TEST(small_and_large_requests_share_nothing)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 4 * MIB);
    put(r, 0, a, 4 * MIB);
    get(r, 0, MIB);
    assert_int_equal(reserved(r), 22 * MIB);
    close_torch(r);
}

TEST(streams_share_nothing)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 1, 4 * MIB);
    put(r, 1, a, 4 * MIB);
    assert_true(get(r, 2, 4 * MIB) != a);
    assert_true(get(r, 0, 4 * MIB) != a);
    assert_int_equal(get(r, 1, 4 * MIB), a);
    close_torch(r);
}

/* ---- other streams ---- */

TEST(a_block_waits_for_the_streams_that_used_it)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 4 * MIB);
    assert_int_equal(r->s->use(r->st, r->threads[0], a, 1), TP_OK);
    put(r, 0, a, 4 * MIB);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 4 * MIB);
    assert_int_equal(get(r, 0, 4 * MIB), a + 4 * MIB);
    r->now_ns += 2 * LAG;
    assert_int_equal(get(r, 0, 4 * MIB), a);
    close_torch(r);
}

TEST(a_block_that_another_stream_frees_waits_for_it)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 4 * MIB);
    put(r, 3, a, 4 * MIB);
    assert_int_equal(get(r, 0, 4 * MIB), a + 4 * MIB);
    r->now_ns += 2 * LAG;
    assert_int_equal(get(r, 0, 4 * MIB), a);
    close_torch(r);
}

/* ---- memory is short ---- */

TEST(idle_segments_go_back_before_it_is_out_of_memory)
{
    struct rig *r = open_limited("", "capacity=40MiB");
    tp_addr a = get(r, 0, 30 * MIB), b = get(r, 1, MIB);
    put(r, 0, a, 30 * MIB);
    get(r, 0, 38 * MIB);
    assert_int_equal(r->account.refused_gets, 1);
    assert_int_equal(reserved(r), 40 * MIB);
    put(r, 1, b, MIB);
    refuse(r, 0, 39 * MIB);
    assert_int_equal(reserved(r), 38 * MIB);
    assert_int_equal(tp_rig_stats(r).retries, 2);
    close_torch(r);
}

TEST(a_split_limit_gives_back_what_suffices)
{
    struct rig *r = open_limited("conf=max_split_size_mb:30", "capacity=150MiB");
    tp_addr a = get(r, 0, 40 * MIB), b = get(r, 0, 60 * MIB), c = get(r, 0, 12 * MIB);
    put(r, 0, a, 40 * MIB);
    put(r, 0, b, 60 * MIB);
    put(r, 0, c, 12 * MIB);
    get(r, 0, 90 * MIB); /* 60 and 40 go, 12 stays */
    assert_int_equal(reserved(r), 102 * MIB);
    assert_int_equal(tp_rig_stats(r).retries, 0); /* PyTorch counts whole releases */
    close_torch(r);
}

/* 60 MiB are refused beside 140 of 150. The 100 MiB, which would leave too much over, suffice: they
 * go alone, and that is no retry. */
TEST(a_split_limit_gives_back_one_that_suffices)
{
    struct rig *r = open_limited("conf=max_split_size_mb:30", "capacity=150MiB");
    tp_addr a = get(r, 0, 40 * MIB), b = get(r, 0, 100 * MIB);
    put(r, 0, a, 40 * MIB);
    put(r, 0, b, 100 * MIB);
    get(r, 0, 60 * MIB);
    assert_int_equal(reserved(r), 100 * MIB);
    assert_int_equal(tp_rig_stats(r).retries, 0);
    close_torch(r);
}

/* Of the own stream only 40 MiB are of the limit's size, which is not enough: then all goes that is
 * idle, of other streams too. */
TEST(what_does_not_suffice_is_followed_by_all_that_is_idle)
{
    struct rig *r = open_limited("conf=max_split_size_mb:30", "capacity=100MiB");
    tp_addr a = get(r, 0, 40 * MIB), b = get(r, 0, 12 * MIB), c = get(r, 1, 36 * MIB);
    put(r, 0, a, 40 * MIB);
    put(r, 0, b, 12 * MIB);
    put(r, 1, c, 36 * MIB);
    get(r, 0, 90 * MIB);
    assert_int_equal(reserved(r), 90 * MIB);
    assert_int_equal(r->account.puts, 3);
    assert_int_equal(tp_rig_stats(r).retries, 1);
    close_torch(r);
}

/* Before all that is idle goes, blocks that wait for other streams are waited for. */
TEST(blocks_that_wait_go_back_too_when_memory_is_short)
{
    struct rig *r = open_limited("", "capacity=40MiB");
    tp_addr a = get(r, 0, 30 * MIB);
    assert_int_equal(r->s->use(r->st, r->threads[0], a, 1), TP_OK);
    put(r, 0, a, 30 * MIB);
    get(r, 0, 38 * MIB);
    assert_int_equal(r->account.waits, 1);
    assert_int_equal(reserved(r), 38 * MIB);
    close_torch(r);
}

TEST(a_share_of_the_memory_is_the_limit)
{
    struct rig *r = open_limited("conf=per_process_memory_fraction:0.5", "capacity=100MiB");
    get(r, 0, 48 * MIB);
    refuse(r, 0, MIB + 1);
    assert_int_equal(r->account.refused_gets, 0); /* the driver is not asked */
    assert_int_equal(tp_rig_stats(r).retries, 1);
    get(r, 0, MIB);
    close_torch(r);
}

/* Two searches passed over the free 30 MiB and one over the free 34 MiB when 64 MiB exceed the half
 * of the memory: the older go, which is enough, and the younger stay. */
TEST(garbage_of_the_average_age_goes_back)
{
    struct rig *r =
        open_limited("conf={per_process_memory_fraction:1.0,garbage_collection_threshold:0.5}",
                     "capacity=100MiB");
    tp_addr a = get(r, 0, 30 * MIB), b = get(r, 0, 34 * MIB);
    put(r, 0, a, 30 * MIB);
    tp_addr c = get(r, 0, 2 * MIB); /* of the 30 MiB */
    put(r, 0, b, 34 * MIB);
    put(r, 0, c, 2 * MIB);
    b = get(r, 0, 32 * MIB);
    put(r, 0, b, 32 * MIB);
    get(r, 0, 36 * MIB);
    assert_int_equal(reserved(r), 70 * MIB);
    close_torch(r);
}

/* Three idle segments are 9, 3 and 1 searches old when 144 MiB exceed half of 200 by 44. Their
 * average is 4.3: the 30 MiB go, and 14 are still too much. The average of what is left is 2: the
 * 34 MiB go, which is enough, so the 38 MiB stay though the average is now theirs. */
TEST(garbage_is_collected_until_it_suffices)
{
    for (int broken = 0; broken < 2; broken++) {
        struct rig *r =
            open_limited("conf={per_process_memory_fraction:1.0,garbage_collection_threshold:0.5}",
                         "capacity=200MiB");
        struct tp_err err;
        if (broken)
            assert_int_equal(tp_torch_mutate(tp_torch_rules_of(r->st), "one-collection", &err),
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
        close_torch(r);
    }
}

/* A share of nothing is not the same as none. */
TEST(a_share_of_0_leaves_no_memory)
{
    struct rig *r = open_limited("conf=per_process_memory_fraction:0", "capacity=100MiB");
    refuse(r, 0, 1);
    close_torch(r);
}

TEST(empty_cache_gives_whole_segments_back)
{
    struct rig *r = open_torch("");
    tp_addr a = get(r, 0, 30 * MIB), b = get(r, 0, 4 * MIB);
    get(r, 0, 4 * MIB);
    put(r, 0, a, 30 * MIB);
    put(r, 0, b, 4 * MIB);
    trim(r);
    assert_int_equal(reserved(r), 20 * MIB);
    close_torch(r);
}

/* ---- breaking rules ---- */

TEST(every_rule_can_be_broken)
{
    size_t count = 0;
    struct tp_err err;
    struct tp_torch_rules rules;
    for (const struct tp_torch_mutation *m = tp_torch_mutations; m->name; m++, count++) {
        rules = tp_torch_defaults;
        assert_int_equal(tp_torch_mutate(&rules, m->name, &err), TP_OK);
        assert_memory_not_equal(&rules, &tp_torch_defaults, sizeof rules);
    }
    assert_int_equal(count, 16);
    assert_int_equal(tp_torch_mutate(&rules, "worst-fitt", &err), TP_EUSAGE);
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
    struct tp_err err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_torch_rules rules = tp_torch_defaults;
        assert_int_equal(tp_torch_segment_bytes(&rules, cases[i].size), cases[i].as_it_is);
        assert_int_equal(tp_torch_mutate(&rules, cases[i].rule, &err), TP_OK);
        assert_int_equal(tp_torch_segment_bytes(&rules, cases[i].size), cases[i].broken);
    }
}

TEST(a_broken_edge_changes_the_pool)
{
    for (int broken = 0; broken < 2; broken++) {
        struct rig *r = open_torch("");
        struct tp_err err;
        if (broken)
            assert_int_equal(tp_torch_mutate(tp_torch_rules_of(r->st), "small-edge", &err), TP_OK);
        get(r, 0, 512);
        get(r, 0, MIB);
        assert_int_equal(reserved(r), broken ? 4 * MIB : 2 * MIB);
        close_torch(r);
    }
}

/* ---- placing ---- */

static struct tp_torch_segment placed_segment(struct rig *r, uint64_t size)
{
    struct tp_torch_segment s = {.size = size};
    assert_int_equal(tp_src_get(r->env.source, size, 512, &s.base), TP_OK);
    return s;
}

TEST(a_heap_is_placed_exactly)
{
    struct rig *r = open_torch("");
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
    close_torch(r);
}

TEST(equal_blocks_serve_by_their_addresses)
{
    struct rig *r = open_torch("");
    assert_int_equal(tp_torch_follow(r->st), TP_OK);
    struct tp_torch_segment low = placed_segment(r, 20 * MIB), high = placed_segment(r, 20 * MIB);
    assert_true(low.base < high.base);
    assert_int_equal(tp_torch_place(r->st, &high, NULL, 0), TP_OK);
    assert_int_equal(tp_torch_place(r->st, &low, NULL, 0), TP_OK);
    assert_int_equal(get(r, 0, 19 * MIB), low.base);
    assert_int_equal(get(r, 0, 19 * MIB), high.base);
    close_torch(r);
}

TEST(what_contradicts_itself_is_not_placed)
{
    struct rig *r = open_torch("");
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
    close_torch(r);
}

TEST(a_block_is_forced_where_there_is_room)
{
    struct rig *r = open_torch("");
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
    close_torch(r);
}

/* What a reader says of a recording's settings. Segments may have been made to grow by a call, and
 * then the text is empty. */
