/* What `tapool record --cuda` makes of the calls that CUPTI reports: every function of its table,
 * with parameters as CUPTI has them, that succeeds and that fails; and the table itself, against
 * the list of all functions that CUPTI brings. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

#ifdef TAPOOL_CUPTI_INCLUDE
#include "cmd/preload/cuda/cuda_calls.h"

#include <regex.h>

#define ID(name)  CUPTI_DRIVER_TRACE_CBID_##name
#define P(number) ((void *)(uintptr_t)(number))

enum {
    CONTEXT = 0x1000,
    OTHER_CONTEXT = 0x2000,
    STREAM = 0x51000,
    EVENT = 0xe1000,
    POOL = 0xf1000
};

static uint64_t device_of(CUcontext context)
{
    return context == P(OTHER_CONTEXT) ? 5 : 3;
}

static bool call(CUpti_CallbackId number, const void *params, CUresult result,
                 struct tp_device_call *out)
{
    const struct tp_cuda_function *f = tp_cuda_function(number);
    struct tp_cuda_call c = {
        .params = params, .result = result, .context = P(CONTEXT), .device_of = device_of};
    if (!f)
        fail_msg("function %u is not looked at", number);
    return tp_cuda_call_record(f, &c, out);
}

/* The members that the record's kind has; the others are in no file. */
static void expect_same(CUpti_CallbackId number, struct tp_device_call got,
                        struct tp_device_call wanted)
{
    unsigned members = tp_device_call_members(wanted.kind);
    if (got.kind != wanted.kind)
        fail_msg("function %u: kind %d, not %d", number, got.kind, wanted.kind);
    for (unsigned i = 0; members >> i; i++)
        if ((members >> i & 1) &&
            *tp_device_call_member(&got, i) != *tp_device_call_member(&wanted, i))
            fail_msg("function %u: number %u is 0x%llx, not 0x%llx", number, i,
                     (unsigned long long)*tp_device_call_member(&got, i),
                     (unsigned long long)*tp_device_call_member(&wanted, i));
}

/* The record of a call that succeeded; one that failed in another way than for want of memory has
 * none. */
static void expect(CUpti_CallbackId number, const void *params, struct tp_device_call wanted)
{
    struct tp_device_call got = {.kind = TP_CALL_NONE};
    assert_true(call(number, params, CUDA_SUCCESS, &got));
    expect_same(number, got, wanted);
    assert_false(call(number, params, CUDA_ERROR_INVALID_VALUE, &got));
    assert_false(call(number, params, CUDA_ERROR_NOT_READY, &got));
}

