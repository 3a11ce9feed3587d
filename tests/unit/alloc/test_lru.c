/* The rules of `lru`, one test each. What streams may do to it is in test_lru_streams.c. */
#include "tests/unit/scenario.h"

/* A device: pages of 512 bytes, and none that ranges share. */
static struct rig *open_with(const struct rig_cfg *given)
{
    struct rig_cfg cfg = *given;
    cfg.strategy = &tp_strategy_lru;
    cfg.base = &tp_source_virtual;
    cfg.base_options = "page=512";
    cfg.kind = TP_KIND_DEVICE;
    return rig_new(cfg);
}

static struct rig *open_lru(const char *options)
{
    return open_with(&(struct rig_cfg){.options = options});
}

static tp_addr get(struct rig *r, uint64_t size, uint64_t align)
{
    struct tp_block b;
    assert_int_equal(rig_try(r, 0, size, align, &b), TP_OK);
    assert_int_equal(b.addr % align, 0);
    assert_int_equal(b.allocated, r->s->usable(r->st, b.addr));
    rig_check(r);
    return b.addr;
}

static void put(struct rig *r, tp_addr addr, uint64_t size)
{
    assert_int_equal(rig_free(r, 0, addr, size), TP_OK);
    rig_check(r);
}

/* One block of a size goes into the cache. */
static tp_addr cache(struct rig *r, uint64_t size)
{
    tp_addr a = get(r, size, 1);
    put(r, a, size);
    return a;
}

/* Is the next allocation of this size served from the cache? Puts the block back. */
static bool hits(struct rig *r, uint64_t size)
{
    uint64_t gets = r->account.gets;
    put(r, get(r, size, 1), size);
    return r->account.gets == gets;
}

/* ---- 1: alloc ---- */

REPLAYS(a_key_is_size_and_alignment, open_lru(""),
        "a=4096^16 -a 4096^32@!a 4095^16@!a 4097^16@!a gets=4 4096^16@a gets=4")

/* The origin's users met this: shapes that vary by a byte never hit. */
TEST_OPENED(one_byte_apart_never_hits, open_lru("capacity_layouts=0"))
{
    for (uint64_t size = 1000; size < 1200; size++)
        cache(r, size);
    assert_int_equal(r->account.gets, 200);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 200);
}

REPLAYS(
    the_newest_block_comes_back_first, open_lru(""),
    "a0=700 a1=700 a2=700 -a1 -a0 -a2 700@a2 700@a0 700@a1 -a2 -a1 -a0 700@a0 700@a1 700@a2 gets=3")

TEST_OPENED(a_hit_needs_no_bookkeeping_memory, open_lru(""))
{
    cache(r, 64);
    uint64_t calls = r->meta.calls;
    for (int i = 0; i < 1000; i++)
        cache(r, 64);
    assert_int_equal(r->meta.calls, calls);
    assert_int_equal(r->account.gets, 1);
}

REPLAYS(a_hit_makes_its_key_recent, open_lru("capacity_layouts=2"),
        "a=100 b=100 -a -b c=200 -c "
        "100@b d=300 -d puts=1 " /* one of 100 is left, and is now more recent than 200 */
        "100@a 300@d gets=4 200 gets=5")

REPLAYS(a_refusal_evicts_one_by_one, open_with(&(struct rig_cfg){.limit = "capacity=4KiB"}),
        "a=512 -a b=1024 -b c=2048 -c "
        "1000 refused_gets=1 puts=1 cached=3072 " /* 512 bytes are missing: the least recent goes */
        "2000 refused_gets=3 puts=3 cached=0 "    /* both others */
        "2000! refused_gets=4 1024")

