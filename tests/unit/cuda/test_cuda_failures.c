/* The source `cuda` when the driver fails: every entry point at every call, a device that is lost
 * at any moment, queued work that fails later. Nothing leaks, and the first failure is told. */
#include "tests/unit/cuda_rig.h"

#ifdef TAPOOL_HAS_CUDA
#include "cuda/driver.h"

/* A space with three units, two of which are mapped again, and one of which goes first. */
static int replay_space(struct tp_source *s)
{
    tp_addr base = 0;
    if (!tp_src_map_page(s) || tp_src_space_get(s, 64 * MIB, 2 * MIB, &base))
        return 1;
    int failed = tp_src_map(s, base, 2 * MIB, 6 * MIB);
    if (!failed)
        failed = tp_src_alias(s, base, 10 * MIB, 4 * MIB, base + 2 * MIB);
    if (!failed)
        failed = tp_src_unalias(s, base, 10 * MIB, 4 * MIB);
    if (!failed)
        failed = tp_src_unmap(s, base, 4 * MIB, 2 * MIB);
    if (!failed)
        failed = tp_src_unmap(s, base, 2 * MIB, 2 * MIB);
    if (!failed)
        failed = tp_src_unmap(s, base, 6 * MIB, 2 * MIB);
    return failed ? failed : tp_src_space_put(s, base, 64 * MIB);
}

