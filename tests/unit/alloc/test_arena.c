/* The rules of `arena`, one test each: the statements of its policy. The defects of its origin are
 * in test_arena_defects.c, options in test_arena_options.c, threads in test_arena_threads.c. */
#include "tests/unit/arena_rig.h"

static void the_same_block_comes_back(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    static const uint64_t sizes[] = {1, 16, 17, 64, 200, 1000, 4096, 32768, 32769, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tp_addr a = rig_alloc(r, 0, sizes[i]);
        assert_int_equal(rig_free(r, 0, a, sizes[i]), TP_OK);
        assert_int_equal(rig_alloc(r, 0, sizes[i]), a);
    }
    close_arena(r);
}

static void newest_comes_back_first(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    tp_addr a = rig_alloc(r, 0, 48), b = rig_alloc(r, 0, 48);
    rig_free(r, 0, a, 48);
    rig_free(r, 0, b, 48);
    assert_int_equal(rig_alloc(r, 0, 48), b);
    assert_int_equal(rig_alloc(r, 0, 48), a);
    close_arena(r);
}

static void a_block_serves_its_class_only(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    tp_addr a = rig_alloc(r, 0, 64);
    rig_free(r, 0, a, 64);
    for (uint64_t size = 16; size <= 1024; size += 16)
        for (int i = 0; size != 64 && i < 40; i++)
            assert_int_not_equal(rig_alloc(r, 0, size), a);
    assert_int_equal(rig_alloc(r, 0, 64), a);
    close_arena(r);
}

static void waste_is_bounded(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    for (uint64_t size = 1; size <= 32768; size++) {
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, size, 16, &b), TP_OK);
        uint64_t most = size <= 128 ? 15 : size / 8;
        assert_true(b.granted >= size && b.granted - size <= most);
        assert_int_equal(rig_free(r, 0, b.addr, size), TP_OK);
    }
    close_arena(r);
}

static void a_refill_moves_exactly_refill(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    fill_pool(r, 64, 2000); /* refill of 64 bytes: 32 KiB / 64 = 512 */
    uint64_t before = pooled(r, 64), gets = r->account.gets;
    assert_true(before >= 1024);
    rig_alloc(r, 0, 64);
    assert_int_equal(pooled(r, 64), before - 512);
    assert_int_equal(cached(r, 0, 64), 511);
    assert_int_equal(r->account.gets, gets);
    close_arena(r);
}

static void what_the_pool_lacks_is_carved(void **state)
{
    (void)state;
    struct rig *r = open_arena("first_range=1MiB", &tp_source_host);
    rig_alloc(r, 0, 64);
    rig_alloc(r, 1, 64);
    end_thread(r, 1);
    assert_int_equal(pooled(r, 64), 511);
    rig_alloc(r, 1, 64);
    assert_int_equal(pooled(r, 64), 0);
    assert_int_equal(cached(r, 1, 64), 511);
    close_arena(r);
}

