/* See cuda_calls.h.
 *
 * Functions come in several versions: NAME_v2 takes other types than NAME, and NAME_ptsz is what
 * programs call whose stream 0 is the thread's own. Those that take the same parameters share a
 * handler.
 *
 * Known weakness: memory of which the program has no address (arrays) or which it maps itself
 * (cuMemCreate) is counted and not recorded. */
#include "cmd/preload/cuda/cuda_calls.h"

typedef bool call_handler(const struct tp_cuda_call *c, struct tp_device_call *out);

struct tp_cuda_function {
    CUpti_CallbackId number;
    call_handler *handler; /* NULL: nothing to record */
    bool per_thread, gives_back;
};

static uint64_t own_device(const struct tp_cuda_call *c)
{
    return c->device_of(c->context);
}

static uint64_t stream_of(const struct tp_cuda_call *c, CUstream stream)
{
    if (stream == CU_STREAM_LEGACY || (!stream && !c->per_thread))
        return TP_STREAM_LEGACY;
    return stream && stream != CU_STREAM_PER_THREAD ? (uint64_t)(uintptr_t)stream
                                                    : TP_STREAM_PER_THREAD;
}

static uint64_t handle(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static bool done(const struct tp_cuda_call *c)
{
    return c->result == CUDA_SUCCESS;
}

/* A record on a stream of the context's device. */
static struct tp_device_call on_stream(const struct tp_cuda_call *c, enum tp_device_call_kind kind,
                                       CUstream stream)
{
    return (struct tp_device_call){
        .kind = kind, .device = own_device(c), .stream = stream_of(c, stream)};
}

/* ---- memory ---- */

/* `p`: where the driver put the address. */
static bool allocated(const struct tp_cuda_call *c, struct tp_device_call *out, CUstream stream,
                      CUmemoryPool pool, const CUdeviceptr *p, uint64_t size)
{
    if (!done(c) && c->result != CUDA_ERROR_OUT_OF_MEMORY)
        return false;
    *out = on_stream(c, done(c) ? TP_CALL_ALLOC : TP_CALL_FAILED, stream);
    out->size = size;
    out->other = handle(pool);
    out->object = done(c) ? *p : 0;
    return !done(c) || out->object;
}

static bool allocated_now(const struct tp_cuda_call *c, struct tp_device_call *out, uint64_t p,
                          uint64_t size)
{
    if (!done(c) && c->result != CUDA_ERROR_OUT_OF_MEMORY)
        return false;
    *out = on_stream(c, done(c) ? TP_CALL_ALLOC_NOW : TP_CALL_FAILED, CU_STREAM_LEGACY);
    out->size = size;
    out->object = p;
    return !done(c) || p;
}

static bool mem_alloc(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAlloc_v2_params *p = c->params;
    return allocated_now(c, out, done(c) ? *p->dptr : 0, p->bytesize);
}

static bool mem_alloc_v1(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAlloc_params *p = c->params;
    return allocated_now(c, out, done(c) ? *p->dptr : 0, p->bytesize);
}

/* Where it failed, the pitch is not known: the rows alone were asked for. */
static bool mem_alloc_pitch(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocPitch_v2_params *p = c->params;
    uint64_t width = done(c) ? *p->pPitch : p->WidthInBytes;
    return allocated_now(c, out, done(c) ? *p->dptr : 0, width * p->Height);
}

static bool mem_alloc_pitch_v1(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocPitch_params *p = c->params;
    uint64_t width = done(c) ? *p->pPitch : p->WidthInBytes;
    return allocated_now(c, out, done(c) ? *p->dptr : 0, width * p->Height);
}

static bool mem_alloc_async(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocAsync_params *p = c->params;
    return allocated(c, out, p->hStream, NULL, p->dptr, p->bytesize);
}

static bool mem_alloc_from_pool(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocFromPoolAsync_params *p = c->params;
    return allocated(c, out, p->hStream, p->pool, p->dptr, p->bytesize);
}

static bool freed(const struct tp_cuda_call *c, struct tp_device_call *out, uint64_t p)
{
    *out = (struct tp_device_call){.kind = TP_CALL_FREE_NOW, .device = own_device(c), .object = p};
    return done(c) && p;
}

static bool mem_free(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return freed(c, out, ((const cuMemFree_v2_params *)c->params)->dptr);
}

static bool mem_free_v1(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return freed(c, out, ((const cuMemFree_params *)c->params)->dptr);
}

static bool mem_free_async(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemFreeAsync_params *p = c->params;
    *out = on_stream(c, TP_CALL_FREE, p->hStream);
    out->object = p->dptr;
    return done(c) && p->dptr;
}

/* ---- memory that is left out ---- */

static bool left_out(const struct tp_cuda_call *c, struct tp_device_call *out,
                     enum tp_left_out reason, uint64_t object, uint64_t size)
{
    *out = (struct tp_device_call){
        .kind = TP_CALL_LEFT_OUT, .object = object, .size = size, .other = reason};
    return done(c);
}

static bool mem_alloc_managed(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocManaged_params *p = c->params;
    return left_out(c, out, TP_LEFT_MANAGED, done(c) ? *p->dptr : 0, p->bytesize);
}

static bool mem_alloc_host(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocHost_v2_params *p = c->params;
    return left_out(c, out, TP_LEFT_HOST, 0, p->bytesize);
}

static bool mem_alloc_host_v1(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemAllocHost_params *p = c->params;
    return left_out(c, out, TP_LEFT_HOST, 0, p->bytesize);
}

static bool mem_host_alloc(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemHostAlloc_params *p = c->params;
    return left_out(c, out, TP_LEFT_HOST, 0, p->bytesize);
}

static bool mem_create(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemCreate_params *p = c->params;
    return left_out(c, out, TP_LEFT_PHYSICAL, 0, p->size);
}

static bool array_create(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return left_out(c, out, TP_LEFT_ARRAY, 0, 0);
}

/* The address of a node's memory is known before a launch puts memory there. */
static bool add_alloc_node(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuGraphAddMemAllocNode_params *p = c->params;
    return left_out(c, out, TP_LEFT_GRAPH, done(c) ? p->nodeParams->dptr : 0,
                    p->nodeParams->bytesize);
}

#if CUDA_VERSION >= 12040
static bool added_node(const struct tp_cuda_call *c, struct tp_device_call *out,
                       const CUgraphNodeParams *node)
{
    return node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC &&
           left_out(c, out, TP_LEFT_GRAPH, node->alloc.dptr, node->alloc.bytesize);
}

static bool add_node(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return added_node(c, out, ((const cuGraphAddNode_params *)c->params)->nodeParams);
}

static bool add_node_v2(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return added_node(c, out, ((const cuGraphAddNode_v2_params *)c->params)->nodeParams);
}
#endif

static bool ctx_destroy(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return left_out(c, out, TP_LEFT_CONTEXT, 0, 0);
}

static bool primary_ctx_reset(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuDevicePrimaryCtxReset_params *p = c->params;
    *out = (struct tp_device_call){.kind = TP_CALL_RESET, .device = (uint64_t)p->dev};
    return done(c);
}

/* ---- streams, events, synchronisation ---- */

static bool made_stream(const struct tp_cuda_call *c, struct tp_device_call *out,
                        const CUstream *made)
{
    if (done(c))
        *out = on_stream(c, TP_CALL_STREAM, *made);
    return done(c);
}

static bool stream_create(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return made_stream(c, out, ((const cuStreamCreate_params *)c->params)->phStream);
}

static bool stream_create_priority(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return made_stream(c, out, ((const cuStreamCreateWithPriority_params *)c->params)->phStream);
}

#if CUDA_VERSION >= 12080
static bool stream_create_green(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    return made_stream(c, out, ((const cuGreenCtxStreamCreate_params *)c->params)->phStream);
}
#endif

static bool stream_destroy(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = on_stream(c, TP_CALL_STREAM_END, ((const cuStreamDestroy_params *)c->params)->hStream);
    return done(c);
}

static bool stream_synchronize(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out =
        on_stream(c, TP_CALL_SYNC_STREAM, ((const cuStreamSynchronize_params *)c->params)->hStream);
    return done(c);
}

/* Succeeds where nothing is pending. */
static bool stream_query(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = on_stream(c, TP_CALL_STREAM_DONE, ((const cuStreamQuery_params *)c->params)->hStream);
    return done(c);
}

static bool stream_wait_event(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuStreamWaitEvent_params *p = c->params;
    *out = on_stream(c, TP_CALL_WAIT, p->hStream);
    out->object = handle(p->hEvent);
    return done(c);
}

static bool begin_capture(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = on_stream(c, TP_CALL_CAPTURE, ((const cuStreamBeginCapture_params *)c->params)->hStream);
    return done(c);
}

/* A capture that became invalid ends here with an error. */
static bool end_capture(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out =
        on_stream(c, TP_CALL_CAPTURE_END, ((const cuStreamEndCapture_params *)c->params)->hStream);
    return done(c) || c->result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
           c->result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

static bool event_record(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuEventRecord_params *p = c->params;
    *out = on_stream(c, TP_CALL_RECORD, p->hStream);
    out->object = handle(p->hEvent);
    return done(c);
}

static bool event_destroy(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = (struct tp_device_call){.kind = TP_CALL_EVENT_END,
                                   .object =
                                       handle(((const cuEventDestroy_params *)c->params)->hEvent)};
    return done(c);
}

/* cuEventSynchronize; cuEventQuery, which succeeds where the event has come to pass. */
static bool event_synchronize(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = (struct tp_device_call){
        .kind = TP_CALL_SYNC_EVENT,
        .object = handle(((const cuEventSynchronize_params *)c->params)->hEvent)};
    return done(c);
}

static bool ctx_synchronize(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = (struct tp_device_call){.kind = TP_CALL_SYNC_DEVICE, .device = own_device(c)};
    return done(c);
}

#if CUDA_VERSION >= 13000
static bool ctx_synchronize_v2(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    CUcontext asked = ((const cuCtxSynchronize_v2_params *)c->params)->ctx;
    *out = (struct tp_device_call){.kind = TP_CALL_SYNC_DEVICE,
                                   .device = c->device_of(asked ? asked : c->context)};
    return done(c);
}
#endif

/* ---- pools ---- */

static bool pool_of_device(const struct tp_cuda_call *c, struct tp_device_call *out,
                           const CUmemoryPool *pool, uint64_t device)
{
    if (done(c))
        *out = (struct tp_device_call){
            .kind = TP_CALL_POOL, .device = device, .object = handle(*pool)};
    return done(c);
}

static bool pool_at(const struct tp_cuda_call *c, struct tp_device_call *out,
                    const CUmemoryPool *pool, const CUmemLocation *at)
{
    bool device = at->type == CU_MEM_LOCATION_TYPE_DEVICE;
    return pool_of_device(c, out, pool, device ? (uint64_t)at->id : TP_CALL_NO_DEVICE);
}

static bool pool_create(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemPoolCreate_params *p = c->params;
    return pool_at(c, out, p->pool, &p->poolProps->location);
}

static bool device_get_default_pool(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuDeviceGetDefaultMemPool_params *p = c->params;
    return pool_of_device(c, out, p->pool_out, (uint64_t)p->dev);
}

static bool device_get_pool(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuDeviceGetMemPool_params *p = c->params;
    return pool_of_device(c, out, p->pool, (uint64_t)p->dev);
}

#if CUDA_VERSION >= 13000
static bool get_default_pool(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemGetDefaultMemPool_params *p = c->params;
    return pool_at(c, out, p->pool_out, p->location);
}

static bool get_pool(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemGetMemPool_params *p = c->params;
    return pool_at(c, out, p->pool, p->location);
}
#endif

static bool pool_destroy(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    *out = (struct tp_device_call){.kind = TP_CALL_POOL_END,
                                   .object =
                                       handle(((const cuMemPoolDestroy_params *)c->params)->pool)};
    return done(c);
}

static bool pool_trim(const struct tp_cuda_call *c, struct tp_device_call *out)
{
    const cuMemPoolTrimTo_params *p = c->params;
    *out = (struct tp_device_call){
        .kind = TP_CALL_TRIM, .object = handle(p->pool), .size = p->minBytesToKeep};
    return done(c);
}

/* ---- the table ---- */

/* Names are joined at once: cuda.h makes NAME_v2 of many a NAME that stands alone. */
#define TAKES(name, handler) ROW(CUPTI_DRIVER_TRACE_CBID_##name, handler, false, false)
#define GIVES(name, handler) ROW(CUPTI_DRIVER_TRACE_CBID_##name, handler, false, true)
#define NOTHING(name)        ROW(CUPTI_DRIVER_TRACE_CBID_##name, NULL, false, false)
/* with the variant of programs whose stream 0 is the thread's own */
#define TAKES_ON(name, handler)                                                                    \
    ROW(CUPTI_DRIVER_TRACE_CBID_##name, handler, false, false),                                    \
        ROW(CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, handler, true, false)
#define GIVES_ON(name, handler)                                                                    \
    ROW(CUPTI_DRIVER_TRACE_CBID_##name, handler, false, true),                                     \
        ROW(CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, handler, true, true)
#define ROW(number, handler, per_thread, gives_back)                                               \
    {                                                                                              \
        number, handler, per_thread, gives_back                                                    \
    }

/* clang-format off */
static const struct tp_cuda_function functions[] = {
    TAKES(cuMemAlloc, mem_alloc_v1),
    TAKES(cuMemAlloc_v2, mem_alloc),
    TAKES(cuMemAllocPitch, mem_alloc_pitch_v1),
    TAKES(cuMemAllocPitch_v2, mem_alloc_pitch),
    GIVES(cuMemFree, mem_free_v1),
    GIVES(cuMemFree_v2, mem_free),
    TAKES_ON(cuMemAllocAsync, mem_alloc_async),
    TAKES_ON(cuMemAllocFromPoolAsync, mem_alloc_from_pool),
    GIVES_ON(cuMemFreeAsync, mem_free_async),

    TAKES(cuMemAllocManaged, mem_alloc_managed),
    TAKES(cuMemAllocHost, mem_alloc_host_v1),
    TAKES(cuMemAllocHost_v2, mem_alloc_host),
    TAKES(cuMemHostAlloc, mem_host_alloc),
    TAKES(cuMemHostAlloc_v2, mem_host_alloc),
    NOTHING(cuMemFreeHost),
    TAKES(cuMemCreate, mem_create),
    TAKES(cuArrayCreate, array_create),
    TAKES(cuArrayCreate_v2, array_create),
    TAKES(cuArray3DCreate, array_create),
    TAKES(cuArray3DCreate_v2, array_create),
    TAKES(cuMipmappedArrayCreate, array_create),
    TAKES(cuGraphAddMemAllocNode, add_alloc_node),
    GIVES(cuCtxDestroy, ctx_destroy),
    GIVES(cuCtxDestroy_v2, ctx_destroy),
    GIVES(cuDevicePrimaryCtxReset, primary_ctx_reset),
    GIVES(cuDevicePrimaryCtxReset_v2, primary_ctx_reset),

    TAKES(cuStreamCreate, stream_create),
    TAKES(cuStreamCreateWithPriority, stream_create_priority),
    GIVES(cuStreamDestroy, stream_destroy),
    GIVES(cuStreamDestroy_v2, stream_destroy),
    TAKES_ON(cuStreamSynchronize, stream_synchronize),
    TAKES_ON(cuStreamQuery, stream_query),
    TAKES_ON(cuStreamWaitEvent, stream_wait_event),
    TAKES_ON(cuStreamBeginCapture, begin_capture),
    TAKES_ON(cuStreamBeginCapture_v2, begin_capture),
    TAKES_ON(cuStreamEndCapture, end_capture),

    NOTHING(cuEventCreate), /* it says something when it is recorded */
    NOTHING(cuEventCreateFromNVNSync),
    NOTHING(cuEventCreateFromEGLSync),
    GIVES(cuEventDestroy, event_destroy),
    GIVES(cuEventDestroy_v2, event_destroy),
    TAKES_ON(cuEventRecord, event_record),
    TAKES_ON(cuEventRecordWithFlags, event_record),
    TAKES(cuEventQuery, event_synchronize),
    TAKES(cuEventSynchronize, event_synchronize),
    TAKES(cuCtxSynchronize, ctx_synchronize),

    TAKES(cuMemPoolCreate, pool_create),
    GIVES(cuMemPoolDestroy, pool_destroy),
    TAKES(cuMemPoolTrimTo, pool_trim),
    TAKES(cuDeviceGetDefaultMemPool, device_get_default_pool),
    TAKES(cuDeviceGetMemPool, device_get_pool),
    NOTHING(cuMemPoolSetAttribute),
    NOTHING(cuMemPoolGetAttribute),
    NOTHING(cuMemPoolSetAccess),
    NOTHING(cuMemPoolGetAccess),
    NOTHING(cuMemPoolExportToShareableHandle),
    NOTHING(cuMemPoolImportFromShareableHandle), /* the memory is another process's */
    NOTHING(cuMemPoolExportPointer),
    NOTHING(cuMemPoolImportPointer),

/* The toolkits that brought them, or later ones: older headers lack the names. */
#if CUDA_VERSION >= 12040
    TAKES(cuGraphAddNode, add_node),
    TAKES(cuGraphAddNode_v2, add_node_v2),
    TAKES_ON(cuStreamBeginCaptureToGraph, begin_capture),
#endif
#if CUDA_VERSION >= 12080
    TAKES(cuGreenCtxStreamCreate, stream_create_green),
    NOTHING(cuStreamCreateForCaptureToCig), /* its work goes to a graphics interface */
#endif
#if CUDA_VERSION >= 13000
    TAKES(cuCtxSynchronize_v2, ctx_synchronize_v2),
    TAKES(cuMemGetDefaultMemPool, get_default_pool),
    TAKES(cuMemGetMemPool, get_pool),
#endif
};
/* clang-format on */

enum { FUNCTIONS = sizeof functions / sizeof *functions };

const struct tp_cuda_function *tp_cuda_function(CUpti_CallbackId number)
{
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (functions[i].number == number)
            return functions[i].handler ? &functions[i] : NULL;
    return NULL;
}

bool tp_cuda_function_gives_back(const struct tp_cuda_function *f)
{
    return f->gives_back;
}

bool tp_cuda_call_record(const struct tp_cuda_function *f, struct tp_cuda_call *call,
                         struct tp_device_call *out)
{
    call->per_thread = f->per_thread;
    return f->handler(call, out) && out->device <= TP_CALL_NO_DEVICE;
}

size_t tp_cuda_functions(void)
{
    return FUNCTIONS;
}

CUpti_CallbackId tp_cuda_function_number(size_t i, bool *looked_at)
{
    *looked_at = functions[i].handler != NULL;
    return functions[i].number;
}
