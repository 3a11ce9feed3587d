/* The stream-ordered pools of the fake CUDA driver: which freed memory is taken again, and when it
 * goes back to the device. With `step=0` nothing is complete by itself. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TAPOOL_FAKE_CUDA_PATH
#include "tests/unit/fake_cuda_rig.h"

#define MIB (UINT64_C(1) << 20)

static CUmemoryPool own_pool(uint64_t max_size)
{
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
                            .maxSize = max_size};
    ok(cu.cuMemPoolCreate(&pool, &props));
    MADE(MADE_POOL, pool, pool)
    return pool;
}

static CUmemoryPool default_pool(void)
{
    CUmemoryPool pool;
    ok(cu.cuDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

static uint64_t mark(CUmemoryPool pool, CUmemPool_attribute attribute)
{
    cuuint64_t value = UINT64_MAX;
    ok(cu.cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

#define RESERVED      CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
#define RESERVED_HIGH CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
#define USED          CU_MEMPOOL_ATTR_USED_MEM_CURRENT
#define USED_HIGH     CU_MEMPOOL_ATTR_USED_MEM_HIGH
#define FOLLOW        CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES
#define OPPORTUNISTIC CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC
#define INTERNAL      CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES

static void set_number(CUmemoryPool pool, CUmemPool_attribute attribute, cuuint64_t value)
{
    ok(cu.cuMemPoolSetAttribute(pool, attribute, &value));
}

static void set_flag(CUmemoryPool pool, CUmemPool_attribute attribute, int value)
{
    int now = -1;
    ok(cu.cuMemPoolSetAttribute(pool, attribute, &value));
    ok(cu.cuMemPoolGetAttribute(pool, attribute, &now));
    assert_int_equal(now, value);
}

/* Only these of the rules for other streams are on. */
static void rules(CUmemoryPool pool, int follow, int opportunistic, int internal)
{
    set_flag(pool, FOLLOW, follow);
    set_flag(pool, OPPORTUNISTIC, opportunistic);
    set_flag(pool, INTERNAL, internal);
}

static CUdeviceptr from_pool(CUmemoryPool pool, size_t size, CUstream s)
{
    CUdeviceptr p;
    ok(cu.cuMemAllocFromPoolAsync(&p, size, pool, s));
    MADE(MADE_RANGE, range, p)
    return p;
}

static void drop(CUdeviceptr p, CUstream s)
{
    ok(cu.cuMemFreeAsync(p, s));
}

/* --- marks ------------------------------------------------------------------------------------ */

TEST(test_marks)
{
    begin("memory=256MiB");
    CUmemoryPool pool = own_pool(0);
    CUdeviceptr a = from_pool(pool, 1000, NULL), b = from_pool(pool, 40 * MIB + 1, NULL);
    assert_int_equal(mark(pool, RESERVED), (32 + 42) * MIB);
    assert_int_equal(mark(pool, USED), 1000 + 40 * MIB + 1); /* as requested */
    assert_int_equal(free_memory(), (256 - 32 - 42) * MIB);
    assert_int_equal(books().blocks, 2);
    assert_int_equal(books().block_bytes, 1000 + 40 * MIB + 1);
    drop(b, NULL);
    assert_int_equal(mark(pool, USED), 1000);
    assert_int_equal(mark(pool, USED_HIGH), 1000 + 40 * MIB + 1);
    set_number(pool, USED_HIGH, 0);
    assert_int_equal(mark(pool, USED_HIGH), 1000); /* reset to what is */
    ok(cu.cuStreamSynchronize(NULL));
    assert_int_equal(mark(pool, RESERVED), 32 * MIB);
    assert_int_equal(mark(pool, RESERVED_HIGH), 74 * MIB);
    set_number(pool, RESERVED_HIGH, 0);
    assert_int_equal(mark(pool, RESERVED_HIGH), 32 * MIB);
    drop(a, NULL);
    ok(cu.cuStreamSynchronize(NULL));
    assert_int_equal(mark(pool, RESERVED), 0);
    assert_int_equal(free_memory(), 256 * MIB);
    end(0);
}

