/* The rules of `arena`, one test each, and the defects of its origin that must not come back. The
 * tests look into its lists: how many blocks move is the policy. */
#include "tests/unit/conformance.h"

#include "alloc/strategies/arena_core.h"

#define ORIGIN "arena_size=1GiB,first_range=1GiB,max_arenas=1,alignment=64,classes=coarse6"

static struct rig *open_arena(const char *options, const struct tp_source_ops *base)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    struct rig_cfg cfg = {.strategy = &tp_strategy_arena, .options = options, .base = base};
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    return r;
}

static void close_arena(struct rig *r)
{
    rig_walk(r);
    rig_close(r);
    free(r);
}

static struct arena_cache *cache_of(struct rig *r, int thread, uint64_t size)
{
    struct arena *st = r->st;
    struct arena_thread *thr = r->threads[thread];
    return &thr->caches[classes_of_size(&st->classes, size)];
}

static uint64_t cached(struct rig *r, int thread, uint64_t size)
{
    return cache_of(r, thread, size)->count + cache_of(r, thread, size)->run_left;
}

static uint64_t pooled(struct rig *r, uint64_t size)
{
    struct arena *st = r->st;
    return st->central[classes_of_size(&st->classes, size)].count;
}

/* Gives `count` blocks of a size to the central pool, by way of a thread that ends. */
static void fill_pool(struct rig *r, uint64_t size, unsigned count)
{
    tp_addr *blocks = calloc(count, sizeof *blocks);
    assert_non_null(blocks);
    for (unsigned i = 0; i < count; i++)
        blocks[i] = rig_alloc(r, 2, size);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(rig_free(r, 2, blocks[i], size), TP_OK);
    r->s->thread_fini(r->st, r->threads[2]);
    assert_int_equal(r->s->thread_init(r->st, r->threads[2]), TP_OK);
    free(blocks);
}

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
    r->s->thread_fini(r->st, r->threads[1]);
    assert_int_equal(r->s->thread_init(r->st, r->threads[1]), TP_OK);
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
        rig_free(r, 2, rig_alloc(r, 2, st->classes.size[c]), 1);
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

/* ---- the origin's defects ---- */

static void a_double_free_makes_no_alias(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    tp_addr a = rig_alloc(r, 0, 64);
    assert_int_equal(rig_free(r, 0, a, 64), TP_OK);
    for (int thread = 0; thread < RIG_THREADS; thread++)
        assert_int_equal(rig_free(r, thread, a, 64), TP_EINVAL);
    tp_addr b = rig_alloc(r, 0, 64), c = rig_alloc(r, 0, 64);
    assert_int_not_equal(b, c);
    close_arena(r);
}

static void beyond_4_gib_nothing_is_lost(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_virtual);
    const uint64_t gib = UINT64_C(1) << 30;
    static const uint64_t sizes[] = {4, 5, 80, UINT64_C(1) << 18};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, sizes[i] * gib + 1, 16, &b), TP_OK);
        assert_int_equal(b.granted, sizes[i] * gib + 2048);
        assert_int_equal(rig_walk(r).sums[TP_WALK_LIVE], b.granted);
        assert_int_equal(rig_free(r, 0, b.addr, sizes[i] * gib + 1), TP_OK);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
        assert_int_equal(r->account.reserved, 0);
    }
    struct tp_block b;
    assert_int_equal(rig_try(r, 0, UINT64_MAX, 16, &b), TP_EOOM);
    assert_int_equal(rig_try(r, 0, UINT64_MAX - 4096, 4096, &b), TP_EOOM);
    close_arena(r);
}

static void foreign_pointers_are_refused(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    int on_the_stack = 0;
    void *from_malloc = malloc(64);
    rig_alloc(r, 0, 64);
    assert_int_equal(rig_free(r, 0, (uintptr_t)&on_the_stack, 64), TP_EINVAL);
    assert_int_equal(rig_free(r, 0, (uintptr_t)from_malloc, 64), TP_EINVAL);
    free(from_malloc);
    close_arena(r);
}