/* The key that asks may itself be emptied on the way. */
TEST_OPENED(a_refusal_may_evict_the_same_key,
            open_with(&(struct rig_cfg){.options = "round=pow2", .limit = "capacity=1KiB"}))
{
    struct tp_req rq = {.size = 512, .align = 1};
    struct tp_block b;
    tp_addr addr = 0;
    assert_int_equal(tp_src_get(r->env.source, 512, 1, &addr), TP_OK);
    assert_int_equal(r->s->adopt(r->st, NULL, addr, &rq, &b), TP_OK);
    put(r, addr, 512);
    assert_int_equal(rig_try(r, 0, 2000, 1, &b), TP_EOOM);
    assert_int_equal(r->account.reserved, 0);
    assert_int_equal(r->account.gets, r->account.puts);
}

TEST(absurd_requests)
{
    static const char *const options[] = {"", "round=512", "round=pow2", "round=eighth"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct rig *r = open_lru(options[i]);
        struct tp_block b;
        for (unsigned log2 = 57; log2 < 64; log2++)
            assert_int_equal(rig_try(r, 0, UINT64_C(1) << log2, 16, &b), TP_EOOM);
        assert_int_equal(rig_try(r, 0, UINT64_MAX, 16, &b), TP_EOOM);
        assert_int_equal(rig_try(r, 0, 0, 0, &b), TP_EINVAL);
        assert_int_equal(rig_try(r, 0, 0, 16, &b), TP_EINVAL);
        assert_int_equal(rig_try(r, 0, 16, 0, &b), TP_EINVAL);
        assert_int_equal(rig_try(r, 0, 16, 48, &b), TP_EINVAL);
        assert_int_equal(rig_try(r, 0, 16, UINT64_C(1) << 63, &b), TP_EUNSUP);
        assert_int_equal(r->account.reserved, 0);
        assert_int_equal(rig_walk(r).pieces[TP_WALK_LIVE], 0);
        rig_end(r);
    }
}

/* ---- 2: references and free ---- */

REPLAYS(references_are_counted, open_lru(""),
        "a=900 retain:a retain:a -a release:a usable:a=1024 b=900@!a cached_blocks=0 -a "
        "cached_blocks=1 "
        "usable:a=0 -a! release:a! retain:a!")

/* A REALLOC that finds no room in place: who holds the object holds the new block. */
TEST_OPENED(references_move_with_the_object, open_lru(""))
{
    struct tp_req rq = {.size = 5000, .align = 1};
    struct tp_block b;
    tp_addr a = get(r, 900, 1);
    assert_int_equal(r->s->move(r->st, NULL, a, &rq, &b), TP_EUNSUP);
    assert_int_equal(r->s->retain(r->st, NULL, a), TP_OK);
    assert_int_equal(r->s->move(r->st, NULL, a + 512, &rq, &b), TP_EINVAL);
    assert_int_equal(r->s->move(r->st, NULL, a, &rq, &b), TP_OK);
    assert_int_equal(b.allocated, 5120);
    assert_int_equal(r->s->usable(r->st, a), 0);
    assert_int_equal(get(r, 900, 1), a);
    assert_int_equal(r->s->release(r->st, NULL, b.addr), TP_OK);
    assert_int_not_equal(get(r, 5000, 1), b.addr);
    put(r, b.addr, 5000);
    assert_int_equal(rig_free(r, 0, b.addr, 5000), TP_EINVAL);
}

TEST(contents_move_with_the_object)
{
    struct rig *r =
        rig_new((struct rig_cfg){.strategy = &tp_strategy_lru, .base = &tp_source_host});
    struct tp_req rq = {.size = 9000, .align = 1};
    struct tp_block b;
    tp_addr a = rig_alloc(r, 0, 4096);
    memset((void *)(uintptr_t)a, 0x5A, 4096);
    assert_int_equal(r->s->retain(r->st, NULL, a), TP_OK);
    assert_int_equal(r->s->move(r->st, NULL, a, &rq, &b), TP_OK);
    for (uint64_t i = 0; i < 4096; i++)
        assert_int_equal(((const unsigned char *)(uintptr_t)b.addr)[i], 0x5A);
    rig_end(r);
}

