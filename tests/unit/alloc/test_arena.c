/* The rules of `arena`, one test each: the statements of its strategy. The defects of its origin
 * are in test_arena_defects.c, options in test_arena_options.c, threads in test_arena_threads.c. */
#include "tests/unit/arena_rig.h"
#include "tests/unit/scenario.h"

TEST_OPENED(the_same_block_comes_back, open_arena("", &tp_source_host))
{
    static const uint64_t sizes[] = {1, 16, 17, 64, 200, 1000, 4096, 32768, 32769, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tp_addr a = rig_alloc(r, 0, sizes[i]);
        assert_int_equal(rig_free(r, 0, a, sizes[i]), TP_OK);
        assert_int_equal(rig_alloc(r, 0, sizes[i]), a);
    }
}

REPLAYS(newest_comes_back_first, open_arena("", &tp_source_host), "a=48 b=48 -a -b 48@b 48@a")

/* While a block beside it is live; idle pages may serve another class. */
TEST_OPENED(a_block_serves_its_class_only, open_arena("", &tp_source_host))
{
    tp_addr a = rig_alloc(r, 0, 64), beside = rig_alloc(r, 0, 64);
    assert_int_equal(a / ARENA_PAGE, beside / ARENA_PAGE);
    rig_free(r, 0, a, 64);
    for (uint64_t size = 16; size <= 1024; size += 16)
        for (int i = 0; size != 64 && i < 40; i++)
            assert_int_not_equal(rig_alloc(r, 0, size), a);
    assert_int_equal(rig_alloc(r, 0, 64), a);
}

TEST_OPENED(waste_is_bounded, open_arena("", &tp_source_virtual))
{
    for (uint64_t size = 1; size <= 32768; size++) {
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, size, 16, &b), TP_OK);
        uint64_t most = size <= 128 ? 15 : size / 8;
        assert_true(b.allocated >= size && b.allocated - size <= most);
        assert_int_equal(rig_free(r, 0, b.addr, size), TP_OK);
    }
}

/* One block, two, four, and at last `refill`: 32 KiB / 64 = 512. */
TEST_OPENED(a_refill_moves_twice_the_last_up_to_refill, open_arena("", &tp_source_host))
{
    fill_pool(r, 64, 3000);
    uint64_t gets = r->account.gets, expected = 1;
    for (int refill = 0; refill < 12; refill++) {
        uint64_t before = pooled(r, 64);
        assert_true(before >= expected);
        assert_int_equal(cached(r, 0, 64), 0);
        rig_alloc(r, 0, 64);
        assert_int_equal(pooled(r, 64), before - expected);
        assert_int_equal(cached(r, 0, 64), expected - 1);
        while (cached(r, 0, 64))
            rig_alloc(r, 0, 64);
        expected = expected < 512 ? 2 * expected : 512;
    }
    assert_int_equal(expected, 512);
    assert_int_equal(r->account.gets, gets);
}

/* They come back in the order of their places, whatever the order of the frees. */
TEST_OPENED(a_refill_hands_out_neighbours, open_arena("", &tp_source_host))
{
    enum { COUNT = 128, ODD = 37 }; /* a page of 16 bytes each */
    tp_addr blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = rig_alloc(r, 0, 16);
    for (int i = 1; i < COUNT; i++)
        rig_free(r, 0, blocks[i * ODD % COUNT], 16);
    end_thread(r, 0);
    for (int i = 1; i < COUNT; i++)
        assert_int_equal(rig_alloc(r, 0, 16), blocks[0] + (uint64_t)i * 16);
}

TEST_OPENED(nothing_is_carved_while_the_pool_has_blocks,
            open_arena("first_range=1MiB", &tp_source_host))
{
    fill_pool(r, 64, 200);
    const struct arena *st = r->st;
    const struct arena_central *pool = &st->central[class_of(r, 64)];
    uint64_t pages = pool->pages;
    while (pooled(r, 64) || cached(r, 1, 64)) {
        assert_int_equal(pool->pages, pages);
        rig_alloc(r, 1, 64);
    }
    assert_int_equal(pool->pages, pages);
    rig_alloc(r, 1, 64);
    assert_true(pool->pages > pages);
}