/* Each chunk has 8 MiB left, and none has 9. */
TEST(test_chunks_fragment)
{
    begin("memory=96MiB;step=0");
    CUmemoryPool pool = own_pool(0);
    CUdeviceptr q;
    for (int i = 0; i < 3; i++)
        from_pool(pool, 24 * MIB, NULL);
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&q, 9 * MIB, pool, NULL));
    assert_int_equal(mark(pool, RESERVED) - mark(pool, USED), 24 * MIB);
    assert_int_equal(free_memory(), 0);
    drop(from_pool(pool, 8 * MIB, NULL), NULL);
    end(0);
}

TEST(test_attributes_that_cannot_be)
{
    cuuint64_t one = 1;
    begin(NULL);
    CUmemoryPool pool = default_pool();
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolSetAttribute(pool, USED_HIGH, &one));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolSetAttribute(pool, RESERVED, &one));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &one));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolSetAttribute(pool, FOLLOW, NULL));
    violations(0);
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuMemPoolSetAttribute((CUmemoryPool)&one, FOLLOW, &one));
    end(1);
}

/* --- going back to the device ----------------------------------------------------------------- */

TEST(test_release_threshold)
{
    begin("step=0;threshold=64MiB");
    CUmemoryPool pool = default_pool();
    CUdeviceptr p[4];
    assert_int_equal(mark(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 64 * MIB);
    for (int i = 0; i < 4; i++)
        p[i] = block(32 * MIB, NULL);
    for (int i = 0; i < 4; i++)
        drop(p[i], NULL);
    assert_int_equal(mark(pool, RESERVED), 128 * MIB); /* only a synchronisation lets go */
    cu.fake_cuda_advance(1000000);
    ok(cu.cuStreamQuery(NULL));
    assert_int_equal(mark(pool, RESERVED), 128 * MIB);
    ok(cu.cuStreamSynchronize(NULL));
    assert_int_equal(mark(pool, RESERVED), 64 * MIB);
    set_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
    ok(cu.cuCtxSynchronize());
    assert_int_equal(mark(pool, RESERVED), 0);
    set_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    drop(block(32 * MIB, NULL), NULL);
    CUevent e = event();
    ok(cu.cuEventRecord(e, NULL));
    ok(cu.cuEventSynchronize(e));
    assert_int_equal(mark(pool, RESERVED), 32 * MIB);
    set_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, 0);
    ok(cu.cuEventSynchronize(e));
    assert_int_equal(mark(pool, RESERVED), 0);
    end(0);
}

/* What the host does not know to be free stays, and so does a chunk with a block in it. */
TEST(test_trim)
{
    begin("step=0");
    CUmemoryPool pool = own_pool(0);
    set_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    from_pool(pool, 512, NULL);
    CUdeviceptr large = from_pool(pool, 64 * MIB, NULL);
    drop(large, NULL);
    ok(cu.cuMemPoolTrimTo(pool, 0));
    assert_int_equal(mark(pool, RESERVED), 96 * MIB);
    ok(cu.cuStreamSynchronize(NULL));
    ok(cu.cuMemPoolTrimTo(pool, 96 * MIB));
    assert_int_equal(mark(pool, RESERVED), 96 * MIB);
    ok(cu.cuMemPoolTrimTo(pool, 0));
    assert_int_equal(mark(pool, RESERVED), 32 * MIB);
    end(0);
}

/* --- reuse ------------------------------------------------------------------------------------ */

TEST(test_same_stream_at_once)
{
    begin("step=0");
    CUmemoryPool pool = default_pool();
    CUstream a = other_stream();
    rules(pool, 0, 0, 0);
    CUdeviceptr p = block(8 * MIB, a);
    fill(p, 8 * MIB, a);
    drop(p, a);
    CUdeviceptr q = block(8 * MIB, a);
    assert_int_equal(q, p);
    fill(q, 8 * MIB, a);
    end(0);
}