/* No memory for the new block, or for its list of streams: the old one is as it was. */
TEST(a_move_that_fails_changes_nothing)
{
    for (uint64_t at = 1; at <= 12; at++) {
        struct rig *r = open_with(&(struct rig_cfg){.streams = 9, .limit = "capacity=8KiB"});
        struct tp_block b;
        tp_addr a = get(r, 900, 1);
        for (int i = 0; i < 5; i++)
            assert_int_equal(r->s->retain(r->st, NULL, a), TP_OK);
        r->meta.fail_at = r->meta.calls + at;
        struct tp_req rq = {.size = at == 1 ? 9000 : 3000, .align = 1};
        int rc = r->s->move(r->st, NULL, a, &rq, &b);
        r->meta.fail_at = 0;
        if (at == 1)
            assert_true(rc == TP_ENOMEM || rc == TP_EOOM);
        assert_true(at < 12 || rc == TP_OK);
        rig_walk(r);
        for (int i = 0; i < 5; i++)
            assert_int_equal(r->s->release(r->st, NULL, rc ? a : b.addr), TP_OK);
        put(r, rc ? a : b.addr, rc ? 900 : 3000);
        assert_int_equal(rig_walk(r).pieces[TP_WALK_LIVE], 0);
        rig_end(r);
    }
}

REPLAYS(the_last_release_caches, open_lru(""), "a=900 release:a 900@a gets=1")

REPLAYS(a_free_makes_its_key_recent, open_lru("capacity_layouts=2"),
        "a=100 b=100 -a c=200 -c -b d=300 -d 100@b 300@d gets=4 200 gets=5")

/* The origin lost 200 buffers here. */
TEST_OPENED(a_full_cache_loses_nothing, open_lru(""))
{
    tp_addr a[300];
    for (uint64_t i = 0; i < 300; i++)
        a[i] = get(r, 1000 + i * 1000, 1);
    for (uint64_t i = 0; i < 300; i++)
        put(r, a[i], 1000 + i * 1000);
    assert_int_equal(r->account.puts, 200);
    struct rig_walk w = rig_walk(r);
    assert_int_equal(w.pieces[TP_WALK_CACHED], 100);
    assert_int_equal(w.sums[TP_WALK_CACHED], r->account.reserved);
    for (uint64_t i = 299; i >= 200; i--) /* the most recent ones stayed */
        assert_int_equal(get(r, 1000 + i * 1000, 1), a[i]);
    assert_int_equal(r->account.gets, 300);
}

