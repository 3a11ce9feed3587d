/* The source `cuda` on the fake driver: strict ranges, fences that are never early, pools that are
 * left as they were found, every entry point failing at every call, and order that is really made.
 */
#include "tests/unit/cuda_rig.h"

#ifdef TAPOOL_HAS_CUDA
#include "cuda/driver.h"
#include "cuda/fences.h"

#define MIB (UINT64_C(1) << 20)

static void open_bench(struct cuda_bench *b, const char *spec)
{
    if (cuda_bench_open(b, spec, NULL))
        fail_msg("%s", b->err.text);
}

static tp_addr get(struct cuda_bench *b, uint64_t size, uint64_t align)
{
    tp_addr addr = 0;
    assert_int_equal(tp_src_get(&b->src, size, align, &addr), TP_OK);
    return addr;
}

static void put(struct cuda_bench *b, tp_addr addr, uint64_t size)
{
    assert_int_equal(tp_src_put(&b->src, addr, size), TP_OK);
}

static struct tp_fence record(struct cuda_bench *b, uint16_t stream)
{
    struct tp_fence f;
    tp_src_record(&b->src, stream, &f);
    assert_int_equal(f.stream, stream);
    assert_int_not_equal(f.serial, 0);
    return f;
}

/* The stream is busy for so long; what keeps it so needs no kernel. */
static void busy(struct cuda_bench *b, uint16_t stream, tp_addr addr, uint64_t ns)
{
    if (tp_cuda_can_spin())
        assert_int_equal(tp_src_work(&b->src, stream, addr, 512, ns, TP_OCCUPY_SPIN), TP_OK);
    else /* the fake writes 1,024 bytes in a nanosecond */
        assert_int_equal(tp_src_work(&b->src, stream, addr, ns * 1024, ns, TP_OCCUPY_MEMSET),
                         TP_OK);
}

static void expect_sound(struct cuda_bench *b)
{
    if (tp_src_fault(&b->src, &b->err))
        fail_msg("%s", b->err.text);
    assert_int_equal(b->lost, TP_OK);
}

static void expect_lost(struct cuda_bench *b, const char *words)
{
    assert_int_equal(tp_src_fault(&b->src, &b->err), TP_EDEVICE);
    if (!strstr(b->err.text, words))
        fail_msg("'%s' is not in '%s'", words, b->err.text);
    assert_int_equal(b->lost, TP_EDEVICE);
}

/* ---- ranges ---- */

static void its_table_is_sound(void **state)
{
    (void)state;
    struct tp_err err;
    assert_int_equal(tp_source_check(&tp_source_cuda, &err), TP_OK);
    assert_true(tp_source_cuda.flags & TP_SRC_DEVICE);
}

static void put_takes_exactly_what_get_gave(void **state)
{
    cuda_rig(state, NULL);
    struct cuda_bench b;
    open_bench(&b, NULL);
    assert_int_equal(b.src.page, 512);
    assert_true(tp_src_capacity(&b.src) > 0);
    tp_addr a = get(&b, 16384, 256), c = get(&b, 512, 256), gone = a;
    assert_int_equal(tp_src_put(&b.src, a, 512), TP_EINVAL);
    assert_int_equal(tp_src_put(&b.src, a + 512, 16384 - 512), TP_EINVAL);
    assert_int_equal(tp_src_put(&b.src, 0, 512), TP_EINVAL);
    put(&b, a, 16384);
    assert_int_equal(tp_src_put(&b.src, gone, 16384), TP_EINVAL);
    put(&b, c, 512);
    expect_sound(&b);
    cuda_bench_close(&b);
}

static void alignment_is_honoured(void **state)
{
    struct cuda_rig *r = cuda_rig(state, NULL);
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr[24];
    for (int log2 = 0; log2 < 24; log2++) {
        get(&b, 512, 1); /* so that nothing is aligned by chance; freed by fini */
        addr[log2] = get(&b, 1536, UINT64_C(1) << log2);
        assert_int_equal(addr[log2] % (UINT64_C(1) << log2), 0);
        assert_int_equal(tp_src_work(&b.src, 0, addr[log2], 1536, 0, TP_OCCUPY_MEMSET), TP_OK);
    }
    for (int log2 = 23; log2 >= 0; log2--)
        put(&b, addr[log2], 1536);
    assert_int_equal(tp_src_put(&b.src, addr[23], 1536), TP_EINVAL);
    tp_addr none;
    assert_int_equal(tp_src_get(&b.src, 512, UINT64_C(1) << 62, &none), TP_EOOM);
    expect_sound(&b);
    if (r->library)
        assert_int_equal(cuda_rig_books(r).ranges, r->before.ranges + 24);
    cuda_bench_close(&b);
}

