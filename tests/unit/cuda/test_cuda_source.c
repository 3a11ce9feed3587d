/* The source `cuda`: strict ranges, order that is really made, pools that are left as they were
 * found, several devices, counts. */
#include "tests/unit/cuda_rig.h"

#ifdef TAPOOL_HAS_CUDA
#include "cuda/cuda_source.h"
#include "cuda/driver.h"

/* ---- ranges ---- */

TEST_IN_RIG(its_table_is_sound)
{
    assert_int_equal(tp_source_check(&tp_source_cuda, NULL), TP_OK);
    assert_true(tp_source_cuda.flags & TP_SRC_DEVICE);
}

TEST_ON_BENCH(put_takes_exactly_what_get_gave, cuda_rig(state, NULL), NULL)
{
    assert_int_equal(b->src.page, 512);
    assert_true(tp_src_capacity(&b->src) > 0);
    tp_addr a = bench_get(b, 16384, 256), c = bench_get(b, 512, 256), gone = a;
    assert_int_equal(tp_src_put(&b->src, a, 512), TP_EINVAL);
    assert_int_equal(tp_src_put(&b->src, a + 512, 16384 - 512), TP_EINVAL);
    assert_int_equal(tp_src_put(&b->src, 0, 512), TP_EINVAL);
    bench_put(b, a, 16384);
    assert_int_equal(tp_src_put(&b->src, gone, 16384), TP_EINVAL);
    bench_put(b, c, 512);
}

TEST_ON_BENCH(alignment_is_honoured, cuda_rig(state, NULL), NULL)
{
    tp_addr addr[24];
    for (int log2 = 0; log2 < 24; log2++) {
        bench_get(b, 512, 1); /* so that nothing is aligned by chance; freed by fini */
        addr[log2] = bench_get(b, 1536, UINT64_C(1) << log2);
        assert_int_equal(addr[log2] % (UINT64_C(1) << log2), 0);
        assert_int_equal(tp_src_work(&b->src, 0, addr[log2], 1536, 0, TP_OCCUPY_MEMSET), TP_OK);
    }
    for (int log2 = 23; log2 >= 0; log2--)
        bench_put(b, addr[log2], 1536);
    assert_int_equal(tp_src_put(&b->src, addr[23], 1536), TP_EINVAL);
    tp_addr none;
    assert_int_equal(tp_src_get(&b->src, 512, UINT64_C(1) << 62, &none), TP_EOOM);
    bench_expect_sound(b);
    if (r->library)
        assert_int_equal(cuda_rig_books(r).ranges, r->before.ranges + 24);
}

TEST_ON_BENCH(a_full_device_is_data, cuda_rig_any(state, "memory=64MiB"), NULL)
{
    uint64_t free_bytes, total;
    tp_addr addr = 1;
    assert_int_equal(tp_src_memory(&b->src, &free_bytes, &total), TP_OK);
    assert_true(!r->library || (total == 64 * MIB && free_bytes == tp_src_capacity(&b->src)));
    assert_true(free_bytes <= total);
    const uint64_t most = free_bytes / (8 * MIB) * (8 * MIB), half = most / 2, more = most / 4 * 3;
    assert_int_equal(tp_src_get(&b->src, 2 * total, 256, &addr), TP_EOOM);
    assert_int_equal(addr, 0);
    tp_addr a = bench_get(b, half, 256);
    assert_int_equal(tp_src_get(&b->src, more, 256, &addr), TP_EOOM);
    assert_int_equal(tp_src_memory(&b->src, &free_bytes, &total), TP_OK);
    assert_true(free_bytes < more);
    bench_put(b, a, half);
    bench_put(b, bench_get(b, more, 256), more);
}