TEST_OPENED(wrong_frees_are_refused, open_lru(""))
{
    struct tp_req rq = {.size = 5000, .align = 64};
    tp_addr a = get(r, 5000, 64), cached = cache(r, 5000);
    struct tp_account before = r->account;
    struct rig_walk walk = rig_walk(r);
    assert_int_equal(r->s->free(r->st, NULL, cached, &rq), TP_EINVAL); /* double */
    for (uint64_t off = 1; off < 5120; off++)
        assert_int_equal(r->s->free(r->st, NULL, a + off, &rq), TP_EINVAL);
    static const struct tp_req wrong[] = {{.size = 4999, .align = 64}, {.size = 5001, .align = 64},
                                          {.size = 5120, .align = 64}, {.size = 0, .align = 64},
                                          {.size = 5000, .align = 32}, {.size = 5000, .align = 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(r->s->free(r->st, NULL, a, &wrong[i]), TP_EINVAL);
    assert_int_equal(r->s->free(r->st, NULL, 0, &rq), TP_EINVAL);
    assert_int_equal(r->s->free(r->st, NULL, UINT64_MAX, &rq), TP_EINVAL);
    struct rig_walk after = rig_walk(r);
    assert_memory_equal(&before, &r->account, sizeof before);
    assert_memory_equal(&walk, &after, sizeof walk);
    assert_int_equal(r->s->free(r->st, NULL, a, &rq), TP_OK);
}

REPLAYS(an_evicted_block_is_unknown, open_lru("capacity_blocks=1"),
        "a=64 b=128 -b -a trim -a! usable:a=0")

REPLAYS(resize_stays_within_its_key, open_lru("round=pow2"),
        "a=3000 a>4096:4096 -a:3000! a>4097? a>2048? a>4096^2? a>18446744073709551615? -a a>4096!")

/* ---- 3: adopt ---- */

static int adopt(struct rig *r, tp_addr addr, uint64_t size, uint64_t align, struct tp_block *b)
{
    struct tp_req rq = {.size = size, .align = align};
    return r->s->adopt(r->st, r->threads[0], addr, &rq, b);
}

TEST_OPENED(an_adopted_block_is_like_any_other, open_lru(""))
{
    struct tp_block b;
    tp_addr addr = 0;
    assert_int_equal(tp_src_get(r->env.source, 1536, 512, &addr), TP_OK);
    assert_int_equal(adopt(r, addr, 1500, 512, &b), TP_OK);
    assert_true(b.addr == addr && b.allocated == 1536);
    assert_int_equal(rig_walk(r).sums[TP_WALK_LIVE], 1536);
    assert_int_equal(r->s->retain(r->st, NULL, addr), TP_OK);
    assert_int_equal(r->s->release(r->st, NULL, addr), TP_OK);
    struct tp_req rq = {.size = 1500, .align = 512};
    assert_int_equal(r->s->free(r->st, NULL, addr, &rq), TP_OK);
    assert_int_equal(get(r, 1500, 512), addr);
    assert_int_equal(r->account.gets, 1);
}

TEST_OPENED(what_cannot_be_adopted, open_lru(""))
{
    struct tp_block b;
    tp_addr live = get(r, 512, 1), cached = cache(r, 1024);
    struct rig_walk before = rig_walk(r);
    assert_int_equal(adopt(r, live, 512, 1, &b), TP_EINVAL);
    assert_int_equal(adopt(r, cached, 1024, 1, &b), TP_EINVAL);
    assert_int_equal(adopt(r, 0, 512, 1, &b), TP_EINVAL);
    assert_int_equal(adopt(r, 512 + 16, 512, 32, &b), TP_EINVAL);
    assert_int_equal(adopt(r, live + 256, 512, 1, &b), TP_EINVAL);
    assert_int_equal(adopt(r, 1 << 20, 0, 1, &b), TP_EINVAL);
    assert_int_equal(adopt(r, 1 << 20, 512, 3, &b), TP_EINVAL);
    assert_int_equal(adopt(r, 1 << 20, UINT64_MAX, 1, &b), TP_EINVAL);
    struct rig_walk after = rig_walk(r);
    assert_memory_equal(&before, &after, sizeof before);
}

/* 9,216 bytes cannot serve the key 16,384 that a request of 9,000 has. */
TEST(an_adopted_block_serves_what_it_can)
{
    static const struct {
        const char *options;
        uint64_t key;
    } rows[] = {{"round=pow2", 8192}, {"round=eighth", 9216}, {"round=512", 9216}, {"", 9000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *r = open_lru(rows[i].options);
        struct tp_block b;
        tp_addr addr = 0;
        assert_int_equal(tp_src_get(r->env.source, 9216, 1, &addr), TP_OK);
        assert_int_equal(adopt(r, addr, 9000, 1, &b), TP_OK);
        put(r, addr, 9000);
        if (!i)
            assert_int_not_equal(get(r, 9000, 1), addr);
        assert_int_equal(get(r, rows[i].key, 1), addr);
        assert_int_equal(r->s->usable(r->st, addr), 9216);
        rig_end(r);
    }
}

/* ---- 4: trim, reset, the end ---- */

REPLAYS(trim_keeps_the_most_recent, open_lru(""),
        "a=512 -a b=1024 -b c=1536 -c d=2048 -d trim:3684 cached=3584 kept:c=1 kept:d=1 "
        "trim:1024G reserved=3584 trim reserved=0 puts=4")

REPLAYS(trim_begins_with_the_oldest_block_of_a_key, open_lru(""),
        "a=512 b=512 c=512 -b -c -a trim:1024 512@a 512@c gets=3")

TEST_OPENED(reset_frees_what_is_live, open_lru("capacity_blocks=40"))
{
    tp_addr a[60];
    for (int i = 0; i < 60; i++)
        a[i] = get(r, 700, 1);
    assert_int_equal(r->s->retain(r->st, NULL, a[7]), TP_OK);
    assert_int_equal(r->s->reset(r->st), TP_OK);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 40);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_LIVE], 0);
    assert_int_equal(r->account.puts, 20);
    assert_int_equal(rig_free(r, 0, a[59], 700), TP_EINVAL);
    assert_int_equal(get(r, 700, 1), a[59]);
}

