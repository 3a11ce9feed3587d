/* A stream-ordered pool of the driver.
 *
 * Known weakness: where other code of this process uses the default pool at the same time, emptying
 * the pool also frees that code's idle memory, and the high-water marks include its blocks. */
#include "cuda/cuda_source.h"
#include "cuda/facts.h"

/* The attributes that are set, and their widths: the threshold has 64 bits, the others are an
 * int. */
static const struct {
    CUmemPool_attribute name;
    bool wide;
} attributes[POOL_ATTRIBUTES] = {
    {CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, true},
    {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, false},
    {CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, false},
    {CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, false},
};

static int set_attributes(struct cuda_pool *p, struct cuda_gpu *g,
                          const cuuint64_t values[POOL_ATTRIBUTES])
{
    int rc = TP_OK;
    for (int i = 0; i < POOL_ATTRIBUTES; i++) {
        cuuint64_t wide = values[i];
        int narrow = values[i] != 0;
        if (CUDA_TRY(g, MemPoolSetAttribute, p->handle, attributes[i].name,
                     attributes[i].wide ? (void *)&wide : (void *)&narrow))
            rc = TP_EDEVICE;
    }
    return rc;
}

static int remember_attributes(struct cuda_pool *p, struct cuda_gpu *g, struct tp_err *err)
{
    for (int i = 0; i < POOL_ATTRIBUTES; i++) {
        cuuint64_t wide = 0;
        int narrow = 0;
        CUresult code = CUDA_CALL(g, MemPoolGetAttribute, p->handle, attributes[i].name,
                                  attributes[i].wide ? (void *)&wide : (void *)&narrow);
        if (code != CUDA_SUCCESS)
            return tp_cuda_fail(&g->driver, "cuMemPoolGetAttribute", code, err);
        p->saved[i] = attributes[i].wide ? wide : (cuuint64_t)(narrow != 0);
    }
    return TP_OK;
}

/* Creates a new pool. A failure is returned but does not count as losing the device. */
static int create_own(struct cuda_pool *p, struct cuda_gpu *g, uint64_t max_size,
                      struct tp_err *err)
{
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_NONE,
                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = g->ordinal}};
#if CUDA_VERSION >= 12020
    props.maxSize = max_size;
#endif
    (void)max_size;
    return tp_cuda_answered(&g->driver, "cuMemPoolCreate",
                            CUDA_CALL(g, MemPoolCreate, &p->handle, &props), err);
}

/* The error where a pool's size cannot be limited: drivers support pools longer than they support
 * the limit. */
static int refuse_max_size(const struct cuda_gpu *g, struct tp_err *err)
{
    const int since = 12020;
    int known = g->driver.version < CUDA_VERSION ? g->driver.version : CUDA_VERSION;
    if (known >= since)
        return TP_OK;
    return tp_fail(err, TP_EDEVICE,
                   "a pool with 'max_size' needs CUDA 12.2 or newer; %s knows CUDA %d.%d",
                   known == CUDA_VERSION ? "the toolkit that tapool was built with" : "the driver",
                   known / 1000, known % 1000 / 10);
}

static int refuse_without_pools(const struct cuda_gpu *g, struct tp_err *err)
{
    char name[TP_CUDA_NAME], why[TP_CUDA_WHY];
    if (tp_cuda_has_pools(&g->driver, g->device, why))
        return TP_OK;
    tp_cuda_name(&g->driver, g->device, name);
    int rc = tp_fail(err, TP_EDEVICE, "device %d (%s) has no stream-ordered pools: %s", g->ordinal,
                     name, why);
    return tp_hint(err, rc, "'-s stream-pool' replays a software pool with the same interface");
}

/* Releases everything that the pool reserves, and resets its high-water marks. */
static int empty_pool(struct cuda_pool *p, struct cuda_gpu *g)
{
    static const CUmemPool_attribute highs[] = {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                                CU_MEMPOOL_ATTR_USED_MEM_HIGH};
    int rc = cuda_synchronize(g);
    if (!rc)
        rc = CUDA_TRY(g, MemPoolTrimTo, p->handle, 0);
    for (int i = 0; !rc && i < 2; i++) {
        cuuint64_t zero = 0; /* 0 is the only value allowed and resets a mark */
        rc = CUDA_TRY(g, MemPoolSetAttribute, p->handle, highs[i], &zero);
    }
    return rc;
}

static int take_default(struct cuda_pool *p, struct cuda_gpu *g, struct tp_err *err)
{
    int rc = tp_cuda_answered(&g->driver, "cuDeviceGetDefaultMemPool",
                              CUDA_CALL(g, DeviceGetDefaultMemPool, &p->handle, g->device), err);
    if (!rc)
        rc = remember_attributes(p, g, err);
    if (rc)
        p->handle = NULL; /* no attribute was changed, so none is restored */
    return rc;
}