/* One of everything. Whether all of it succeeded; a source that could not be opened says why. */
static bool replay(struct cuda_bench *b, const struct tp_source_cfg *cfg)
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
    if (aligned)
        failed |= tp_src_work(s, 1, aligned, 512, 100, TP_OCCUPY_SPIN);
    tp_src_record(s, 0, &f);
    failed |= tp_src_wait(s, &f);
    tp_src_record(s, 0, &f);
    tp_src_done(s, &f);
    failed |= tp_src_follow(s, 1, 0);
    failed |= tp_src_memory(s, &bytes, &bytes);
    failed |= range ? tp_src_put(s, range, MIB) : 0;
    failed |= replay_space(s);
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
    tp_src_drained(s, 1);
    tp_src_synced(s, 1);
    tp_src_drained(s, TP_ALL_STREAMS);
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
    tp_src_drained(&b->src, TP_ALL_STREAMS);
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
    const char *known =
        strcmp(name, "cuMemFreeAsync") == 0 ? "destroying a pool with" : "not known to be complete";
    if (cuda_rig_books(r).violations && !strstr(r->last_violation(), known))
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
        bool good = replay(&b, NULL);
        missed = good ? missed + 1 : 0; /* closing may fail too, and some failures do not matter */
        hits += !good;
        if (!b.opts) {
            assert_int_equal(b.err.status, TP_EDEVICE);
            assert_string_not_equal(b.err.text, "");
            assert_string_not_equal(b.err.hint, "");
        } else if (b.lost) {
            bench_expect_lost(&b, name);
            bench_expect_lost(&b, " failed: CUDA_ERROR_");
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

TEST_IN_RIG(every_call_may_fail)
{
    /* what `replay` does not need, or can do without */
    static const char *const unused[] = {
        "cuGetErrorName",  "cuGetErrorString", "cuCtxGetCurrent",
        "cuDeviceGetName", "cuDeviceTotalMem", "cuDevicePrimaryCtxRelease",
        "cuStreamDestroy", "cuEventDestroy",   "cuModuleUnload"};
    cuda_rig(state, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int hits = fail_each_call(state, names[i], CUDA_ERROR_UNKNOWN);
        bool used = true;
        for (size_t k = 0; k < sizeof unused / sizeof *unused; k++)
            used = used && strcmp(names[i], unused[k]) != 0;
        if (used != (hits > 0))
            fail_msg("%s was hit %d times", names[i], hits);
    }
}

/* Being full is an answer where memory is asked for, and a failure elsewhere. */
TEST_IN_RIG(out_of_memory_anywhere)
{
    static const char *const asks[] = {"cuMemAlloc", "cuMemAllocFromPoolAsync",
                                       "cuMemAddressReserve", "cuMemCreate"};
    for (int i = 0; i < 4; i++)
        for (int n = 1; n <= 3; n++) {
            char script[64];
            struct cuda_bench b;
            snprintf(script, sizeof script, "fail=%s:%d:2", asks[i], n);
            struct cuda_rig *r = cuda_rig(state, script);
            replay(&b, NULL);
            bench_expect_sound(&b);
            cuda_bench_close(&b);
            cuda_rig_no_violation(r);
            cuda_rig_balance(r);
        }
    assert_int_not_equal(fail_each_call(state, "cuEventRecord", CUDA_ERROR_OUT_OF_MEMORY), 0);
    assert_int_not_equal(fail_each_call(state, "cuStreamCreate", CUDA_ERROR_OUT_OF_MEMORY), 0);
}

/* The device goes at the n-th call, whichever that is. */
TEST_IN_RIG(a_device_is_lost)
{
    for (int n = 1; n < 1300; n += n < 80 || n > 1080 ? 1 : 101) {
        char script[32];
        struct cuda_bench b;
        snprintf(script, sizeof script, "lost=%d", n);
        struct cuda_rig *r = cuda_rig(state, script);
        if (!replay(&b, NULL) && b.opts && b.lost) {
            bench_expect_lost(&b, "CUDA_ERROR_DEVICE_UNAVAILABLE (");
            expect_silence(r, &b);
        }
        cuda_bench_close(&b);
        r->script(""); /* a block that was out went with the context */
        cuda_rig_balance(r);
    }
}

/* Work that was queued fails later: whatever is called next tells. */
TEST_IN_RIG(queued_work_fails)
{
    for (int n = 1; n <= 2; n++) {
        char script[48];
        struct cuda_bench b;
        snprintf(script, sizeof script, "async=%d:719;step=0", n);
        struct cuda_rig *r = cuda_rig(state, script);
        bench_open(&b, NULL);
        tp_addr addr = bench_get(&b, MIB, 256);
        bench_busy(&b, 0, addr, 1000);
        bench_busy(&b, 0, addr, 1000);
        bench_expect_sound(&b);
        tp_src_synced(&b.src, 0);
        bench_expect_lost(&b, "cuStreamSynchronize failed: CUDA_ERROR_LAUNCH_FAILED (");
        bench_expect_lost(&b, "; the device is lost or work that was queued before failed");
        expect_silence(r, &b);
        cuda_bench_close(&b);
        cuda_rig_balance(r);
    }
    struct cuda_rig *r = cuda_rig(state, "async=1:700;step=0");
    struct cuda_bench b;
    bench_open(&b, NULL);
    tp_addr addr = bench_get(&b, MIB, 256);
    bench_busy(&b, 0, addr, 1000);
    struct tp_fence f = bench_record(&b, 0);
    assert_false(tp_src_done(&b.src, &f));
    bench_expect_sound(&b);
    r->advance(1000);
    assert_false(tp_src_done(&b.src, &f));
    bench_expect_lost(&b, "cuEventQuery failed: CUDA_ERROR_ILLEGAL_ADDRESS (");
    assert_int_equal(tp_src_wait(&b.src, &f), TP_EDEVICE);
    assert_int_equal(tp_src_put(&b.src, addr, MIB), TP_EDEVICE);
    cuda_bench_close(&b);
}

/* What fails while closing is told to whoever asked to know. */
TEST_IN_RIG(closing_tells)
{
    cuda_rig(state, "async=1:719;step=0");
    struct cuda_bench b;
    bench_open(&b, NULL);
    tp_addr addr = bench_get(&b, MIB, 256);
    bench_busy(&b, 0, addr, 1000);
    cuda_bench_close(&b);
    assert_int_equal(b.lost, TP_EDEVICE);
    cuda_rig(state, "fail=cuMemPoolDestroy:1:999");
    bench_open(&b, NULL);
    assert_int_equal(tp_src_pool_open(&b.src, &(struct tp_pool_cfg){.own = true}, &b.err), TP_OK);
    assert_int_equal(tp_src_pool_close(&b.src), TP_EDEVICE);
    bench_expect_lost(&b, "cuMemPoolDestroy failed: CUDA_ERROR_UNKNOWN (");
    cuda_bench_close(&b);
    cuda_rig(state, "fail=cuEventRecord:1:2"); /* no work of before: the call itself is refused */
    bench_open(&b, NULL);
    struct tp_fence f;
    tp_src_record(&b.src, 0, &f);
    assert_int_equal(f.serial, 0);
    bench_expect_lost(&b, "cuEventRecord failed: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    assert_null(strstr(b.err.text, "queued before"));
    cuda_bench_close(&b);
    cuda_rig(state, ""); /* the context took the pool with it */
}

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#endif