TEST(the_end_gives_everything_back)
{
    struct rig *r = open_lru("");
    for (uint64_t i = 1; i <= 50; i++) {
        get(r, i * 300, 1);
        cache(r, i * 301);
    }
    rig_end(r); /* asserts that nothing is reserved and no bookkeeping left */
}

/* ---- options ---- */

REPLAYS(capacity_layouts_counts_keys_with_free_blocks, open_lru("capacity_layouts=3"),
        "10000 " /* live only: does not count */
        "a0=512 a1=512 -a0 -a1 b0=1024 b1=1024 -b0 -b1 c0=1536 c1=1536 -c0 -c1 puts=0 "
        "d=4096 -d puts=2 cached_blocks=5" /* both blocks of the least recent */)

REPLAYS(capacity_layouts_of_one, open_lru("capacity_layouts=1"),
        "a=512 -a 512@a -a gets=1 b=1024 -b gets=2 c=512 -c gets=3 cached_blocks=1")

REPLAYS(capacity_blocks_bounds_all_keys_together, open_lru("capacity_blocks=3"),
        "a0=512 a1=512 a2=512 a3=512 a4=512 -a0 -a1 -a2 -a3 -a4 puts=2 b=1024 -b cached_blocks=3 "
        "512@a4 512@a3 gets=6")

REPLAYS(capacity_bytes_counts_whole_pages, open_lru("capacity_bytes=2KiB"),
        "a=1 -a b=2 -b c=3 -c d=4 -d puts=0 e=5 -e puts=1 f=2048 -f cached=2048 2048@f -f "
        "g=2049 -g reserved=0" /* fits no cache of this size */)

TEST_OPENED(zero_is_no_limit, open_lru("capacity_layouts=0"))
{
    for (uint64_t i = 1; i <= 1000; i++)
        cache(r, i * 512);
    assert_int_equal(r->account.puts, 0);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 1000);
}

TEST(round_merges_near_sizes)
{
    static const struct {
        const char *options;
        uint64_t low, high; /* share a key; the sizes before and behind do not */
    } rows[] = {
        {"round=none", 1000, 1000},   {"round=512", 1, 512},        {"round=512", 513, 1024},
        {"round=512", 99841, 100352}, {"round=pow2", 1025, 2048},   {"round=pow2", 65537, 131072},
        {"round=eighth", 1025, 1152}, {"round=eighth", 1153, 1280}, {"round=eighth", 1921, 2048},
        {"round=eighth", 2049, 2304}, {"round=eighth", 7, 7},       {"round=eighth", 17, 18},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rig *r = open_lru(rows[i].options);
        tp_addr a = cache(r, rows[i].low);
        for (uint64_t size = rows[i].low; size <= rows[i].high; size++)
            assert_int_equal(cache(r, size), a);
        assert_int_equal(r->account.gets, 1);
        if (rows[i].low > 1)
            assert_false(hits(r, rows[i].low - 1));
        assert_false(hits(r, rows[i].high + 1));
        rig_end(r);
    }
}