/* A driver may answer such a size with something else than out of memory, which would lose it. */
TEST_ON_BENCH(more_than_a_device_has_is_out_of_memory, cuda_rig(state, "memory=64MiB"), NULL)
{
    const struct tp_pool_cfg pool = {.own = true};
    tp_addr addr = 1, space;
    assert_int_equal(tp_src_pool_open(&b->src, &pool, &b->err), TP_OK);
    assert_int_equal(tp_src_space_get(&b->src, 96 * MIB, 96 * MIB, &space), TP_OK);
    uint64_t calls = cuda_rig_books(r).calls;
    assert_int_equal(tp_src_get(&b->src, 64 * MIB + 512, 256, &addr), TP_EOOM);
    assert_int_equal(addr, 0);
    addr = 1;
    assert_int_equal(tp_src_get_async(&b->src, 64 * MIB + 1, 0, &addr), TP_EOOM);
    assert_int_equal(addr, 0);
    assert_int_equal(tp_src_get_async(&b->src, UINT64_C(1) << 60, 0, &addr), TP_EOOM);
    assert_int_equal(tp_src_map(&b->src, space, 0, 96 * MIB), TP_EOOM);
    assert_int_equal(cuda_rig_books(r).calls, calls); /* none of them reached the driver */
    assert_int_equal(tp_src_space_put(&b->src, space, 96 * MIB), TP_OK);
}

/* What the driver takes for streams, and for the kernel of --occupy spin, no strategy can have. */
TEST_IN_RIG(the_capacity_is_what_is_left)
{
    cuda_rig(state, "memory=64MiB;own=2MiB");
    struct cuda_bench b;
    uint64_t free_bytes, total;
    bench_open(&b, NULL); /* three streams */
    assert_int_equal(tp_src_capacity(&b.src), 58 * MIB);
    assert_int_equal(tp_src_work(&b.src, 0, 0, 0, 0, TP_OCCUPY_SPIN), TP_OK);
    assert_int_equal(tp_src_capacity(&b.src), 56 * MIB);
    assert_int_equal(tp_src_memory(&b.src, &free_bytes, &total), TP_OK);
    assert_int_equal(free_bytes, 56 * MIB);
    bench_get(&b, 8 * MIB, 256);
    assert_int_equal(tp_src_work(&b.src, 0, 0, 0, 0, TP_OCCUPY_SPIN), TP_OK);
    assert_int_equal(tp_src_capacity(&b.src), 56 * MIB); /* what is held is not lost */
    bench_expect_sound(&b);
    cuda_bench_close(&b);
    cuda_rig(state, "fail=cuMemGetInfo:1:999");
    assert_int_equal(cuda_bench_open(&b, NULL, NULL), TP_EDEVICE);
    assert_non_null(strstr(b.err.text, "cuMemGetInfo failed"));
}

TEST_IN_RIG(what_is_held_goes_back)
{
    struct cuda_rig *r = cuda_rig(state, NULL);
    struct cuda_bench b;
    bench_open(&b, NULL);
    for (int i = 0; i < 100; i++)
        bench_get(&b, 512 * (uint64_t)(i + 1), i % 3 ? 256 : 8 * MIB);
    bench_record(&b, 1);
    cuda_bench_close(&b);
    cuda_rig_balance(r);
}

/* ---- order ---- */

static uint64_t syncs_of(struct cuda_bench *b)
{
    struct tp_driver_counts counts;
    tp_src_counts(&b->src, &counts);
    return counts.syncs;
}

/* The driver's own free need not wait. A stream whose work has been waited for is not waited for
 * again. */
TEST_ON_BENCH(a_put_waits_for_work, cuda_rig_any(state, "step=0"), NULL)
{
    tp_addr busy = bench_get(b, MIB, 256), idle = bench_get(b, MIB, 256);
    bench_put(b, idle, MIB);
    assert_int_equal(syncs_of(b), 0);
    bench_busy(b, 0, busy, 1000);
    bench_busy(b, 1, busy + 4096, 1000);
    struct tp_fence f = bench_record(b, 0);
    assert_int_equal(tp_src_wait(&b->src, &f), TP_OK);
    assert_int_equal(syncs_of(b), 1);
    bench_put(b, busy, MIB); /* stream 1 is at work still */
    assert_int_equal(syncs_of(b), 2);
    busy = bench_get(b, MIB, 256);
    bench_busy(b, 0, busy, 1000);
    f = bench_record(b, 0);
    bench_busy(b, 0, busy, 1000); /* behind the fence */
    assert_int_equal(tp_src_wait(&b->src, &f), TP_OK);
    f = bench_record(b, 0);
    assert_int_equal(syncs_of(b), 3);
    assert_int_equal(tp_src_wait(&b->src, &f), TP_OK);
    bench_put(b, busy, MIB);
    assert_int_equal(syncs_of(b), 4);
    cuda_rig_no_violation(r);
}

