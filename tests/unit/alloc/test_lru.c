/* The rules of `lru`, one test each. What streams may do to it is in test_lru_streams.c. */
#include "tests/unit/conformance.h"

/* A device: pages of 512 bytes, and none that ranges share. */
static struct rig *open_with(const struct rig_cfg *given)
{
    struct rig *r = calloc(1, sizeof *r);
    struct rig_cfg cfg = *given;
    assert_non_null(r);
    cfg.strategy = &tp_strategy_lru;
    cfg.base = &tp_source_virtual;
    cfg.base_options = "page=512";
    cfg.kind = TP_KIND_DEVICE;
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    return r;
}

static struct rig *open_lru(const char *options)
{
    return open_with(&(struct rig_cfg){.options = options});
}

static void close_lru(struct rig *r)
{
    rig_walk(r);
    rig_close(r);
    free(r);
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

TEST(a_key_is_size_and_alignment)
{
    struct rig *r = open_lru("");
    struct tp_req rq = {.size = 4096, .align = 16};
    tp_addr a = get(r, 4096, 16);
    assert_int_equal(r->s->free(r->st, NULL, a, &rq), TP_OK);
    tp_addr other = get(r, 4096, 32), smaller = get(r, 4095, 16), larger = get(r, 4097, 16);
    assert_true(other != a && smaller != a && larger != a);
    assert_int_equal(r->account.gets, 4);
    assert_int_equal(get(r, 4096, 16), a);
    assert_int_equal(r->account.gets, 4);
    close_lru(r);
}

/* The origin's users met this: shapes that vary by a byte never hit. */
TEST(one_byte_apart_never_hits)
{
    struct rig *r = open_lru("capacity_layouts=0");
    for (uint64_t size = 1000; size < 1200; size++)
        cache(r, size);
    assert_int_equal(r->account.gets, 200);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 200);
    close_lru(r);
}

TEST(the_newest_block_comes_back_first)
{
    struct rig *r = open_lru("");
    tp_addr a[4];
    for (int i = 0; i < 4; i++)
        a[i] = get(r, 700, 1);
    static const int orders[][4] = {{2, 0, 3, 1}, {3, 1, 0, 2}, {0, 1, 2, 3}};
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            put(r, a[orders[round][i]], 700);
        for (int i = 3; i >= 0; i--)
            assert_int_equal(get(r, 700, 1), a[orders[round][i]]);
    }
    assert_int_equal(r->account.gets, 4);
    close_lru(r);
}

TEST(a_hit_needs_no_bookkeeping_memory)
{
    struct rig *r = open_lru("");
    cache(r, 64);
    uint64_t calls = r->meta.calls;
    for (int i = 0; i < 1000; i++)
        cache(r, 64);
    assert_int_equal(r->meta.calls, calls);
    assert_int_equal(r->account.gets, 1);
    close_lru(r);
}

TEST(a_hit_makes_its_key_recent)
{
    struct rig *r = open_lru("capacity_layouts=2");
    tp_addr a = get(r, 100, 1), b = get(r, 100, 1);
    put(r, a, 100);
    put(r, b, 100);
    cache(r, 200);
    get(r, 100, 1); /* one is left, and is now more recent than 200 */
    cache(r, 300);
    assert_int_equal(r->account.puts, 1);
    assert_true(hits(r, 100));
    assert_true(hits(r, 300));
    assert_false(hits(r, 200));
    close_lru(r);
}

TEST(a_refusal_evicts_one_by_one)
{
    struct rig *r = open_with(&(struct rig_cfg){.limit = "capacity=4KiB"});
    struct tp_block b;
    cache(r, 512);
    cache(r, 1024);
    cache(r, 2048);
    get(r, 1000, 1); /* 512 bytes are missing: the least recent key's block is enough */
    assert_int_equal(r->account.refused_gets, 1);
    assert_int_equal(r->account.puts, 1);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 3072);
    get(r, 2000, 1); /* both others */
    assert_int_equal(r->account.refused_gets, 3);
    assert_int_equal(r->account.puts, 3);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 0);
    assert_int_equal(rig_try(r, 0, 2000, 1, &b), TP_EOOM);
    assert_int_equal(r->account.refused_gets, 4);
    assert_int_equal(get(r, 1024, 1) != 0, 1);
    close_lru(r);
}

