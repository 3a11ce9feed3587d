/* The rules of `stream-pool`, one test each. */
#include "tests/unit/scenario.h"
#include "tests/unit/stream_pool_rig.h"

/* ---- 1: where a block comes from ---- */

REPLAYS(the_same_stream_gets_the_newest_without_waiting, open_pool(""),
        "a0=4K/1 a1=4K/1 a2=4K/1 -a1/1 -a2/1 -a0/1 4K/1@a0 4K/1@a2 4K/1@a1 waits=0 gets=3")

REPLAYS(only_an_equal_allocated_size_is_reused, open_pool(""), "a=4K -a 4K+1@!a 4K-512@!a 4K-511@a")

REPLAYS(a_larger_alignment_has_bins_of_its_own, open_pool(""), "a=512^4K -a 512@!a 512^4K@a")

/* The origin handed a block freed on stream 1 to stream 2 at once. */
REPLAYS(another_stream_gets_it_once_its_fence_has_passed, open_pool(""),
        "a=4K/1 -a/1 ns:49999 4K/2@!a ns:1 4K/2@a waits=0 "
        "-a/2 4K/1@!a 4K/2@a" /* it is of stream 2 now */)

REPLAYS(a_sync_lets_fences_pass, open_pool("release_threshold=max"),
        "a=1K/1 b=1K/3 -a/1 -b/3 sync:1 1K/2@a 1K/2@!b sync:all 1K/2@b")

REPLAYS(of_other_streams_the_oldest_that_has_passed, open_pool("release_threshold=max"),
        "a1=1K/1 a2=1K/2 a3=1K/3 -a2/2 ns:10 -a3/3 ns:10 -a1/1 ns:10 sync:3 sync:1 "
        "1K@a3 1K@a1 ns:50000 1K@a2" /* 2 is the oldest, but pending */)

REPLAYS(cross_stream_never_goes_to_the_source,
        open_pool("cross_stream=never,release_threshold=max"),
        "a=1K/1 -a/1 ns:500000 sync:all 1K/2@!a gets=2 1K/1@a")

REPLAYS(cross_stream_wait_waits_for_the_oldest, open_pool("cross_stream=wait"),
        "a=1K/1 b=1K/2 -a/1 ns:1000 -b/2 ns:1000 1K@a waits=1 wait_ns=48000 "
        "ns:1000 1K@b waits=1 gets=2 " /* b's has passed meanwhile: no wait */
        "1K gets=3 waits=1" /* nothing to wait for: the source */)

/* ---- 2: free and the limits ---- */

TEST(threshold_0_makes_every_free_a_call)
{
    struct rig *r = open_pool("threshold=0");
    for (int i = 0; i < 1000; i++) {
        tp_addr a = get(r, 1, 4 * KIB);
        r->now_ns += 10;
        put(r, 1, a, 4 * KIB);
        sync_stream(r, 1);
    }
    assert_fields(r->account, gets, 1000, puts, 1000, waits, 0);
    rig_end(r);
    r = open_with((struct rig_cfg){.options = "threshold=0", .base = &tp_source_host});
    for (int i = 0; i < 1000; i++) /* where all fences have passed: at once */
        put(r, 1, get(r, 1, 4 * KIB), 4 * KIB);
    assert_fields(r->account, gets, 1000, puts, 1000);
    rig_end(r);
}

REPLAYS(without_a_threshold_pairs_need_one_call, open_pool(""),
        "a=4K/1 -a/1 a=4K/1 -a/1 a=4K/1 -a/1 gets=1 puts=0")

TEST_OPENED(over_the_threshold_the_oldest_go, open_pool("threshold=10KiB"))
{
    tp_addr a[12];
    for (uint16_t i = 0; i < 12; i++)
        a[i] = get(r, i % 3, KIB * (1 + i % 2)); /* two bins, three streams */
    for (int i = 11; i >= 0; i--) {
        put(r, (uint16_t)(i % 3), a[i], KIB * (1 + (unsigned)i % 2));
        r->now_ns += LAG;
        uint64_t kept = cached_bytes(r);
        assert_true(kept <= 10 * KIB);
    }
    /* 2, 1, 2, 1, ... KiB were freed: the last of them that make 10 stay */
    assert_int_equal(cached_bytes(r), 10 * KIB);
    assert_int_equal(r->account.waits, 0);
    for (int i = 0; i < 12; i++) {
        const struct cache_block *b = cache_find(&pool_of(r)->cache, a[i]);
        assert_int_equal(b != NULL, i < 7);
    }
}

