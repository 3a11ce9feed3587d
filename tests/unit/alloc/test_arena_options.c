/* The options of `arena`: defaults, what is derived from them, what contradicts itself, and what a
 * fixed arena answers. */
#include "tests/unit/arena_rig.h"
#include "tests/unit/scenario.h"

TEST_OPENED(the_origins_fixed_arena, open_arena(ORIGIN, &tp_source_virtual))
{
    struct tp_block b;
    for (int i = 0; i < 64; i++)
        assert_int_equal(rig_try(r, 0, 16 << 20, 64, &b), TP_OK);
    assert_int_equal(rig_try(r, 0, 1, 64, &b), TP_EOOM);
    assert_int_equal(r->account.reserved, 1 << 30);
}

/* A source that has less than the arena is to have: its only one is not spent on the first block.
 */
TEST_OPENED(a_counted_arena_is_as_large_as_it_can_be,
            rig_new((struct rig_cfg){.strategy = &tp_strategy_arena,
                                     .options = ORIGIN,
                                     .base = &tp_source_virtual,
                                     .limit = "capacity=900MiB"}))
{
    struct tp_block b;
    rig_alloc(r, 0, 1);
    assert_int_equal(r->account.reserved, 512 << 20);
    for (int i = 0; i < 31; i++)
        assert_int_equal(rig_try(r, 0, 16 << 20, 64, &b), TP_OK);
    assert_int_equal(rig_try(r, 0, 16 << 20, 64, &b), TP_EOOM);
    assert_int_equal(r->account.reserved, 512 << 20);
}

/* A usage error with this in its sentence. */
static void refused_options(const char *spec, const char *sentence)
{
    const struct tp_strategy *s = &tp_strategy_arena;
    struct tp_env env = {.streams = 1};
    struct tp_err err;
    void *opts = rig_opts(s->options, s->opts_size, spec), *st = calloc(1, s->state_size);
    assert_non_null(st);
    assert_int_equal(s->init(st, &env, opts, &err), TP_EUSAGE);
    assert_string_equal(err.text, sentence);
    free(st);
    free(opts);
}

TEST(contradictions_are_usage_errors)
{
    refused_options("alignment=48", "strategy 'arena': 'alignment' must be a power of two");
    refused_options("first_range=128MiB", "strategy 'arena': 'first_range' (128MiB) is larger than "
                                          "'arena_size' (64MiB)");
    refused_options("arena_size=1MiB,refill_target=2MiB",
                    "strategy 'arena': 'refill_target' (2MiB) is larger than 'arena_size' (1MiB)");
}

TEST_OPENED(defaults_are_those_of_the_strategy, open_arena("", &tp_source_virtual))
{
    const struct arena *st = r->st;
    assert_fields(*st, pages.next_range, 64 << 10, pages.range_cap, 64 << 20, pages.max_ranges, 0,
                  classes.alignment, 16, refill_target, 32 << 10);
    assert_true(st->checked && !st->shared);
    assert_int_equal(st->classes.count, 8 + 8 * 8);
    uint64_t expected = 0;
    for (uint32_t c = 0; c < st->classes.count; c++) {
        expected += expected < 128 ? 16 : (UINT64_C(1) << (63 - __builtin_clzll(expected))) / 8;
        assert_int_equal(st->classes.size[c], expected);
    }
}

TEST(classes_are_those_of_the_tables)
{
    static const uint64_t kib[] = {4, 6, 8, 16, 32, 64, 128, 256, 1024, 16384};
    struct rig *r = open_arena("classes=coarse12", &tp_source_virtual);
    const struct arena *st = r->st;
    assert_fields(st->classes, count, 12, size[0], 64, size[1], 256);
    for (int i = 0; i < 10; i++)
        assert_int_equal(st->classes.size[i + 2], kib[i] << 10);
    rig_end(r);
    r = open_arena("classes=coarse6", &tp_source_virtual);
    st = r->st;
    static const uint64_t coarse6[] = {64, 256, 4096, 256 << 10, 1 << 20, 16 << 20};
    assert_int_equal(st->classes.count, 6);
    assert_memory_equal(st->classes.size, coarse6, sizeof coarse6);
    rig_end(r);
}