static void drain_begins_above_the_limit(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    enum { LIMIT = 1024, DRAIN = 256 }; /* 64 KiB / 64, half of 512 */
    tp_addr blocks[LIMIT + 1];
    for (int i = 0; i <= LIMIT; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    uint64_t run = cached(r, 0, 64);
    for (uint64_t i = 0; i < LIMIT - run; i++)
        rig_free(r, 0, blocks[i], 64);
    assert_int_equal(cached(r, 0, 64), LIMIT);
    assert_int_equal(pooled(r, 64), 0);
    rig_free(r, 0, blocks[LIMIT - run], 64);
    assert_int_equal(pooled(r, 64), DRAIN);
    assert_int_equal(cached(r, 0, 64), LIMIT + 1 - DRAIN);
    close_arena(r);
}

/* Every small class, whatever its counts. */
static void drain_moves_exactly_drain_in_every_class(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    const struct arena *st = r->st;
    for (uint32_t c = 0; c < st->classes.count; c++) {
        uint64_t size = st->classes.size[c];
        uint32_t n = st->classes.limit[c] + 1;
        tp_addr *blocks = calloc(n, sizeof *blocks);
        for (uint32_t i = 0; i < n; i++)
            blocks[i] = rig_alloc(r, 0, size);
        uint32_t i = 0;
        while (!pooled(r, size)) {
            assert_true(i < n);
            rig_free(r, 0, blocks[i++], size);
        }
        assert_int_equal(pooled(r, size), st->classes.drain[c]);
        assert_int_equal(cached(r, 0, size), n - st->classes.drain[c]);
        free(blocks);
    }
    close_arena(r);
}

static void drained_blocks_refill_another_thread(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    tp_addr first = rig_alloc(r, 0, 32768), more[3];
    for (int i = 0; i < 3; i++)
        more[i] = rig_alloc(r, 0, 32768);
    rig_free(r, 0, first, 32768);
    for (int i = 0; i < 3; i++)
        rig_free(r, 0, more[i], 32768); /* the limit is 2: the oldest are handed over */
    assert_int_equal(pooled(r, 32768), 2);
    tp_addr a = rig_alloc(r, 1, 32768), b = rig_alloc(r, 1, 32768);
    assert_true((a == first && b == more[0]) || (a == more[0] && b == first));
    close_arena(r);
}

static void a_thread_that_ends_leaves_nothing(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    const struct arena *st = r->st;
    for (uint32_t c = 0; c < st->classes.count; c++)
        rig_free(r, 2, rig_alloc(r, 2, st->classes.size[c]), st->classes.size[c]);
    r->s->thread_fini(r->st, r->threads[2]);
    for (uint32_t c = 0; c < st->classes.count; c++) {
        assert_int_equal(cached(r, 2, st->classes.size[c]), 0);
        assert_int_equal(st->central[c].count, st->classes.refill[c]);
    }
    assert_int_equal(r->s->thread_init(r->st, r->threads[2]), TP_OK);
    uint64_t gets = r->account.gets;
    for (uint32_t c = 0; c < st->classes.count; c++)
        rig_alloc(r, 1, st->classes.size[c]);
    assert_int_equal(r->account.gets, gets);
    close_arena(r);
}

/* Each leaves an array in the pool, and the next one empties it. */
static void threads_that_come_and_go_pile_nothing_up(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    uint64_t after_first = 0;
    for (int i = 0; i < 1000; i++) {
        rig_free(r, i % 3, rig_alloc(r, i % 3, 64), 64);
        end_thread(r, i % 3);
        after_first = i < 3 ? r->account.metadata : after_first;
    }
    assert_int_equal(r->account.metadata, after_first);
    close_arena(r);
}

static void two_blocks_and_no_third(void **state)
{
    (void)state;
    struct rig *r = open_arena("arena_size=64KiB,max_arenas=1,classes=coarse12", &tp_source_host);
    tp_addr a = rig_alloc(r, 0, 32768), b = rig_alloc(r, 0, 32768);
    struct tp_block none;
    for (int i = 0; i < 3; i++)
        assert_int_equal(rig_try(r, 0, 32768, 16, &none), TP_EOOM);
    assert_int_equal(rig_try(r, 1, 64, 16, &none), TP_EOOM);
    rig_walk(r);
    rig_free(r, 0, a, 32768);
    assert_int_equal(rig_alloc(r, 0, 32768), a);
    rig_free(r, 0, b, 32768);
    rig_free(r, 0, a, 32768);
    rig_alloc(r, 1, 64);
    close_arena(r);
}

static void a_large_span_is_reused_split_and_merged(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    const uint64_t mib = 1 << 20;
    tp_addr whole = rig_alloc(r, 0, 100 * mib);
    rig_free(r, 0, whole, 100 * mib);
    tp_addr part[5];
    for (uint64_t i = 0; i < 5; i++) {
        part[i] = rig_alloc(r, 0, 17 * mib);
        assert_int_equal(part[i], whole + i * 17 * mib);
    }
    assert_int_equal(r->account.gets, 1);
    static const int order[] = {3, 1, 4, 0, 2};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rig_free(r, 0, part[order[i]], 17 * mib), TP_OK);
        rig_walk(r);
    }
    struct rig_walk w = rig_walk(r);
    assert_int_equal(w.pieces[TP_WALK_SPAN], 1);
    assert_int_equal(w.largest_span, 100 * mib);
    assert_int_equal(rig_alloc(r, 0, 100 * mib), whole);
    close_arena(r);
}