static void a_full_device_is_data(void **state)
{
    cuda_rig(state, "memory=64MiB");
    struct cuda_bench b;
    uint64_t free_bytes, total;
    tp_addr addr = 1;
    open_bench(&b, NULL);
    assert_int_equal(tp_src_memory(&b.src, &free_bytes, &total), TP_OK);
    assert_int_equal(total, 64 * MIB);
    assert_int_equal(free_bytes, tp_src_capacity(&b.src));
    assert_int_equal(tp_src_get(&b.src, 128 * MIB, 256, &addr), TP_EOOM);
    assert_int_equal(addr, 0);
    tp_addr a = get(&b, 32 * MIB, 256);
    assert_int_equal(tp_src_get(&b.src, 48 * MIB, 256, &addr), TP_EOOM);
    assert_int_equal(tp_src_memory(&b.src, &free_bytes, &total), TP_OK);
    assert_true(free_bytes <= 32 * MIB);
    put(&b, a, 32 * MIB);
    put(&b, get(&b, 48 * MIB, 256), 48 * MIB);
    expect_sound(&b);
    cuda_bench_close(&b);
}

static void what_is_held_goes_back(void **state)
{
    struct cuda_rig *r = cuda_rig(state, NULL);
    struct cuda_bench b;
    open_bench(&b, NULL);
    for (int i = 0; i < 100; i++)
        get(&b, 512 * (uint64_t)(i + 1), i % 3 ? 256 : 8 * MIB);
    record(&b, 1);
    cuda_bench_close(&b);
    cuda_rig_balance(r);
}

/* ---- fences ---- */

static void a_fence_passes_with_its_stream(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    b.now_ns = 77;
    struct tp_fence never = {.stream = 1, .serial = 99}, none = {.stream = 1};
    assert_true(tp_src_done(&b.src, &none));
    assert_true(tp_src_done(&b.src, &never));
    assert_int_equal(tp_src_wait(&b.src, &never), TP_OK);
    busy(&b, 0, addr, 1000);
    struct tp_fence f = record(&b, 0), other = record(&b, 1);
    assert_int_equal(f.time_ns, 77);
    r->advance(1); /* to record takes a nanosecond, after the work and alone */
    assert_false(tp_src_done(&b.src, &f));
    assert_true(tp_src_done(&b.src, &other));
    r->advance(999);
    assert_false(tp_src_done(&b.src, &f));
    r->advance(1);
    assert_true(tp_src_done(&b.src, &f));
    expect_sound(&b);
    cuda_bench_close(&b);
}

static void waiting_and_synchronising(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    struct tp_fence f[4];
    for (int i = 0; i < 4; i++) {
        busy(&b, 1, addr, 1000);
        f[i] = record(&b, 1);
    }
    assert_int_equal(tp_src_wait(&b.src, &f[2]), TP_OK);
    uint64_t queries = cuda_rig_books(r).event_queries;
    assert_true(tp_src_done(&b.src, &f[0]) && tp_src_done(&b.src, &f[2]));
    assert_int_equal(cuda_rig_books(r).event_queries, queries); /* known without asking */
    assert_false(tp_src_done(&b.src, &f[3]));
    tp_src_synced(&b.src, 0); /* another stream */
    assert_false(tp_src_done(&b.src, &f[3]));
    tp_src_synced(&b.src, 1);
    queries = cuda_rig_books(r).event_queries;
    assert_true(tp_src_done(&b.src, &f[3]));
    busy(&b, 2, addr, 1000);
    f[0] = record(&b, 2);
    tp_src_synced(&b.src, TP_ALL_STREAMS);
    assert_true(tp_src_done(&b.src, &f[0]));
    assert_int_equal(cuda_rig_books(r).event_queries, queries);
    cuda_bench_close(&b);
}

