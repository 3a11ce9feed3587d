/* The fake CUDA driver against its contract, tests/fake_libcuda/fake_libcuda.h: memory, order,
 * contexts. Beside each violation stands the same program in order, which is none. With `step=0`
 * nothing is complete by itself. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TAPOOL_FAKE_CUDA_PATH
#include "tests/unit/fake_cuda_rig.h"

#include <pthread.h>

enum { MIB = 1 << 20 };

/* --- ranges ----------------------------------------------------------------------------------- */

TEST(test_ranges_share_granules)
{
    CUdeviceptr small[3];
    begin("memory=64MiB");
    for (int i = 0; i < 3; i++)
        small[i] = range(600 << 10);
    assert_int_equal(free_memory(), 62 * MIB);
    CUdeviceptr more = range(600 << 10), large = range(3 * MIB);
    assert_int_equal(free_memory(), 56 * MIB); /* another granule, and two */
    assert_true(small[0] % 512 == 0 && small[1] >= small[0] + (600 << 10));
    assert_int_equal(books().ranges, 5);
    assert_int_equal(books().range_bytes, 4 * (600 << 10) + 3 * MIB);
    ok(cu.cuMemFree(more));
    ok(cu.cuMemFree(large));
    for (int i = 0; i < 3; i++)
        ok(cu.cuMemFree(small[i]));
    assert_int_equal(free_memory(), 64 * MIB);
    end(0);
}

TEST(test_ranges_run_out)
{
    CUdeviceptr p = 1;
    begin("memory=8MiB");
    CUdeviceptr a = range(6 * MIB);
    range(1000);
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&p, 2 * MIB));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc(&p, 8 * MIB + 1));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc(&p, SIZE_MAX));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAlloc(&p, 0));
    range(1000); /* there is room in the granule */
    fill(a, 6 * MIB, NULL);
    drop_range(a);
    a = range(6 * MIB);
    end(0);
}

TEST(test_frees_of_what_was_not_given)
{
    begin(NULL);
    CUdeviceptr a = range(4096), b = block(4096, NULL);
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(a + 512));
    violated(1, "not given");
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(4096));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(a, NULL));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(b + 1, NULL));
    violations(4);
    ok(cu.cuMemFree(a));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFree(a));
    ok(cu.cuMemFreeAsync(b, NULL));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemFreeAsync(b, NULL));
    end(6);
}

/* --- work on bytes ---------------------------------------------------------------------------- */

TEST(test_work_on_live_bytes_only)
{
    begin(NULL);
    CUdeviceptr a = range(4096);
    fill(a, 4096, NULL);
    fill(a + 4095, 1, NULL);
    violations(0);
    fill(a + 4095, 2, NULL);
    violated(1, "no live range");
    fill(a - 1, 1, NULL);
    violations(2);
    drop_range(a);
    fill(a, 1, NULL);
    violated(3, "no live range");
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemsetD32Async(a + 2, 0, 1, NULL));
    end(3);
}

TEST(test_free_of_a_range_waits_for_nothing)
{
    begin("step=0");
    CUstream s = other_stream();
    CUdeviceptr a = range(4096), b = range(4096);
    fill(a, 4096, s);
    ok(cu.cuMemFree(b));
    assert_int_equal(books().works_pending, 1);
    violations(0);
    ok(cu.cuMemFree(a));
    violated(1, "not ordered after the work");
    end(1);
}

enum order_by {
    NOT_AT_ALL,
    BY_EVENT,
    BY_STREAM,
    BY_CONTEXT,
    BY_EVENT_SYNC,
    BY_QUERY,
    BY_QUERY_STREAM
};

static void put_in_order(enum order_by how, CUstream earlier, CUstream later, CUevent e)
{
    switch (how) {
    case NOT_AT_ALL:
        ok(cu.cuEventRecord(e, earlier));
        says(CUDA_ERROR_NOT_READY, cu.cuEventQuery(e));
        says(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(earlier));
        break;
    case BY_EVENT:
        ok(cu.cuEventRecord(e, earlier));
        ok(cu.cuStreamWaitEvent(later, e, 0));
        break;
    case BY_STREAM:
        ok(cu.cuStreamSynchronize(earlier));
        break;
    case BY_CONTEXT:
        ok(cu.cuCtxSynchronize());
        break;
    case BY_EVENT_SYNC:
        ok(cu.cuEventRecord(e, earlier));
        ok(cu.cuEventSynchronize(e));
        break;
    case BY_QUERY:
        ok(cu.cuEventRecord(e, earlier));
        cu.fake_cuda_advance(1000000);
        ok(cu.cuEventQuery(e));
        break;
    case BY_QUERY_STREAM:
        cu.fake_cuda_advance(1000000);
        ok(cu.cuStreamQuery(earlier));
        break;
    }
}