/* A page for the first block, a share of the class for the next ones, `refill_target` at most. */
TEST_OPENED(a_class_gets_pages_by_what_it_holds, open_arena("first_range=1MiB", &tp_source_virtual))
{
    const struct arena *st = r->st;
    const struct arena_central *pool = &st->central[class_of(r, 64)];
    uint64_t most = 0;
    rig_alloc(r, 0, 64);
    assert_int_equal(pool->pages, 1);
    for (uint64_t before = pool->pages; pool->pages < 1000; before = pool->pages) {
        rig_alloc(r, 0, 64);
        uint64_t got = pool->pages - before;
        if (!got)
            continue;
        uint64_t share = before < 8 ? 1 : before / 8;
        assert_int_equal(got, share < 16 ? share : 16);
        most = got > most ? got : most;
    }
    assert_int_equal(most, 16);
}

/* Blocks of which no page is wholly free once they are freed; the caller frees them. */
static tp_addr *inner_blocks(struct rig *r, uint64_t size, uint32_t count)
{
    tp_addr *blocks = calloc(count, sizeof *blocks);
    assert_non_null(blocks);
    for (uint32_t i = 0; i < count;) {
        tp_addr a = rig_alloc(r, 0, size);
        if (is_inner(a))
            blocks[i++] = a;
    }
    return blocks;
}

TEST_OPENED(drain_begins_above_the_limit, open_arena("", &tp_source_host))
{
    enum { LIMIT = 1024, DRAIN = 256 }; /* 64 KiB / 64, half of 512 */
    tp_addr *blocks = inner_blocks(r, 64, LIMIT + 1);
    uint64_t run = cached(r, 0, 64), before = pooled(r, 64);
    for (uint64_t i = 0; i < LIMIT - run; i++)
        rig_free(r, 0, blocks[i], 64);
    assert_int_equal(cached(r, 0, 64), LIMIT);
    assert_int_equal(pooled(r, 64), before);
    rig_free(r, 0, blocks[LIMIT - run], 64);
    assert_int_equal(pooled(r, 64), before + DRAIN);
    assert_int_equal(cached(r, 0, 64), LIMIT + 1 - DRAIN);
    free(blocks);
}

/* Every small class, whatever its counts. */
TEST_OPENED(drain_moves_exactly_drain_in_every_class, open_arena("", &tp_source_virtual))
{
    const struct arena *st = r->st;
    for (uint32_t c = 0; c < st->classes.count; c++) {
        uint64_t size = st->classes.size[c], before = 0;
        uint32_t n = st->classes.limit[c] + 1, i = 0;
        tp_addr *blocks = calloc(n, sizeof *blocks);
        for (uint32_t k = 0; k < n; k++)
            blocks[k] = rig_alloc(r, 0, size);
        do {
            assert_true(i < n);
            before = cached(r, 0, size);
            rig_free(r, 0, blocks[i++], size);
        } while (cached(r, 0, size) > before);
        assert_int_equal(before, st->classes.limit[c]);
        assert_int_equal(cached(r, 0, size), before + 1 - st->classes.drain[c]);
        free(blocks);
    }
}

/* The oldest ones are handed over. */
TEST_OPENED(drained_blocks_refill_another_thread, open_arena("", &tp_source_host))
{
    enum { LIMIT = 64, DRAIN = 16 }; /* of 1024 bytes */
    tp_addr *blocks = inner_blocks(r, 1024, LIMIT + 1);
    uint32_t found = 0;
    while (cached(r, 0, 1024) || pooled(r, 1024))
        rig_alloc(r, 0, 1024);
    for (uint32_t i = 0; i <= LIMIT; i++)
        rig_free(r, 0, blocks[i], 1024);
    assert_int_equal(pooled(r, 1024), DRAIN);
    for (uint32_t i = 0; i < DRAIN; i++) {
        tp_addr a = rig_alloc(r, 1, 1024);
        for (uint32_t k = 0; k < DRAIN; k++)
            found += blocks[k] == a;
    }
    assert_int_equal(found, DRAIN);
    free(blocks);
}

