/* Work that keeps streams busy. It is not part of what a strategy needs, so its calls are counted
 * apart and never timed. The module is loaded with the first kernel; a caller that wants it loaded
 * before memory is measured asks for work of 0 bytes. */
#include "cuda/cuda_source.h"

#include <stdlib.h>

enum { OCCUPY_BYTE = 0xA5 };

/* Does this driver, or this device, have no use for the compiled kernel? */
static bool is_too_new(CUresult code)
{
    return code == CUDA_ERROR_INVALID_IMAGE || code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
           code == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || code == CUDA_ERROR_INVALID_PTX;
}

CUresult tp_cuda_spin_module(const struct cuda_driver *d, CUmodule *out)
{
    CUresult code = CUDA_ERROR_INVALID_IMAGE;
    if (tp_cuda_spin_image_size)
        code = d->ModuleLoadData(out, tp_cuda_spin_image);
    return is_too_new(code) ? d->ModuleLoadData(out, tp_cuda_spin_ptx) : code;
}

static int load_kernel(struct cuda_occupy *o, struct cuda_gpu *g)
{
    if (g->driver.missing[CUDA_KERNEL])
        return TP_EUNSUP;
    int rc = cuda_status(g, "cuModuleLoadData", tp_cuda_spin_module(&g->driver, &o->module));
    if (rc) {
        o->module = NULL;
        return rc;
    }
    return CUDA_LOOK(g, ModuleGetFunction, &o->spin, o->module, "tapool_spin");
}

static int spin(struct cuda_occupy *o, struct cuda_gpu *g, CUstream stream, CUdeviceptr block,
                uint64_t size, uint64_t ns)
{
    unsigned long long bytes = size, busy = ns;
    void *arguments[] = {&block, &bytes, &busy};
    int rc = o->module ? TP_OK : load_kernel(o, g);
    if (rc)
        return rc;
    return CUDA_LOOK(g, LaunchKernel, o->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL);
}

/* ---- queues that do not fill up ---- */

/* Makes each stream's event: none is made later, when others are timed. */
int tp_cuda_occupy_open(struct cuda_source *s, struct tp_err *err)
{
    struct cuda_occupy *o = &s->occupy;
    o->queues = calloc(s->stream_count, sizeof *o->queues);
    int rc = o->queues ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (uint32_t i = 0; !rc && i < s->stream_count; i++)
        rc = CUDA_ASK(&s->gpu.driver, err, EventCreate, &o->queues[i].batch,
                      CU_EVENT_DISABLE_TIMING);
    return rc;
}

/* Returns once the event has passed. It is asked again and again: a synchronisation would also make
 * the driver's pools give memory back. */
static int wait_for(struct cuda_gpu *g, CUevent event, bool *waited)
{
    CUresult code = g->driver.EventQuery(event);
    *waited = code == CUDA_ERROR_NOT_READY;
    while (code == CUDA_ERROR_NOT_READY)
        code = g->driver.EventQuery(event);
    return cuda_status(g, "cuEventQuery", code);
}

/* To be called after a work was queued. */
static int count_work(struct cuda_queue *q, struct cuda_gpu *g, CUstream stream)
{
    if (++q->works < OCCUPY_BATCH)
        return TP_OK;
    q->works = 0;
    bool waited;
    int rc = wait_for(g, q->batch, &waited); /* an event that was never recorded has passed */
    g->counts.held_back += waited;
    return rc ? rc : CUDA_LOOK(g, EventRecord, q->batch, stream);
}

/* The stream of the largest sum; NULL: no kernels were queued. */
static struct cuda_queue *busiest(const struct cuda_source *s)
{
    struct cuda_queue *most = NULL;
    for (uint32_t i = 0; s->occupy.queues && i < s->stream_count; i++)
        if (s->occupy.queues[i].asked_ns > (most ? most->asked_ns : 0))
            most = &s->occupy.queues[i];
    return most;
}

void tp_cuda_settle(void *state)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    struct cuda_queue *q = busiest(s);
    bool waited;
    if (!q || cuda_enter(g) ||
        CUDA_LOOK(g, EventRecord, q->batch, s->streams[q - s->occupy.queues]) ||
        wait_for(g, q->batch, &waited))
        return;
    g->counts.busy_asked_ns = q->asked_ns;
    g->counts.busy_spent_ns = cuda_clock_ns() - q->began_ns;
}

/* A kernel is about to be queued. */
static void count_asked(struct cuda_queue *q, uint64_t ns)
{
    if (!q->began_ns)
        q->began_ns = cuda_clock_ns();
    q->asked_ns += ns;
}

/* ---- the members of the source ---- */

int tp_cuda_work(void *state, uint16_t stream, tp_addr block, uint64_t size, uint64_t ns,
                 enum tp_occupy how)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    assert(stream < s->stream_count);
    bool nothing = how == TP_OCCUPY_NONE || (how == TP_OCCUPY_MEMSET && !size);
    int rc = nothing ? TP_OK : cuda_enter(g);
    if (rc || nothing)
        return rc;
    if (how == TP_OCCUPY_SPIN && size)
        count_asked(&s->occupy.queues[stream], ns);
    if (how == TP_OCCUPY_SPIN)
        rc = spin(&s->occupy, g, s->streams[stream], block, size, ns);
    else
        rc = CUDA_LOOK(g, MemsetD8Async, block, OCCUPY_BYTE, size, s->streams[stream]);
    if (!rc && !size && !s->ranges.count && !s->mappings.mapped && !s->pool.handle)
        rc = cuda_read_capacity(s); /* what the kernel takes is not for a strategy to have */
    if (rc || !size)
        return rc;
    g->counts.works++;
    tp_cuda_fences_work(&s->fences, stream);
    return count_work(&s->occupy.queues[stream], g, s->streams[stream]);
}

void tp_cuda_occupy_close(struct cuda_source *s)
{
    struct cuda_occupy *o = &s->occupy;
    if (o->module)
        CUDA_LOOK(&s->gpu, ModuleUnload, o->module);
    for (uint32_t i = 0; o->queues && i < s->stream_count && o->queues[i].batch; i++)
        CUDA_LOOK(&s->gpu, EventDestroy, o->queues[i].batch);
    free(o->queues);
    s->occupy = (struct cuda_occupy){0};
}