/* The origin believed a header that a program could forge inside a block. */
static void forged_interior_pointers_are_refused(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    tp_addr a = rig_alloc(r, 0, 4096);
    memset((void *)(uintptr_t)a, 0xff, 4096);
    for (uint64_t off = 1; off < 4096; off++)
        assert_int_equal(rig_free(r, 0, a + off, 64), TP_EINVAL);
    rig_walk(r);
    assert_int_equal(rig_free(r, 0, a, 4096), TP_OK);
    close_arena(r);
}

static void a_16_byte_object_holds_17_bytes(void **state)
{
    (void)state;
    struct rig *r = open_arena("", &tp_source_host);
    const uint64_t count = 200000;
    for (uint64_t i = 0; i < count; i++)
        rig_alloc(r, 0, 16);
    struct tp_stats stats = rig_stats(r);
    assert_true(stats.carved_bytes + r->account.metadata <= 17 * count);
    close_arena(r);
}

static void memory_moves_between_classes(void **state)
{
    (void)state;
    struct rig *r = open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host);
    tp_addr blocks[1024];
    for (int i = 0; i < 1024; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    struct tp_block none;
    assert_int_equal(rig_try(r, 0, 256, 16, &none), TP_EOOM);
    for (int i = 0; i < 1024; i++)
        rig_free(r, 0, blocks[i], 64);
    rig_alloc(r, 0, 256);
    close_arena(r);
}

/* One block stays live, so that no span is idle: the blocks that another thread freed must still be
 * found. */
static void remote_frees_are_not_stranded(void **state)
{
    (void)state;
    struct rig *r = open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host);
    tp_addr blocks[1024];
    for (int i = 0; i < 1024; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    for (int i = 10; i < 60; i++)
        rig_free(r, 1, blocks[i], 64);
    assert_int_equal(pooled(r, 64), 0);
    for (int i = 10; i < 60; i++)
        rig_alloc(r, 0, 64);
    struct tp_block none;
    assert_int_equal(rig_try(r, 0, 64, 16, &none), TP_EOOM);
    close_arena(r);
}

static void the_origins_fixed_arena(void **state)
{
    (void)state;
    struct rig *r = open_arena(ORIGIN, &tp_source_virtual);
    struct tp_block b;
    for (int i = 0; i < 64; i++)
        assert_int_equal(rig_try(r, 0, 16 << 20, 64, &b), TP_OK);
    assert_int_equal(rig_try(r, 0, 1, 64, &b), TP_EOOM);
    assert_int_equal(r->account.reserved, 1 << 30);
    close_arena(r);
}

static void a_bad_alignment_is_a_usage_error(void **state)
{
    (void)state;
    struct rig *r = calloc(1, sizeof *r);
    struct rig_cfg cfg = {
        .strategy = &tp_strategy_arena, .options = "alignment=48", .base = &tp_source_virtual};
    assert_int_equal(rig_open(r, &cfg), TP_EUSAGE);
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
        cmocka_unit_test(two_blocks_and_no_third),
        cmocka_unit_test(a_large_span_is_reused_split_and_merged),
        cmocka_unit_test(the_best_fit_is_taken),
        cmocka_unit_test(ranges_double_up_to_arena_size),
        cmocka_unit_test(large_objects_resize_in_place),
        cmocka_unit_test(small_objects_resize_within_their_class),
        cmocka_unit_test(trim_gives_idle_memory_back),
        cmocka_unit_test(idle_ranges_go_back_before_out_of_memory),
        cmocka_unit_test(a_double_free_makes_no_alias),
        cmocka_unit_test(beyond_4_gib_nothing_is_lost),
        cmocka_unit_test(foreign_pointers_are_refused),
        cmocka_unit_test(forged_interior_pointers_are_refused),
        cmocka_unit_test(a_16_byte_object_holds_17_bytes),
        cmocka_unit_test(memory_moves_between_classes),
        cmocka_unit_test(remote_frees_are_not_stranded),
        cmocka_unit_test(the_origins_fixed_arena),
        cmocka_unit_test(a_bad_alignment_is_a_usage_error),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