TEST_OPENED(a_free_never_blocks, open_pool("threshold=4KiB"))
{
    tp_addr a[20];
    for (int i = 0; i < 20; i++)
        a[i] = get(r, (uint16_t)(i % 2), KIB);
    for (int i = 0; i < 20; i++)
        put(r, (uint16_t)(i % 2), a[i], KIB);
    assert_int_equal(cached_bytes(r), 20 * KIB); /* all pending */
    assert_int_equal(r->account.waits, 0);
    sync_stream(r, 1); /* of stream 1 the oldest may go, of stream 0 none */
    assert_int_equal(cached_bytes(r), 10 * KIB);
    r->now_ns += LAG;
    put(r, 3, get(r, 3, 512), 512);
    assert_int_equal(cached_bytes(r), 3 * KIB + 512);
    assert_int_equal(r->account.waits, 0);
}

/* As a driver of CUDA 13 does: only what was freed on the stream goes back. */
REPLAYS(a_sync_gives_back_what_was_freed_on_the_stream, open_pool(""),
        "a=1K/1 b=2K/2 c=4K/1 -a/1 -b/2 "
        "ns:500000 cached=3K " /* that both are past their frees gives nothing back */
        "sync:3 cached=3K sync:1 kept:a=0 reserved=6K sync:all reserved=4K waits=0 -c/1")

/* It belongs to the stream that freed it, and goes back when that one is synchronised the next
 * time. */
REPLAYS(
    a_sync_keeps_what_another_stream_may_use, open_pool(""),
    "a=1K/1 b=1K/1 use:a/2 -a/1 -b/1 sync:1 kept:a=1 kept:b=0 sync:2 kept:a=1 sync:1 reserved=0")

/* The threshold counts live blocks too; the oldest go first. */
REPLAYS(a_sync_keeps_as_much_as_the_release_threshold, open_pool("release_threshold=5KiB"),
        "b=2K a0=1K a1=1K a2=1K a3=1K a4=1K -a0 -a1 -a2 -a3 -a4 sync:0 reserved=5K "
        "kept:a0=0 kept:a1=0 kept:a2=1 kept:a3=1 kept:a4=1 -b sync:all reserved=5K")

REPLAYS(max_cached_counts_blocks, open_pool("max_cached=3,release_threshold=max"),
        "a0=1K a1=2K a2=3K a3=4K a4=5K -a0 sync:0 -a1 sync:0 -a2 sync:0 -a3 sync:0 -a4 sync:0 "
        "cached_blocks=3 kept:a0=0 kept:a1=0 kept:a2=1 kept:a3=1 kept:a4=1")

REPLAYS(a_free_on_another_stream_belongs_there, open_pool(""), "a=1K/1 -a/2 1K/1@!a 1K/2@a")

TEST_OPENED(wrong_frees_change_nothing, open_pool(""))
{
    tp_addr a = get(r, 1, KIB), b = get(r, 1, KIB);
    put(r, 1, b, KIB);
    struct tp_account before = r->account;
    assert_int_equal(try_put(r, 1, b, KIB), TP_EINVAL); /* repeated */
    assert_int_equal(try_put(r, 1, a + 256, KIB), TP_EINVAL);
    assert_int_equal(try_put(r, 1, a + KIB, KIB), TP_EINVAL);
    assert_int_equal(try_put(r, 1, 12345, KIB), TP_EINVAL);
    assert_int_equal(try_put(r, 1, 0, KIB), TP_EINVAL);
    assert_int_equal(try_put(r, 1, a, KIB - 1), TP_EINVAL); /* of another size ... */
    struct tp_req rq = {.size = KIB, .align = 512, .stream = 1};
    assert_int_equal(r->s->free(r->st, NULL, a, &rq), TP_EINVAL); /* ... or alignment */
    assert_memory_equal(&before, &r->account, sizeof before);
    assert_int_equal(rig_walk(r).pieces[TP_WALK_LIVE], 1);
    put(r, 1, a, KIB);
    trim(r, 0);
    assert_int_equal(try_put(r, 1, a, KIB), TP_EINVAL); /* given back */
}

