/* Defects of the design that `arena` follows, verified there, that must not come back; and the
 * wrong frees that it has to find out. */
#include "tests/unit/arena_rig.h"

/* Every thread has a block of every class in its cache: then frees take the fast path. */
static void warm_up(struct rig *r)
{
    const struct arena *st = r->st;
    for (int thread = 0; thread < RIG_THREADS; thread++)
        for (uint32_t c = 0; c < st->classes.count; c++) {
            tp_addr a = rig_alloc(r, thread, st->classes.size[c]);
            assert_int_equal(rig_free(r, thread, a, st->classes.size[c]), TP_OK);
        }
}

TEST_OPENED(a_double_free_makes_no_alias, open_arena("", &tp_source_host))
{
    tp_addr a = rig_alloc(r, 0, 64);
    assert_int_equal(rig_free(r, 0, a, 64), TP_OK);
    for (int thread = 0; thread < RIG_THREADS; thread++)
        assert_int_equal(rig_free(r, thread, a, 64), TP_EINVAL);
    tp_addr b = rig_alloc(r, 0, 64), c = rig_alloc(r, 0, 64);
    assert_int_not_equal(b, c);
}

/* A block that was given twice would come back twice: all that a class has is handed out. */
TEST_OPENED(a_double_free_on_another_thread_makes_no_alias,
            open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host))
{
    tp_addr blocks[16], again[16];
    struct tp_block none;
    for (int i = 0; i < 16; i++)
        blocks[i] = rig_alloc(r, 0, 4096);
    for (int i = 0; i < 16; i++)
        rig_free(r, 1, blocks[i], 4096);
    end_thread(r, 1); /* they are in the pool now */
    for (int i = 0; i < 16; i++)
        assert_int_equal(rig_free(r, 0, blocks[i], 4096), TP_EINVAL);
    for (int i = 0; i < 16; i++) {
        again[i] = rig_alloc(r, 0, 4096);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(again[k], again[i]);
    }
    assert_int_equal(rig_try(r, 0, 4096, 16, &none), TP_EOOM);
}

TEST_OPENED(beyond_4_gib_nothing_is_lost, open_arena("", &tp_source_virtual))
{
    const uint64_t gib = UINT64_C(1) << 30;
    static const uint64_t sizes[] = {4, 5, 80, UINT64_C(1) << 18};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, sizes[i] * gib + 1, 16, &b), TP_OK);
        assert_int_equal(b.allocated, sizes[i] * gib + 2048);
        assert_int_equal(rig_walk(r).sums[TP_WALK_LIVE], b.allocated);
        assert_int_equal(rig_free(r, 0, b.addr, sizes[i] * gib + 1), TP_OK);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
        assert_int_equal(r->account.reserved, 0);
    }
    struct tp_block b;
    assert_int_equal(rig_try(r, 0, UINT64_MAX, 16, &b), TP_EOOM);
    assert_int_equal(rig_try(r, 0, UINT64_MAX - 4096, 4096, &b), TP_EOOM);
}

TEST_OPENED(foreign_pointers_are_refused, open_arena("", &tp_source_host))
{
    int on_the_stack = 0;
    void *from_malloc = malloc(64);
    rig_alloc(r, 0, 64);
    assert_int_equal(rig_free(r, 0, (uintptr_t)&on_the_stack, 64), TP_EINVAL);
    assert_int_equal(rig_free(r, 0, (uintptr_t)from_malloc, 64), TP_EINVAL);
    free(from_malloc);
}

/* The origin believed a header that a program could forge inside a block. */
TEST_OPENED(forged_interior_pointers_are_refused, open_arena("", &tp_source_host))
{
    warm_up(r);
    tp_addr a = rig_alloc(r, 0, 4096);
    memset((void *)(uintptr_t)a, 0xff, 4096);
    for (uint64_t off = 1; off < 4096; off++) {
        assert_int_equal(rig_free(r, 0, a + off, 4096), TP_EINVAL);
        assert_int_equal(rig_free(r, 0, a + off, 64), TP_EINVAL);
    }
    rig_walk(r);
    assert_int_equal(rig_free(r, 0, a, 4096), TP_OK);
}

TEST_OPENED(a_16_byte_object_holds_17_bytes, open_arena("", &tp_source_host))
{
    const uint64_t count = 200000;
    for (uint64_t i = 0; i < count; i++)
        rig_alloc(r, 0, 16);
    struct tp_stats stats = tp_rig_stats(r);
    assert_true(stats.carved_bytes + r->account.metadata <= 17 * count);
}

TEST_OPENED(memory_moves_between_classes,
            open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host))
{
    tp_addr blocks[1024];
    for (int i = 0; i < 1024; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    struct tp_block none;
    assert_int_equal(rig_try(r, 0, 256, 16, &none), TP_EOOM);
    for (int i = 0; i < 1024; i++)
        rig_free(r, 0, blocks[i], 64);
    rig_alloc(r, 0, 256);
}

/* One block stays live, so that no span is idle: the blocks that another thread freed must still be
 * found. */
TEST_OPENED(remote_frees_are_not_stranded,
            open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host))
{
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
}