TEST_ON_BENCH(follow_orders_streams, cuda_rig(state, "step=0"), NULL)
{
    tp_addr addr = bench_get(b, MIB, 256);
    struct tp_driver_counts counts;
    bench_busy(b, 0, addr, 1000);
    assert_int_equal(tp_src_follow(&b->src, 0, 0), TP_OK);
    tp_src_counts(&b->src, &counts);
    assert_int_equal(counts.event_waits, 0);
    assert_int_equal(tp_src_follow(&b->src, 1, 0), TP_OK);
    bench_busy(b, 1, addr, 1000);
    cuda_rig_no_violation(r);
    struct tp_fence f = bench_record(b, 1);
    r->advance(1500);
    assert_false(tp_src_done(&b->src, &f));
    tp_src_counts(&b->src, &counts);
    assert_int_equal(counts.event_waits, 1);
}

/* Streams wait in a row, each behind the last. On the legacy default stream this is so without a
 * word: others wait for it, and it for them. */
TEST_IN_RIG(streams_in_a_row_take_their_times_together)
{
    static const char *const specs[] = {NULL, "streams=default"};
    static const uint16_t rows[2][3] = {{0, 1, 2}, {1, 0, 2}};
    struct cuda_rig *r = cuda_rig_any(state, "clock=real");
    for (int i = 0; i < 2; i++) {
        struct cuda_bench b;
        bench_open(&b, specs[i]);
        tp_addr addr = bench_get(&b, MIB, 256);
        uint64_t began = tp_wall_ns();
        for (unsigned s = 0; s < 3; s++) {
            if (s && !specs[i])
                assert_int_equal(tp_src_follow(&b.src, rows[i][s], rows[i][s - 1]), TP_OK);
            bench_long(&b, rows[i][s], addr);
        }
        struct tp_fence f = bench_record(&b, 2);
        bench_expect_pending(&b, &f, began, 3);
        bench_until_done(&b, &f);
        assert_true(bench_is_past(began, 3));
        bench_expect_sound(&b);
        cuda_bench_close(&b);
        cuda_rig_no_violation(r);
    }
}

/* What the fake is for: without the order that `follow` makes it complains. */
TEST_ON_BENCH(missing_order_is_caught, cuda_rig(state, "step=0"), NULL)
{
    const struct tp_pool_cfg own = {.own = true};
    tp_addr addr;
    assert_int_equal(tp_src_pool_open(&b->src, &own, NULL), TP_OK);
    assert_int_equal(tp_src_get_async(&b->src, MIB, 0, &addr), TP_OK);
    bench_busy(b, 1, addr, 1000); /* not after the allocation */
    cuda_rig_expect_violation(r, "not ordered after");
    tp_src_synced(&b->src, TP_ALL_STREAMS);
    assert_int_equal(tp_src_put_async(&b->src, addr, 0), TP_OK);
    cuda_rig_no_violation(r);
    bench_busy(b, 0, addr, 1000); /* after the free */
    cuda_rig_expect_violation(r, "");
    assert_int_equal(tp_src_pool_close(&b->src), TP_OK);
    tp_addr range = bench_get(b, MIB, 256);
    bench_busy(b, 0, range, 1000);
    bench_busy(b, 1, range, 1000); /* a race */
    cuda_rig_expect_violation(r, "races");
}

