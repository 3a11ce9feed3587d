/* Entry points about streams, events and the work that is queued in them. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

enum { MEMSET_BYTES_PER_NS = 1024 }; /* how fast the simulated device writes */

static _Thread_local uint32_t thread_number; /* from 1; 0: not given yet */

/* --- which stream ----------------------------------------------------------------------------- */

CUstream fc_per_thread(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

static struct fc_stream *per_thread_stream(struct fc_device *d)
{
    if (thread_number == 0)
        thread_number = ++fc.threads;
    if (thread_number >= d->per_threads) {
        uint32_t n = thread_number + 1;
        d->per_thread = fc_grow(d->per_thread, n * sizeof *d->per_thread);
        memset(d->per_thread + d->per_threads, 0, (n - d->per_threads) * sizeof *d->per_thread);
        d->per_threads = n;
    }
    if (!d->per_thread[thread_number])
        d->per_thread[thread_number] = fc_stream_make(d, true);
    return d->per_thread[thread_number];
}

struct fc_stream *fc_stream(CUstream handle, CUresult *rc)
{
    struct fc_device *d = fc_current(rc);
    if (!d)
        return NULL;
    if (!handle || handle == CU_STREAM_LEGACY)
        return d->legacy;
    if (handle == CU_STREAM_PER_THREAD)
        return per_thread_stream(d);
    return fc_object((uintptr_t)handle, FC_STREAM, rc);
}

struct fc_stream *fc_stream_own(CUstream handle, CUresult *rc)
{
    struct fc_stream *s = fc_stream(handle, rc);
    if (s && s->object.device != fc_current(rc)) {
        *rc = fc_violation(CUDA_ERROR_INVALID_HANDLE,
                           "work in a stream of device %d while the context of another is current",
                           s->object.device->ordinal);
        return NULL;
    }
    return s;
}

static void *to_handle(const struct fc_object *o)
{
    return (void *)(uintptr_t)o->node.key;
}

/* --- streams ---------------------------------------------------------------------------------- */

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
    CUresult rc = fc_enter(FC_cuStreamCreate);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    if (!rc && (!phStream || Flags > CU_STREAM_NON_BLOCKING))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc) {
        struct fc_stream *s = fc_stream_make(d, Flags == CU_STREAM_DEFAULT);
        fc_stream_connect(s);
        fc_object_charge(&s->object);
        *phStream = to_handle(&s->object);
        fc.books.streams++;
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuStreamDestroy(CUstream hStream)
{
    CUresult rc;
    if (fc_enter_release(FC_cuStreamDestroy, &rc)) {
        struct fc_stream *s = fc_object((uintptr_t)hStream, FC_STREAM, &rc);
        if (s) {
            if (fc_clock_at(&fc.host, s->slot) < s->seq)
                fc_violation(0, "destroying stream 0x%llx, whose work is not known to be complete",
                             (unsigned long long)(uintptr_t)hStream);
            fc_stream_free(s);
            fc.books.streams--;
        }
    }
    return fc_leave(rc);
}

static CUresult stream_synchronize(CUstream hStream)
{
    CUresult rc = fc_enter(FC_cuStreamSynchronize);
    struct fc_stream *s = rc ? NULL : fc_stream(hStream, &rc);
    if (s) {
        fc.books.stream_syncs++;
        fc_reach(s->tail);
        fc_host_knows(&s->clock);
        fc_synced(s->object.device);
    }
    return fc_leave(rc);
}

static CUresult stream_query(CUstream hStream)
{
    CUresult rc = fc_enter(FC_cuStreamQuery);
    struct fc_stream *s = rc ? NULL : fc_stream(hStream, &rc);
    if (s && !fc_passed(s->tail))
        rc = CUDA_ERROR_NOT_READY;
    else if (s)
        fc_host_knows(&s->clock);
    return fc_leave(rc);
}

static CUresult stream_wait_event(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    CUresult rc = fc_enter(FC_cuStreamWaitEvent);
    struct fc_stream *s = rc ? NULL : fc_stream(hStream, &rc);
    struct fc_event *e = s ? fc_object((uintptr_t)hEvent, FC_EVENT, &rc) : NULL;
    if (!rc && Flags > CU_EVENT_WAIT_EXTERNAL)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && e) {
        fc.books.event_waits++;
        if (e->recorded) {
            fc_clock_join(&s->clock, &e->clock);
            if (s->tail < e->point.end)
                s->tail = e->point.end;
            fc_queue(s, 0);
        }
    }
    return fc_leave(rc);
}

/* --- events ----------------------------------------------------------------------------------- */