/* The origin's thread caches were lost with their threads. */
TEST_OPENED(threads_that_end_leak_no_blocks,
            open_arena("arena_size=1MiB,first_range=1MiB,max_arenas=1,classes=coarse6",
                       &tp_source_host))
{
    static const uint64_t sizes[] = {64, 256, 4096};
    tp_addr blocks[20];
    for (int round = 0; round < 300; round++) {
        uint64_t size = sizes[round % 3];
        int thread = round % RIG_THREADS;
        for (int i = 0; i < 20; i++)
            blocks[i] = rig_alloc(r, thread, size);
        for (int i = 0; i < 20; i++)
            rig_free(r, (thread + i % 2) % RIG_THREADS, blocks[i], size);
        end_thread(r, thread);
        end_thread(r, (thread + 1) % RIG_THREADS);
    }
    struct rig_walk w = rig_walk(r);
    assert_int_equal(w.sums[TP_WALK_CACHED] + w.sums[TP_WALK_SPAN], 1 << 20);
    rig_alloc(r, 0, 1 << 20); /* all of it, in one piece */
}

/* Nothing has changed: the walk, the account, and the free that is right still succeeds. */
static void refused(struct rig *r, tp_addr addr, uint64_t size, uint64_t align)
{
    struct tp_req rq = {.size = size, .align = align};
    struct rig_walk before = rig_walk(r);
    struct tp_account account = r->account;
    for (int thread = 0; thread < RIG_THREADS; thread++)
        assert_int_equal(r->s->free(r->st, r->threads[thread], addr, &rq), TP_EINVAL);
    struct rig_walk after = rig_walk(r);
    assert_memory_equal(&before, &after, sizeof before);
    assert_memory_equal(&account, &r->account, sizeof account);
}

TEST_OPENED(a_size_of_another_class_is_refused, open_arena("", &tp_source_host))
{
    static const uint64_t sizes[] = {16, 100, 128, 1000, 5000, 32768};
    warm_up(r);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct tp_block b;
        assert_int_equal(rig_try(r, 0, sizes[i], 16, &b), TP_OK);
        refused(r, b.addr, b.allocated + 1, 16);
        if (sizes[i] > 16)
            refused(r, b.addr, sizes[i] / 2, 16);
        refused(r, b.addr, 40000, 16);
        refused(r, b.addr, UINT64_MAX, 16);
        refused(r, b.addr, 0, 16);
        refused(r, b.addr, sizes[i], 0);
        refused(r, b.addr, sizes[i], 65536); /* would be large */
        assert_int_equal(rig_free(r, 0, b.addr, b.allocated), TP_OK);
    }
}

TEST_OPENED(an_alignment_of_another_class_is_refused, open_arena("", &tp_source_host))
{
    struct tp_block b;
    warm_up(r);
    assert_int_equal(rig_try(r, 0, 100, 256, &b), TP_OK);
    assert_int_equal(b.allocated, 256);
    refused(r, b.addr, 100, 16);
    struct tp_req rq = {.size = 100, .align = 256};
    assert_int_equal(r->s->free(r->st, r->threads[1], b.addr, &rq), TP_OK);
}

TEST_OPENED(a_large_free_names_its_pages, open_arena("", &tp_source_host))
{
    warm_up(r);
    tp_addr a = rig_alloc(r, 0, 40000); /* 20 pages of 2 KiB */
    refused(r, a, 38912, 16);
    refused(r, a, 40961, 16);
    refused(r, a, 1000, 16);
    refused(r, a + 2048, 38912, 16);
    assert_int_equal(rig_free(r, 0, a, 40960), TP_OK);
    refused(r, a, 40960, 16);
}

/* The size that counts is the one after the last resize. */
TEST_OPENED(a_free_after_a_resize_names_the_new_size,
            open_arena("first_range=1MiB", &tp_source_virtual))
{
    tp_addr a = rig_alloc(r, 0, 100000), small = rig_alloc(r, 0, 961);
    struct tp_req rq = {.size = 50000, .align = 16};
    struct tp_block b;
    assert_int_equal(r->s->resize(r->st, r->threads[0], a, &rq, &b), TP_OK);
    refused(r, a, 100000, 16);
    assert_int_equal(rig_free(r, 0, a, 50000), TP_OK);
    rq.size = 1024;
    assert_int_equal(r->s->resize(r->st, r->threads[0], small, &rq, &b), TP_OK);
    assert_int_equal(rig_free(r, 0, small, 1024), TP_OK);
}

/* Addresses of memory that moved to another class, became large or went back to the source. */
TEST_OPENED(frees_of_memory_that_moved_are_refused,
            open_arena("arena_size=64KiB,max_arenas=1,classes=coarse6", &tp_source_host))
{
    tp_addr blocks[1024];
    for (int i = 0; i < 1024; i++)
        blocks[i] = rig_alloc(r, 0, 64);
    for (int i = 0; i < 1024; i++)
        rig_free(r, 0, blocks[i], 64);
    tp_addr other = rig_alloc(r, 0, 256);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(rig_free(r, 0, blocks[i], 64), TP_EINVAL);
    rig_free(r, 0, other, 256);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    assert_int_equal(r->account.reserved, 0);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(rig_free(r, 0, blocks[i], 64), TP_EINVAL);
}
