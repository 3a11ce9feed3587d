/* The source `cuda`: what keeps a device busy, and what that does to its queues and its time. */
#include "tests/unit/cuda_rig.h"

#ifdef TAPOOL_HAS_CUDA
#include "cuda/cuda_source.h"

TEST_ON_BENCH(occupying, cuda_rig_any(state, "step=0"), NULL)
{
    struct tp_driver_counts counts;
    const int fake = r->library != NULL; /* a real driver has no books */
    tp_addr addr = bench_get(b, MIB, 256);
    assert_int_equal(tp_src_work(&b->src, 0, addr, MIB, 0, TP_OCCUPY_NONE), TP_OK);
    assert_int_equal(cuda_rig_books(r).works, 0);
    assert_int_equal(tp_src_work(&b->src, 0, addr, MIB, 0, TP_OCCUPY_MEMSET), TP_OK);
    assert_int_equal(cuda_rig_books(r).works, fake);
    assert_int_equal(cuda_rig_books(r).modules, 0);
    /* of no bytes: loaded, run, and no work */
    assert_int_equal(tp_src_work(&b->src, 0, 0, 0, 0, TP_OCCUPY_SPIN), TP_OK);
    assert_int_equal(cuda_rig_books(r).modules, fake);
    assert_int_equal(tp_src_work(&b->src, 0, 0, 0, 0, TP_OCCUPY_MEMSET), TP_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tp_src_work(&b->src, 0, addr, 3, 1000, TP_OCCUPY_SPIN), TP_OK);
    tp_src_counts(&b->src, &counts);
    assert_int_equal(counts.works, 4);
    assert_int_equal(counts.calls, 1); /* the get: what keeps a device busy is apart */
    assert_int_equal(cuda_rig_books(r).modules, fake);
}

TEST_ON_BENCH(without_kernels_a_memset_occupies, cuda_rig(state, "missing=cuLaunchKernel"), NULL)
{
    tp_addr addr = bench_get(b, MIB, 256);
    assert_int_equal(tp_src_work(&b->src, 0, addr, MIB, 9, TP_OCCUPY_SPIN), TP_EUNSUP);
    assert_int_equal(tp_src_work(&b->src, 0, addr, MIB, 9, TP_OCCUPY_MEMSET), TP_OK);
}

/* No more works are pending in a stream than leave its queue room for what is timed. */
TEST_ON_BENCH(a_queue_does_not_fill_up, cuda_rig(state, "step=0;queue=300"), NULL)
{
    enum { WORKS = 600 };
    struct tp_driver_counts counts;
    tp_addr addr = bench_get(b, MIB, 256);
    for (int i = 0; i < WORKS; i++) {
        bench_busy(b, 1, addr, 1000);
        assert_true(cuda_rig_books(r).works_pending <= 256);
    }
    tp_src_counts(&b->src, &counts);
    assert_int_equal(counts.held_back, 3); /* with 256, 384 and 512 queued */
    assert_int_equal(counts.calls, 1);
    assert_int_equal(counts.syncs, 0);
}

/* The stream of the most work counts, with what launching its kernels adds. */
TEST_ON_BENCH(busy_time_is_asked_and_spent, cuda_rig(state, "clock=real;launch=1000000"), NULL)
{
    enum { KERNELS = 10, MS = 1000000 };
    struct tp_driver_counts counts;
    tp_src_settle(&b->src);
    tp_src_counts(&b->src, &counts);
    assert_int_equal(counts.busy_asked_ns | counts.busy_spent_ns, 0);
    tp_addr addr = bench_get(b, MIB, 256);
    bench_busy(b, 0, addr + 4096, MS);
    for (int i = 0; i < KERNELS; i++)
        bench_busy(b, 1, addr, MS);
    assert_int_equal(tp_src_work(&b->src, 2, addr + 8192, 512, 90 * MS, TP_OCCUPY_MEMSET), TP_OK);
    tp_src_settle(&b->src);
    tp_src_counts(&b->src, &counts);
    assert_int_equal(counts.busy_asked_ns, KERNELS * MS);
    assert_true(counts.busy_spent_ns >= 2 * KERNELS * MS);
    assert_int_equal(counts.works, KERNELS + 2);
    assert_int_equal(counts.held_back | counts.syncs, 0); /* nor is this wait among them */
    assert_int_equal(counts.calls, 1);
}

/* A driver that is older than the toolkit refuses what that compiled, and takes the text; one that
 * refuses both, or fails otherwise, is heard. */
TEST_IN_RIG(an_old_driver_compiles_the_kernel)
{
    static const struct {
        const char *script;
        bool good;
    } rows[] = {{"fail=cuModuleLoadData:1:200", true},  {"fail=cuModuleLoadData:1:209", true},
                {"fail=cuModuleLoadData:1:222", true},  {"fail=cuModuleLoadData:1:218", true},
                {"fail=cuModuleLoadData:*:222", false}, {"fail=cuModuleLoadData:1:719", false}};
    struct cuda_rig *r = cuda_rig(state, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cuda_bench b;
        r->script(rows[i].script);
        bench_open(&b, NULL);
        tp_addr addr = bench_get(&b, MIB, 256);
        assert_int_equal(tp_src_work(&b.src, 0, addr, MIB, 1000, TP_OCCUPY_SPIN),
                         rows[i].good ? TP_OK : TP_EDEVICE);
        if (rows[i].good)
            bench_expect_sound(&b);
        else
            bench_expect_lost(&b, "cuModuleLoadData");
        assert_int_equal(cuda_rig_books(r).works, rows[i].good);
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