TEST(test_races)
{
    for (int how = NOT_AT_ALL; how <= BY_QUERY_STREAM; how++) {
        begin("step=0");
        CUstream a = other_stream(), b = other_stream();
        CUevent e = event();
        CUdeviceptr p = range(8192);
        fill(p, 8192, a);
        put_in_order((enum order_by)how, a, b, e);
        fill(p + 4096, 100, b);
        if (how == NOT_AT_ALL)
            violated(1, "races");
        drop_stream(b);
        assert_int_equal(books().works_pending, how == NOT_AT_ALL); /* b waited for a */
        end(how == NOT_AT_ALL);
    }
}

TEST(test_races_are_of_bytes)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr p = range(8192);
    fill(p, 4096, a);
    fill(p + 4096, 4096, b);
    fill(p + 1000, 1000, a); /* cuts its own use in three */
    violations(0);
    fill(p + 4095, 1, b);
    violated(1, "races");
    static const unsigned parts[] = {1500, 10, 999, 2500};
    for (unsigned i = 0; i < 4; i++) {
        fill(p + parts[i], 1, b);
        violations(2 + i);
    }
    order(a, b);
    fill(p, 8192, b);
    end(5);
}

/* Many uses of one range: what is known to be complete is forgotten, the rest is not. */
TEST(test_many_uses)
{
    enum { N = 500 };
    begin("step=0");
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr p = range(N * 16);
    for (unsigned i = 0; i < N; i++) {
        fill(p + i * 16, 16, a);
        if (i == N / 2)
            ok(cu.cuStreamSynchronize(a));
    }
    for (unsigned i = 0; i < N; i++)
        fill(p + i * 16, 16, b);
    violations(N - N / 2 - 1);
    end(N - N / 2 - 1);
}

/* That the time has passed is not order. */
TEST(test_luck_is_no_order)
{
    begin(NULL);
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr p = range(4096);
    fill(p, 4096, a);
    cu.fake_cuda_advance(1000000);
    fill(p, 4096, b);
    violated(1, "races");
    end(1);
}

/* An event holds what was before its record, not what came after. */
TEST(test_an_event_is_a_moment)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream(), c = other_stream();
    CUevent e = event(), f = event();
    CUdeviceptr p = range(4096), q = range(4096);
    fill(p, 4096, a);
    ok(cu.cuEventRecord(e, a));
    fill(q, 4096, a);
    ok(cu.cuStreamWaitEvent(b, e, 0));
    fill(p, 4096, b);
    ok(cu.cuEventRecord(f, b));
    ok(cu.cuStreamWaitEvent(c, f, 0)); /* what b waited for, too */
    fill(p, 4096, c);
    violations(0);
    fill(q, 4096, c);
    violated(1, "races");
    ok(cu.cuStreamWaitEvent(c, event(), 0)); /* never recorded: nothing to wait for */
    ok(cu.cuCtxSynchronize());
    assert_int_equal(books().event_records, 2);
    assert_int_equal(books().event_waits, 3);
    ok(cu.cuEventDestroy(e));
    ok(cu.cuEventDestroy(f));
    drop_stream(a);
    drop_stream(b);
    drop_stream(c);
    drop_range(p);
    drop_range(q);
    ok(cu.cuDevicePrimaryCtxRelease(0));
    assert_int_equal(books().events, 1); /* the one that nobody has a name for */
    violations(1);
}

/* Recorded again, it holds nothing of the first time. */
TEST(test_an_event_recorded_again)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream(), c = other_stream();
    CUevent e = event();
    CUdeviceptr p = range(4096);
    fill(p, 4096, a);
    ok(cu.cuEventRecord(e, a));
    ok(cu.cuEventRecord(e, b));
    ok(cu.cuStreamWaitEvent(c, e, 0));
    fill(p, 4096, c);
    violated(1, "races");
    end(1);
}

/* --- blocks ----------------------------------------------------------------------------------- */