/* The key that asks may itself be emptied on the way. */
TEST(a_refusal_may_evict_the_same_key)
{
    struct rig *r = open_with(&(struct rig_cfg){.options = "round=pow2", .limit = "capacity=1KiB"});
    struct tp_req rq = {.size = 512, .align = 1};
    struct tp_block b;
    tp_addr addr = 0;
    assert_int_equal(tp_src_get(r->env.source, 512, 1, &addr), TP_OK);
    assert_int_equal(r->s->adopt(r->st, NULL, addr, &rq, &b), TP_OK);
    put(r, addr, 512);
    assert_int_equal(rig_try(r, 0, 2000, 1, &b), TP_EOOM);
    assert_int_equal(r->account.reserved, 0);
    assert_int_equal(r->account.gets, r->account.puts);
    close_lru(r);
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
        close_lru(r);
    }
}

/* ---- 2: references and free ---- */

TEST(references_are_counted)
{
    struct rig *r = open_lru("");
    tp_addr a = get(r, 900, 1);
    assert_int_equal(r->s->retain(r->st, NULL, a), TP_OK);
    assert_int_equal(r->s->retain(r->st, NULL, a), TP_OK);
    put(r, a, 900);
    assert_int_equal(r->s->release(r->st, NULL, a), TP_OK);
    assert_int_equal(r->s->usable(r->st, a), 1024);
    assert_int_not_equal(get(r, 900, 1), a);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 0);
    put(r, a, 900);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 1);
    assert_int_equal(r->s->usable(r->st, a), 0);
    assert_int_equal(rig_free(r, 0, a, 900), TP_EINVAL);
    assert_int_equal(r->s->release(r->st, NULL, a), TP_EINVAL);
    assert_int_equal(r->s->retain(r->st, NULL, a), TP_EINVAL);
    assert_int_equal(r->s->use(r->st, NULL, a, 0), TP_EINVAL);
    close_lru(r);
}

/* A REALLOC that finds no room in place: who holds the object holds the new block. */
TEST(references_move_with_the_object)
{
    struct rig *r = open_lru("");
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
    close_lru(r);
}

TEST(contents_move_with_the_object)
{
    struct rig *r = calloc(1, sizeof *r);
    struct rig_cfg cfg = {.strategy = &tp_strategy_lru, .base = &tp_source_host};
    assert_non_null(r);
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    struct tp_req rq = {.size = 9000, .align = 1};
    struct tp_block b;
    tp_addr a = rig_alloc(r, 0, 4096);
    memset((void *)(uintptr_t)a, 0x5A, 4096);
    assert_int_equal(r->s->retain(r->st, NULL, a), TP_OK);
    assert_int_equal(r->s->move(r->st, NULL, a, &rq, &b), TP_OK);
    for (uint64_t i = 0; i < 4096; i++)
        assert_int_equal(((const unsigned char *)(uintptr_t)b.addr)[i], 0x5A);
    close_lru(r);
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
        close_lru(r);
    }
}

TEST(the_last_release_caches)
{
    struct rig *r = open_lru("");
    tp_addr a = get(r, 900, 1);
    assert_int_equal(r->s->release(r->st, NULL, a), TP_OK);
    assert_int_equal(get(r, 900, 1), a);
    assert_int_equal(r->account.gets, 1);
    close_lru(r);
}

TEST(a_free_makes_its_key_recent)
{
    struct rig *r = open_lru("capacity_layouts=2");
    tp_addr a = get(r, 100, 1), b = get(r, 100, 1);
    put(r, a, 100);
    cache(r, 200);
    put(r, b, 100);
    cache(r, 300);
    assert_true(hits(r, 100));
    assert_true(hits(r, 300));
    assert_false(hits(r, 200));
    close_lru(r);
}

/* The origin lost 200 buffers here. */
TEST(a_full_cache_loses_nothing)
{
    struct rig *r = open_lru("");
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
    close_lru(r);
}

TEST(wrong_frees_are_refused)
{
    struct rig *r = open_lru("");
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
    close_lru(r);
}

TEST(an_evicted_block_is_unknown)
{
    struct rig *r = open_lru("capacity_blocks=1");
    tp_addr a = get(r, 64, 1);
    cache(r, 128);
    put(r, a, 64);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(rig_free(r, 0, a, 64), TP_EINVAL);
    assert_int_equal(r->s->usable(r->st, a), 0);
    close_lru(r);
}