/* Asked in any order, with at most two queries each, and right each time. */
static void fences_in_every_order(void **state)
{
    enum { COUNT = 40 };
    struct cuda_rig *r = cuda_rig(state, "step=0");
    for (unsigned stride = 1; stride < COUNT; stride += 2) {
        struct cuda_bench b;
        struct tp_fence f[COUNT];
        open_bench(&b, NULL);
        tp_addr addr = get(&b, MIB, 256);
        for (int i = 0; i < COUNT; i++) {
            busy(&b, 0, addr, 1000);
            f[i] = record(&b, 0);
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
static void more_fences_than_events(void **state)
{
    enum { COUNT = 3000 };
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    uint64_t made = cuda_rig_books(r).event_creates;
    tp_addr addr[3] = {get(&b, MIB, 256), get(&b, MIB, 256), get(&b, MIB, 256)};
    static struct tp_fence f[3][COUNT];
    for (int i = 0; i < COUNT; i++)
        for (uint16_t s = 0; s < 2; s++) { /* stream 2 comes when there is no event for it */
            busy(&b, s, addr[s], 1000);
            f[s][i] = record(&b, s);
        }
    for (int i = 0; i < 3; i++) {
        busy(&b, 2, addr[2], 1000);
        f[2][i] = record(&b, 2);
    }
    for (int past = 0; past <= COUNT; past += 250) {
        for (int i = COUNT - 1; i >= 0; i -= 7)
            for (int s = 0; s < 3; s++)
                if (i < (s == 2 ? 3 : COUNT) && i >= past)
                    assert_false(tp_src_done(&b.src, &f[s][i]));
        r->advance(250 * 1000);
    }
    for (int i = COUNT - 1; i >= 0; i--)
        for (int s = 0; s < 3; s++)
            if (i < (s == 2 ? 3 : COUNT))
                assert_true(tp_src_done(&b.src, &f[s][i]));
    record(&b, 2);
    assert_int_equal(cuda_rig_books(r).event_creates, made);
    expect_sound(&b);
    cuda_bench_close(&b);
}

static void one_stream_can_take_every_event(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    busy(&b, 0, addr, 1000000);
    struct tp_fence first = record(&b, 0), last = first;
    for (int i = 0; i < FENCE_EVENTS + 3 * FENCE_EVENTS_PER_STREAM + 100; i++)
        last = record(&b, 0);
    struct tp_fence other = record(&b, 1); /* takes one from stream 0 */
    r->advance(1);
    assert_true(tp_src_done(&b.src, &other));
    assert_false(tp_src_done(&b.src, &first) || tp_src_done(&b.src, &last));
    assert_int_equal(tp_src_wait(&b.src, &last), TP_OK);
    assert_true(tp_src_done(&b.src, &first));
    cuda_bench_close(&b);
}

/* ---- order ---- */

static void follow_orders_streams(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    struct tp_driver_counts counts;
    busy(&b, 0, addr, 1000);
    assert_int_equal(tp_src_follow(&b.src, 0, 0), TP_OK);
    tp_src_counts(&b.src, &counts);
    assert_int_equal(counts.event_waits, 0);
    assert_int_equal(tp_src_follow(&b.src, 1, 0), TP_OK);
    busy(&b, 1, addr, 1000);
    cuda_rig_no_violation(r);
    struct tp_fence f = record(&b, 1);
    r->advance(1500);
    assert_false(tp_src_done(&b.src, &f));
    tp_src_counts(&b.src, &counts);
    assert_int_equal(counts.event_waits, 1);
    cuda_bench_close(&b);
}

/* What the fake is for: without the order that `follow` makes it complains. */
static void missing_order_is_caught(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    struct tp_err err;
    const struct tp_pool_cfg own = {.own = true};
    tp_addr addr;
    open_bench(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &own, &err), TP_OK);
    assert_int_equal(tp_src_get_async(&b.src, MIB, 0, &addr), TP_OK);
    busy(&b, 1, addr, 1000); /* not after the allocation */
    cuda_rig_expect_violation(r, "not ordered after");
    tp_src_synced(&b.src, TP_ALL_STREAMS);
    assert_int_equal(tp_src_put_async(&b.src, addr, 0), TP_OK);
    cuda_rig_no_violation(r);
    busy(&b, 0, addr, 1000); /* after the free */
    cuda_rig_expect_violation(r, "");
    assert_int_equal(tp_src_pool_close(&b.src), TP_OK);
    tp_addr range = get(&b, MIB, 256);
    busy(&b, 0, range, 1000);
    busy(&b, 1, range, 1000); /* a race */
    cuda_rig_expect_violation(r, "races");
    cuda_bench_close(&b);
}

static void kinds_of_streams(void **state)
{
    static const struct {
        const char *spec;
        uint64_t made;
    } kinds[] = {{"streams=non-blocking", 3}, {"streams=default", 2}, {"streams=per-thread", 2}};
    struct cuda_rig *r = cuda_rig(state, NULL);
    for (int i = 0; i < 3; i++) {
        struct cuda_bench b;
        open_bench(&b, kinds[i].spec);
        if (r->library)
            assert_int_equal(cuda_rig_books(r).streams, r->before.streams + kinds[i].made);
        tp_addr addr = get(&b, MIB, 256);
        for (uint16_t s = 0; s < 3; s++) {
            assert_int_equal(tp_src_work(&b.src, s, addr, MIB, 0, TP_OCCUPY_MEMSET), TP_OK);
            record(&b, s);
            assert_int_equal(tp_src_follow(&b.src, (uint16_t)((s + 1) % 3), s), TP_OK);
            tp_src_synced(&b.src, s);
        }
        expect_sound(&b);
        cuda_bench_close(&b);
    }
}

/* On the legacy default stream others wait for it, and it for them. */
static void the_default_stream_orders_others(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    open_bench(&b, "streams=default");
    tp_addr addr = get(&b, MIB, 256);
    busy(&b, 1, addr, 1000);
    busy(&b, 0, addr, 1000);
    busy(&b, 2, addr, 1000);
    cuda_rig_no_violation(r);
    cuda_bench_close(&b);
}

static void occupying(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct cuda_bench b;
    struct tp_driver_counts counts;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    assert_int_equal(tp_src_work(&b.src, 0, addr, MIB, 0, TP_OCCUPY_NONE), TP_OK);
    assert_int_equal(cuda_rig_books(r).works, 0);
    assert_int_equal(tp_src_work(&b.src, 0, addr, MIB, 0, TP_OCCUPY_MEMSET), TP_OK);
    assert_int_equal(cuda_rig_books(r).works, 1);
    assert_int_equal(cuda_rig_books(r).modules, 0);
    for (int i = 0; tp_cuda_can_spin() && i < 3; i++)
        assert_int_equal(tp_src_work(&b.src, 0, addr, 3, 1000, TP_OCCUPY_SPIN), TP_OK);
    tp_src_counts(&b.src, &counts);
    assert_int_equal(counts.works, tp_cuda_can_spin() ? 4 : 1);
    assert_int_equal(counts.calls, 1); /* the get: what keeps a device busy is apart */
    assert_int_equal(cuda_rig_books(r).modules, tp_cuda_can_spin());
    cuda_bench_close(&b);
    r->script("missing=cuLaunchKernel");
    open_bench(&b, NULL);
    addr = get(&b, MIB, 256);
    assert_int_equal(tp_src_work(&b.src, 0, addr, MIB, 9, TP_OCCUPY_SPIN), TP_EUNSUP);
    assert_int_equal(tp_src_work(&b.src, 0, addr, MIB, 9, TP_OCCUPY_MEMSET), TP_OK);
    expect_sound(&b);
    cuda_bench_close(&b);
}

/* ---- the driver's pool ---- */

static void a_pool_serves(void **state)
{
    cuda_rig(state, NULL);
    for (int own = 0; own < 2; own++) {
        const struct tp_pool_cfg cfg = {.own = own,
                                        .release_threshold = UINT64_MAX,
                                        .reuse_follow_event_dependencies = true,
                                        .reuse_allow_opportunistic = true,
                                        .reuse_allow_internal_dependencies = true};
        struct cuda_bench b;
        struct tp_pool_marks m;
        tp_addr a, c;
        open_bench(&b, NULL);
        assert_int_equal(tp_src_get_async(&b.src, 512, 0, &a), TP_EINVAL); /* not open yet */
        assert_int_equal(tp_src_pool_close(&b.src), TP_EINVAL);
        assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
        assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_EINVAL);
        assert_int_equal(tp_src_pool_marks(&b.src, &m), TP_OK);
        assert_int_equal(m.reserved | m.reserved_high | m.used | m.used_high, 0);
        assert_int_equal(tp_src_get_async(&b.src, MIB, 1, &a), TP_OK);
        assert_int_equal(tp_src_get_async(&b.src, 3, 1, &c), TP_OK);
        assert_int_equal(tp_src_work(&b.src, 1, a, MIB, 0, TP_OCCUPY_MEMSET), TP_OK);
        assert_int_equal(tp_src_put_async(&b.src, a, 1), TP_OK);
        tp_src_synced(&b.src, 1);
        assert_int_equal(tp_src_pool_marks(&b.src, &m), TP_OK);
        assert_true(m.used > 0 && m.used < MIB && m.used_high > MIB);
        assert_true(m.reserved >= m.used && m.reserved_high >= m.used_high);
        assert_int_equal(tp_src_put_async(&b.src, c, 1), TP_OK);
        tp_src_synced(&b.src, TP_ALL_STREAMS);
        assert_int_equal(tp_src_pool_marks(&b.src, &m), TP_OK);
        assert_int_equal(m.used, 0);
        assert_int_not_equal(m.reserved, 0); /* the threshold keeps it */
        assert_int_equal(tp_src_pool_trim(&b.src, 0), TP_OK);
        assert_int_equal(tp_src_pool_marks(&b.src, &m), TP_OK);
        assert_int_equal(m.reserved, 0);
        assert_int_equal(tp_src_pool_close(&b.src), TP_OK);
        assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
        assert_int_equal(tp_src_pool_marks(&b.src, &m), TP_OK);
        assert_int_equal(m.reserved_high | m.used_high, 0);
        expect_sound(&b);
        cuda_bench_close(&b); /* which closes the pool */
    }
}

/* What the default pool is set to, in a context that is held. */
static void read_default_pool(cuuint64_t *threshold, int flags[3])
{
    struct cuda_driver d;
    struct tp_err err;
    CUmemoryPool pool;
    CUcontext context;
    assert_int_equal(tp_cuda_driver_load(&d, &err), TP_OK);
    assert_int_equal(d.DevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_int_equal(d.DeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    assert_int_equal(d.MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, threshold),
                     CUDA_SUCCESS);
    static const CUmemPool_attribute names[] = {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
                                                CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
                                                CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES};
    for (int i = 0; i < 3; i++)
        assert_int_equal(d.MemPoolGetAttribute(pool, names[i], &flags[i]), CUDA_SUCCESS);
    assert_int_equal(d.DevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    tp_cuda_driver_unload(&d);
}

static void the_default_pool_is_left_as_it_was(void **state)
{
    cuda_rig(state, "threshold=3MiB");
    const struct tp_pool_cfg cfg = {.release_threshold = 5 * MIB,
                                    .reuse_allow_opportunistic = true};
    struct tp_err err = {0};
    struct cuda_bench b;
    cuuint64_t threshold;
    int flags[3];
    struct tp_cuda *c;
    assert_int_equal(tp_cuda_open(&c, &err), TP_OK);
    assert_int_equal(tp_cuda_hold(c, 0, &err), TP_OK); /* a default pool lives as long as this */
    open_bench(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
    read_default_pool(&threshold, flags);
    assert_int_equal(threshold, 5 * MIB);
    assert_true(!flags[0] && flags[1] && !flags[2]);
    assert_int_equal(tp_src_pool_close(&b.src), TP_OK);
    cuda_bench_close(&b);
    read_default_pool(&threshold, flags);
    assert_int_equal(threshold, 3 * MIB);
    assert_true(flags[0] && flags[1] && flags[2]);
    tp_cuda_close(c);
}

static void a_pool_has_a_limit(void **state)
{
    cuda_rig(state, "memory=256MiB");
    const struct tp_pool_cfg cfg = {.own = true, .max_size = 64 * MIB};
    struct cuda_bench b;
    tp_addr addr, more;
    open_bench(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
    assert_int_equal(tp_src_get_async(&b.src, 48 * MIB, 0, &addr), TP_OK);
    assert_int_equal(tp_src_get_async(&b.src, 48 * MIB, 0, &more), TP_EOOM);
    assert_int_equal(tp_src_put_async(&b.src, addr, 0), TP_OK);
    assert_int_equal(tp_src_pool_close(&b.src), TP_OK);
    expect_sound(&b);
    cuda_bench_close(&b);
    cuda_rig(state, "version=12010");
    open_bench(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_EDEVICE);
    assert_non_null(strstr(b.err.text, "'max_size' needs CUDA 12.2"));
    expect_sound(&b);
    cuda_bench_close(&b);
}

static void a_foreign_address_is_refused(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "");
    const struct tp_pool_cfg cfg = {.own = true};
    struct cuda_bench b;
    open_bench(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
    assert_int_equal(tp_src_put_async(&b.src, 0, 0), TP_EINVAL);
    cuda_rig_no_violation(r);
    assert_int_equal(tp_src_put_async(&b.src, 4096, 0), TP_EINVAL);
    cuda_rig_expect_violation(r, "");
    expect_sound(&b);
    cuda_bench_close(&b);
}

static void a_device_without_pools(void **state)
{
    static const char *const scripts[][2] = {
        {"pools=0", "device 0 (Simulated GPU) has no stream-ordered pools: the device does not "
                    "support them"},
        {"missing=cuMemFreeAsync", "device 0 (Simulated GPU) has no stream-ordered pools: the "
                                   "driver has no cuMemFreeAsync"}};
    for (int i = 0; i < 2; i++) {
        cuda_rig(state, scripts[i][0]);
        const struct tp_pool_cfg cfg = {0};
        struct cuda_bench b;
        open_bench(&b, NULL);
        assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_EDEVICE);
        assert_string_equal(b.err.text, scripts[i][1]);
        assert_non_null(strstr(b.err.hint, "'-s stream-pool'"));
        expect_sound(&b);
        put(&b, get(&b, 512, 256), 512);
        cuda_bench_close(&b);
    }
}

/* ---- several devices ---- */

static void devices_are_mapped(void **state)
{
    static const struct {
        const char *spec;
        uint16_t device;
        const char *text, *hint; /* NULL: opens */
    } rows[] = {
        {NULL, 1, NULL, NULL},
        {"map={0=1,1=0}", 1, NULL, NULL},
        {"map={7=1}", 7, NULL, NULL},
        {NULL, 2, "the trace has a device 2, and this machine has 2 CUDA devices",
         "--map-device 2=0 plays it on device 0; --device 0 plays only that device of the trace"},
        {"map={0=5}", 0,
         "device 0 of the trace is to be played on CUDA device 5, and this machine has 2 CUDA "
         "devices",
         "--map-device 0=0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cuda_rig(state, "devices=2");
        struct cuda_bench b;
        const struct tp_source_cfg cfg = {.device = rows[i].device, .streams = 2};
        int rc = cuda_bench_open(&b, rows[i].spec, &cfg);
        assert_int_equal(rc, rows[i].text ? TP_EDEVICE : TP_OK);
        if (rc)
            assert_string_equal(b.err.text, rows[i].text);
        if (rc)
            assert_non_null(strstr(b.err.hint, rows[i].hint));
        cuda_bench_close(&b);
    }
    cuda_rig(state, "");
    struct cuda_bench b;
    assert_int_equal(cuda_bench_open(&b, NULL, &(struct tp_source_cfg){.device = 1}), TP_EDEVICE);
    assert_string_equal(b.err.text,
                        "the trace has a device 1, and this machine has one CUDA device");
    assert_int_equal(cuda_bench_open(&b, "map=nonsense", NULL), TP_EUSAGE);
}

/* The context is set when another device's turn comes, and only then. */
static void devices_share_a_thread(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "devices=2");
    void *current = NULL;
    struct cuda_bench b[2];
    struct tp_driver_counts counts;
    for (uint16_t d = 0; d < 2; d++)
        assert_int_equal(cuda_bench_open(&b[d], NULL,
                                         &(struct tp_source_cfg){
                                             .device = d, .streams = 1, .current = &current}),
                         TP_OK);
    for (int i = 0; i < 20; i++) {
        struct cuda_bench *turn = &b[i / 2 % 2];
        tp_addr addr = get(turn, MIB, 256);
        busy(turn, 0, addr, 10);
        record(turn, 0);
        put(turn, addr, MIB);
    }
    tp_src_counts(&b[0].src, &counts);
    assert_int_equal(counts.calls, 10 * 3 + 5); /* once a turn */
    cuda_bench_close(&b[0]);
    put(&b[1], get(&b[1], MIB, 256), MIB);
    expect_sound(&b[1]);
    cuda_bench_close(&b[1]);
    assert_null(current);
    cuda_rig_no_violation(r);
}

static void without_a_word_to_share(void **state)
{
    struct cuda_rig *r = cuda_rig(state, "devices=2");
    struct tp_source src[2];
    struct tp_err err;
    struct {
        const char *map;
        uint32_t streams;
    } opts[2] = {{NULL, 0}, {NULL, 0}}; /* as cuda_options.h has them */
    for (uint16_t d = 0; d < 2; d++)
        assert_int_equal(tp_source_open(&src[d], &tp_source_cuda,
                                        &(struct tp_source_cfg){.opts = &opts[d], .device = d},
                                        &err),
                         TP_OK);
    for (int i = 0; i < 10; i++) {
        tp_addr addr;
        assert_int_equal(tp_src_get(&src[i % 2], MIB, 256, &addr), TP_OK);
        assert_int_equal(tp_src_put(&src[i % 2], addr, MIB), TP_OK);
    }
    tp_source_close(&src[0]);
    tp_source_close(&src[1]);
    cuda_rig_no_violation(r);
}

/* ---- counts ---- */

static void calls_are_counted(void **state)
{
    cuda_rig(state, NULL);
    for (int timed = 0; timed < 2; timed++) {
        struct cuda_bench b;
        struct tp_driver_counts c;
        assert_int_equal(
            cuda_bench_open(&b, NULL, &(struct tp_source_cfg){.streams = 2, .time_calls = timed}),
            TP_OK);
        tp_src_counts(&b.src, &c);
        assert_int_equal(c.calls | c.ns | c.syncs | c.event_waits | c.works, 0);
        put(&b, get(&b, MIB, 256), MIB);
        struct tp_fence f = record(&b, 0);
        assert_int_equal(tp_src_wait(&b.src, &f), TP_OK);
        assert_int_equal(tp_src_wait(&b.src, &f), TP_OK); /* known: no call */
        assert_int_equal(tp_src_follow(&b.src, 1, 0), TP_OK);
        tp_src_synced(&b.src, 1);
        tp_src_synced(&b.src, TP_ALL_STREAMS);
        uint64_t bytes;
        assert_int_equal(tp_src_memory(&b.src, &bytes, &bytes), TP_OK); /* looking: not counted */
        tp_src_counts(&b.src, &c);
        assert_int_equal(c.calls, 8);
        assert_int_equal(c.syncs, 3);
        assert_int_equal(c.event_waits, 1);
        assert_int_equal(c.ns > 0, timed);
        cuda_bench_close(&b);
    }
}

/* ---- failures ---- */

/* One of everything. Whether all of it succeeded; a source that could not be opened says why. */
static bool play(struct cuda_bench *b, const struct tp_source_cfg *cfg)
{
    tp_addr range = 0, aligned = 0, block = 0;
    struct tp_pool_marks marks;
    uint64_t bytes;
    struct tp_fence f;
    int failed = 0;
    if (cuda_bench_open(b, NULL, cfg))
        return false;
    struct tp_source *s = &b->src;
    failed |= tp_src_get(s, MIB, 256, &range);
    failed |= tp_src_get(s, 512, 64 * MIB, &aligned);
    if (range)
        failed |= tp_src_work(s, 0, range, MIB, 0, TP_OCCUPY_MEMSET);
    if (aligned && tp_cuda_can_spin())
        failed |= tp_src_work(s, 1, aligned, 512, 100, TP_OCCUPY_SPIN);
    tp_src_record(s, 0, &f);
    failed |= tp_src_wait(s, &f);
    tp_src_record(s, 0, &f);
    tp_src_done(s, &f);
    failed |= tp_src_follow(s, 1, 0);
    failed |= tp_src_memory(s, &bytes, &bytes);
    failed |= range ? tp_src_put(s, range, MIB) : 0;
    for (int own = 0; own < 2; own++) {
        const struct tp_pool_cfg pool = {.own = own, .release_threshold = MIB};
        if (tp_src_pool_open(s, &pool, &b->err)) {
            failed = 1;
            continue;
        }
        failed |= tp_src_get_async(s, MIB, 1, &block);
        failed |= tp_src_pool_marks(s, &marks);
        if (block)
            failed |= tp_src_put_async(s, block, 1);
        failed |= tp_src_pool_trim(s, 0);
        failed |= tp_src_pool_close(s);
    }
    tp_src_synced(s, 1);
    tp_src_synced(s, TP_ALL_STREAMS);
    return !failed && tp_src_fault(s, NULL) == TP_OK;
}

/* After the device was lost nothing is asked of it any more. */
static void expect_silence(struct cuda_rig *r, struct cuda_bench *b)
{
    uint64_t calls = cuda_rig_books(r).calls, bytes;
    struct tp_fence f;
    tp_addr addr;
    assert_int_equal(tp_src_get(&b->src, 512, 256, &addr), TP_EDEVICE);
    assert_int_equal(addr, 0);
    tp_src_record(&b->src, 0, &f);
    assert_int_equal(f.serial, 0);
    tp_src_synced(&b->src, TP_ALL_STREAMS);
    assert_int_equal(tp_src_follow(&b->src, 0, 1), TP_EDEVICE);
    assert_int_equal(tp_src_work(&b->src, 0, 4096, 1, 1, TP_OCCUPY_MEMSET), TP_EDEVICE);
    assert_int_equal(tp_src_memory(&b->src, &bytes, &bytes), TP_EDEVICE);
    struct tp_err err;
    assert_int_equal(tp_src_pool_open(&b->src, &(struct tp_pool_cfg){0}, &err), TP_EDEVICE);
    assert_int_equal(cuda_rig_books(r).calls, calls);
}

/* A call that gives back cannot be made good when it fails; the context takes all with it. A call
 * that waits is what tells the fake that work is complete, and a block whose free failed is still
 * in its pool. */
static void forgive(struct cuda_rig *r, const char *name)
{
    static const char *const known[] = {"not known to be complete", "destroying a pool with"};
    bool known_words = false;
    for (int i = 0; i < 2; i++)
        known_words = known_words || strstr(r->last_violation(), known[i]);
    if (cuda_rig_books(r).violations && !known_words)
        fail_msg("%s fails: %s", name, r->last_violation());
    r->script("");
    if (strcmp(name, "cuDevicePrimaryCtxRelease") == 0 &&
        cuda_rig_books(r).contexts > r->before.contexts) {
        CUresult (*release)(CUdevice);
        cuda_rig_find(r, "cuDevicePrimaryCtxRelease_v2", &release);
        release(0);
        r->script("");
    }
}

static const char *const names[] = {
#define NAME_ROW(name, version, group) "cu" #name,
    CUDA_DRIVER_SYMBOLS(NAME_ROW)
#undef NAME_ROW
};

/* With its n-th call failing, n = 1.. until none is hit. Returns how many were. */
static int fail_each_call(void **state, const char *name, int code)
{
    int hits = 0;
    for (int n = 1, missed = 0; missed<3; n += n> 20 ? 97 : 1) {
        char script[96];
        struct cuda_bench b;
        snprintf(script, sizeof script, "fail=%s:%d:%d", name, n, code);
        struct cuda_rig *r = cuda_rig(state, script);
        bool good = play(&b, NULL);
        missed = good ? missed + 1 : 0; /* closing may fail too, and some failures do not matter */
        hits += !good;
        if (!b.opts) {
            assert_int_equal(b.err.status, TP_EDEVICE);
            assert_string_not_equal(b.err.text, "");
            assert_string_not_equal(b.err.hint, "");
        } else if (b.lost) {
            expect_lost(&b, name);
            expect_lost(&b, " failed: CUDA_ERROR_");
            expect_silence(r, &b);
        } else if (code == CUDA_ERROR_UNKNOWN && !good) {
            /* a pool that is not to be had, or nobody knows */
            assert_true(strstr(name, "Pool") || strcmp(name, "cuDeviceGetAttribute") == 0);
        }
        cuda_bench_close(&b);
        forgive(r, name);
        cuda_rig_balance(r);
    }
    return hits;
}

static void every_call_may_fail(void **state)
{
    /* what `play` does not need, or can do without */
    static const char *const unused[] = {
        "cuGetErrorName",  "cuGetErrorString", "cuCtxGetCurrent",
        "cuDeviceGetName", "cuDeviceTotalMem", "cuDevicePrimaryCtxRelease",
        "cuStreamDestroy", "cuEventDestroy",   "cuModuleUnload"};
    cuda_rig(state, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int hits = fail_each_call(state, names[i], CUDA_ERROR_UNKNOWN);
        bool used =
            !strstr("cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemRelease cuMemMap "
                    "cuMemUnmap cuMemSetAccess cuMemGetAllocationGranularity",
                    names[i]);
        for (size_t k = 0; k < sizeof unused / sizeof *unused; k++)
            used = used && strcmp(names[i], unused[k]) != 0;
        if (!tp_cuda_can_spin() && (strstr(names[i], "Module") || strstr(names[i], "Kernel")))
            used = false;
        if (used != (hits > 0))
            fail_msg("%s was hit %d times", names[i], hits);
    }
}

/* Being full is an answer where memory is asked for, and a failure elsewhere. */
static void out_of_memory_anywhere(void **state)
{
    static const char *const asks[] = {"cuMemAlloc", "cuMemAllocFromPoolAsync"};
    for (int i = 0; i < 2; i++)
        for (int n = 1; n <= 3; n++) {
            char script[64];
            struct cuda_bench b;
            snprintf(script, sizeof script, "fail=%s:%d:2", asks[i], n);
            struct cuda_rig *r = cuda_rig(state, script);
            play(&b, NULL);
            expect_sound(&b);
            cuda_bench_close(&b);
            cuda_rig_no_violation(r);
            cuda_rig_balance(r);
        }
    assert_int_not_equal(fail_each_call(state, "cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY), 0);
    assert_int_not_equal(fail_each_call(state, "cuStreamCreate", CUDA_ERROR_OUT_OF_MEMORY), 0);
}

/* The device goes at the n-th call, whichever that is. */
static void a_device_is_lost(void **state)
{
    for (int n = 1; n < 1300; n += n < 80 || n > 1080 ? 1 : 101) {
        char script[32];
        struct cuda_bench b;
        snprintf(script, sizeof script, "lost=%d", n);
        struct cuda_rig *r = cuda_rig(state, script);
        if (!play(&b, NULL) && b.opts && b.lost) {
            expect_lost(&b, "CUDA_ERROR_DEVICE_UNAVAILABLE (");
            expect_silence(r, &b);
        }
        cuda_bench_close(&b);
        r->script(""); /* a block that was out went with the context */
        cuda_rig_balance(r);
    }
}

/* Work that was queued fails later: whatever is called next tells. */
static void queued_work_fails(void **state)
{
    for (int n = 1; n <= 2; n++) {
        char script[48];
        struct cuda_bench b;
        snprintf(script, sizeof script, "async=%d:719;step=0", n);
        struct cuda_rig *r = cuda_rig(state, script);
        open_bench(&b, NULL);
        tp_addr addr = get(&b, MIB, 256);
        busy(&b, 0, addr, 1000);
        busy(&b, 0, addr, 1000);
        expect_sound(&b);
        tp_src_synced(&b.src, 0);
        expect_lost(&b, "cuStreamSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (");
        expect_lost(&b, "; the device is lost or work that was queued before failed");
        expect_silence(r, &b);
        cuda_bench_close(&b);
        cuda_rig_balance(r);
    }
    struct cuda_rig *r = cuda_rig(state, "async=1:700;step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    busy(&b, 0, addr, 1000);
    struct tp_fence f = record(&b, 0);
    assert_false(tp_src_done(&b.src, &f));
    expect_sound(&b);
    r->advance(1000);
    assert_false(tp_src_done(&b.src, &f));
    expect_lost(&b, "cuEventQuery failed: CUDA_ERROR_ILLEGAL_ADDRESS (");
    assert_int_equal(tp_src_wait(&b.src, &f), TP_EDEVICE);
    assert_int_equal(tp_src_put(&b.src, addr, MIB), TP_EDEVICE);
    cuda_bench_close(&b);
}

/* What fails while closing is told to whoever asked to know. */
static void closing_tells(void **state)
{
    cuda_rig(state, "async=1:719;step=0");
    struct cuda_bench b;
    open_bench(&b, NULL);
    tp_addr addr = get(&b, MIB, 256);
    busy(&b, 0, addr, 1000);
    cuda_bench_close(&b);
    assert_int_equal(b.lost, TP_EDEVICE);
    cuda_rig(state, "fail=cuMemPoolDestroy:1:999");
    open_bench(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &(struct tp_pool_cfg){.own = true}, &b.err), TP_OK);
    assert_int_equal(tp_src_pool_close(&b.src), TP_EDEVICE);
    expect_lost(&b, "cuMemPoolDestroy failed: CUDA_ERROR_UNKNOWN (");
    cuda_bench_close(&b);
    cuda_rig(state, ""); /* the context took the pool with it */
}

#define IN_RIG(test) cmocka_unit_test_setup_teardown(test, cuda_rig_setup, cuda_rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_RIG(its_table_is_sound),
        IN_RIG(put_takes_exactly_what_get_gave),
        IN_RIG(alignment_is_honoured),
        IN_RIG(a_full_device_is_data),
        IN_RIG(what_is_held_goes_back),
        IN_RIG(a_fence_passes_with_its_stream),
        IN_RIG(waiting_and_synchronising),
        IN_RIG(fences_in_every_order),
        IN_RIG(more_fences_than_events),
        IN_RIG(one_stream_can_take_every_event),
        IN_RIG(follow_orders_streams),
        IN_RIG(missing_order_is_caught),
        IN_RIG(kinds_of_streams),
        IN_RIG(the_default_stream_orders_others),
        IN_RIG(occupying),
        IN_RIG(a_pool_serves),
        IN_RIG(the_default_pool_is_left_as_it_was),
        IN_RIG(a_pool_has_a_limit),
        IN_RIG(a_foreign_address_is_refused),
        IN_RIG(a_device_without_pools),
        IN_RIG(devices_are_mapped),
        IN_RIG(devices_share_a_thread),
        IN_RIG(without_a_word_to_share),
        IN_RIG(calls_are_counted),
        IN_RIG(every_call_may_fail),
        IN_RIG(out_of_memory_anywhere),
        IN_RIG(a_device_is_lost),
        IN_RIG(queued_work_fails),
        IN_RIG(closing_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("skipped: built without the CUDA Toolkit\n");
    return 0;
}

#endif