TEST(counts_follow_the_formulas)
{
    static const struct {
        const char *options;
        uint64_t refill_target, cache_target;
    } rows[] = {{"", 32 << 10, 64 << 10},
                {"classes=coarse12,alignment=64", 32 << 10, 64 << 10},
                {"classes=coarse6,refill_target=1MiB,local_cache_target=2MiB", 1 << 20, 2 << 20},
                {"refill_target=0,local_cache_target=0", 0, 0},
                {"alignment=512,refill_target=10000,local_cache_target=5000", 10000, 5000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *r = open_arena(rows[i].options, &tp_source_virtual);
        const struct arena *st = r->st;
        for (uint32_t c = 0; c < st->classes.count; c++) {
            uint64_t block = st->classes.size[c];
            uint64_t refill = rows[i].refill_target / block, limit = rows[i].cache_target / block;
            assert_int_equal(block % st->classes.alignment, 0);
            assert_fields(st->classes, refill[c], refill < 1 ? 1 : refill, limit[c],
                          limit < 2 ? 2 : limit, drain[c], refill / 2 < 1 ? 1 : refill / 2);
        }
        rig_end(r);
    }
}

/* What a thread had to get back after it gave it away, it may keep from then on; up to 16 times
 * what it may keep at first, and not when idle memory has been collected. */
TEST_OPENED(a_cache_that_was_too_small_holds_more, open_arena("", &tp_source_virtual))
{
    enum { LIMIT = 1024, BLOCKS = 20 * LIMIT };
    const struct arena_thread *thr = r->threads[0];
    uint32_t size_class = class_of(r, 64), most[] = {1, 2, 4, 8, 16, 16, 16, 1};
    tp_addr *blocks = calloc(BLOCKS, sizeof *blocks);
    assert_non_null(blocks);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        if (i == 7)
            assert_int_equal(r->s->trim(r->st, 0), TP_OK);
        for (int k = 0; k < BLOCKS; k++)
            blocks[k] = rig_alloc(r, 0, 64);
        assert_int_equal(thr->limit[size_class], most[i] * LIMIT);
        for (int k = 0; k < BLOCKS; k++)
            assert_int_equal(rig_free(r, 0, blocks[k], 64), TP_OK);
        assert_true(cached(r, 0, 64) <= most[i] * LIMIT);
        assert_true(cached(r, 0, 64) > most[i] * LIMIT - LIMIT / 4);
    }
    free(blocks);
}

/* The growth is bounded in bytes: a class of large blocks, of which a thread keeps two at first,
 * does not come to hold as many times its memory as it may hold blocks. */
TEST(a_cache_of_large_blocks_grows_by_their_bytes)
{
    enum { BLOCKS = 40, ROUNDS = 6 };
    static const struct {
        uint64_t size;
        uint32_t first, most; /* blocks */
    } rows[] = {
        {16 << 20, 2, 2}, {1 << 20, 2, 2}, {256 << 10, 2, 4}, {64 << 10, 2, 16}, {32 << 10, 2, 32}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig *r = open_arena("classes=coarse12", &tp_source_virtual);
        const struct arena_thread *thr = r->threads[0];
        uint64_t size = rows[i].size;
        uint32_t size_class = class_of(r, size);
        tp_addr blocks[BLOCKS];
        assert_int_equal(thr->limit[size_class], rows[i].first);
        for (int round = 0; round < ROUNDS; round++) {
            for (int k = 0; k < BLOCKS; k++)
                blocks[k] = rig_alloc(r, 0, size);
            for (int k = 0; k < BLOCKS; k++)
                assert_int_equal(rig_free(r, 0, blocks[k], size), TP_OK);
        }
        assert_int_equal(thr->limit[size_class], rows[i].most);
        assert_int_equal(cached(r, 0, size), rows[i].most);
        rig_end(r);
    }
}

/* Sizes between multiples of 64 KiB are rounded down: it is a bound, also where the source gives up
 * memory in larger steps. A larger object gets its own range, of whole steps. */