TEST_IN_RIG(kinds_of_streams)
{
    static const struct {
        const char *spec;
        uint64_t made;
    } kinds[] = {{"streams=non-blocking", 3}, {"streams=default", 2}, {"streams=per-thread", 2}};
    struct cuda_rig *r = cuda_rig(state, NULL);
    for (int i = 0; i < 3; i++) {
        struct cuda_bench b;
        bench_open(&b, kinds[i].spec);
        if (r->library)
            assert_int_equal(cuda_rig_books(r).streams, r->before.streams + kinds[i].made);
        tp_addr addr = bench_get(&b, MIB, 256);
        for (uint16_t s = 0; s < 3; s++) {
            assert_int_equal(tp_src_work(&b.src, s, addr, MIB, 0, TP_OCCUPY_MEMSET), TP_OK);
            bench_record(&b, s);
            assert_int_equal(tp_src_follow(&b.src, (uint16_t)((s + 1) % 3), s), TP_OK);
            tp_src_drained(&b.src, s);
            assert_int_equal(cuda_rig_books(r).works_pending, 0);
            tp_src_synced(&b.src, s);
        }
        bench_expect_sound(&b);
        cuda_bench_close(&b);
    }
}

/* On the legacy default stream others wait for it, and it for them. */
TEST_ON_BENCH(the_default_stream_orders_others, cuda_rig(state, "step=0"), "streams=default")
{
    tp_addr addr = bench_get(b, MIB, 256);
    bench_busy(b, 1, addr, 1000);
    bench_busy(b, 0, addr, 1000);
    bench_busy(b, 2, addr, 1000);
    cuda_rig_no_violation(r);
}

/* ---- the driver's pool ---- */

TEST_IN_RIG(a_pool_serves)
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
        bench_open(&b, NULL);
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
        bench_expect_sound(&b);
        cuda_bench_close(&b); /* which closes the pool */
    }
}

TEST_IN_RIG(an_old_release_may_not_reuse_opportunistically)
{
    struct tp_pool_cfg cfg = {.own = true, .reuse_allow_opportunistic = true};
    cuda_rig(state, "");
    struct cuda_bench b;
    bench_open(&b, NULL);
    struct cuda_source *s = b.src.state;
    assert_string_equal(s->gpu.driver.release, ""); /* the fake has no module */
    snprintf(s->gpu.driver.release, sizeof s->gpu.driver.release, "470.57.02");
    assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_EDEVICE);
    assert_non_null(strstr(b.err.text, "the pools of driver 470.57.02 corrupt memory"));
    cfg.reuse_allow_opportunistic = false;
    assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
    cuda_bench_close(&b);
}

/* What the default pool is set to, in a context that is held. */
static void read_default_pool(cuuint64_t *threshold, int flags[3])
{
    struct cuda_driver d;
    CUmemoryPool pool;
    CUcontext context;
    assert_int_equal(tp_cuda_driver_load(&d, NULL), TP_OK);
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

TEST_IN_RIG(the_default_pool_is_left_as_it_was)
{
    cuda_rig_any(state, "threshold=3MiB");
    struct tp_err err = {0};
    struct tp_cuda *c;
    cuuint64_t threshold, before;
    int flags[3], flags_before[3];
    assert_int_equal(tp_cuda_open(&c, &err), TP_OK);
    assert_int_equal(tp_cuda_hold(c, 0, &err), TP_OK); /* a default pool lives as long as this */
    read_default_pool(&before, flags_before);
    for (int only = 0; only < 3; only++) {
        const struct tp_pool_cfg cfg = {.release_threshold = 5 * MIB,
                                        .reuse_follow_event_dependencies = only == 0,
                                        .reuse_allow_opportunistic = only == 1,
                                        .reuse_allow_internal_dependencies = only == 2};
        struct cuda_bench b;
        bench_open(&b, NULL);
        assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_OK);
        read_default_pool(&threshold, flags);
        assert_int_equal(threshold, 5 * MIB);
        for (int i = 0; i < 3; i++)
            assert_int_equal(flags[i] != 0, i == only);
        assert_int_equal(tp_src_pool_close(&b.src), TP_OK);
        cuda_bench_close(&b);
        read_default_pool(&threshold, flags);
        assert_int_equal(threshold, before);
        assert_memory_equal(flags, flags_before, sizeof flags);
    }
    tp_cuda_close(c);
}