TEST(resize_stays_within_its_key)
{
    struct rig *r = open_lru("round=pow2");
    struct tp_block b;
    struct tp_req rq = {.size = 4096, .align = 1};
    tp_addr a = get(r, 3000, 1);
    assert_int_equal(r->s->resize(r->st, NULL, a, &rq, &b), TP_OK);
    assert_true(b.addr == a && b.allocated == 4096);
    assert_int_equal(rig_free(r, 0, a, 3000), TP_EINVAL); /* its size is another one now */
    rq.size = 4097;
    assert_int_equal(r->s->resize(r->st, NULL, a, &rq, &b), TP_EUNSUP);
    rq.size = 2048;
    assert_int_equal(r->s->resize(r->st, NULL, a, &rq, &b), TP_EUNSUP);
    rq = (struct tp_req){.size = 4096, .align = 2};
    assert_int_equal(r->s->resize(r->st, NULL, a, &rq, &b), TP_EUNSUP);
    rq = (struct tp_req){.size = UINT64_MAX, .align = 1};
    assert_int_equal(r->s->resize(r->st, NULL, a, &rq, &b), TP_EUNSUP);
    put(r, a, 4096);
    rq.size = 4096;
    assert_int_equal(r->s->resize(r->st, NULL, a, &rq, &b), TP_EINVAL);
    close_lru(r);
}

/* ---- 3: adopt ---- */

static int adopt(struct rig *r, tp_addr addr, uint64_t size, uint64_t align, struct tp_block *b)
{
    struct tp_req rq = {.size = size, .align = align};
    return r->s->adopt(r->st, r->threads[0], addr, &rq, b);
}

TEST(an_adopted_block_is_like_any_other)
{
    struct rig *r = open_lru("");
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
    close_lru(r);
}

TEST(what_cannot_be_adopted)
{
    struct rig *r = open_lru("");
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
    close_lru(r);
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
        close_lru(r);
    }
}

/* ---- 4: trim, reset, the end ---- */

TEST(trim_keeps_the_most_recent)
{
    struct rig *r = open_lru("");
    for (uint64_t size = 512; size <= 5120; size += 512)
        cache(r, size);
    assert_int_equal(r->s->trim(r->st, 5120 + 4608 + 100), TP_OK);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 5120 + 4608);
    assert_true(hits(r, 5120));
    assert_true(hits(r, 4608));
    assert_int_equal(r->s->trim(r->st, UINT64_MAX), TP_OK);
    assert_int_equal(r->account.reserved, 5120 + 4608);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(r->account.reserved, 0);
    assert_int_equal(r->account.puts, 10);
    close_lru(r);
}

TEST(trim_begins_with_the_oldest_block_of_a_key)
{
    struct rig *r = open_lru("");
    tp_addr a = get(r, 512, 1), b = get(r, 512, 1), c = get(r, 512, 1);
    put(r, b, 512);
    put(r, c, 512);
    put(r, a, 512);
    assert_int_equal(r->s->trim(r->st, 1024), TP_OK);
    assert_int_equal(get(r, 512, 1), a);
    assert_int_equal(get(r, 512, 1), c);
    assert_int_equal(r->account.gets, 3);
    close_lru(r);
}

TEST(reset_frees_what_is_live)
{
    struct rig *r = open_lru("capacity_blocks=40");
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
    close_lru(r);
}

TEST(the_end_gives_everything_back)
{
    struct rig *r = open_lru("");
    for (uint64_t i = 1; i <= 50; i++) {
        get(r, i * 300, 1);
        cache(r, i * 301);
    }
    close_lru(r); /* asserts that nothing is reserved and no bookkeeping left */
}

/* ---- options ---- */

TEST(capacity_layouts_counts_keys_with_free_blocks)
{
    struct rig *r = open_lru("capacity_layouts=3");
    get(r, 10000, 1); /* live only: does not count */
    for (uint64_t size = 512; size <= 1536; size += 512) {
        tp_addr a = get(r, size, 1), b = get(r, size, 1);
        put(r, a, size);
        put(r, b, size);
    }
    assert_int_equal(r->account.puts, 0);
    cache(r, 4096);
    assert_int_equal(r->account.puts, 2); /* both blocks of the least recent */
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 5);
    close_lru(r);
}