TEST(arena_size_bounds_every_range)
{
    static const struct {
        const char *options, *page;
        uint64_t object, count, most, large, range;
    } rows[] = {
        {"arena_size=300KB,first_range=100KB", "page=auto", 1024, 3000, 262144, 300000, 311296},
        {"arena_size=3MiB,first_range=3MiB", "page=device", 512 << 10, 200, 3 << 20, 5 << 20,
         6 << 20},
        {"arena_size=5MiB,first_range=3MiB", "page=device", 512 << 10, 200, 5 << 20, 6 << 20,
         6 << 20},
        {"arena_size=1MiB,first_range=1MiB", "page=device", 512 << 10, 200, 1 << 20, 3 << 20,
         4 << 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rig *r = rig_new((struct rig_cfg){.strategy = &tp_strategy_arena,
                                                 .options = rows[i].options,
                                                 .base = &tp_source_virtual,
                                                 .base_options = rows[i].page});
        const struct arena *st = r->st;
        for (uint64_t k = 0; k < rows[i].count; k++) {
            rig_alloc(r, 0, rows[i].object);
            assert_in_range(st->pages.newest->pages * ARENA_PAGE, 0, rows[i].most);
        }
        assert_true(st->pages.range_count > 10);
        rig_alloc(r, 0, rows[i].large);
        assert_int_equal(st->pages.newest->pages * ARENA_PAGE, rows[i].range);
        rig_end(r);
    }
}

enum { OBJECTS = 400 };

/* However little a drain hands over, a free moves about one item of the cache, and not all. */
TEST_OPENED(a_small_drain_moves_no_cache, open_arena("refill_target=1", &tp_source_virtual))
{
    enum { SIZE = 16, LIMIT = 4096, BLOCKS = 4 * LIMIT };
    const struct arena_thread *thr = r->threads[0];
    const struct arena_cache *cache = &thr->caches[class_of(r, SIZE)];
    tp_addr *blocks = calloc(BLOCKS, sizeof *blocks);
    assert_non_null(blocks);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = rig_alloc(r, 0, SIZE);
    uint64_t moved = 0;
    for (int i = 0; i < BLOCKS; i++) {
        const struct arena_item *at = cache->top;
        assert_int_equal(rig_free(r, 0, blocks[i], SIZE), TP_OK);
        moved += cache->top == at + 1 ? 0 : cache_count(cache);
    }
    assert_int_equal(cached(r, 0, SIZE), LIMIT);
    if (moved > UINT64_C(3) * BLOCKS)
        fail_msg("%d frees moved %llu items", BLOCKS, (unsigned long long)moved);
    free(blocks);
}

/* A device gives up 2 MiB at a time and has large blocks, which no two ranges share. */
TEST_OPENED(ranges_grow_by_a_quarter_on_a_device,
            rig_new((struct rig_cfg){.strategy = &tp_strategy_arena,
                                     .options = "first_range=2MiB",
                                     .base = &tp_source_virtual,
                                     .base_options = "page=device"}))
{
    const uint64_t mib = 1 << 20;
    for (uint64_t held = 0, next = 2 * mib; held < 1400 * mib; held += next) {
        next = held / 4 < 32 * mib ? held / 4 : 32 * mib;
        next = next < held / 32 ? held / 32 : next;
        next = next < 2 * mib ? 2 * mib : (next + 2 * mib - 1) / (2 * mib) * (2 * mib);
        for (uint64_t more = 0; more < next; more += mib)
            rig_alloc(r, 0, mib);
        assert_int_equal(r->account.reserved, held + next);
    }
}

/* A program that frees rightly, beside a model of what is live; nothing is looked up. */
TEST_OPENED(without_checks_a_correct_program_is_served,
            open_arena("checks=no,max_arenas=6", &tp_source_host))
{
    struct object *objects = calloc(OBJECTS, sizeof *objects);
    assert_non_null(objects);
    r->random = 77;
    print_message("  seed %llu\n", 77ull);
    for (int step = 0; step < 30000; step++) {
        struct object *o = &objects[tp_rig_random(r) % OBJECTS];
        uint64_t x = tp_rig_random(r);
        int thread = (int)(x % RIG_THREADS);
        if (x % 997 == 0) {
            end_thread(r, thread);
        } else if (x % 499 == 0) {
            assert_int_equal(r->s->trim(r->st, 0), TP_OK);
        } else if (o->addr) {
            unsigned char *p = (unsigned char *)(uintptr_t)o->addr;
            assert_true(p[0] == o->fill && p[o->size - 1] == o->fill);
            assert_int_equal(r->s->usable(r->st, o->addr), o->allocated);
            assert_int_equal(rig_free(r, thread, o->addr, o->size), TP_OK);
            o->addr = 0;
        } else {
            struct tp_block b;
            uint64_t size = 1 + (x >> 8) % (UINT64_C(1) << (4 + (x >> 32) % 13));
            int rc = rig_try(r, thread, size, 1, &b);
            assert_true(rc == TP_OK || rc == TP_EOOM);
            if (rc)
                continue;
            *o = (struct object){b.addr, size, 1, b.allocated, (unsigned char)x};
            memset((void *)(uintptr_t)o->addr, o->fill, size);
        }
        if (step % 50)
            continue;
        uint64_t allocated = 0;
        for (int i = 0; i < OBJECTS; i++)
            allocated += objects[i].addr ? objects[i].allocated : 0;
        assert_int_equal(rig_walk(r).sums[TP_WALK_LIVE], allocated);
    }
    free(objects);
}

REPLAYS(without_checks_large_frees_are_still_looked_up, open_arena("checks=no", &tp_source_host),
        "a=40000 -a+2K! -a -a!")