TEST_ON_BENCH(a_pool_has_a_limit, cuda_rig_any(state, "memory=256MiB"), NULL)
{
    const struct tp_pool_cfg cfg = {.own = true, .max_size = 64 * MIB};
    tp_addr addr, more;
    assert_int_equal(tp_src_pool_open(&b->src, &cfg, &b->err), TP_OK);
    assert_int_equal(tp_src_get_async(&b->src, 48 * MIB, 0, &addr), TP_OK);
    assert_int_equal(tp_src_get_async(&b->src, 48 * MIB, 0, &more), TP_EOOM);
    assert_int_equal(tp_src_put_async(&b->src, addr, 0), TP_OK);
    assert_int_equal(tp_src_pool_close(&b->src), TP_OK);
}

TEST_ON_BENCH(an_old_driver_limits_no_pool, cuda_rig(state, "version=12010"), NULL)
{
    const struct tp_pool_cfg cfg = {.own = true, .max_size = 64 * MIB};
    assert_int_equal(tp_src_pool_open(&b->src, &cfg, &b->err), TP_EDEVICE);
    assert_non_null(strstr(b->err.text, "'max_size' needs CUDA 12.2"));
}

TEST_ON_BENCH(a_foreign_address_is_refused, cuda_rig(state, ""), NULL)
{
    const struct tp_pool_cfg cfg = {.own = true};
    assert_int_equal(tp_src_pool_open(&b->src, &cfg, &b->err), TP_OK);
    assert_int_equal(tp_src_put_async(&b->src, 0, 0), TP_EINVAL);
    cuda_rig_no_violation(r);
    assert_int_equal(tp_src_put_async(&b->src, 4096, 0), TP_EINVAL);
    cuda_rig_expect_violation(r, "");
}

TEST_IN_RIG(a_device_without_pools)
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
        bench_open(&b, NULL);
        assert_int_equal(tp_src_pool_open(&b.src, &cfg, &b.err), TP_EDEVICE);
        assert_string_equal(b.err.text, scripts[i][1]);
        assert_non_null(strstr(b.err.hint, "'-s stream-pool'"));
        bench_expect_sound(&b);
        bench_put(&b, bench_get(&b, 512, 256), 512);
        cuda_bench_close(&b);
    }
}

/* ---- several devices ---- */

TEST_IN_RIG(memory_is_mapped_in_units)
{
    struct cuda_rig *r = cuda_rig_any(state, "memory=64MiB");
    struct cuda_bench b;
    struct tp_driver_counts before, after;
    tp_addr base = 0, other = 0;
    bench_open(&b, NULL);
    uint64_t page = tp_src_map_page(&b.src);
    assert_true(page && 20 * MIB % page == 0);
    assert_int_equal(tp_src_space_get(&b.src, 200 * MIB, 20 * MIB, &base), TP_OK);
    tp_src_counts(&b.src, &before);
    assert_int_equal(tp_src_map(&b.src, base, 20 * MIB, 40 * MIB), TP_OK);
    tp_src_counts(&b.src, &after);
    assert_int_equal(after.calls - before.calls, 2 + 2 + 1); /* made, placed, may be used */
    bench_busy(&b, 0, base + 30 * MIB, 1000);                /* across two units */
    tp_src_synced(&b.src, 0);
    if (r->library) /* a real device has more */
        assert_int_equal(tp_src_map(&b.src, base, 80 * MIB, 40 * MIB), TP_EOOM);
    assert_int_equal(tp_src_unmap(&b.src, base, 20 * MIB, 20 * MIB), TP_OK);
    tp_src_counts(&b.src, &before);
    /* synced, refused at the second unit, unmapped and released */
    assert_int_equal(before.calls - after.calls, r->library ? 1 + 2 + 2 : 1 + 2);
    assert_int_equal(tp_src_map(&b.src, base, 80 * MIB, 20 * MIB), TP_OK);
    assert_int_equal(tp_src_space_get(&b.src, 4 * MIB, MIB, &other), TP_EINVAL);
    assert_int_equal(tp_src_space_put(&b.src, base, 200 * MIB), TP_EINVAL);
    bench_expect_sound(&b);
    cuda_bench_close(&b); /* gives back what is mapped */
    cuda_rig_no_violation(r);
    cuda_rig_balance(r);
}

