/* Fences of the source `cuda`: never early, whatever the order of asking, and with more of them
 * than there are events. */
#include "tests/unit/cuda_rig.h"

#ifdef TAPOOL_HAS_CUDA
#include "cuda/cuda_source.h"

TEST_ON_BENCH(a_fence_passes_with_its_stream, cuda_rig(state, "step=0"), NULL)
{
    tp_addr addr = bench_get(b, MIB, 256);
    b->now_ns = 77;
    struct tp_fence never = {.stream = 1, .serial = 99}, none = {.stream = 1};
    assert_true(tp_src_done(&b->src, &none));
    assert_true(tp_src_done(&b->src, &never));
    assert_int_equal(tp_src_wait(&b->src, &never), TP_OK);
    bench_busy(b, 0, addr, 1000);
    struct tp_fence f = bench_record(b, 0), other = bench_record(b, 1);
    assert_int_equal(f.time_ns, 77);
    r->advance(1); /* to record takes a nanosecond, after the work and alone */
    assert_false(tp_src_done(&b->src, &f));
    assert_true(tp_src_done(&b->src, &other));
    r->advance(999);
    assert_false(tp_src_done(&b->src, &f));
    r->advance(1);
    assert_true(tp_src_done(&b->src, &f));
}

TEST_ON_BENCH(waiting_and_synchronising, cuda_rig(state, "step=0"), NULL)
{
    tp_addr addr = bench_get(b, MIB, 256);
    struct tp_fence f[4];
    for (int i = 0; i < 4; i++) {
        bench_busy(b, 1, addr, 1000);
        f[i] = bench_record(b, 1);
    }
    assert_int_equal(tp_src_wait(&b->src, &f[2]), TP_OK);
    uint64_t queries = cuda_rig_books(r).event_queries;
    assert_true(tp_src_done(&b->src, &f[0]) && tp_src_done(&b->src, &f[2]));
    assert_int_equal(cuda_rig_books(r).event_queries, queries); /* known without asking */
    assert_false(tp_src_done(&b->src, &f[3]));
    tp_src_synced(&b->src, 0); /* another stream */
    assert_false(tp_src_done(&b->src, &f[3]));
    tp_src_synced(&b->src, 1);
    queries = cuda_rig_books(r).event_queries;
    assert_true(tp_src_done(&b->src, &f[3]));
    bench_busy(b, 2, addr, 1000);
    f[0] = bench_record(b, 2);
    tp_src_synced(&b->src, TP_ALL_STREAMS);
    assert_true(tp_src_done(&b->src, &f[0]));
    assert_int_equal(cuda_rig_books(r).event_queries, queries);
}

/* Asked in any order, with at most two queries each, and right each time. */
TEST_IN_RIG(fences_in_every_order)
{
    enum { COUNT = 40 };
    struct cuda_rig *r = cuda_rig(state, "step=0");
    for (unsigned stride = 1; stride < COUNT; stride += 2) {
        struct cuda_bench b;
        struct tp_fence f[COUNT];
        bench_open(&b, NULL);
        tp_addr addr = bench_get(&b, MIB, 256);
        for (int i = 0; i < COUNT; i++) {
            bench_busy(&b, 0, addr, 1000);
            f[i] = bench_record(&b, 0);
        }
        for (unsigned past = 0; past <= COUNT; past += stride) {
            for (unsigned k = 0; k < COUNT; k++) {
                unsigned i = k * 7 % COUNT; /* 7 and 40 share no factor: all of them */
                uint64_t queries = cuda_rig_books(r).event_queries;
                assert_int_equal(tp_src_done(&b.src, &f[i]), i < past);
                assert_true(cuda_rig_books(r).event_queries - queries <= 2);
            }
            r->advance(stride * 1001); /* with what recording takes */
        }
        cuda_bench_close(&b);
    }
}

/* More fences than events: later than need be, never early; and no event is made. */
TEST_ON_BENCH(more_fences_than_events, cuda_rig(state, "step=0;queue=100000"), NULL)
{
    enum { COUNT = 3000 };
    uint64_t made = cuda_rig_books(r).event_creates;
    static struct tp_fence f[3][COUNT];
    for (int i = 0; i < COUNT; i++)
        for (uint16_t s = 0; s < 2; s++)  /* stream 2 comes when there is no event for it */
            f[s][i] = bench_record(b, s); /* which takes a nanosecond */
    for (int i = 0; i < 3; i++)
        f[2][i] = bench_record(b, 2);
    for (int past = 0; past <= COUNT; past += 250) {
        for (int i = COUNT - 1; i >= 0; i -= 7)
            for (int s = 0; s < 3; s++)
                if (i < (s == 2 ? 3 : COUNT) && i >= past)
                    assert_false(tp_src_done(&b->src, &f[s][i]));
        r->advance(250);
    }
    for (int i = COUNT - 1; i >= 0; i--)
        for (int s = 0; s < 3; s++)
            if (i < (s == 2 ? 3 : COUNT))
                assert_true(tp_src_done(&b->src, &f[s][i]));
    bench_record(b, 2);
    assert_int_equal(cuda_rig_books(r).event_creates, made);
}