static void the_best_fit_is_taken(void **state)
{
    (void)state;
    struct rig *r = open_arena("first_range=64MiB", &tp_source_virtual);
    static const uint64_t sizes[] = {900 << 10, 300 << 10, 500 << 10, 300 << 10};
    tp_addr holes[4];
    for (int i = 0; i < 4; i++) {
        holes[i] = rig_alloc(r, 0, sizes[i]);
        rig_alloc(r, 0, 40 << 10); /* keeps the holes apart */
    }
    for (int i = 0; i < 4; i++)
        rig_free(r, 0, holes[i], sizes[i]);
    assert_int_equal(rig_alloc(r, 0, 400 << 10), holes[2]);
    assert_int_equal(rig_alloc(r, 0, 290 << 10), holes[1]);
    assert_int_equal(rig_alloc(r, 0, 290 << 10), holes[3]);
    assert_int_equal(rig_alloc(r, 0, 290 << 10), holes[0]);
    close_arena(r);
}

/* 34 KiB at 64 KiB: of twenty holes of just this size, 68 KiB apart, only one lies right. It is not
 * looked for while a longer span must have such a place, and it is found when there is none. */
static void a_long_span_saves_the_search_for_an_alignment(void **state)
{
    (void)state;
    struct rig *r = open_arena("first_range=4MiB,max_arenas=1", &tp_source_virtual);
    const uint64_t hole = 34 << 10;
    tp_addr holes[20];
    struct tp_block tail, b;
    for (int i = 0; i < 20; i++) {
        holes[i] = rig_alloc(r, 0, hole);
        rig_alloc(r, 0, hole);
    }
    for (int i = 1; i < 20; i++)
        rig_free(r, 0, holes[i], hole);
    tp_addr end = holes[19] + 2 * hole;
    assert_int_equal(rig_try(r, 0, hole, 64 << 10, &tail), TP_OK);
    assert_in_range(tail.addr, end, end + (64 << 10) - 1);
    for (uint64_t size = 4 << 20; size > hole; size -= 2 << 10)
        rig_try(r, 0, size, 16, &b);
    assert_int_equal(rig_try(r, 0, hole, 64 << 10, &b), TP_OK);
    assert_int_equal(b.addr, holes[16]);
    assert_int_equal(rig_try(r, 0, hole, 64 << 10, &b), TP_EOOM);
    close_arena(r);
}

static void ranges_double_up_to_arena_size(void **state)
{
    (void)state;
    struct rig *r = open_arena("arena_size=512KiB", &tp_source_virtual);
    uint64_t expected = 0, steps[] = {64, 128, 256, 512, 512};
    for (int i = 0; i < 5; i++) {
        for (uint64_t before = r->account.reserved; r->account.reserved == before;)
            rig_alloc(r, 0, 4096);
        expected += steps[i] << 10;
        assert_int_equal(r->account.reserved, expected);
    }
    rig_alloc(r, 0, 5 << 20); /* gets its own */
    assert_int_equal(r->account.reserved, expected + (5 << 20));
    close_arena(r);
}

/* A request above the next range's size is no reason to stay small. */
static void ranges_double_under_large_objects_too(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    for (int i = 0; i < 3000; i++)
        rig_alloc(r, 0, 1 << 20);
    assert_int_equal(r->account.gets, 5 + 5 + (3000 - 5 - 62 + 63) / 64);
    close_arena(r);
}

static void large_objects_resize_in_place(void **state)
{
    (void)state;
    struct rig *r = open_arena("first_range=1MiB", &tp_source_virtual);
    tp_addr a = rig_alloc(r, 0, 400 << 10);
    struct tp_req rq = {.size = 100 << 10, .align = 16};
    struct tp_block b;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_OK);
    assert_int_equal(b.granted, 100 << 10);
    rq.size = 1 << 20;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_OK);
    assert_int_equal(r->s->usable(r->st, a), 1 << 20);
    rq.size++;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_EUNSUP);
    rq.size = 100;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_EUNSUP);
    assert_int_equal(r->s->usable(r->st, a), 1 << 20);
    close_arena(r);
}