int tp_cuda_pool_open(void *state, const struct tp_pool_cfg *cfg, struct tp_err *err)
{
    struct cuda_pool *p = &((struct cuda_source *)state)->pool;
    struct cuda_gpu *g = &((struct cuda_source *)state)->gpu;
    if (p->handle)
        return tp_fail(err, TP_EINVAL, "a pool of this device is open already");
    int rc = cuda_enter(g);
    if (rc)
        return tp_fail(err, TP_EDEVICE, "%s", g->failure.text);
    rc = refuse_without_pools(g, err);
    if (!rc && cfg->own && cfg->max_size)
        rc = refuse_max_size(g, err);
    if (!rc && cfg->reuse_allow_opportunistic)
        rc = tp_cuda_release_check_reuse(g->driver.release, err);
    if (rc)
        return rc;
    const cuuint64_t values[POOL_ATTRIBUTES] = {
        cfg->release_threshold, cfg->reuse_follow_event_dependencies,
        cfg->reuse_allow_opportunistic, cfg->reuse_allow_internal_dependencies};
    *p = (struct cuda_pool){.own = cfg->own};
    rc = cfg->own ? create_own(p, g, cfg->max_size, err) : take_default(p, g, err);
    if (rc)
        return rc;
    rc = empty_pool(p, g);
    if (!rc)
        rc = set_attributes(p, g, values);
    if (!rc)
        return TP_OK;
    tp_cuda_pool_close(state);
    return tp_fail(err, TP_EDEVICE, "%s", g->failure.text);
}

/* Makes every call, even on a lost device, and returns the first failure. */
int tp_cuda_pool_close(void *state)
{
    struct cuda_pool *p = &((struct cuda_source *)state)->pool;
    struct cuda_gpu *g = &((struct cuda_source *)state)->gpu;
    if (!p->handle)
        return TP_EINVAL;
    bool was_lost = g->failure.status != TP_OK;
    tp_cuda_make_current(g);
    int rc = cuda_synchronize(g);
    if (!p->own && set_attributes(p, g, p->saved))
        rc = TP_EDEVICE;
    if (CUDA_TRY(g, MemPoolTrimTo, p->handle, 0))
        rc = TP_EDEVICE;
    if (p->own && CUDA_TRY(g, MemPoolDestroy, p->handle))
        rc = TP_EDEVICE;
    *p = (struct cuda_pool){0};
    return was_lost ? TP_EDEVICE : rc;
}

int tp_cuda_get_async(void *state, uint64_t size, uint16_t stream, tp_addr *out)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    CUdeviceptr addr = 0;
    assert(stream < s->stream_count);
    int rc = s->pool.handle ? cuda_enter(g) : TP_EINVAL;
    if (rc)
        return rc;
    *out = 0;
    if (__builtin_expect(size > s->total, 0))
        return TP_EOOM;
    CUresult code =
        CUDA_CALL(g, MemAllocFromPoolAsync, &addr, size, s->pool.handle, s->streams[stream]);
    *out = addr;
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        return TP_EOOM;
    return cuda_status(g, "cuMemAllocFromPoolAsync", code);
}

/* Frees a block after a failure. The order of streams is no longer certain, so the device is
 * synchronised first; then the free is tried, so that a device that still answers keeps no
 * block. */
static int give_back(struct cuda_gpu *g, tp_addr addr, CUstream stream)
{
    tp_cuda_make_current(g);
    cuda_synchronize(g);
    CUDA_TRY(g, MemFreeAsync, addr, stream);
    return TP_EDEVICE;
}

/* Frees a block on a stream. The driver itself refuses an address that is no block. */
int tp_cuda_put_async(void *state, tp_addr addr, uint16_t stream)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    assert(stream < s->stream_count);
    if (__builtin_expect(!s->pool.handle || !addr, 0))
        return TP_EINVAL;
    if (__builtin_expect(cuda_enter(g) != TP_OK, 0))
        return give_back(g, addr, s->streams[stream]);
    CUresult code = CUDA_CALL(g, MemFreeAsync, addr, s->streams[stream]);
    if (code == CUDA_ERROR_INVALID_VALUE)
        return TP_EINVAL;
    return cuda_status(g, "cuMemFreeAsync", code);
}

int tp_cuda_pool_trim(void *state, uint64_t keep)
{
    struct cuda_source *s = state;
    int rc = s->pool.handle ? cuda_enter(&s->gpu) : TP_EINVAL;
    return rc ? rc : CUDA_TRY(&s->gpu, MemPoolTrimTo, s->pool.handle, keep);
}

/* These calls are not counted, because a replay does not need them. */
int tp_cuda_pool_marks(void *state, struct tp_pool_marks *out)
{
    struct cuda_source *s = state;
    int rc = s->pool.handle ? cuda_enter(&s->gpu) : TP_EINVAL;
    const struct {
        CUmemPool_attribute name;
        uint64_t *value;
    } wanted[] = {{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &out->reserved},
                  {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &out->reserved_high},
                  {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &out->used},
                  {CU_MEMPOOL_ATTR_USED_MEM_HIGH, &out->used_high}};
    for (int i = 0; !rc && i < 4; i++) {
        cuuint64_t value = 0;
        rc = CUDA_LOOK(&s->gpu, MemPoolGetAttribute, s->pool.handle, wanted[i].name, &value);
        *wanted[i].value = value;
    }
    return rc;
}