/* Those whose stream is the last parameter: with each of its special values, by both names. */
#define EACH_STREAM(name, wanted, ...)                                                             \
    do {                                                                                           \
        static const struct {                                                                      \
            uint64_t handle, plain, per_thread;                                                    \
        } streams[] = {{STREAM, STREAM, STREAM},                                                   \
                       {0, TP_STREAM_LEGACY, TP_STREAM_PER_THREAD},                                \
                       {1, TP_STREAM_LEGACY, TP_STREAM_LEGACY},                                    \
                       {2, TP_STREAM_PER_THREAD, TP_STREAM_PER_THREAD}};                           \
        for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {                            \
            CUstream s = P(streams[i].handle);                                                     \
            struct tp_device_call on = wanted;                                                     \
            const name##_params params = {__VA_ARGS__};                                            \
            on.device = 3;                                                                         \
            on.stream = streams[i].plain;                                                          \
            expect(CUPTI_DRIVER_TRACE_CBID_##name, &params, on);                                   \
            on.stream = streams[i].per_thread;                                                     \
            expect(CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, &params, on);                            \
        }                                                                                          \
    } while (0)

#define KIND(what, ...) ((struct tp_device_call){.kind = TP_CALL_##what, __VA_ARGS__})
#define EXPECT(name, wanted, ...)                                                                  \
    do {                                                                                           \
        const name##_params params = {__VA_ARGS__};                                                \
        expect(CUPTI_DRIVER_TRACE_CBID_##name, &params, wanted);                                   \
    } while (0)

/* ---- memory ---- */

TEST(memory_at_once)
{
    CUdeviceptr p = 0x7f0000000200;
    CUdeviceptr_v1 old = 0x1000;
    size_t pitch = 512;
    unsigned int old_pitch = 512;
    EXPECT(cuMemAlloc_v2, KIND(ALLOC_NOW, .device = 3, .object = p, .size = 100), &p, 100);
    EXPECT(cuMemAlloc, KIND(ALLOC_NOW, .device = 3, .object = old, .size = 100), &old, 100);
    EXPECT(cuMemAllocPitch_v2, KIND(ALLOC_NOW, .device = 3, .object = p, .size = 512 * 7), &p,
           &pitch, 500, 7, 4);
    EXPECT(cuMemAllocPitch, KIND(ALLOC_NOW, .device = 3, .object = old, .size = 512 * 7), &old,
           &old_pitch, 500, 7, 4);
    EXPECT(cuMemFree_v2, KIND(FREE_NOW, .device = 3, .object = p), p);
    EXPECT(cuMemFree, KIND(FREE_NOW, .device = 3, .object = old), old);
}

TEST(memory_of_streams)
{
    CUdeviceptr p = 0x7f0000000200;
    EACH_STREAM(cuMemAllocAsync, KIND(ALLOC, .object = p, .size = 100), &p, 100, s);
    EACH_STREAM(cuMemAllocFromPoolAsync, KIND(ALLOC, .object = p, .size = 100, .other = POOL), &p,
                100, P(POOL), s);
    EACH_STREAM(cuMemFreeAsync, KIND(FREE, .object = p), p, s);
}

/* What is asked for in vain is recorded, and what the driver did not write is not read. */
TEST(out_of_memory)
{
    struct tp_device_call got;
    const cuMemAlloc_v2_params now = {P(1), 1 << 20};
    const cuMemAllocPitch_v2_params pitched = {P(1), P(1), 1 << 10, 1 << 10, 4};
    const cuMemAllocFromPoolAsync_params from_pool = {P(1), 1 << 20, P(POOL), P(STREAM)};
    const cuMemAllocManaged_params managed = {P(1), 1 << 20, CU_MEM_ATTACH_GLOBAL};
    struct tp_device_call wanted = KIND(FAILED, .device = 3, .size = 1 << 20);
    assert_true(call(ID(cuMemAlloc_v2), &now, CUDA_ERROR_OUT_OF_MEMORY, &got));
    expect_same(ID(cuMemAlloc_v2), got, wanted);
    assert_true(call(ID(cuMemAllocPitch_v2), &pitched, CUDA_ERROR_OUT_OF_MEMORY, &got));
    expect_same(ID(cuMemAllocPitch_v2), got, wanted);
    wanted.stream = STREAM;
    wanted.other = POOL;
    assert_true(call(ID(cuMemAllocFromPoolAsync), &from_pool, CUDA_ERROR_OUT_OF_MEMORY, &got));
    expect_same(ID(cuMemAllocFromPoolAsync), got, wanted);
    assert_false(call(ID(cuMemAllocManaged), &managed, CUDA_ERROR_OUT_OF_MEMORY, &got));
}

/* The driver takes a free of nothing, and may give nothing for nothing. */
TEST(nothing_at_all)
{
    struct tp_device_call got;
    CUdeviceptr p = 0;
    const cuMemFree_v2_params freed = {0};
    const cuMemFreeAsync_params later = {0, P(STREAM)};
    const cuMemAllocAsync_params allocated = {&p, 0, P(STREAM)};
    const cuMemAlloc_v2_params now = {&p, 0};
    assert_false(call(ID(cuMemFree_v2), &freed, CUDA_SUCCESS, &got));
    assert_false(call(ID(cuMemFreeAsync), &later, CUDA_SUCCESS, &got));
    assert_false(call(ID(cuMemAllocAsync), &allocated, CUDA_SUCCESS, &got));
    assert_false(call(ID(cuMemAlloc_v2), &now, CUDA_SUCCESS, &got));
}

TEST(memory_that_is_left_out)
{
    CUdeviceptr p = 0x7f0000000200;
    CUDA_MEM_ALLOC_NODE_PARAMS node = {.bytesize = 100, .dptr = p};
    EXPECT(cuMemAllocManaged, KIND(LEFT_OUT, .object = p, .size = 100, .other = TP_LEFT_MANAGED),
           &p, 100, 1);
    EXPECT(cuMemAllocHost_v2, KIND(LEFT_OUT, .size = 100, .other = TP_LEFT_HOST), P(1), 100);
    EXPECT(cuMemAllocHost, KIND(LEFT_OUT, .size = 100, .other = TP_LEFT_HOST), P(1), 100);
    EXPECT(cuMemHostAlloc, KIND(LEFT_OUT, .size = 100, .other = TP_LEFT_HOST), P(1), 100, 0);
    EXPECT(cuMemCreate, KIND(LEFT_OUT, .size = 100, .other = TP_LEFT_PHYSICAL), P(1), 100, NULL, 0);
    EXPECT(cuArrayCreate_v2, KIND(LEFT_OUT, .other = TP_LEFT_ARRAY), P(1), NULL);
    EXPECT(cuArray3DCreate_v2, KIND(LEFT_OUT, .other = TP_LEFT_ARRAY), P(1), NULL);
    EXPECT(cuMipmappedArrayCreate, KIND(LEFT_OUT, .other = TP_LEFT_ARRAY), P(1), NULL, 1);
    EXPECT(cuGraphAddMemAllocNode, KIND(LEFT_OUT, .object = p, .size = 100, .other = TP_LEFT_GRAPH),
           P(1), NULL, NULL, 0, &node);
    EXPECT(cuCtxDestroy_v2, KIND(LEFT_OUT, .other = TP_LEFT_CONTEXT), P(CONTEXT));
    EXPECT(cuDevicePrimaryCtxReset_v2, KIND(RESET, .device = 7), 7);
}

TEST(nodes_of_graphs)
{
#if CUDA_VERSION >= 12040
    struct tp_device_call got;
    CUgraphNodeParams node = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    CUgraphNodeParams free_node = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    const cuGraphAddNode_params freed = {P(1), NULL, NULL, 0, &free_node};
    node.alloc.bytesize = 100;
    node.alloc.dptr = 0x7f00;
    EXPECT(cuGraphAddNode, KIND(LEFT_OUT, .object = 0x7f00, .size = 100, .other = TP_LEFT_GRAPH),
           P(1), NULL, NULL, 0, &node);
    EXPECT(cuGraphAddNode_v2, KIND(LEFT_OUT, .object = 0x7f00, .size = 100, .other = TP_LEFT_GRAPH),
           P(1), NULL, NULL, NULL, 0, &node);
    assert_false(call(CUPTI_DRIVER_TRACE_CBID_cuGraphAddNode, &freed, CUDA_SUCCESS, &got));
#endif
}

/* ---- streams, events, pools ---- */

TEST(streams)
{
    CUstream made = P(STREAM);
    const struct tp_device_call stream = KIND(STREAM, .device = 3, .stream = STREAM);
    EXPECT(cuStreamCreate, stream, &made, 0);
    EXPECT(cuStreamCreateWithPriority, stream, &made, 0, 1);
#if CUDA_VERSION >= 12080
    EXPECT(cuGreenCtxStreamCreate, stream, &made, NULL, 0, 1);
#endif
    EXPECT(cuStreamDestroy_v2, KIND(STREAM_END, .device = 3, .stream = STREAM), made);
    EACH_STREAM(cuStreamSynchronize, KIND(SYNC_STREAM, .device = 3), s);
    EACH_STREAM(cuStreamQuery, KIND(STREAM_DONE, .device = 3), s);
    EACH_STREAM(cuStreamWaitEvent, KIND(WAIT, .object = EVENT), s, P(EVENT), 0);
    EACH_STREAM(cuStreamBeginCapture_v2, KIND(CAPTURE, .device = 3), s, 0);
#if CUDA_VERSION >= 12040
    EACH_STREAM(cuStreamBeginCaptureToGraph, KIND(CAPTURE, .device = 3), s, NULL, NULL, NULL, 0, 0);
#endif
    EACH_STREAM(cuStreamEndCapture, KIND(CAPTURE_END, .device = 3), s, NULL);
}

/* A capture that fails ends all the same. */
TEST(a_capture_that_is_invalid)
{
    struct tp_device_call got;
    const cuStreamEndCapture_params end = {P(STREAM), NULL};
    const struct tp_device_call wanted = KIND(CAPTURE_END, .device = 3, .stream = STREAM);
    assert_true(call(ID(cuStreamEndCapture), &end, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, &got));
    expect_same(ID(cuStreamEndCapture), got, wanted);
    assert_true(call(ID(cuStreamEndCapture), &end, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, &got));
    expect_same(ID(cuStreamEndCapture), got, wanted);
}

TEST(events)
{
    EACH_STREAM(cuEventRecord, KIND(RECORD, .object = EVENT), P(EVENT), s);
    EACH_STREAM(cuEventRecordWithFlags, KIND(RECORD, .object = EVENT), P(EVENT), s, 1);
    EXPECT(cuEventQuery, KIND(SYNC_EVENT, .object = EVENT), P(EVENT));
    EXPECT(cuEventSynchronize, KIND(SYNC_EVENT, .object = EVENT), P(EVENT));
    EXPECT(cuEventDestroy_v2, KIND(EVENT_END, .object = EVENT), P(EVENT));
    expect(ID(cuCtxSynchronize), NULL, KIND(SYNC_DEVICE, .device = 3));
#if CUDA_VERSION >= 13000
    EXPECT(cuCtxSynchronize_v2, KIND(SYNC_DEVICE, .device = 5), P(OTHER_CONTEXT));
    EXPECT(cuCtxSynchronize_v2, KIND(SYNC_DEVICE, .device = 3), NULL);
#endif
}

TEST(pools)
{
    CUmemoryPool pool = P(POOL);
    CUmemPoolProps here = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 2}};
    CUmemPoolProps host = {.location = {.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 2}};
    EXPECT(cuMemPoolCreate, KIND(POOL, .device = 2, .object = POOL), &pool, &here);
    EXPECT(cuMemPoolCreate, KIND(POOL, .device = TP_CALL_NO_DEVICE, .object = POOL), &pool, &host);
    EXPECT(cuDeviceGetDefaultMemPool, KIND(POOL, .device = 4, .object = POOL), &pool, 4);
    EXPECT(cuDeviceGetMemPool, KIND(POOL, .device = 4, .object = POOL), &pool, 4);
#if CUDA_VERSION >= 13000
    EXPECT(cuMemGetDefaultMemPool, KIND(POOL, .device = 2, .object = POOL), &pool, &here.location,
           CU_MEM_ALLOCATION_TYPE_PINNED);
    EXPECT(cuMemGetMemPool, KIND(POOL, .device = TP_CALL_NO_DEVICE, .object = POOL), &pool,
           &host.location, CU_MEM_ALLOCATION_TYPE_PINNED);
#endif
    EXPECT(cuMemPoolTrimTo, KIND(TRIM, .object = POOL, .size = 100), pool, 100);
    EXPECT(cuMemPoolDestroy, KIND(POOL_END, .object = POOL), pool);
}