static void small_objects_resize_within_their_class(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    tp_addr a = rig_alloc(r, 0, 1000); /* class 1024 */
    struct tp_req rq = {.size = 1024, .align = 16};
    struct tp_block b;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_OK);
    assert_int_equal(b.addr, a);
    rq.size = 1025;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_EUNSUP);
    rq.size = 896;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_EUNSUP);
    close_arena(r);
}

static void trim_gives_idle_memory_back(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    tp_addr blocks[3000], keep = rig_alloc(r, 0, 100);
    for (int i = 0; i < 3000; i++)
        blocks[i] = rig_alloc(r, i % 3, 1000);
    for (int i = 0; i < 3000; i++)
        rig_free(r, 0, blocks[i], 1000);
    assert_true(r->account.reserved > 3000000);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(r->account.reserved, 64 << 10); /* the range of `keep` */
    rig_free(r, 0, keep, 100);
    assert_int_equal(r->s->trim(r->st, 64 << 10), TP_OK);
    assert_int_equal(r->account.reserved, 64 << 10);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(r->account.reserved, 0);
    close_arena(r);
}

static void idle_ranges_go_back_before_out_of_memory(void **state)
{
    (void)state;
    struct rig *r = calloc(1, sizeof *r);
    struct rig_cfg cfg = {
        .strategy = &tp_strategy_arena, .base = &tp_source_virtual, .limit = "capacity=1MiB"};
    tp_addr blocks[900];
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    for (int i = 0; i < 900; i++)
        blocks[i] = rig_alloc(r, 0, 1024);
    assert_true(r->account.gets > 3);
    for (int i = 0; i < 900; i++)
        rig_free(r, 0, blocks[i], 1024);
    struct tp_block none;
    tp_addr a = rig_alloc(r, 0, 1 << 20); /* all that there is, in one piece */
    assert_int_equal(rig_try(r, 0, 16, 16, &none), TP_EOOM);
    rig_free(r, 0, a, 1 << 20);
    rig_alloc(r, 0, 16);
    close_arena(r);
}

/* Two more requests fail in a full arena. What the first one looked at in vain cannot have changed,
 * so the second must not look again: a count left in a span would be overwritten. */
static void a_vain_reclaim_is_not_repeated(void **state)
{
    (void)state;
    enum { BLOCKS = 1024, STALE = 12345 };
    struct rig *r = open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host);
    struct arena *st = r->st;
    tp_addr blocks[BLOCKS];
    struct tp_block none;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    for (int i = 0; i < BLOCKS; i += 2)
        rig_free(r, i % 3, blocks[i], 64);
    assert_int_equal(rig_try(r, 0, 256, 16, &none), TP_EOOM);
    struct arena_span *s = st->central[0].spans;
    assert_true(s->pooled > 0 && s->pooled < s->blocks);
    s->pooled = STALE;
    for (int i = 0; i < 5; i++)
        assert_int_equal(rig_try(r, i % 3, 256, 16, &none), TP_EOOM);
    assert_int_equal(s->pooled, STALE);
    rig_free(r, 1, blocks[1], 64); /* news of this class */
    assert_int_equal(rig_try(r, 0, 256, 16, &none), TP_EOOM);
    assert_int_not_equal(s->pooled, STALE);
    for (int i = 3; i < BLOCKS; i += 2)
        rig_free(r, 2, blocks[i], 64);
    rig_alloc(r, 0, 256);
    close_arena(r);
}