/* Two neighbours that the stream freed serve one block. */
TEST(test_neighbours_are_joined)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr p[4];
    for (int i = 0; i < 4; i++)
        p[i] = block(8 * MIB, a);
    drop(p[2], a);
    drop(p[1], a);
    assert_int_equal(block(16 * MIB, a), p[1]);
    order(a, b);
    drop(p[1], b);
    drop(p[0], a);
    assert_true(block(24 * MIB, a) != p[0]); /* not b's */
    assert_int_equal(mark(default_pool(), RESERVED), 64 * MIB);
    ok(cu.cuCtxSynchronize());
    CUdeviceptr all = block(24 * MIB, b); /* idle for everybody now */
    assert_int_equal(all, p[0]);
    ok(cu.cuCtxSynchronize());
    fill(all, 24 * MIB, a);
    ok(cu.cuCtxSynchronize());
    ok(cu.cuMemFree(all));
    ok(cu.cuMemFree(p[3]));
    assert_int_equal(books().blocks, 1);
    ok(cu.cuMemFree(p[3] + 8 * MIB)); /* that of 24 MiB, in a chunk of its own */
    end(0);
}

/* What is joined is free when the last of it is. */
TEST(test_joined_neighbours_count_from_the_last)
{
    begin("step=0");
    CUmemoryPool pool = own_pool(32 * MIB);
    CUstream a = other_stream(), b = other_stream();
    CUevent e = event();
    CUdeviceptr p[4], q;
    rules(pool, 1, 0, 0);
    for (int i = 0; i < 4; i++)
        p[i] = from_pool(pool, 8 * MIB, a);
    drop(p[0], a);
    ok(cu.cuEventRecord(e, a));
    drop(p[1], a);
    drop(p[2], a);
    assert_int_equal(from_pool(pool, 10 * MIB, a), p[0]);
    ok(cu.cuStreamWaitEvent(b, e, 0));
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&q, 1 * MIB, pool, b));
    ok(cu.cuEventRecord(e, a));
    ok(cu.cuStreamWaitEvent(b, e, 0));
    q = from_pool(pool, 14 * MIB, b);
    assert_int_equal(q, p[0] + 10 * MIB);
    end(0);
}

enum { UNORDERED, AFTER_EVENT, AFTER_TIME, AFTER_SYNC };

/* Whether b gets what a freed, when that much lies between. */
static bool reused(int follow, int opportunistic, int between)
{
    begin("step=0");
    CUmemoryPool pool = own_pool(0);
    CUstream a = other_stream(), b = other_stream();
    CUevent e = event();
    rules(pool, follow, opportunistic, 0);
    CUdeviceptr p = from_pool(pool, 20 * MIB, a);
    drop(p, a);
    ok(cu.cuEventRecord(e, a));
    if (between == AFTER_EVENT)
        ok(cu.cuStreamWaitEvent(b, e, 0));
    if (between == AFTER_TIME)
        cu.fake_cuda_advance(1000);
    if (between == AFTER_SYNC) {
        CUdeviceptr stays = from_pool(pool, 512, b); /* keeps the chunk */
        ok(cu.cuStreamSynchronize(a));
        drop(stays, b);
    }
    CUdeviceptr q = from_pool(pool, 20 * MIB, b);
    assert_int_equal(mark(pool, RESERVED), p == q ? 32 * MIB : 64 * MIB);
    end(0);
    return p == q;
}

TEST(test_reuse_by_others)
{
    assert_false(reused(1, 1, UNORDERED));
    assert_true(reused(1, 0, AFTER_EVENT));
    assert_false(reused(0, 1, AFTER_EVENT));
    assert_true(reused(0, 1, AFTER_TIME));
    assert_false(reused(1, 0, AFTER_TIME));
    assert_true(reused(0, 0, AFTER_SYNC));
}

/* Where there is no other memory, the pool may let a stream wait for the free on another. */
TEST(test_internal_dependencies)
{
    CUdeviceptr q;
    begin("step=0");
    CUmemoryPool pool = own_pool(32 * MIB);
    CUstream a = other_stream(), b = other_stream();
    rules(pool, 1, 1, 0);
    CUdeviceptr p = from_pool(pool, 20 * MIB, a);
    fill(p, 20 * MIB, a);
    drop(p, a);
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&q, 20 * MIB, pool, b));
    ok(cu.cuStreamQuery(b)); /* nothing was queued */
    set_flag(pool, INTERNAL, 1);
    q = from_pool(pool, 20 * MIB, b);
    assert_int_equal(q, p);
    fill(q, 1, b); /* no race: the pool ordered it */
    ok(cu.cuStreamSynchronize(b));
    assert_int_equal(books().works_pending, 0); /* b waited for a */
    end(0);
}

