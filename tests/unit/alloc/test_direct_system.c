/* The references: `direct`, `system` and `empty`. */
#include "tests/unit/scenario.h"

#include <malloc.h>

static void close_rig(struct rig *r)
{
    rig_close(r);
    free(r);
}

TEST(direct_asks_the_source_every_time)
{
    struct rig *r = rig_new((struct rig_cfg){
        .strategy = &tp_strategy_direct, .base = &tp_source_virtual, .kind = TP_KIND_DEVICE});
    for (uint64_t i = 1; i <= 100; i++) { /* one page of the device, taken and given back */
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, i * 100, 16, &b), TP_OK);
        assert_int_equal(b.allocated, (i * 100 + 511) / 512 * 512);
        assert_int_equal(tp_account_ranges(&r->account), b.allocated);
        assert_int_equal(r->account.reserved, 2 << 20);
        assert_int_equal(rig_free(r, 0, b.addr, i * 100), TP_OK);
        assert_int_equal(r->account.gets, i);
        assert_int_equal(r->account.puts, i);
    }
    struct tp_block b;
    assert_int_equal(rig_try(r, 0, UINT64_MAX, 16, &b), TP_EOOM);
    close_rig(r);
}

REPLAYS(direct_resizes_within_its_pages,
        rig_new((struct rig_cfg){.strategy = &tp_strategy_direct, .base = &tp_source_host}),
        "a=5000 a>8K:8K a>8K+1? a>4K? a+4K>4K!")

REPLAYS(direct_refuses_a_wrong_size,
        rig_new((struct rig_cfg){.strategy = &tp_strategy_direct, .base = &tp_source_virtual}),
        "a=5000 -a:0! -a:1! -a:4999! -a:5001! -a:8K! -a:9223372036854780808! "
        "-a:18446744073709551615! live=8K a>6000 -a:5000! -a:6000 puts=1")

REPLAYS(direct_keeps_what_the_source_refuses,
        rig_new((struct rig_cfg){
            .strategy = &tp_strategy_direct, .base = &tp_source_host, .fault = "put_at=1"}),
        "a=100 -a refused_puts=1 dead=4K -a! usable:a=0" /* its end gives it back */)

static const struct rig_cfg libc = {.strategy = &tp_strategy_system};

TEST(system_says_what_is_usable)
{
    struct rig *r = rig_new(libc);
    struct tp_block b;
    assert_int_equal(rig_try(r, 0, 100, 16, &b), TP_OK);
    assert_int_equal(b.allocated, 0);
    assert_int_equal(r->s->usable(r->st, b.addr), malloc_usable_size((void *)(uintptr_t)b.addr));
    assert_true(r->s->usable(r->st, b.addr) >= 100);
    assert_int_equal(rig_free(r, 0, b.addr, 100), TP_OK);
    assert_int_equal(rig_try(r, 0, 0, 16, &b), TP_EINVAL);
    assert_int_equal(rig_try(r, 0, 16, 24, &b), TP_EINVAL);
    close_rig(r);
}

TEST(system_moves_and_keeps_the_alignment)
{
    struct rig *r = rig_new(libc);
    for (uint64_t align = 1; align <= 4096; align *= 2) {
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, 100, align, &b), TP_OK);
        memset((void *)(uintptr_t)b.addr, 0x5c, 100);
        for (uint64_t size = 50; size < 200000; size *= 7) {
            struct tp_req rq = {.size = size, .align = align};
            assert_int_equal(r->s->move(r->st, NULL, b.addr, &rq, &b), TP_OK);
            assert_int_equal(b.addr % align, 0);
            for (int i = 0; i < 50; i++)
                assert_int_equal(((unsigned char *)(uintptr_t)b.addr)[i], 0x5c);
        }
        assert_int_equal(rig_free(r, 0, b.addr, 1), TP_OK);
    }
    close_rig(r);
}

/* The sanitizers' allocators have no statistics of their own. */
static bool libc_is_plain(void)
{
    void *p = malloc(100000);
    struct mallinfo2 info = mallinfo2();
    free(p);
    return info.uordblks != 0;
}

TEST(system_reserves)
{
    struct tp_block b;
    if (!libc_is_plain())
        skip();
    struct rig *r = rig_new(libc);
    assert_int_equal(rig_try(r, 0, 64 << 20, 16, &b), TP_OK);
    assert_true(tp_rig_stats(r).reserved_bytes >= 64 << 20);
    assert_int_equal(rig_free(r, 0, b.addr, 1), TP_OK);
    assert_true(tp_rig_stats(r).reserved_bytes < 64 << 20);
    close_rig(r);
}

/* Does a block of 3 MB get a mapping of its own? */
static bool is_mapped(const char *options)
{
    struct rig_cfg cfg = libc;
    cfg.options = options;
    struct rig *r = rig_new(cfg);
    struct tp_block b;
    size_t before = mallinfo2().hblks;
    assert_int_equal(rig_try(r, 0, 3000000, 16, &b), TP_OK);
    bool mapped = mallinfo2().hblks != before;
    assert_int_equal(rig_free(r, 0, b.addr, 1), TP_OK);
    close_rig(r);
    return mapped;
}

TEST(system_sets_mallopt)
{
    if (!libc_is_plain())
        skip();
    assert_false(is_mapped("mmap_threshold=16MiB"));
    assert_true(is_mapped("mmap_threshold=100KB"));
    assert_true(is_mapped("mmap_threshold=default,trim_threshold=1MiB,top_pad=64KiB"));
}

TEST(empty_does_nothing)
{
    struct rig *r = rig_new((struct rig_cfg){.strategy = &tp_strategy_empty});
    struct tp_block a, b;
    struct tp_req rq = {.size = 1 << 20, .align = 16};
    assert_int_equal(rig_try(r, 0, 5000, 64, &a), TP_OK);
    assert_int_equal(a.allocated, 5000);
    assert_int_equal(a.addr, (uintptr_t)r->threads[0]);
    assert_true(r->s->thread_size >= 64);
    memset((void *)(uintptr_t)a.addr, 1, 64);
    assert_int_equal(r->s->resize(r->st, r->threads[0], a.addr, &rq, &b), TP_OK);
    assert_true(b.addr == a.addr && b.allocated == rq.size);
    assert_int_equal(rig_free(r, 0, a.addr, 1 << 20), TP_OK);
    assert_int_equal(rig_free(r, 0, a.addr, 1 << 20), TP_OK);
    close_rig(r);
}

/* It refuses what the functions around a real malloc refuse, and gives the thread's own block. */
TEST(empty_malloc_does_nothing)
{
    struct rig *r = rig_new((struct rig_cfg){.strategy = &tp_strategy_empty_malloc});
    struct tp_block a, b;
    struct tp_req rq = {.size = 1 << 20, .align = 4096}, none = {.size = 0, .align = 16};
    assert_int_equal(rig_try(r, 0, 5000, 16, &a), TP_OK);
    assert_int_equal(a.addr, (uintptr_t)r->threads[0]);
    memset((void *)(uintptr_t)a.addr, 1, 64);
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
    assert_int_equal(b.addr, a.addr);
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &none, &b), TP_EINVAL);
    assert_int_equal(r->s->move(r->st, r->threads[0], a.addr, &rq, &b), TP_OK);
    assert_int_equal(b.addr, a.addr);
    assert_int_equal(r->s->move(r->st, r->threads[0], a.addr, &none, &b), TP_EINVAL);
    assert_int_equal(rig_free(r, 0, a.addr, 1 << 20), TP_OK);
    close_rig(r);
}