TEST(test_blocks_after_their_allocation)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr p = block(4096, a), q = block(4096, a);
    fill(p, 4096, a);
    fill(q, 4096, b);
    violated(1, "after their allocation");
    order(a, b);
    fill(p, 4096, b);
    violations(1);
    order(b, a);
    ok(cu.cuMemFreeAsync(p, a));
    ok(cu.cuMemFreeAsync(q, a));
    p = block(4096, a);
    ok(cu.cuMemFreeAsync(p, b));
    violated(2, "after its allocation");
    end(2);
}

TEST(test_blocks_before_their_free)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr p = block(4096, a), q = block(4096, a);
    order(a, b);
    fill(p, 4096, b);
    fill(q, 4096, b);
    ok(cu.cuMemFreeAsync(p, a));
    violated(1, "not ordered after the work");
    order(b, a);
    ok(cu.cuMemFreeAsync(q, a));
    violations(1);
    fill(q, 4096, a);
    violated(2, "no live range");
    end(2);
}

/* cuMemFree of a block waits for nothing. */
TEST(test_plain_free_of_a_block)
{
    begin("step=0");
    CUdeviceptr p = block(4096, NULL), q = block(4096, NULL);
    fill(p, 4096, NULL);
    ok(cu.cuMemFree(p));
    violations(2); /* neither its allocation nor the work is known to be complete */
    fill(q, 4096, NULL);
    end(2);
}

/* --- default streams -------------------------------------------------------------------------- */

/* The legacy stream and blocking ones wait for each other; non-blocking ones do not. */
TEST(test_legacy_stream)
{
    begin("step=0");
    CUstream blocking = stream(CU_STREAM_DEFAULT), apart = other_stream();
    CUdeviceptr p = range(4096);
    fill(p, 4096, blocking);
    fill(p, 4096, NULL);
    fill(p, 4096, blocking);
    fill(p, 4096, CU_STREAM_LEGACY);
    fill(p, 4096, CU_STREAM_PER_THREAD);
    fill(p, 4096, NULL);
    violations(0);
    fill(p, 4096, apart);
    violated(1, "races");
    fill(p, 4096, NULL);
    violations(2);
    end(2);
}

static void *fill_per_thread(void *at)
{
    CUcontext context;
    says(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize()); /* each thread has a current one */
    ok(cu.cuDevicePrimaryCtxRetain(&context, 0));
    ok(cu.cuCtxSetCurrent(context));
    fill(*(CUdeviceptr *)at, 4096, CU_STREAM_PER_THREAD);
    ok(cu.cuDevicePrimaryCtxRelease(0));
    return NULL;
}

TEST(test_stream_per_thread)
{
    pthread_t thread;
    begin("step=0");
    CUdeviceptr p = range(4096);
    CUevent e = event();
    fill(p, 4096, CU_STREAM_PER_THREAD);
    ok(cu.cuMemsetD8Async_ptsz(p, 0, 4096, NULL)); /* the same one */
    violations(0);
    assert_int_equal(pthread_create(&thread, NULL, fill_per_thread, &p), 0);
    pthread_join(thread, NULL);
    violated(2, "races"); /* after the missing context */
    ok(cu.cuEventRecord_ptsz(e, NULL));
    ok(cu.cuEventSynchronize(e));
    end(2);
}

/* --- destroying ------------------------------------------------------------------------------- */

static CUmodule spin_module(CUfunction *function)
{
    CUmodule module;
    ok(cu.cuModuleLoadData(&module, ".version 7.0\n.entry tapool_spin"));
    ok(cu.cuModuleGetFunction(function, module, "tapool_spin"));
    return module;
}

static CUresult spin(CUfunction f, CUdeviceptr p, uint64_t bytes, uint64_t ns, CUstream s)
{
    void *params[] = {&p, &bytes, &ns};
    return cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, params, NULL);
}

TEST(test_destroying_what_is_pending)
{
    CUfunction f;
    for (int synced = 0; synced < 2; synced++) {
        begin("step=0");
        CUstream s = other_stream();
        CUevent e = event();
        CUmodule module = spin_module(&f);
        CUdeviceptr p = range(4096);
        ok(spin(f, p, 4096, 1000, s));
        ok(cu.cuEventRecord(e, s));
        if (synced)
            ok(cu.cuStreamSynchronize(s));
        ok(cu.cuModuleUnload(module));
        violations(synced ? 0 : 1);
        ok(cu.cuEventDestroy(e));
        violations(synced ? 0 : 2);
        ok(cu.cuStreamDestroy(s));
        violations(synced ? 0 : 3);
        says(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy(s));
        says(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(e));
        says(CUDA_ERROR_INVALID_HANDLE, cu.cuModuleUnload(module));
        says(CUDA_ERROR_INVALID_HANDLE, cu.cuStreamDestroy(NULL));
        end(synced ? 4 : 7);
    }
}