TEST(capacity_layouts_of_one)
{
    struct rig *r = open_lru("capacity_layouts=1");
    cache(r, 512);
    assert_true(hits(r, 512));
    assert_false(hits(r, 1024));
    assert_false(hits(r, 512));
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 1);
    close_lru(r);
}

TEST(capacity_blocks_bounds_all_keys_together)
{
    struct rig *r = open_lru("capacity_blocks=5");
    tp_addr a[8];
    for (int i = 0; i < 8; i++)
        a[i] = get(r, 512, 1);
    for (int i = 0; i < 8; i++)
        put(r, a[i], 512);
    assert_int_equal(r->account.puts, 3);
    cache(r, 1024);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 5);
    for (int i = 7; i > 3; i--)
        assert_int_equal(get(r, 512, 1), a[i]);
    assert_int_equal(r->account.gets, 9);
    close_lru(r);
}

TEST(capacity_bytes_counts_whole_pages)
{
    struct rig *r = open_lru("capacity_bytes=2KiB");
    for (uint64_t size = 1; size <= 4; size++)
        cache(r, size);
    assert_int_equal(r->account.puts, 0);
    cache(r, 5);
    assert_int_equal(r->account.puts, 1);
    cache(r, 2048);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 2048);
    assert_true(hits(r, 2048));
    cache(r, 2049); /* fits no cache of this size */
    assert_int_equal(r->account.reserved, 0);
    close_lru(r);
}

TEST(zero_is_no_limit)
{
    struct rig *r = open_lru("capacity_layouts=0");
    for (uint64_t i = 1; i <= 1000; i++)
        cache(r, i * 512);
    assert_int_equal(r->account.puts, 0);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_CACHED], 1000);
    close_lru(r);
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
        close_lru(r);
    }
}

/* ---- refusals and faults ---- */

TEST(what_the_source_refuses_stays_held)
{
    struct rig *r =
        open_with(&(struct rig_cfg){.options = "capacity_blocks=1", .fault = "put_at=1"});
    tp_addr a = cache(r, 512);
    cache(r, 1024); /* evicts it, in vain */
    assert_int_equal(r->account.refused_puts, 1);
    assert_int_equal(rig_walk(r).sums[TP_WALK_DEAD], 512);
    assert_int_equal(rig_walk(r).sums[TP_WALK_CACHED], 1024);
    assert_int_equal(rig_free(r, 0, a, 512), TP_EINVAL);
    assert_int_equal(r->s->usable(r->st, a), 0);
    assert_int_not_equal(get(r, 512, 1), a);
    assert_int_equal(r->s->trim(r->st, UINT64_MAX), TP_OK); /* tries again */
    assert_int_equal(rig_walk(r).sums[TP_WALK_DEAD], 0);
    close_lru(r);
}

TEST(the_refused_is_tried_before_out_of_memory)
{
    struct rig *r = open_with(&(struct rig_cfg){
        .options = "capacity_blocks=1", .limit = "capacity=2KiB", .fault = "put_at=1"});
    cache(r, 512);
    cache(r, 1024);
    assert_int_equal(rig_walk(r).sums[TP_WALK_DEAD], 512);
    get(r, 2048, 1);
    assert_int_equal(r->account.reserved, 2048);
    close_lru(r);
}

TEST(the_refused_is_tried_at_the_end)
{
    for (int at = 1; at <= 4; at++) {
        char spec[32];
        snprintf(spec, sizeof spec, "put_at=%d", at);
        struct rig *r = open_with(&(struct rig_cfg){.options = "capacity_blocks=1", .fault = spec});
        cache(r, 512);
        cache(r, 1024);
        get(r, 2048, 1);
        close_lru(r); /* asserts that nothing is reserved */
    }
}

TEST(a_failed_get_changes_nothing)
{
    struct rig *r = open_with(&(struct rig_cfg){.fault = "get_at=2"});
    struct tp_block b;
    tp_addr a = get(r, 512, 1);
    struct rig_walk before = rig_walk(r);
    assert_int_equal(rig_try(r, 0, 512, 1, &b), TP_EOOM);
    assert_int_equal(b.addr, 0);
    struct rig_walk after = rig_walk(r);
    assert_memory_equal(&before, &after, sizeof before);
    put(r, a, 512);
    assert_int_equal(get(r, 512, 1), a);
    close_lru(r);
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
        close_lru(r);
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
    close_lru(r);
    close_lru(other);
}