/* ---- refusals and faults ---- */

REPLAYS(
    what_the_source_refuses_stays_held,
    open_with(&(struct rig_cfg){.options = "capacity_blocks=1", .fault = "put_at=1"}),
    "a=512 -a b=1024 -b refused_puts=1 dead=512 cached=1024 -a! usable:a=0 512@!a " /* evicted in
                                                                                       vain */
    "trim:1024G dead=0" /* tries again */)

REPLAYS(the_refused_is_tried_before_out_of_memory,
        open_with(&(struct rig_cfg){
            .options = "capacity_blocks=1", .limit = "capacity=2KiB", .fault = "put_at=1"}),
        "a=512 -a b=1024 -b dead=512 2048 reserved=2048")

TEST(the_refused_is_tried_at_the_end)
{
    for (int at = 1; at <= 4; at++) {
        char spec[32];
        snprintf(spec, sizeof spec, "put_at=%d", at);
        struct rig *r = open_with(&(struct rig_cfg){.options = "capacity_blocks=1", .fault = spec});
        cache(r, 512);
        cache(r, 1024);
        get(r, 2048, 1);
        rig_end(r); /* asserts that nothing is reserved */
    }
}

TEST_OPENED(a_failed_get_changes_nothing, open_with(&(struct rig_cfg){.fault = "get_at=2"}))
{
    struct tp_block b;
    tp_addr a = get(r, 512, 1);
    struct rig_walk before = rig_walk(r);
    assert_int_equal(rig_try(r, 0, 512, 1, &b), TP_EOOM);
    assert_int_equal(b.addr, 0);
    struct rig_walk after = rig_walk(r);
    assert_memory_equal(&before, &after, sizeof before);
    put(r, a, 512);
    assert_int_equal(get(r, 512, 1), a);
}

/* Bookkeeping memory fails wherever it can: never in a free. */
TEST(a_free_needs_no_memory)
{
    uint64_t calls = UINT64_MAX;
    for (uint64_t n = 1; n <= calls; n++) {
        struct rig *r =
            open_with(&(struct rig_cfg){.options = "capacity_layouts=7", .meta_fail_at = n});
        uint64_t failed = 0;
        for (uint64_t round = 0; round < 3; round++) {
            tp_addr a[100];
            struct tp_block b;
            for (uint64_t i = 0; i < 100; i++) {
                int rc = rig_try(r, 0, 100 * (i + round), 1 + (i % 2), &b);
                assert_true(rc == TP_OK || (rc == TP_EINVAL && !(i + round)) || rc == TP_ENOMEM);
                failed += rc == TP_ENOMEM;
                a[i] = rc ? 0 : b.addr;
            }
            rig_walk(r);
            for (uint64_t i = 0; i < 100; i++) {
                struct tp_req rq = {.size = 100 * (i + round), .align = 1 + (i % 2)};
                if (a[i])
                    assert_int_equal(r->s->free(r->st, NULL, a[i], &rq), TP_OK);
            }
            rig_walk(r);
        }
        calls = r->meta.calls;
        assert_int_equal(failed, n <= calls);
        rig_end(r);
    }
    assert_true(calls > 5 && calls < 5000);
}

/* ---- instances ---- */

TEST(two_devices_share_nothing)
{
    struct rig *r = open_lru(""), *other = open_lru("");
    struct tp_req rq = {.size = 512, .align = 1};
    tp_addr a = cache(r, 512);
    get(other, 1024, 1); /* so that the addresses differ */
    tp_addr b = get(other, 512, 1);
    assert_int_not_equal(a, b);
    assert_int_equal(other->account.gets, 2);
    assert_int_equal(r->s->free(r->st, NULL, b, &rq), TP_EINVAL);
    assert_int_equal(rig_free(other, 0, b, 512), TP_OK);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(rig_walk(other).sums[TP_WALK_CACHED], 512);
    rig_end(r);
    rig_end(other);
}