TEST_OPENED(a_thread_that_ends_leaves_nothing, open_arena("first_range=4MiB", &tp_source_virtual))
{
    const struct arena *st = r->st;
    for (uint32_t c = 0; c < st->classes.count; c++)
        rig_free(r, 2, rig_alloc(r, 2, st->classes.size[c]), st->classes.size[c]);
    r->s->thread_fini(r->st, r->threads[2]);
    for (uint32_t c = 0; c < st->classes.count; c++) {
        assert_int_equal(cached(r, 2, st->classes.size[c]), 0);
        assert_int_equal(st->central[c].count, st->central[c].first->blocks);
    }
    assert_int_equal(r->s->thread_init(r->st, r->threads[2]), TP_OK);
    uint64_t gets = r->account.gets;
    for (uint32_t c = 0; c < st->classes.count; c++)
        rig_alloc(r, 1, st->classes.size[c]);
    assert_int_equal(r->account.gets, gets);
}

/* A class keeps one span whose blocks are all pooled; the others become free pages at once. */
TEST_OPENED(idle_spans_become_free_pages,
            open_arena("first_range=4MiB,local_cache_target=0", &tp_source_virtual))
{
    enum { COUNT = 200 };
    const struct arena *st = r->st;
    const struct arena_central *pool = &st->central[class_of(r, 8192)];
    tp_addr blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = rig_alloc(r, 0, 8192);
    assert_true(pool->pages >= COUNT * 4);
    for (int i = 0; i < COUNT; i++)
        rig_free(r, 0, blocks[i], 8192);
    assert_int_equal(pool->idle, 1);
    assert_true(pool->pages * ARENA_PAGE <= 3 * (32 << 10)); /* two blocks are cached */
    assert_int_equal(r->s->trim(r->st, 4 << 20), TP_OK);
    assert_int_equal(pool->pages, 0);
}

/* Each leaves an array in the pool, and the next one empties it. */
TEST_OPENED(threads_that_come_and_go_pile_nothing_up, open_arena("", &tp_source_virtual))
{
    uint64_t after_first = 0;
    for (int i = 0; i < 1000; i++) {
        rig_free(r, i % 3, rig_alloc(r, i % 3, 64), 64);
        end_thread(r, i % 3);
        after_first = i < 3 ? r->account.metadata : after_first;
    }
    assert_int_equal(r->account.metadata, after_first);
}

REPLAYS(two_blocks_and_no_third,
        open_arena("arena_size=64KiB,max_arenas=1,classes=coarse12", &tp_source_host),
        "a=32K b=32K 32K^16! 32K^16! 32K^16! 64^16/1! -a 32K@a -b -a 64/1")

REPLAYS(a_large_span_is_reused_split_and_merged, open_arena("", &tp_source_virtual),
        "w=100M -w a=17M@w b=17M@w+17M c=17M@w+34M d=17M@w+51M e=17M@w+68M gets=1 "
        "-d -b -e -a -c spans=1 largest=100M 100M@w")

REPLAYS(the_best_fit_is_taken, open_arena("first_range=64MiB", &tp_source_virtual),
        "h0=900K 40K " /* keeps the holes apart */
        "h1=300K 40K " /* keeps the holes apart */
        "h2=500K 40K " /* keeps the holes apart */
        "h3=300K 40K " /* keeps the holes apart */
        "-h0 -h1 -h2 -h3 400K@h2 290K@h1 290K@h3 290K@h0")

/* 34 KiB at 64 KiB: of twenty holes of just this size, 68 KiB apart, only one lies right. It is not
 * looked for while a longer span must have such a place, and it is found when there is none. */
TEST_OPENED(a_long_span_saves_the_search_for_an_alignment,
            open_arena("first_range=4MiB,max_arenas=1", &tp_source_virtual))
{
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
}

/* What the next range is to have when so much is held. */
static uint64_t next_range(uint64_t held, uint64_t least, uint64_t most)
{
    uint64_t share = held / ARENA_PAGE / 32 * ARENA_PAGE;
    share = share < least ? least : share;
    share = share > most ? most : share;
    return (share + (16 << 10) - 1) & ~((UINT64_C(16) << 10) - 1);
}