/* A stream that was destroyed too early leaves nothing behind for the next one. */
TEST(test_after_a_destroyed_stream)
{
    begin("step=0");
    CUstream a = other_stream();
    CUdeviceptr p = range(4096), q = block(4096, a);
    fill(p, 4096, a);
    ok(cu.cuMemFreeAsync(q, a));
    ok(cu.cuStreamDestroy(a));
    violations(1);
    CUstream b = other_stream(), c = other_stream();
    fill(p, 4096, b);
    fill(p, 4096, c);
    violated(2, "races");
    order(b, c);
    fill(p, 4096, c);
    end(2);
}

/* --- kernels ---------------------------------------------------------------------------------- */

TEST(test_kernels)
{
    CUmodule module;
    CUfunction f, none;
    begin("step=0");
    says(CUDA_ERROR_INVALID_IMAGE, cu.cuModuleLoadData(&module, "what is this"));
    module = spin_module(&f);
    says(CUDA_ERROR_NOT_FOUND, cu.cuModuleGetFunction(&none, module, "other"));
    CUstream s = other_stream();
    CUdeviceptr p = range(4096);
    ok(spin(f, p, 4096, 5000, s));
    ok(spin(f, p, 8, 5000, s));
    cu.fake_cuda_advance(5000);
    assert_int_equal(books().works_pending, 1);
    says(CUDA_ERROR_NOT_READY, cu.cuStreamQuery(s));
    cu.fake_cuda_advance(5000);
    assert_int_equal(books().works_pending, 0);
    ok(cu.cuStreamQuery(s));
    violations(0);
    ok(spin(f, p, 4097, 1, s));
    violated(1, "kernel of 4097 bytes");
    says(CUDA_ERROR_INVALID_VALUE, cu.cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL));
    says(CUDA_ERROR_INVALID_HANDLE, spin(NULL, p, 8, 1, s));
    drop_stream(s);
    ok(cu.cuModuleUnload(module));
    end(2);
}

/* --- contexts --------------------------------------------------------------------------------- */

TEST(test_contexts)
{
    CUcontext context, again;
    CUdeviceptr p;
    begin(NULL);
    ok(cu.cuCtxGetCurrent(&context));
    ok(cu.cuDevicePrimaryCtxRetain(&again, 0));
    assert_ptr_equal(context, again);
    assert_int_equal(books().contexts, 2);
    ok(cu.cuDevicePrimaryCtxRelease(0));
    ok(cu.cuCtxSynchronize_v2(NULL));
    ok(cu.cuCtxSetCurrent(NULL));
    says(CUDA_ERROR_INVALID_CONTEXT, cu.cuMemAlloc(&p, 1));
    violated(1, "without a current context");
    ok(cu.cuCtxSetCurrent(context));
    ok(cu.cuDevicePrimaryCtxRelease(0));
    says(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuMemAlloc(&p, 1));
    violated(2, "destroyed");
    says(CUDA_ERROR_INVALID_CONTEXT, cu.cuDevicePrimaryCtxRelease(0));
    says(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSetCurrent(context));
    says(CUDA_ERROR_INVALID_CONTEXT, cu.cuCtxSynchronize_v2((CUcontext)&p));
    violations(5);
    ok(cu.cuDevicePrimaryCtxRetain(&again, 0)); /* another one, which is not current */
    says(CUDA_ERROR_CONTEXT_IS_DESTROYED, cu.cuMemAlloc(&p, 1));
    ok(cu.cuCtxSetCurrent(again));
    end(6);
}

/* What a context still held when it went counts as not given back. */
TEST(test_context_takes_all_with_it)
{
    begin("memory=64MiB");
    CUstream s = other_stream();
    CUevent e = event();
    range(3 * MIB);
    range(100);
    block(100, s);
    ok(cu.cuEventRecord(e, s));
    ok(cu.cuDevicePrimaryCtxRelease(0));
    struct fake_cuda_books b = books();
    assert_int_equal(b.streams, 1);
    assert_int_equal(b.events, 1);
    assert_int_equal(b.ranges, 2);
    assert_int_equal(b.range_bytes, 3 * MIB + 100);
    assert_int_equal(b.blocks, 1);
    assert_int_equal(b.block_bytes, 100);
    assert_int_equal(b.contexts, 0);
    begin("memory=64MiB"); /* forgets them */
    assert_int_equal(books().ranges + books().blocks + books().streams + books().events, 0);
    assert_int_equal(free_memory(), 64 * MIB);
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuEventQuery(e));
    end(1);
}

