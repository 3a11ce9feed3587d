/* Entry points about stream-ordered pools. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

static struct fc_pool *pool_make(struct fc_device *d)
{
    struct fc_pool *p = fc_zeroed(sizeof *p);
    fc_heap_init(&p->heap, d, FC_POOL_CHUNK);
    p->heap.follow = p->heap.opportunistic = p->heap.internal = true;
    fc_object_add(d, &p->object, FC_POOL);
    return p;
}

struct fc_pool *fc_default_pool(struct fc_device *d)
{
    if (!d->default_pool) {
        d->default_pool = pool_make(d);
        d->default_pool->threshold = fc.script.threshold;
    }
    return d->default_pool;
}

void fc_pool_free(struct fc_pool *p)
{
    fc_heap_clear(&p->heap);
    fc_object_remove(&p->object);
}

void fc_synced(struct fc_device *d)
{
    for (struct fc_object *o = d->objects[FC_POOL]; o; o = o->next) {
        struct fc_pool *p = FC_OF(o, struct fc_pool, object);
        fc_heap_trim(&p->heap, p->threshold);
    }
}

static struct fc_pool *pool_of(CUmemoryPool handle, CUresult *rc)
{
    struct fc_pool *p = fc_object((uintptr_t)handle, FC_POOL, rc);
    if (p && p->destroyed) {
        *rc = fc_violation(CUDA_ERROR_INVALID_HANDLE, "a call on a pool that was destroyed");
        return NULL;
    }
    return p;
}

static CUmemoryPool to_pool(const struct fc_pool *p)
{
    return (CUmemoryPool)(uintptr_t)p->object.node.key;
}

/* --- the life of a pool ----------------------------------------------------------------------- */

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    CUresult rc = fc_enter(FC_cuMemPoolCreate);
    struct fc_device *d = NULL;
    if (!rc && (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
                props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || props->usage != 0))
        rc = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !rc && i < sizeof props->reserved; i++)
        rc = props->reserved[i] ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!rc && !(d = fc_device(props->location.id)))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && (!fc.script.pools || props->handleTypes != CU_MEM_HANDLE_TYPE_NONE))
        rc = CUDA_ERROR_NOT_SUPPORTED;
    if (!rc && !d->retained)
        rc = fc_violation(CUDA_ERROR_INVALID_CONTEXT, "a pool on device %d, which has no context",
                          d->ordinal);
    if (!rc) {
        struct fc_pool *p = pool_make(d);
        p->heap.max_size =
            props->maxSize ? (props->maxSize + FC_GRANULE - 1) / FC_GRANULE * FC_GRANULE : 0;
        *pool = to_pool(p);
        fc.books.pools++;
    }
    return fc_leave(rc);
}

static CUresult pool_destroy(struct fc_pool *p)
{
    struct fc_device *d = p->object.device;
    if (p == d->default_pool)
        return fc_violation(CUDA_ERROR_INVALID_VALUE, "destroying the default pool");
    if (p->blocks > 0)
        fc_violation(0, "destroying a pool with %llu blocks", (unsigned long long)p->blocks);
    else if (fc_heap_pending(&p->heap))
        fc_violation(0, "destroying a pool whose frees are not known to be complete");
    if (d->pool == p)
        d->pool = NULL;
    fc.books.pools--;
    p->destroyed = true;
    if (p->blocks == 0)
        fc_pool_free(p);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult rc;
    if (fc_enter_release(FC_cuMemPoolDestroy, &rc)) {
        struct fc_pool *p = pool_of(pool, &rc);
        CUresult own = p ? pool_destroy(p) : CUDA_SUCCESS;
        rc = rc ? rc : own;
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    CUresult rc = fc_enter(FC_cuMemPoolTrimTo);
    struct fc_pool *p = rc ? NULL : pool_of(pool, &rc);
    if (p)
        fc_heap_trim(&p->heap, minBytesToKeep);
    return fc_leave(rc);
}

/* --- attributes ------------------------------------------------------------------------------- */

static bool *flag_of(struct fc_pool *p, CUmemPool_attribute attr)
{
    switch (attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return &p->heap.follow;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return &p->heap.opportunistic;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return &p->heap.internal;
    default:
        return NULL;
    }
}

static uint64_t *number_of(struct fc_pool *p, CUmemPool_attribute attr)
{
    switch (attr) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &p->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &p->heap.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &p->heap.reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &p->heap.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &p->heap.used_high;
    default:
        return NULL;
    }
}

static CUresult set_attribute(struct fc_pool *p, CUmemPool_attribute attr, const void *value)
{
    bool *flag = flag_of(p, attr);
    uint64_t *number = number_of(p, attr);
    cuuint64_t given = 0;
    int given_flag = 0;
    if (flag) {
        memcpy(&given_flag, value, sizeof given_flag);
        *flag = given_flag != 0;
        return CUDA_SUCCESS;
    }
    if (!number || attr == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
        attr == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&given, value, sizeof given);
    if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
        *number = given;
        return CUDA_SUCCESS;
    }
    if (given != 0) /* high-water marks can only be reset */
        return CUDA_ERROR_INVALID_VALUE;
    *number = attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH ? p->heap.reserved : p->heap.used;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult rc = fc_enter(FC_cuMemPoolSetAttribute);
    struct fc_pool *p = rc ? NULL : pool_of(pool, &rc);
    if (!rc && !value)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        rc = set_attribute(p, attr, value);
    return fc_leave(rc);
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult rc = fc_enter(FC_cuMemPoolGetAttribute);
    struct fc_pool *p = rc ? NULL : pool_of(pool, &rc);
    if (!rc && !value)
        rc = CUDA_ERROR_INVALID_VALUE;
    bool *flag = rc ? NULL : flag_of(p, attr);
    uint64_t *number = rc ? NULL : number_of(p, attr);
    if (flag) {
        int as_int = *flag;
        memcpy(value, &as_int, sizeof as_int);
    } else if (number) {
        memcpy(value, number, sizeof *number);
    } else if (!rc) {
        rc = CUDA_ERROR_INVALID_VALUE;
    }
    return fc_leave(rc);
}

/* --- the pool of a device --------------------------------------------------------------------- */

static CUresult give_pool(enum fc_call call, CUmemoryPool *out, CUdevice dev)
{
    CUresult rc = fc_enter(call);
    struct fc_device *d = rc ? NULL : fc_device(dev);
    if (!rc && !out)
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && !d)
        rc = CUDA_ERROR_INVALID_DEVICE;
    if (!rc && !fc.script.pools)
        rc = CUDA_ERROR_NOT_SUPPORTED;
    if (!rc) {
        bool own = call == FC_cuDeviceGetMemPool && d->pool;
        *out = to_pool(own ? d->pool : fc_default_pool(d));
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    return give_pool(FC_cuDeviceGetDefaultMemPool, pool_out, dev);
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return give_pool(FC_cuDeviceGetMemPool, pool, dev);
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    CUresult rc = fc_enter(FC_cuDeviceSetMemPool);
    struct fc_device *d = rc ? NULL : fc_device(dev);
    if (!rc && !d)
        rc = CUDA_ERROR_INVALID_DEVICE;
    struct fc_pool *p = rc ? NULL : pool_of(pool, &rc);
    if (p && p->object.device != d)
        rc = CUDA_ERROR_INVALID_VALUE;
    else if (p)
        d->pool = p;
    return fc_leave(rc);
}