CUresult CUDAAPI cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
    CUresult rc = fc_enter(FC_cuEventCreate);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    bool good = phEvent && Flags < 8 &&
                (!(Flags & CU_EVENT_INTERPROCESS) || (Flags & CU_EVENT_DISABLE_TIMING));
    if (!rc && !good)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc) {
        struct fc_event *e = fc_zeroed(sizeof *e);
        fc_object_add(d, &e->object, FC_EVENT);
        *phEvent = to_handle(&e->object);
        fc.books.events++;
        fc.books.event_creates++;
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuEventDestroy(CUevent hEvent)
{
    CUresult rc;
    if (fc_enter_release(FC_cuEventDestroy, &rc)) {
        struct fc_event *e = fc_object((uintptr_t)hEvent, FC_EVENT, &rc);
        if (e) {
            if (e->recorded && !fc_before(&e->point, &fc.host))
                fc_violation(0, "destroying event 0x%llx, which is not known to be complete",
                             (unsigned long long)(uintptr_t)hEvent);
            fc_clock_clear(&e->clock);
            fc_object_remove(&e->object);
            fc.books.events--;
        }
    }
    return fc_leave(rc);
}

static CUresult event_record(CUevent hEvent, CUstream hStream)
{
    CUresult rc = fc_enter(FC_cuEventRecord);
    struct fc_stream *s = rc ? NULL : fc_stream_own(hStream, &rc);
    struct fc_event *e = s ? fc_object((uintptr_t)hEvent, FC_EVENT, &rc) : NULL;
    if (e && e->object.device != s->object.device)
        rc = fc_violation(CUDA_ERROR_INVALID_HANDLE, "an event of device %d in a stream of %d",
                          e->object.device->ordinal, s->object.device->ordinal);
    if (!rc && e) {
        fc.books.event_records++;
        e->point = fc_queue(s, 0);
        e->recorded = true;
        fc_clock_copy(&e->clock, &s->clock);
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
    CUresult rc = fc_enter(FC_cuEventQuery);
    struct fc_event *e = rc ? NULL : fc_object((uintptr_t)hEvent, FC_EVENT, &rc);
    if (e) {
        fc.books.event_queries++;
        if (e->recorded && !fc_passed(e->point.end))
            rc = CUDA_ERROR_NOT_READY;
        else if (e->recorded)
            fc_host_knows(&e->clock);
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
    CUresult rc = fc_enter(FC_cuEventSynchronize);
    struct fc_event *e = rc ? NULL : fc_object((uintptr_t)hEvent, FC_EVENT, &rc);
    if (e) {
        fc.books.event_syncs++;
        if (e->recorded) {
            fc_reach(e->point.end);
            fc_host_knows(&e->clock);
        }
        fc_synced(e->object.device);
    }
    return fc_leave(rc);
}

/* --- memsets ---------------------------------------------------------------------------------- */

static CUresult memset_async(enum fc_call call, CUdeviceptr at, uint64_t bytes, uint64_t align,
                             CUstream hStream)
{
    CUresult rc = fc_enter(call);
    struct fc_stream *s = rc ? NULL : fc_stream_own(hStream, &rc);
    if (!rc && at % align != 0)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && s && bytes > 0) {
        struct fc_point p = fc_queue(s, bytes / MEMSET_BYTES_PER_NS);
        fc_queue_work(s, &p);
        fc_memory_use(s, &p, at, bytes, "memset");
    }
    return fc_leave(rc);
}

/* --- kernels ---------------------------------------------------------------------------------- */

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    static const unsigned char magics[][4] = {{0x50, 0xed, 0x55, 0xba}, /* fatbin */
                                              {0xb1, 0x43, 0x62, 0x46}, /* its wrapper */
                                              {0x7f, 'E', 'L', 'F'}};   /* cubin */
    CUresult rc = fc_enter(FC_cuModuleLoadData);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    if (!rc && (!module || !image))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc) {
        bool good = false;
        for (size_t i = 0; i < sizeof magics / sizeof *magics && !good; i++)
            good = memcmp(image, magics[i], sizeof magics[i]) == 0;
        if (!good) /* PTX, as text */
            good = strstr(image, ".version") && strstr(image, "tapool_spin");
        rc = good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
    }
    if (!rc) {
        struct fc_module *m = fc_zeroed(sizeof *m);
        fc_object_add(d, &m->object, FC_MODULE);
        fc_object_charge(&m->object);
        *module = to_handle(&m->object);
        fc.books.modules++;
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuModuleUnload(CUmodule hmod)
{
    CUresult rc;
    if (fc_enter_release(FC_cuModuleUnload, &rc)) {
        struct fc_module *m = fc_object((uintptr_t)hmod, FC_MODULE, &rc);
        if (m) {
            for (uint32_t i = 0; i < m->used.n; i++) {
                if (fc_clock_at(&fc.host, i) < m->used.at[i]) {
                    fc_violation(0,
                                 "unloading a module whose kernels are not known to be complete");
                    break;
                }
            }
            fc_clock_clear(&m->used);
            fc_object_remove(&m->object);
            fc.books.modules--;
        }
    }
    return fc_leave(rc);
}

/* The handle of a function is that of its module plus one. */
CUresult CUDAAPI cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    CUresult rc = fc_enter(FC_cuModuleGetFunction);
    struct fc_module *m = rc ? NULL : fc_object((uintptr_t)hmod, FC_MODULE, &rc);
    if (!rc && (!hfunc || !name))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && m) {
        if (strcmp(name, "tapool_spin") == 0)
            *hfunc = (CUfunction)(uintptr_t)(m->object.node.key + 1);
        else
            rc = CUDA_ERROR_NOT_FOUND;
    }
    return fc_leave(rc);
}

