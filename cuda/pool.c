/* Opening, trimming and closing a stream-ordered pool: see pool.h.
 *
 * Known weakness: a default pool that other code of this process uses at the same time is emptied
 * with everybody's idle memory, and its high-water marks are everybody's. */
#include "cuda/pool.h"
#include "cuda/facts.h"

/* The threshold is 64 bits wide, the others are an int. */
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
        CUresult code = CUDA_CALL(g, MemPoolSetAttribute, p->handle, attributes[i].name,
                                  attributes[i].wide ? (void *)&wide : (void *)&narrow);
        if (code != CUDA_SUCCESS)
            rc = tp_cuda_lose(g, "cuMemPoolSetAttribute", code);
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

/* A pool that cannot be had is no lost device. */
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
    CUresult code = CUDA_CALL(g, MemPoolCreate, &p->handle, &props);
    return code == CUDA_SUCCESS ? TP_OK : tp_cuda_fail(&g->driver, "cuMemPoolCreate", code, err);
}

/* A limit came to pools later than pools did. */
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

/* Nothing reserved, and the high-water marks begin here. */
static int empty_pool(struct cuda_pool *p, struct cuda_gpu *g)
{
    static const CUmemPool_attribute highs[] = {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                                CU_MEMPOOL_ATTR_USED_MEM_HIGH};
    int rc = cuda_synchronize(g);
    if (!rc)
        rc = cuda_status(g, "cuMemPoolTrimTo", CUDA_CALL(g, MemPoolTrimTo, p->handle, 0));
    for (int i = 0; !rc && i < 2; i++) {
        cuuint64_t zero = 0; /* the one value that it takes: from now on */
        rc = cuda_status(g, "cuMemPoolSetAttribute",
                         CUDA_CALL(g, MemPoolSetAttribute, p->handle, highs[i], &zero));
    }
    return rc;
}

static int take_default(struct cuda_pool *p, struct cuda_gpu *g, struct tp_err *err)
{
    CUresult code = CUDA_CALL(g, DeviceGetDefaultMemPool, &p->handle, g->device);
    if (code != CUDA_SUCCESS) {
        p->handle = NULL;
        return tp_cuda_fail(&g->driver, "cuDeviceGetDefaultMemPool", code, err);
    }
    int rc = remember_attributes(p, g, err);
    if (rc)
        p->handle = NULL; /* nothing was changed */
    return rc;
}

int tp_cuda_pool_open(struct cuda_pool *p, struct cuda_gpu *g, const struct tp_pool_cfg *cfg,
                      struct tp_err *err)
{
    if (p->handle)
        return tp_fail(err, TP_EINVAL, "a pool of this device is open already");
    int rc = cuda_enter(g);
    if (rc)
        return tp_fail(err, TP_EDEVICE, "%s", g->failure.text);
    rc = refuse_without_pools(g, err);
    if (!rc && cfg->own && cfg->max_size)
        rc = refuse_max_size(g, err);
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
    tp_cuda_pool_close(p, g);
    return tp_fail(err, TP_EDEVICE, "%s", g->failure.text);
}

/* Tries everything, also on a lost device; the first failure counts. */
int tp_cuda_pool_close(struct cuda_pool *p, struct cuda_gpu *g)
{
    if (!p->handle)
        return TP_EINVAL;
    bool was_lost = g->failure.status != TP_OK;
    tp_cuda_make_current(g);
    int rc = cuda_synchronize(g);
    if (!p->own && set_attributes(p, g, p->saved))
        rc = TP_EDEVICE;
    if (cuda_status(g, "cuMemPoolTrimTo", CUDA_CALL(g, MemPoolTrimTo, p->handle, 0)))
        rc = TP_EDEVICE;
    if (p->own && cuda_status(g, "cuMemPoolDestroy", CUDA_CALL(g, MemPoolDestroy, p->handle)))
        rc = TP_EDEVICE;
    *p = (struct cuda_pool){0};
    return was_lost ? TP_EDEVICE : rc;
}

int tp_cuda_pool_give_back(struct cuda_gpu *g, tp_addr addr, CUstream stream)
{
    tp_cuda_make_current(g);
    cuda_synchronize(g);
    cuda_released(g, "cuMemFreeAsync", CUDA_CALL(g, MemFreeAsync, addr, stream));
    return TP_EDEVICE;
}

int tp_cuda_pool_trim(struct cuda_pool *p, struct cuda_gpu *g, uint64_t keep)
{
    int rc = p->handle ? cuda_enter(g) : TP_EINVAL;
    if (rc)
        return rc;
    return cuda_status(g, "cuMemPoolTrimTo", CUDA_CALL(g, MemPoolTrimTo, p->handle, keep));
}

/* Looking is no part of what a replay needs: these calls are not counted. */
int tp_cuda_pool_marks(struct cuda_pool *p, struct cuda_gpu *g, struct tp_pool_marks *out)
{
    int rc = p->handle ? cuda_enter(g) : TP_EINVAL;
    const struct {
        CUmemPool_attribute name;
        uint64_t *value;
    } wanted[] = {{CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &out->reserved},
                  {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &out->reserved_high},
                  {CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &out->used},
                  {CU_MEMPOOL_ATTR_USED_MEM_HIGH, &out->used_high}};
    for (int i = 0; !rc && i < 4; i++) {
        cuuint64_t value = 0;
        rc = cuda_status(g, "cuMemPoolGetAttribute",
                         g->driver.MemPoolGetAttribute(p->handle, wanted[i].name, &value));
        *wanted[i].value = value;
    }
    return rc;
}
