/* A stream-ordered pool of the driver: cuMemAllocFromPoolAsync and its kin.
 *
 * The device's default pool belongs to the whole process, so what it was set to is remembered and
 * set again. Both kinds begin empty, and their high-water marks begin at that point. */
#ifndef TP_CUDA_POOL_H
#define TP_CUDA_POOL_H

#include "cuda/gpu.h"

enum { POOL_ATTRIBUTES = 4 }; /* that are set and remembered */

struct cuda_pool {
    CUmemoryPool handle; /* NULL: not open */
    bool own;
    cuuint64_t saved[POOL_ATTRIBUTES]; /* of a default pool */
};

/* Contracts as in alloc/source.h. */
int tp_cuda_pool_open(struct cuda_pool *p, struct cuda_gpu *g, const struct tp_pool_cfg *cfg,
                      struct tp_err *err);
int tp_cuda_pool_close(struct cuda_pool *p, struct cuda_gpu *g);
int tp_cuda_pool_trim(struct cuda_pool *p, struct cuda_gpu *g, uint64_t keep);
int tp_cuda_pool_marks(struct cuda_pool *p, struct cuda_gpu *g, struct tp_pool_marks *out);

static inline int cuda_pool_get(struct cuda_pool *p, struct cuda_gpu *g, uint64_t size,
                                CUstream stream, tp_addr *out)
{
    CUdeviceptr addr = 0;
    int rc = p->handle ? cuda_enter(g) : TP_EINVAL;
    if (rc)
        return rc;
    CUresult code = CUDA_CALL(g, MemAllocFromPoolAsync, &addr, size, p->handle, stream);
    *out = addr;
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        return TP_EOOM;
    return cuda_status(g, "cuMemAllocFromPoolAsync", code);
}

/* After a failure: nothing orders the free any more, so the device is waited for; then it is tried,
 * so that a device that still answers keeps no block. TP_EDEVICE. */
int tp_cuda_pool_give_back(struct cuda_gpu *g, tp_addr addr, CUstream stream);

/* The driver knows its own blocks: an address that is none is refused by it. */
static inline int cuda_pool_put(struct cuda_pool *p, struct cuda_gpu *g, tp_addr addr,
                                CUstream stream)
{
    if (__builtin_expect(!p->handle || !addr, 0))
        return TP_EINVAL;
    if (__builtin_expect(cuda_enter(g) != TP_OK, 0))
        return tp_cuda_pool_give_back(g, addr, stream);
    CUresult code = CUDA_CALL(g, MemFreeAsync, addr, stream);
    if (code == CUDA_ERROR_INVALID_VALUE)
        return TP_EINVAL;
    return cuda_status(g, "cuMemFreeAsync", code);
}

#endif