TEST(test_two_devices)
{
    CUcontext context[2];
    CUdeviceptr p[2];
    CUstream s[2];
    cu.fake_cuda_script("devices=2");
    ok(cu.cuInit(0));
    for (int i = 0; i < 2; i++) {
        ok(cu.cuDevicePrimaryCtxRetain(&context[i], i));
        ok(cu.cuCtxSetCurrent(context[i]));
        p[i] = range(4096);
        s[i] = other_stream();
        fill(p[i], 4096, s[i]);
    }
    assert_true(p[1] - p[0] > UINT32_MAX);
    violations(0);
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuMemsetD8Async(p[0], 0, 1, s[0]));
    violated(1, "context of another");
    fill(p[0], 1, s[1]);
    violations(3); /* another device's memory, and a race with its work */
    for (int i = 0; i < 2; i++)
        ok(cu.cuStreamSynchronize(s[i])); /* may be done from anywhere */
    CUevent e = event();
    ok(cu.cuCtxSetCurrent(context[0]));
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuEventRecord(e, s[0]));
    violated(4, "an event of device 1");
    ok(cu.cuMemFree(p[1]));
    violated(5, "while the context of 0");
    ok(cu.cuMemFree(p[0]));
    ok(cu.cuEventDestroy(e));
    for (int i = 0; i < 2; i++) {
        ok(cu.cuCtxSetCurrent(context[i]));
        drop_stream(s[i]);
        ok(cu.cuDevicePrimaryCtxRelease(i));
    }
    violations(5);
    balanced();
}

/* --- many ------------------------------------------------------------------------------------- */

/* What is complete is forgotten, what is pending costs no more each time. */
TEST(test_a_hundred_thousand)
{
    enum { N = 12500 };
    static CUdeviceptr held[N];
    for (int step = 0; step < 2; step++) {
        begin(step ? "step=1000" : "step=0");
        CUstream s[4];
        CUevent e[4];
        CUdeviceptr p = range(N * 512);
        for (int i = 0; i < 4; i++) {
            s[i] = other_stream();
            e[i] = event();
        }
        for (int i = 0; i < N; i++) {
            int from = i % 4, to = (i + 1) % 4;
            fill(p + (unsigned)i * 512, 512, s[from]);
            held[i] = block(512 + (unsigned)i % 7 * 1024, s[from]);
            ok(cu.cuEventRecord(e[from], s[from]));
            ok(cu.cuStreamWaitEvent(s[to], e[from], 0));
            fill(p + (unsigned)i * 512, 512, s[to]);
            fill(held[i], 512, s[to]);
            if (i >= 1000)
                ok(cu.cuMemFreeAsync(held[i - 1000], s[to]));
            cu.cuEventQuery(e[from]);
        }
        ok(cu.cuCtxSynchronize());
        for (int i = N - 1000; i < N; i++)
            ok(cu.cuMemFreeAsync(held[i], NULL));
        drop_range(p);
        for (int i = 0; i < 4; i++) {
            ok(cu.cuEventDestroy(e[i]));
            drop_stream(s[i]);
        }
        assert_int_equal(books().works, 3 * N);
        end(0);
    }
}

static void *churn(void *unused)
{
    CUcontext context;
    ok(cu.cuDevicePrimaryCtxRetain(&context, 0));
    ok(cu.cuCtxSetCurrent(context));
    for (int i = 0; i < 500; i++) {
        CUdeviceptr p = block(4096, CU_STREAM_PER_THREAD);
        fill(p, 4096, CU_STREAM_PER_THREAD);
        ok(cu.cuMemFreeAsync(p, CU_STREAM_PER_THREAD));
        if (i % 50 == 0)
            ok(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD));
    }
    ok(cu.cuDevicePrimaryCtxRelease(0));
    return unused;
}

TEST(test_threads)
{
    pthread_t threads[4];
    begin(NULL);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(books().works, 2000);
    end(0);
}

GROUP(open_driver, NULL)

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#include "tests/unit/test.h"
#endif