/* What orders the reuse orders nothing else. */
TEST(test_reuse_is_no_order_for_others)
{
    begin("step=0");
    CUstream a = other_stream(), b = other_stream();
    CUdeviceptr r = range(4096), p = block(20 * MIB, a);
    fill(r, 4096, a);
    drop(p, a);
    cu.fake_cuda_advance(1000000);
    assert_int_equal(block(20 * MIB, b), p);
    fill(r, 4096, b);
    violated(1, "races");
    end(1);
}

/* --- limits ----------------------------------------------------------------------------------- */

TEST(test_pools_run_out)
{
    CUdeviceptr p;
    begin("memory=64MiB");
    CUmemoryPool pool = own_pool(40 * MIB);
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&p, 41 * MIB, pool, NULL));
    CUdeviceptr a = from_pool(pool, 30 * MIB, NULL);
    from_pool(pool, 8 * MIB, NULL);
    assert_int_equal(mark(pool, RESERVED), 40 * MIB); /* no room for a whole chunk */
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocFromPoolAsync(&p, 8 * MIB, pool, NULL));
    block(20 * MIB, NULL); /* of the default pool */
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAllocAsync(&p, 8 * MIB, NULL));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocAsync(&p, SIZE_MAX, NULL));
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemAllocAsync(&p, 0, NULL));
    says(CUDA_ERROR_OUT_OF_MEMORY, cu.cuMemAlloc(&p, 6 * MIB));
    drop(a, NULL);
    ok(cu.cuStreamSynchronize(NULL));
    p = range(30 * MIB);
    end(0);
}

/* Idle chunks of the pool make room before it says that there is none. */
TEST(test_idle_chunks_make_room)
{
    begin("memory=64MiB");
    CUmemoryPool pool = default_pool();
    set_number(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, UINT64_MAX);
    drop(block(32 * MIB, NULL), NULL);
    ok(cu.cuStreamSynchronize(NULL));
    block(48 * MIB, NULL);
    assert_int_equal(mark(pool, RESERVED), 48 * MIB);
    end(0);
}

/* --- pools ------------------------------------------------------------------------------------ */

TEST(test_pool_of_a_device)
{
    CUmemoryPool now;
    begin(NULL);
    CUmemoryPool pool = own_pool(0);
    ok(cu.cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, default_pool());
    ok(cu.cuDeviceSetMemPool(0, pool));
    ok(cu.cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, pool);
    CUdeviceptr p = block(512, NULL);
    assert_int_equal(mark(pool, USED), 512);
    drop(p, NULL);
    ok(cu.cuStreamSynchronize(NULL));
    ok(cu.cuMemPoolDestroy(pool));
    ok(cu.cuDeviceGetMemPool(&now, 0));
    assert_ptr_equal(now, default_pool());
    says(CUDA_ERROR_INVALID_DEVICE, cu.cuDeviceGetMemPool(&now, 1));
    violations(0);
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolDestroy(now));
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuMemPoolDestroy(pool));
    end(2);
}

TEST(test_pools_that_cannot_be)
{
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
    begin(NULL);
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolCreate(&pool, &props));
    props.location.id = 0;
    props.reserved[3] = 1;
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolCreate(&pool, &props));
    props.reserved[3] = 0;
    props.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    says(CUDA_ERROR_INVALID_VALUE, cu.cuMemPoolCreate(&pool, &props));
    end(0);
}

TEST(test_destroying_a_pool_in_use)
{
    begin("step=0");
    CUmemoryPool pool = own_pool(0), pending = own_pool(0);
    CUdeviceptr p = from_pool(pool, 512, NULL);
    ok(cu.cuMemPoolDestroy(pool));
    violated(1, "with 1 blocks");
    says(CUDA_ERROR_INVALID_HANDLE, cu.cuMemPoolTrimTo(pool, 0));
    violations(2);
    fill(p, 512, NULL); /* the block lives on */
    drop(p, NULL);
    drop(from_pool(pending, 512, NULL), NULL);
    ok(cu.cuMemPoolDestroy(pending));
    violated(3, "frees are not known");
    end(3);
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