/* ---- 3: trim and the end ---- */

TEST_OPENED(trim_goes_back_oldest_first_and_waits, open_pool(""))
{
    tp_addr a[8];
    for (uint16_t i = 0; i < 8; i++)
        a[i] = get(r, i % 3, KIB * (1 + i % 4));
    static const int order[] = {5, 0, 7, 3, 1, 6, 2, 4};
    for (int i = 0; i < 8; i++) {
        put(r, (uint16_t)(order[i] % 3), a[order[i]], KIB * (1 + (unsigned)order[i] % 4));
        r->now_ns += 10;
    }
    uint64_t left = cached_bytes(r);
    for (int i = 0; i < 8; i++) {
        trim(r, left - 1);
        left -= KIB * (1 + (unsigned)order[i] % 4);
        assert_int_equal(cached_bytes(r), left);
        assert_null(cache_find(&pool_of(r)->cache, a[order[i]]));
    }
    assert_true(r->account.waits > 0 && r->account.waits <= 8);
    assert_int_equal(r->account.reserved, 0);
}

REPLAYS(trim_keeps_what_it_may, open_pool(""),
        "a=1K b=1K -a -b trim:2K puts=0 waits=0 trim:2K-1 puts=1 1K@b")

TEST_OPENED(the_end_waits_and_gives_all_back, open_pool(""))
{
    tp_addr a = get(r, 1, KIB), b = get(r, 2, 2 * KIB);
    get(r, 3, 4 * KIB); /* stays live */
    use(r, 4, a);
    put(r, 1, a, KIB);
    put(r, 2, b, 2 * KIB);
    uint64_t before = r->now_ns;
    rig_check(r);
    r->s->fini(r->st);
    assert_fields(*r, account.reserved, 0, account.puts, 3, now_ns, before + LAG);
    assert_true(r->account.waits >= 1);
    assert_int_equal(r->meta.live_blocks, 0);
    memset(r->st, 0, r->s->state_size); /* a fresh one, for rig_close */
    assert_int_equal(r->s->init(r->st, &r->env, r->opts, NULL), TP_OK);
}

/* The origin's limit shrank for ever when a put failed in a trim. */
TEST_OPENED(a_failing_put_in_a_trim_keeps_limit_and_block,
            open_with((struct rig_cfg){.options = "threshold=8KiB,release_threshold=max",
                                       .fault = "put_at=2"}))
{
    tp_addr a[8];
    for (int i = 0; i < 8; i++)
        a[i] = get(r, 0, KIB);
    for (int i = 0; i < 8; i++)
        put(r, 0, a[i], KIB);
    trim(r, 4 * KIB);
    struct rig_walk w = rig_walk(r);
    assert_fields(w, sums[TP_WALK_CACHED], 4 * KIB, sums[TP_WALK_DEAD], KIB);
    assert_fields(r->account, reserved, 5 * KIB, refused_puts, 1);
    assert_int_equal(try_put(r, 0, a[1], KIB), TP_EINVAL);
    assert_int_equal(r->s->usable(r->st, a[1]), 0);
    for (int i = 0; i < 12; i++) /* the limit is what it was: 8 KiB may be cached */
        a[i % 8] = i < 8 ? get(r, 0, KIB) : a[i % 8];
    for (int i = 0; i < 8; i++) {
        put(r, 0, a[i], KIB);
        sync_stream(r, 0);
    }
    assert_int_equal(cached_bytes(r), 8 * KIB);
    trim(r, 8 * KIB); /* tried again */
    w = rig_walk(r);
    assert_int_equal(w.sums[TP_WALK_DEAD], 0);
    assert_int_equal(r->account.reserved, 8 * KIB);
}