struct launch {
    CUfunction function;
    unsigned grid, block; /* threads of both; 0: one of the dimensions is */
    CUstream stream;
    void **params, **extra;
};

static CUresult launch_kernel(const struct launch *l)
{
    uint64_t addr, bytes, ns;
    CUresult rc = fc_enter(FC_cuLaunchKernel);
    struct fc_stream *s = rc ? NULL : fc_stream_own(l->stream, &rc);
    struct fc_module *m = s ? fc_object((uintptr_t)l->function - 1, FC_MODULE, &rc) : NULL;
    if (!rc && (l->grid == 0 || l->block == 0 || l->block > 1024 || !l->params || l->extra))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (m && m->object.device != s->object.device)
        rc = fc_violation(CUDA_ERROR_INVALID_HANDLE, "a kernel of device %d in a stream of %d",
                          m->object.device->ordinal, s->object.device->ordinal);
    if (!rc && m) {
        memcpy(&addr, l->params[0], sizeof addr);
        memcpy(&bytes, l->params[1], sizeof bytes);
        memcpy(&ns, l->params[2], sizeof ns);
        struct fc_point p = fc_queue(s, ns + fc.script.launch);
        fc_queue_work(s, &p);
        fc_memory_use(s, &p, addr, bytes, "kernel");
        fc_clock_set(&m->used, p.slot, p.seq);
    }
    return fc_leave(rc);
}

/* --- both spellings: stream 0 is the legacy one, or the thread's ------------------------------ */

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
    return stream_synchronize(hStream);
}

CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream hStream)
{
    return stream_synchronize(fc_per_thread(hStream));
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
    return stream_query(hStream);
}

CUresult CUDAAPI cuStreamQuery_ptsz(CUstream hStream)
{
    return stream_query(fc_per_thread(hStream));
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return stream_wait_event(hStream, hEvent, Flags);
}

CUresult CUDAAPI cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    return stream_wait_event(fc_per_thread(hStream), hEvent, Flags);
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
    return event_record(hEvent, hStream);
}

CUresult CUDAAPI cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
    return event_record(hEvent, fc_per_thread(hStream));
}

CUresult CUDAAPI cuMemsetD8Async(CUdeviceptr dst, unsigned char uc, size_t N, CUstream hStream)
{
    (void)uc;
    return memset_async(FC_cuMemsetD8Async, dst, N, 1, hStream);
}

CUresult CUDAAPI cuMemsetD8Async_ptsz(CUdeviceptr dst, unsigned char uc, size_t N, CUstream hStream)
{
    return cuMemsetD8Async(dst, uc, N, fc_per_thread(hStream));
}

CUresult CUDAAPI cuMemsetD32Async(CUdeviceptr dst, unsigned int ui, size_t N, CUstream hStream)
{
    (void)ui;
    return memset_async(FC_cuMemsetD32Async, dst, 4 * N, 4, hStream);
}

CUresult CUDAAPI cuMemsetD32Async_ptsz(CUdeviceptr dst, unsigned int ui, size_t N, CUstream hStream)
{
    return cuMemsetD32Async(dst, ui, N, fc_per_thread(hStream));
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                unsigned int bx, unsigned int by, unsigned int bz,
                                unsigned int shared, CUstream hStream, void **kernelParams,
                                void **extra)
{
    (void)shared;
    return launch_kernel(
        &(struct launch){f, gx * gy * gz, bx * by * bz, hStream, kernelParams, extra});
}

CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
                                     unsigned int gz, unsigned int bx, unsigned int by,
                                     unsigned int bz, unsigned int shared, CUstream hStream,
                                     void **kernelParams, void **extra)
{
    return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, fc_per_thread(hStream), kernelParams,
                          extra);
}