TEST_OPENED(ranges_grow_by_a_share_of_what_is_held,
            open_arena("arena_size=512KiB", &tp_source_virtual))
{
    uint64_t least = UINT64_MAX, most = 0;
    while (r->account.reserved < 32 << 20) {
        uint64_t before = r->account.reserved;
        while (r->account.reserved == before)
            rig_alloc(r, 0, 4096);
        uint64_t got = r->account.reserved - before;
        assert_int_equal(got, next_range(before, 64 << 10, 512 << 10));
        least = got < least ? got : least;
        most = got > most ? got : most;
    }
    assert_int_equal(least, 64 << 10);
    assert_int_equal(most, 512 << 10);
    uint64_t before = r->account.reserved;
    rig_alloc(r, 0, 5 << 20); /* gets its own */
    assert_int_equal(r->account.reserved, before + (5 << 20));
}

/* Shares would use up a limited number of ranges before there is much in them. */
TEST_OPENED(counted_ranges_double, open_arena("arena_size=512KiB,max_arenas=5", &tp_source_virtual))
{
    uint64_t expected = 0, steps[] = {64, 128, 256, 512, 512};
    for (int i = 0; i < 5; i++) {
        for (uint64_t before = r->account.reserved; r->account.reserved == before;)
            rig_alloc(r, 0, 4096);
        expected += steps[i] << 10;
        assert_int_equal(r->account.reserved, expected);
    }
}

/* A request above the next range's size is no reason to stay small. */
TEST_OPENED(ranges_grow_under_large_objects_too, open_arena("", &tp_source_virtual))
{
    const uint64_t mib = 1 << 20;
    uint64_t held = 0, fit = 0, gets = 0;
    for (; fit < 3000; gets++) {
        uint64_t range = next_range(held, mib, 64 * mib);
        held += range;
        fit += range / mib;
    }
    for (int i = 0; i < 3000; i++)
        rig_alloc(r, 0, mib);
    assert_int_equal(r->account.gets, gets);
    assert_true(gets < 300);
}

REPLAYS(large_objects_resize_in_place, open_arena("first_range=1MiB", &tp_source_virtual),
        "a=400K a>100K:100K a>1M usable:a=1M a>1M+1? a>100? usable:a=1M")

REPLAYS(small_objects_resize_within_their_class, open_arena("", &tp_source_virtual),
        "a=1000 a>1024 a>1025? a>896?" /* class 1024 */)

TEST_OPENED(trim_gives_idle_memory_back, open_arena("", &tp_source_virtual))
{
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
}

TEST(idle_ranges_go_back_before_out_of_memory)
{
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
    rig_end(r);
}

/* More requests fail in a full arena. What the first one looked at in vain cannot have changed, so
 * the next must not look again: it would begin the refills anew. */
TEST_OPENED(a_vain_reclaim_is_not_repeated,
            open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host))
{
    enum { BLOCKS = 1024, STALE = 7 };
    struct arena_thread *thr = r->threads[1], *other = r->threads[2];
    tp_addr blocks[BLOCKS];
    struct tp_block none;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    for (int i = 0; i < BLOCKS; i += 2)
        rig_free(r, i % 3, blocks[i], 64);
    assert_int_equal(rig_try(r, 0, 256, 16, &none), TP_EOOM);
    thr->step[0] = STALE;
    for (int i = 0; i < 5; i++)
        assert_int_equal(rig_try(r, i % 3, 256, 16, &none), TP_EOOM);
    assert_int_equal(thr->step[0], STALE);
    other->step[0] = STALE;
    rig_free(r, 1, blocks[1], 64); /* news of this thread */
    assert_int_equal(rig_try(r, 0, 256, 16, &none), TP_EOOM);
    assert_int_not_equal(thr->step[0], STALE);
    assert_int_equal(other->step[0], STALE);
    for (int i = 3; i < BLOCKS; i += 2)
        rig_free(r, 2, blocks[i], 64);
    rig_alloc(r, 0, 256);
}