/* ---- the table ---- */

/* What gives something back is stamped when it begins, or the next to get it would seem to have had
 * it before. */
TEST(when_a_call_counts)
{
    static const struct {
        CUpti_CallbackId number;
        bool gives_back;
    } rows[] = {{ID(cuMemAlloc_v2), false},    {ID(cuMemFree_v2), true},
                {ID(cuMemFreeAsync), true},    {ID(cuMemFreeAsync_ptsz), true},
                {ID(cuStreamCreate), false},   {ID(cuStreamDestroy_v2), true},
                {ID(cuEventDestroy_v2), true}, {ID(cuStreamSynchronize), false},
                {ID(cuMemPoolDestroy), true},  {ID(cuDevicePrimaryCtxReset_v2), true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(tp_cuda_function_gives_back(tp_cuda_function(rows[i].number)),
                         rows[i].gives_back);
}

static bool is_in_table(CUpti_CallbackId number)
{
    bool looked_at = false;
    for (size_t i = 0; i < tp_cuda_functions(); i++)
        if (tp_cuda_function_number(i, &looked_at) == number)
            return true;
    return false;
}

/* A function of these names that a toolkit brings is to be thought about. */
TEST(every_function_about_memory_is_in_the_table)
{
    char line[256], name[128];
    unsigned number = 0, matches = 0;
    regex_t wanted;
    FILE *list = fopen(TAPOOL_CUPTI_INCLUDE "/cupti_driver_cbid.h", "r");
    if (!list) /* the headers stayed where this was built: scripts/gpu-bundle.sh carries programs */
        skip();
    assert_int_equal(regcomp(&wanted,
                             "^cu(Mem(Alloc|Free|Pool|Create)|MemHostAlloc|Stream(Create|Destroy|"
                             "Synchronize|Query|WaitEvent|BeginCapture|EndCapture)|Event(Record|"
                             "Create|Destroy|Query|Synchronize)|CtxSynchronize)",
                             REG_EXTENDED | REG_NOSUB),
                     0);
    while (fgets(line, sizeof line, list))
        if (sscanf(line, " CUPTI_DRIVER_TRACE_CBID_%127[A-Za-z0-9_] = %u", name, &number) == 2 &&
            regexec(&wanted, name, 0, NULL, 0) == 0) {
            matches++;
            if (!is_in_table(number))
                fail_msg("%s (%u) is not in the table of cuda_calls.c", name, number);
        }
    fclose(list);
    regfree(&wanted);
    assert_true(matches > 50);
}

TEST(no_function_twice)
{
    bool looked_at = false;
    for (size_t i = 0; i < tp_cuda_functions(); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(tp_cuda_function_number(i, &looked_at),
                                 tp_cuda_function_number(k, &looked_at));
    assert_null(tp_cuda_function(ID(cuLaunchKernel)));
    assert_null(tp_cuda_function(ID(cuEventCreate)));
    assert_null(tp_cuda_function(0));
    assert_null(tp_cuda_function(UINT32_MAX));
}

#else

TEST(without_cupti)
{
    skip(); /* the recorder of GPUs is not built */
}
#endif