TEST_IN_RIG(one_stream_can_take_every_event)
{
    struct cuda_rig *r = cuda_rig(state, "step=0;queue=100000");
    for (uint16_t taker = 0; taker < 3; taker++) {
        struct cuda_bench b;
        bench_open(&b, NULL);
        tp_addr addr = bench_get(&b, MIB, 256);
        bench_busy(&b, taker, addr, 1000);
        struct tp_fence first = bench_record(&b, taker), last = first;
        for (int i = 0; i < FENCE_EVENTS + 3 * FENCE_EVENTS_PER_STREAM + 100; i++)
            last = bench_record(&b, taker);
        struct tp_fence other = bench_record(&b, (uint16_t)((taker + 1) % 3)); /* takes one */
        r->advance(1);
        assert_true(tp_src_done(&b.src, &other));
        assert_false(tp_src_done(&b.src, &first) || tp_src_done(&b.src, &last));
        assert_int_equal(tp_src_wait(&b.src, &last), TP_OK);
        assert_true(tp_src_done(&b.src, &first));
        cuda_bench_close(&b);
    }
}

/* A strategy may record and never ask: what has passed is found out in few queries. */
TEST_ON_BENCH(to_record_takes_few_queries, cuda_rig(state, "step=0"), NULL)
{
    enum { COUNT = 20 * FENCE_EVENTS };
    uint64_t queries = cuda_rig_books(r).event_queries;
    for (int i = 0; i < COUNT; i++) {
        bench_record(b, 1);
        r->advance(1);
    }
    queries = cuda_rig_books(r).event_queries - queries;
    assert_true(queries > 0 && queries < COUNT / 50);
}

/* ---- in real time, as every driver has it ---- */

TEST_ON_BENCH(a_stream_passes_its_fence_by_itself, cuda_rig_any(state, "clock=real"), NULL)
{
    tp_addr addr = bench_get(b, MIB, 256);
    uint64_t began = bench_long(b, 0, addr);
    struct tp_fence f = bench_record(b, 0), other = bench_record(b, 1);
    bench_expect_pending(b, &f, began, 1);
    bench_until_done(b, &other);
    bench_expect_pending(b, &f, began, 1);
    bench_until_done(b, &f);
    assert_true(bench_is_past(began, 1));
}

TEST_ON_BENCH(a_wait_takes_as_long_as_the_work, cuda_rig_any(state, "clock=real"), NULL)
{
    struct tp_fence f[3];
    tp_addr addr = bench_get(b, MIB, 256);
    uint64_t began = tp_wall_ns();
    for (int i = 0; i < 3; i++) {
        bench_long(b, 1, addr);
        f[i] = bench_record(b, 1);
    }
    assert_int_equal(tp_src_wait(&b->src, &f[1]), TP_OK);
    assert_true(bench_is_past(began, 2));
    assert_true(tp_src_done(&b->src, &f[0]) && tp_src_done(&b->src, &f[1]));
    tp_src_synced(&b->src, 0); /* another stream */
    bench_expect_pending(b, &f[2], began, 3);
    tp_src_synced(&b->src, 1);
    assert_true(bench_is_past(began, 3));
    assert_true(tp_src_done(&b->src, &f[2]));
}

/* Asked in any order, right each time. */
TEST_ON_BENCH(fences_of_real_time_in_every_order, cuda_rig_any(state, "clock=real"), NULL)
{
    enum { FENCES = 8 };
    struct tp_fence f[FENCES];
    tp_addr addr = bench_get(b, MIB, 256);
    uint64_t began = tp_wall_ns();
    for (int i = 0; i < FENCES; i++) {
        bench_long(b, 0, addr);
        f[i] = bench_record(b, 0);
    }
    for (unsigned past = 0; past <= FENCES; past++) {
        if (past)
            assert_int_equal(tp_src_wait(&b->src, &f[past - 1]), TP_OK);
        for (unsigned k = 0; k < FENCES; k++) {
            unsigned i = k * 3 % FENCES; /* 3 and 8 share no factor: all of them */
            if (i < past)
                assert_true(tp_src_done(&b->src, &f[i]));
            else
                bench_expect_pending(b, &f[i], began, i + 1);
        }
    }
}