/* Only spans whose blocks are all idle move; their neighbours' blocks stay in the pool. */
TEST_OPENED(a_reclaim_takes_whole_spans_only,
            open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host))
{
    enum { BLOCKS = 1024, KEPT = 519 };
    const struct arena *st = r->st;
    tp_addr blocks[BLOCKS];
    struct tp_block b;
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    for (int i = 0; i < BLOCKS; i++)
        if (i != KEPT)
            rig_free(r, i % 3, blocks[i], 64);
    while (!rig_try(r, 0, 4096, 16, &b)) {
    }
    while (!rig_try(r, 0, 2048, 2048, &b)) {
    }
    const struct arena_span *s = st->central[0].first;
    assert_ptr_equal(s, st->central[0].last);
    assert_in_range(blocks[KEPT], span_addr(s), span_addr(s) + s->pages * ARENA_PAGE - 1);
    assert_int_equal(pooled(r, 64), s->blocks - 1);
    for (uint32_t i = 1; i < s->blocks; i++)
        rig_alloc(r, 1, 64);
    assert_int_equal(pooled(r, 64), 0);
}

/* Blocks that lie idle in caches serve another class before more is reserved. */
TEST_OPENED(idle_blocks_are_collected_before_a_range_is_got, open_arena("", &tp_source_virtual))
{
    for (uint64_t size = 1024; size <= 32768; size += size / 8) {
        tp_addr a = rig_alloc(r, 0, size), b = rig_alloc(r, 0, size);
        rig_free(r, 0, a, size);
        rig_free(r, 0, b, size);
    }
    assert_true(r->account.reserved <= 256 << 10); /* two of each size: 670 KiB */
}

/* A program that repeats itself comes to a state in which nothing is collected and nothing is got.
 */
TEST_OPENED(collecting_comes_to_an_end, open_arena("", &tp_source_virtual))
{
    enum { ROUNDS = 400, COUNT = 40 };
    const struct arena *st = r->st;
    uint64_t collected = 0, reserved = 0;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        if (round == ROUNDS) {
            collected = st->collected.taken;
            reserved = r->account.reserved;
        }
        for (uint64_t size = 1024; size <= 32768; size += size / 8) {
            tp_addr blocks[COUNT];
            for (int i = 0; i < COUNT; i++)
                blocks[i] = rig_alloc(r, 0, size);
            for (int i = 0; i < COUNT; i++)
                rig_free(r, 0, blocks[i], size);
        }
    }
    assert_true(collected > 0);
    assert_int_equal(st->collected.taken, collected);
    assert_int_equal(r->account.reserved, reserved);
}

/* The next request of the same length gets it; one of another length finds it merged. */
TEST_OPENED(a_freed_large_object_waits_for_its_length,
            open_arena("first_range=1MiB", &tp_source_virtual))
{
    const struct arena *st = r->st;
    tp_addr a = rig_alloc(r, 0, 65536), b = rig_alloc(r, 0, 65536), c;
    rig_alloc(r, 0, 65536);
    rig_free(r, 0, a, 65536);
    rig_free(r, 0, b, 65536);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 2 * 65536);
    assert_int_equal(rig_free(r, 0, a, 65536), TP_EINVAL);
    assert_int_equal(r->s->usable(r->st, a), 0);
    assert_int_equal(rig_alloc(r, 0, 65536), b);
    assert_int_equal(rig_alloc(r, 0, 65536), a);
    rig_free(r, 0, a, 65536);
    rig_free(r, 0, b, 65536);
    c = rig_alloc(r, 0, 131072); /* both, merged */
    assert_int_equal(c, a);
    assert_int_equal(st->kept.count, 0);
    rig_free(r, 0, c, 131072);
    for (int i = 0; i < 3 * KEPT_SPANS; i++)
        rig_alloc(r, 0, 33000);
}