REPLAYS(a_refused_put_is_retried_at_the_end,
        open_with((struct rig_cfg){.options = "threshold=0", .fault = "put_at=1"}),
        "a=1K -a sync:0 dead=1K" /* nothing may be reserved after it */)

REPLAYS(a_refused_put_is_retried_when_memory_is_out,
        open_with((struct rig_cfg){
            .options = "threshold=0", .limit = "capacity=8KiB", .fault = "put_at=1"}),
        "a=4K -a sync:0 dead=4K 8K dead=0")

/* ---- out of memory ---- */

REPLAYS(out_of_memory_flushes_idle_blocks_first,
        open_with((struct rig_cfg){.limit = "capacity=8KiB"}),
        "a=4K/1 b=4K/2 -b/2 -a/1 " /* b is the older one, but pending */
        "sync:1 3K/1 puts=1 waits=0 4K/2@b")

REPLAYS(then_it_waits_for_pending_ones_oldest_first,
        open_with((struct rig_cfg){.limit = "capacity=8KiB"}),
        "a0=2K a1=2K/1 a2=2K/2 a3=2K/3 -a3/3 ns:1000 -a2/2 ns:1000 -a1/1 ns:1000 -a0 ns:1000 "
        "4K/5 puts=2 waits=2 wait_ns=47000 kept:a3=0 kept:a2=0 2K@a0 2K/1@a1" /* two are enough */)

TEST_OPENED(then_it_is_out_of_memory, open_with((struct rig_cfg){.limit = "capacity=8KiB"}))
{
    struct tp_block b;
    tp_addr a = get(r, 1, 4 * KIB);
    put(r, 1, get(r, 1, 2 * KIB), 2 * KIB);
    assert_int_equal(try_on(r, 1, 5 * KIB, &b), TP_EOOM);
    assert_int_equal(b.addr, 0);
    assert_int_equal(r->account.reserved, 4 * KIB);
    uint64_t bins = pool_of(r)->cache.bins.count;
    assert_int_equal(bins, 1); /* none for what there is not */
    put(r, 1, a, 4 * KIB);
    assert_int_equal(try_on(r, 1, UINT64_MAX, &b), TP_EOOM);
    assert_int_equal(try_on(r, 1, UINT64_C(1) << 48, &b), TP_EOOM);
}

/* ---- options ---- */

static uint64_t calls_for_1000_sizes(const char *options, uint64_t from)
{
    struct rig *r = open_pool(options);
    for (uint64_t size = from; size < from + 1000; size++)
        put(r, 0, get(r, 0, size), size);
    uint64_t gets = r->account.gets;
    rig_end(r);
    return gets;
}

TEST(rounding_decides_what_shares_a_bin)
{
    assert_int_equal(calls_for_1000_sizes("round=exact", 100001), 1000);
    assert_int_equal(calls_for_1000_sizes("", 100001), 3);
    assert_int_equal(calls_for_1000_sizes("round=pow2", 100001), 1);
    assert_int_equal(calls_for_1000_sizes("round=eighth", 100001), 1);
    static const struct {
        const char *options;
        uint64_t size, allocated;
    } cases[] = {{"", 1, 512},
                 {"", 512, 512},
                 {"", 513, 1024},
                 {"round=exact", 1, 1},
                 {"round=exact", 1001, 1001},
                 {"round=pow2", 1, 1},
                 {"round=pow2", 1024, 1024},
                 {"round=pow2", 1025, 2048},
                 {"round=eighth", 7, 7},
                 {"round=eighth", 17, 18},
                 {"round=eighth", 1024, 1024},
                 {"round=eighth", 1025, 1152},
                 {"round=eighth", 2040, 2048}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig *r = open_pool(cases[i].options);
        assert_int_equal(r->s->usable(r->st, get(r, 0, cases[i].size)), cases[i].allocated);
        struct rig_walk w = rig_walk(r);
        assert_int_equal(w.sums[TP_WALK_LIVE], cases[i].allocated);
        assert_int_equal(w.sums[TP_WALK_INTERNAL], r->account.reserved - cases[i].allocated);
        rig_end(r);
    }
}