TEST_IN_RIG(one_handle_is_mapped_at_two_addresses)
{
    struct cuda_rig *r = cuda_rig_any(state, "memory=64MiB");
    struct cuda_bench b;
    struct tp_driver_counts before, after;
    tp_addr base = 0, twice = 0;
    bench_open(&b, NULL);
    assert_int_equal(tp_src_space_get(&b.src, 40 * MIB, 2 * MIB, &base), TP_OK);
    assert_int_equal(tp_src_space_get(&b.src, 40 * MIB, 2 * MIB, &twice), TP_OK);
    assert_int_equal(tp_src_map(&b.src, base, 0, 8 * MIB), TP_OK);
    tp_src_counts(&b.src, &before);
    assert_int_equal(tp_src_alias(&b.src, twice, 2 * MIB, 6 * MIB, base), TP_OK);
    assert_int_equal(tp_src_alias(&b.src, twice, 0, 2 * MIB, base + 6 * MIB), TP_OK);
    tp_src_counts(&b.src, &after);
    assert_int_equal(after.calls - before.calls, 3 + 1 + 1 + 1); /* placed, may be used */
    bench_busy(&b, 0, twice + MIB, 5000);
    tp_src_synced(&b.src, 0);
    assert_int_equal(tp_src_unmap(&b.src, base, 0, 2 * MIB), TP_EINVAL);
    assert_int_equal(tp_src_unalias(&b.src, twice, 2 * MIB, 6 * MIB), TP_OK);
    assert_int_equal(tp_src_unmap(&b.src, base, 0, 2 * MIB), TP_OK);
    assert_int_equal(tp_src_space_put(&b.src, twice, 40 * MIB), TP_EINVAL);
    bench_expect_sound(&b);
    cuda_bench_close(&b); /* gives back what is mapped, once and twice */
    cuda_rig_no_violation(r);
    cuda_rig_balance(r);
}

TEST_ON_BENCH(a_device_that_maps_nothing, cuda_rig(state, "vmm=0"), NULL)
{
    tp_addr base = 0;
    assert_int_equal(tp_src_map_page(&b->src), 0);
    assert_int_equal(tp_src_space_get(&b->src, 20 * MIB, 2 * MIB, &base), TP_EUNSUP);
}

TEST_IN_RIG(devices_are_mapped)
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
         "--map-device 2=0 replays it on device 0; --device 0 replays only that device of the "
         "trace"},
        {"map={0=5}", 0,
         "device 0 of the trace maps to CUDA device 5, and this machine has 2 CUDA "
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
TEST_IN_RIG(devices_share_a_thread)
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
        tp_addr addr = bench_get(turn, MIB, 256);
        bench_busy(turn, 0, addr, 10);
        bench_record(turn, 0);
        bench_put(turn, addr, MIB);
    }
    tp_src_counts(&b[0].src, &counts);
    assert_int_equal(counts.calls, 10 * 4 + 5); /* the context once a turn */
    assert_int_equal(counts.syncs, 10);
    cuda_bench_close(&b[0]);
    bench_put(&b[1], bench_get(&b[1], MIB, 256), MIB);
    bench_expect_sound(&b[1]);
    cuda_bench_close(&b[1]);
    assert_null(current);
    cuda_rig_no_violation(r);
}

TEST_IN_RIG(without_a_word_to_share)
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

TEST_IN_RIG(calls_are_counted)
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
        bench_put(&b, bench_get(&b, MIB, 256), MIB);
        struct tp_fence f = bench_record(&b, 0);
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

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#endif