TEST_OPENED(few_large_objects_wait, open_arena("", &tp_source_virtual))
{
    enum { COUNT = 3 * KEPT_SPANS };
    const struct arena *st = r->st;
    tp_addr blocks[COUNT], huge = rig_alloc(r, 0, 300 << 10);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = rig_alloc(r, 0, 40000);
    for (int i = 0; i < COUNT; i++)
        rig_free(r, 0, blocks[i], 40000);
    rig_free(r, 0, huge, 300 << 10);
    assert_int_equal(st->kept.count, KEPT_SPANS);
    for (int i = 0; i < KEPT_SPANS; i++)
        assert_int_equal(rig_alloc(r, 0, 40000), blocks[COUNT - 1 - i]);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(st->kept.count, 0);
}

/* What lies behind an object that grows is no longer kept. */
REPLAYS(a_large_object_grows_into_a_kept_one, open_arena("first_range=1MiB", &tp_source_virtual),
        "a=64K b=64K -b a>128K")

/* A range that has been idle goes back, after as many spans as are counted and not before. */
TEST_OPENED(idle_ranges_decay, open_arena("first_range=2MiB", &tp_source_virtual))
{
    const uint64_t mib = 1 << 20;
    const struct arena *st = r->st;
    rig_alloc(r, 0, mib);
    tp_addr a = rig_alloc(r, 0, 8 * mib);
    uint64_t before = r->account.reserved;
    rig_free(r, 0, a, 8 * mib);
    uint64_t idle = st->pages.given;
    for (uint64_t puts = 0; !puts; puts = r->account.puts) {
        assert_int_equal(r->account.reserved, before);
        assert_true(st->pages.given < idle + ARENA_DECAY + ARENA_DECAY_STEP);
        tp_addr one = rig_alloc(r, 0, mib / 2), two = rig_alloc(r, 0, mib / 3);
        rig_free(r, 0, one, mib / 2);
        rig_free(r, 0, two, mib / 3);
    }
    assert_true(st->pages.given - idle >= ARENA_DECAY);
}

/* Spans that a resize gives back count too, wherever the looks for idle ranges fall. */
TEST(idle_ranges_decay_beside_resizes)
{
    const uint64_t mib = 1 << 20;
    for (unsigned more = 0; more < 2; more++) {
        struct rig *r = open_arena("first_range=2MiB", &tp_source_virtual);
        struct tp_block b;
        const struct tp_req shorter = {.size = mib / 3, .align = 16};
        rig_alloc(r, 0, mib);
        rig_free(r, 0, rig_alloc(r, 0, 8 * mib), 8 * mib);
        for (unsigned i = 0; i < more; i++)
            rig_free(r, 0, rig_alloc(r, 0, mib / 2), mib / 2);
        for (unsigned i = 0; i < ARENA_DECAY && !r->account.puts; i++) {
            tp_addr one = rig_alloc(r, 0, mib / 2);
            assert_int_equal(r->s->resize(r->st, r->threads[0], one, &shorter, &b), TP_OK);
            rig_free(r, 0, one, mib / 3);
        }
        assert_int_equal(r->account.puts, 1);
        rig_end(r);
    }
}

REPLAYS(every_block_is_named_by_a_walk, open_arena("first_range=1MiB", &tp_source_virtual),
        "a=1000 b=400000 " /* of 1024 bytes, two on a page, and large: 196 pages of 2 KiB */
        "live=402432 dead=0 internal=0 live_blocks=2 cached=1K free=645120 -a -b live_blocks=0 "
        "cached_blocks=2 "
        "largest=1022K")

/* What classes round up, bits, descriptors and caches cost: sizes spread evenly over 16..1024. */
TEST(a_million_small_objects_cost_little)
{
    struct rig *r = open_arena("", &tp_source_virtual);
    uint64_t requested = 0;
    r->random = 5;
    for (int i = 0; i < 1000000; i++) {
        uint64_t size = 16 + tp_rig_random(r) % 1009;
        rig_alloc(r, 0, size);
        requested += size;
    }
    struct tp_stats stats = tp_rig_stats(r);
    assert_true((stats.peak_carved_bytes + r->account.peak_metadata) * 100 <= requested * 107);
    rig_close(r); /* a walk of a million blocks says nothing new */
    free(r);
}
