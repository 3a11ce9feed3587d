/* One device in use: its context, counts of driver calls, and the first failure.
 *
 *   int rc = cuda_enter(g);                          refuses after a failure; the context is ours
 *   return CUDA_TRY(g, MemFree, addr);               anything but success: the device is lost
 *
 *   CUresult code = CUDA_CALL(g, MemFree, addr);     the same in two steps: counted and, when asked
 *   return cuda_status(g, "cuMemFree", code);        for, timed; then looked at
 *
 * After the first failure no more calls are made: their answers would be of no use, and a lost
 * device may not answer at all. Calls that give something back are made all the same: those of
 * closing, and frees of blocks of a pool, which only their owner knows. */
#ifndef TP_CUDA_GPU_H
#define TP_CUDA_GPU_H

#include "alloc/source.h"
#include "cuda/driver.h"

#include <time.h>

struct cuda_gpu {
    struct cuda_driver driver;
    int ordinal; /* number of the device in the driver */
    CUdevice device;
    CUcontext context; /* the primary context, retained; NULL: not retained yet */
    void **current;    /* word with the context that is current in this thread; may be NULL */
    int *lost;         /* may be NULL; set by the source once it is open */
    bool timed;
    uint64_t began_ns;
    struct tp_driver_counts counts;
    struct tp_err failure; /* the first failure; status TP_OK until then */
};

/* Loads the driver and makes the primary context of device `ordinal` current; `cfg` has the trace's
 * device and the shared word `current`. TP_EDEVICE: nothing is held. */
int tp_cuda_gpu_open(struct cuda_gpu *g, int ordinal, const struct tp_source_cfg *cfg,
                     struct tp_err *err);
void tp_cuda_gpu_close(struct cuda_gpu *g);

/* Makes the context current if another one may be. TP_EDEVICE: the driver refused. */
int tp_cuda_make_current(struct cuda_gpu *g);

/* Records a failed call, of which only the first is kept. Returns TP_EDEVICE. */
int tp_cuda_lose(struct cuda_gpu *g, const char *call, CUresult code);

/* Free and total bytes of the device, whose context must be current; 0 after a failure. Not
 * counted. */
int tp_cuda_look_at_memory(struct cuda_gpu *g, uint64_t *free_bytes, uint64_t *total);

/* To be called before the driver calls of an operation. */
static inline int cuda_enter(struct cuda_gpu *g)
{
    if (__builtin_expect(g->failure.status != TP_OK, 0))
        return TP_EDEVICE;
    if (__builtin_expect(g->current && *g->current == (void *)g->context, 1))
        return TP_OK;
    return tp_cuda_make_current(g);
}

static inline int cuda_status(struct cuda_gpu *g, const char *call, CUresult code)
{
    return __builtin_expect(code == CUDA_SUCCESS, 1) ? TP_OK : tp_cuda_lose(g, call, code);
}

static inline uint64_t cuda_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void cuda_call_begins(struct cuda_gpu *g)
{
    g->counts.calls++;
    if (__builtin_expect(g->timed, 0))
        g->began_ns = cuda_clock_ns();
}

static inline CUresult cuda_call_ended(struct cuda_gpu *g, CUresult code)
{
    if (__builtin_expect(g->timed, 0))
        g->counts.ns += cuda_clock_ns() - g->began_ns;
    return code;
}

/* A function because a variadic macro of C17 needs at least one argument. */
static inline int cuda_synchronize(struct cuda_gpu *g)
{
    g->counts.syncs++;
    cuda_call_begins(g);
    return cuda_status(g, "cuCtxSynchronize", cuda_call_ended(g, g->driver.CtxSynchronize()));
}

/* CUDA_TRY makes a call that an operation needs and counts it. CUDA_LOOK makes an uncounted call:
 * queries, work that keeps a device busy, and giving back, where a failure is recorded and the next
 * call is still made. */
#define CUDA_CALL(g, name, ...)                                                                    \
    cuda_call_ended((g), (cuda_call_begins(g), (g)->driver.name(__VA_ARGS__)))
#define CUDA_TRY(g, name, ...)  cuda_status((g), "cu" #name, CUDA_CALL(g, name, __VA_ARGS__))
#define CUDA_LOOK(g, name, ...) cuda_status((g), "cu" #name, (g)->driver.name(__VA_ARGS__))

#endif