/* ---- what else there was to mend ---- */

/* The origin took 1,294 ns a pair after 10,000 sizes, for the empty bins that it had to pass. */
TEST_OPENED(empty_bins_do_not_pile_up,
            open_with((struct rig_cfg){.options = "round=exact", .streams = STREAMS}))
{
    uint64_t metadata = 0, items = 0;
    tp_addr kept = get(r, 0, 300);
    for (int round = 0; round < 3; round++) {
        for (uint64_t size = 1; size <= 10000; size++) {
            struct tp_req rq = {.size = size, .align = 1, .stream = (uint16_t)(size % STREAMS)};
            struct tp_block b;
            assert_int_equal(r->s->alloc(r->st, NULL, &rq, &b), TP_OK);
            assert_int_equal(r->s->free(r->st, NULL, b.addr, &rq), TP_OK);
        }
        assert_int_equal(pool_of(r)->cache.bins.count, 10000);
        trim(r, 0);
        assert_int_equal(pool_of(r)->cache.bins.count, 1);
        assert_int_equal(pool_of(r)->cache.shelves.used, 1);
        assert_int_equal(pool_of(r)->cache.blocks.used, 1);
        if (!round) {
            metadata = r->account.metadata;
            items = r->meta.live_blocks;
        }
        assert_fields(*r, account.metadata, metadata, meta.live_blocks, items);
    }
    for (unsigned i = 0; i < POOL_RECENT; i++) /* nor does the short cut remember them */
        assert_true(!pool_of(r)->recent[i] || pool_of(r)->recent[i]->shelf.key == 512 ||
                    pool_of(r)->recent[i]->shelf.key == 300);
    put(r, 0, kept, 300);
}

TEST(two_devices_share_no_bin)
{
    struct rig *r[2] = {open_pool(""), open_pool("")};
    put(r[0], 1, get(r[0], 1, KIB), KIB);
    get(r[1], 1, KIB);
    assert_int_equal(r[1]->account.gets, 1);
    assert_int_equal(cached_bytes(r[0]), KIB);
    assert_int_equal(cached_bytes(r[1]), 0);
    rig_end(r[0]);
    rig_end(r[1]);
}

TEST(adopted_blocks_are_binned)
{
    struct rig *r = open_pool("");
    struct tp_req rq = {.size = 1500, .align = 256, .stream = 1};
    struct tp_block b;
    tp_addr addr;
    assert_int_equal(tp_src_get(r->env.source, 1536, 512, &addr), TP_OK);
    assert_int_equal(r->s->adopt(r->st, NULL, addr + 256, &rq, &b), TP_EINVAL);
    assert_int_equal(r->s->adopt(r->st, NULL, addr, &rq, &b), TP_OK);
    assert_fields(b, addr, addr, allocated, 1536);
    assert_int_equal(r->s->adopt(r->st, NULL, addr, &rq, &b), TP_EINVAL);
    rig_walk(r);
    put(r, 1, addr, 1500);
    assert_int_equal(r->s->adopt(r->st, NULL, addr, &rq, &b), TP_EINVAL);
    assert_int_equal(get(r, 1, 1025), addr);
    rig_end(r);
    /* rounding may not promise more than there is */
    r = open_pool("round=pow2");
    assert_int_equal(tp_src_get(r->env.source, 1536, 512, &addr), TP_OK);
    assert_int_equal(r->s->adopt(r->st, NULL, addr, &rq, &b), TP_OK);
    assert_int_equal(b.allocated, 1536);
    put(r, 1, addr, 1500);
    assert_true(get(r, 1, 1500) != addr);
    rig_end(r);
}

REPLAYS(a_reset_frees_every_live_block, open_pool(""),
        "a=1K/1 b=1K/2 use:b/3 reset -a/1! cached=2K "
        "1K/1@a 1K/2@!b sync:3 1K/2@b" /* its own stream's at once, used on another later */)

REPLAYS(resize_stays_where_the_allocation_is_the_same, open_pool(""),
        "a=600/1 a>1024:1024 -a:600/1! a>1025? a>512? a>1000^4K? a>0! -a/1")