/* Far more fences than a source has events, and than a driver's queue has room for. */
TEST_ON_BENCH(fences_of_real_time_without_number, cuda_rig_any(state, "clock=real"), NULL)
{
    enum { FENCES = 3000, OLDEST = 100 };
    static struct tp_fence f[2][FENCES];
    tp_addr addr = bench_get(b, MIB, 256);
    uint64_t began = bench_long(b, 0, addr);
    bench_long(b, 1, addr + 4096);
    for (int i = 0; i < FENCES; i++)
        for (uint16_t s = 0; s < 2; s++) {
            f[s][i] = bench_record(b, s);
            if (i < OLDEST)
                bench_expect_pending(b, &f[s][i / 2], began, 1);
        }
    for (uint16_t s = 0; s < 2; s++)
        assert_int_equal(tp_src_wait(&b->src, &f[s][FENCES - 1]), TP_OK);
    assert_true(bench_is_past(began, 1));
    for (int i = FENCES - 1; i >= 0; i--)
        assert_true(tp_src_done(&b->src, &f[0][i]) && tp_src_done(&b->src, &f[1][i]));
}

/* ---- work is done before a synchronisation ---- */

static uint64_t counted_calls(struct cuda_bench *b)
{
    struct tp_driver_counts counts;
    tp_src_counts(&b->src, &counts);
    return counts.calls;
}

/* What is reserved in the pool, where nothing is in use. */
static uint64_t reserved_idle(struct cuda_bench *b)
{
    struct tp_pool_marks m;
    assert_int_equal(tp_src_pool_marks(&b->src, &m), TP_OK);
    assert_int_equal(m.used, 0);
    return m.reserved;
}

/* All work of a stream, or of all, is waited for, and its fences have passed; a pool above its
 * threshold keeps what it has until the synchronisation itself. */
TEST_IN_RIG(a_pool_shrinks_in_the_synchronisation_alone)
{
    static const uint16_t streams[] = {1, TP_ALL_STREAMS};
    for (size_t i = 0; i < 2; i++) {
        struct cuda_rig *r = cuda_rig_any(state, "clock=real");
        const struct tp_pool_cfg own = {.own = true};
        struct cuda_bench b;
        tp_addr addr;
        bench_open(&b, NULL);
        assert_int_equal(tp_src_pool_open(&b.src, &own, &b.err), TP_OK);
        assert_int_equal(tp_src_get_async(&b.src, 8 * MIB, 1, &addr), TP_OK);
        uint64_t began = bench_long(&b, 1, addr);
        assert_int_equal(tp_src_put_async(&b.src, addr, 1), TP_OK);
        struct tp_fence f = bench_record(&b, 1);
        uint64_t calls = counted_calls(&b);
        tp_src_drained(&b.src, streams[i]);
        assert_true(bench_is_past(began, 1));
        assert_true(tp_src_done(&b.src, &f));
        assert_int_equal(cuda_rig_books(r).works_pending, 0);
        assert_int_equal(counted_calls(&b), calls);
        assert_true(reserved_idle(&b) >= 8 * MIB);
        tp_src_synced(&b.src, streams[i]);
        assert_int_equal(counted_calls(&b), calls + 1);
        assert_int_equal(reserved_idle(&b), 0);
        bench_expect_sound(&b);
        cuda_bench_close(&b);
        cuda_rig_no_violation(r);
    }
}

/* Of the stream that is asked about, and of no other. */
TEST_ON_BENCH(one_stream_is_drained_alone, cuda_rig(state, "step=0"), NULL)
{
    tp_addr addr = bench_get(b, MIB, 256);
    bench_busy(b, 0, addr, 1000);
    bench_busy(b, 1, addr + 4096, 1000000);
    struct tp_fence f[2] = {bench_record(b, 0), bench_record(b, 1)};
    tp_src_drained(&b->src, 2); /* nothing was ever queued there */
    assert_false(tp_src_done(&b->src, &f[0]));
    tp_src_drained(&b->src, 0);
    uint64_t queries = cuda_rig_books(r).event_queries;
    assert_true(tp_src_done(&b->src, &f[0])); /* known without asking */
    assert_int_equal(cuda_rig_books(r).event_queries, queries);
    assert_false(tp_src_done(&b->src, &f[1]));
    tp_src_drained(&b->src, TP_ALL_STREAMS);
    assert_true(tp_src_done(&b->src, &f[1]));
}

TEST_ON_BENCH(draining_notices_a_lost_device, cuda_rig(state, "async=1:719"), NULL)
{
    bench_busy(b, 0, bench_get(b, MIB, 256), 1000000);
    tp_src_drained(&b->src, TP_ALL_STREAMS);
    bench_expect_lost(b, "cuStreamQuery failed: CUDA_ERROR_LAUNCH_FAILED (");
    tp_src_drained(&b->src, 0); /* at once */
}

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#endif