/* Only spans whose blocks are all idle move; their neighbours' blocks stay in the pool. */
static void a_reclaim_takes_whole_spans_only(void **state)
{
    (void)state;
    enum { SPAN = 512, BLOCKS = 2 * SPAN };
    struct rig *r = open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host);
    tp_addr blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    for (int i = 0; i < BLOCKS; i++)
        if (i != SPAN + 7)
            rig_free(r, i % 3, blocks[i], 64);
    rig_alloc(r, 0, 4096); /* takes all of the free span: the refill is 8 */
    assert_int_equal(pooled(r, 64), SPAN - 1);
    for (int i = 0; i < 7; i++)
        rig_alloc(r, 0, 4096);
    struct tp_block none;
    assert_int_equal(rig_try(r, 0, 4096, 16, &none), TP_EOOM);
    for (int i = 0; i < SPAN - 1; i++)
        rig_alloc(r, 1, 64);
    assert_int_equal(rig_try(r, 1, 64, 16, &none), TP_EOOM);
    close_arena(r);
}

static void every_block_is_named_by_a_walk(void **state)
{
    (void)state;
    struct rig *r = open_arena("first_range=1MiB", &tp_source_virtual);
    tp_addr a = rig_alloc(r, 0, 1000);  /* one of 32 of its class: 1024 bytes */
    tp_addr b = rig_alloc(r, 0, 40000); /* large: 20 pages of 2 KiB */
    struct rig_walk w = rig_walk(r);
    assert_int_equal(w.sums[TP_WALK_LIVE], 1024 + 40960);
    assert_int_equal(w.pieces[TP_WALK_LIVE], 2);
    assert_int_equal(w.sums[TP_WALK_CACHED], 31 * 1024);
    assert_int_equal(w.sums[TP_WALK_SPAN], (1 << 20) - 32768 - 40960);
    assert_int_equal(w.sums[TP_WALK_DEAD] + w.sums[TP_WALK_INTERNAL], 0);
    rig_free(r, 0, a, 1000);
    rig_free(r, 0, b, 40000);
    w = rig_walk(r);
    assert_int_equal(w.pieces[TP_WALK_LIVE], 0);
    assert_int_equal(w.pieces[TP_WALK_CACHED], 32);
    assert_int_equal(w.largest_span, (1 << 20) - 32768);
    close_arena(r);
}

/* What classes round up, bits, descriptors and caches cost: sizes spread evenly over 16..1024. */
static void a_million_small_objects_cost_little(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    uint64_t requested = 0;
    r->random = 5;
    for (int i = 0; i < 1000000; i++) {
        uint64_t size = 16 + rig_random(r) % 1009;
        rig_alloc(r, 0, size);
        requested += size;
    }
    struct tp_stats stats = rig_stats(r);
    assert_true((stats.peak_carved_bytes + r->account.peak_metadata) * 100 <= requested * 107);
    rig_close(r); /* a walk of a million blocks says nothing new */
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_block_comes_back),
        cmocka_unit_test(newest_comes_back_first),
        cmocka_unit_test(a_block_serves_its_class_only),
        cmocka_unit_test(waste_is_bounded),
        cmocka_unit_test(a_refill_moves_exactly_refill),
        cmocka_unit_test(what_the_pool_lacks_is_carved),
        cmocka_unit_test(drain_begins_above_the_limit),
        cmocka_unit_test(drain_moves_exactly_drain_in_every_class),
        cmocka_unit_test(drained_blocks_refill_another_thread),
        cmocka_unit_test(a_thread_that_ends_leaves_nothing),
        cmocka_unit_test(threads_that_come_and_go_pile_nothing_up),
        cmocka_unit_test(two_blocks_and_no_third),
        cmocka_unit_test(a_large_span_is_reused_split_and_merged),
        cmocka_unit_test(the_best_fit_is_taken),
        cmocka_unit_test(a_long_span_saves_the_search_for_an_alignment),
        cmocka_unit_test(ranges_double_up_to_arena_size),
        cmocka_unit_test(ranges_double_under_large_objects_too),
        cmocka_unit_test(large_objects_resize_in_place),
        cmocka_unit_test(small_objects_resize_within_their_class),
        cmocka_unit_test(trim_gives_idle_memory_back),
        cmocka_unit_test(idle_ranges_go_back_before_out_of_memory),
        cmocka_unit_test(a_vain_reclaim_is_not_repeated),
        cmocka_unit_test(a_reclaim_takes_whole_spans_only),
        cmocka_unit_test(every_block_is_named_by_a_walk),
        cmocka_unit_test(a_million_small_objects_cost_little),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
