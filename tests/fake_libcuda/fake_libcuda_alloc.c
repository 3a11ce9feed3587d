/* Entry points that hand out memory: ranges at once, blocks in the order of a stream. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

static uint64_t round_up(uint64_t size, uint64_t to)
{
    return (size + to - 1) / to * to;
}

CUresult CUDAAPI cuMemGetInfo(size_t *free_bytes, size_t *total)
{
    CUresult rc = fc_enter(FC_cuMemGetInfo);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    if (!rc && (!free_bytes || !total))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc) {
        *total = fc.script.memory;
        *free_bytes = fc.script.memory > d->physical ? fc.script.memory - d->physical : 0;
    }
    return fc_leave(rc);
}

/* What a request is answered that no device of this size could serve. */
static CUresult too_large(uint64_t size)
{
    return size > fc.script.memory ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Ranges below a granule share granules; the others are whole ones. NULL: out of memory. */
static struct fc_memory *range_make(struct fc_device *d, uint64_t size)
{
    if (size < FC_GRANULE) {
        struct fc_piece *p = fc_heap_take_first(d->small, size);
        if (!p)
            return NULL;
        struct fc_memory *m = fc_memory_add(d, FC_RANGE, p->addr, size);
        m->piece = p;
        return m;
    }
    uint64_t physical = round_up(size, FC_GRANULE);
    if (d->physical > fc.script.memory || physical > fc.script.memory - d->physical)
        return NULL;
    struct fc_span *span = fc_zeroed(sizeof *span);
    uint64_t addr = fc_address(d, span, physical, FC_GRANULE);
    if (!addr) {
        free(span);
        return NULL;
    }
    struct fc_memory *m = fc_memory_add(d, FC_RANGE, addr, size);
    m->span = span;
    m->physical = physical;
    d->physical += physical;
    return m;
}

static void range_free(struct fc_memory *m)
{
    struct fc_device *d = m->device;
    fc.books.ranges--;
    fc.books.range_bytes -= m->size;
    if (m->span) {
        d->physical -= m->physical;
        fc_address_free(d, m->span);
        free(m->span);
    } else {
        struct fc_chunk *granule = m->piece->chunk;
        fc_heap_put(d->small, m->piece, NULL);
        fc_chunk_trim(granule);
    }
    fc_memory_drop(m);
}

CUresult CUDAAPI cuMemAlloc(CUdeviceptr *dptr, size_t bytesize)
{
    CUresult rc = fc_enter(FC_cuMemAlloc);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    if (!rc && (!dptr || bytesize == 0))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        rc = too_large(bytesize);
    if (!rc) {
        struct fc_memory *m = range_make(d, bytesize);
        if (m) {
            *dptr = m->node.key;
            fc.books.ranges++;
            fc.books.range_bytes += bytesize;
        } else {
            rc = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return fc_leave(rc);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void block_free(struct fc_memory *m, const struct fc_point *freed)
{
    struct fc_pool *pool = m->pool;
    fc_heap_put(&pool->heap, m->piece, freed);
    fc.books.blocks--;
    fc.books.block_bytes -= m->size;
    fc_memory_drop(m);
    if (--pool->blocks == 0 && pool->destroyed)
        fc_pool_free(pool);
}

static CUresult block_alloc(CUdeviceptr *dptr, size_t bytesize, struct fc_pool *pool,
                            struct fc_stream *s)
{
    uint64_t wait;
    if (!dptr || bytesize == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (too_large(bytesize))
        return too_large(bytesize);
    fc_catch_up(s);
    struct fc_piece *piece = fc_heap_take(&pool->heap, s, bytesize, &wait);
    if (!piece)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (s->tail < wait)
        s->tail = wait;
    struct fc_memory *m = fc_memory_add(s->object.device, FC_BLOCK, piece->addr, bytesize);
    m->piece = piece;
    m->pool = pool;
    m->allocated = fc_queue(s, 0);
    pool->blocks++;
    fc.books.blocks++;
    fc.books.block_bytes += bytesize;
    *dptr = piece->addr;
    return CUDA_SUCCESS;
}

static CUresult alloc_async(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    CUresult rc = fc_enter(FC_cuMemAllocAsync);
    struct fc_stream *s = rc ? NULL : fc_stream_own(hStream, &rc);
    if (!rc && !fc.script.pools)
        rc = CUDA_ERROR_NOT_SUPPORTED;
    if (!rc) {
        struct fc_device *d = s->object.device;
        rc = block_alloc(dptr, bytesize, d->pool ? d->pool : fc_default_pool(d), s);
    }
    return fc_leave(rc);
}

static CUresult alloc_from_pool(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                CUstream hStream)
{
    CUresult rc = fc_enter(FC_cuMemAllocFromPoolAsync);
    struct fc_stream *s = rc ? NULL : fc_stream_own(hStream, &rc);
    struct fc_pool *p = s ? fc_object((uintptr_t)pool, FC_POOL, &rc) : NULL;
    if (p && p->destroyed)
        rc = fc_violation(CUDA_ERROR_INVALID_HANDLE, "allocation from a pool that was destroyed");
    if (!rc && p && p->object.device != s->object.device)
        rc = fc_violation(CUDA_ERROR_INVALID_VALUE,
                          "allocation from a pool of device %d in a "
                          "stream of device %d",
                          p->object.device->ordinal, s->object.device->ordinal);
    if (!rc && !fc.script.pools)
        rc = CUDA_ERROR_NOT_SUPPORTED;
    if (!rc)
        rc = block_alloc(dptr, bytesize, p, s);
    return fc_leave(rc);
}

static CUresult refused_free(const char *what, CUdeviceptr dptr)
{
    return fc_violation(CUDA_ERROR_INVALID_VALUE, "%s of 0x%llx, which was not given", what,
                        (unsigned long long)dptr);
}

static CUresult free_in_stream(struct fc_memory *m, struct fc_stream *s)
{
    if (m->device != s->object.device)
        fc_violation(0, "cuMemFreeAsync of a block of device %d in a stream of device %d",
                     m->device->ordinal, s->object.device->ordinal);
    struct fc_point p = fc_queue(s, 0);
    fc_memory_settled(m, &s->clock, "cuMemFreeAsync");
    block_free(m, &p);
    return CUDA_SUCCESS;
}

static CUresult free_async(CUdeviceptr dptr, CUstream hStream)
{
    CUresult rc;
    if (fc_enter_release(FC_cuMemFreeAsync, &rc)) {
        struct fc_stream *s = fc_stream(hStream, &rc);
        struct fc_memory *m = fc_memory_at(dptr);
        if (m && m->kind != FC_BLOCK)
            m = NULL;
        if (s)
            rc = m ? free_in_stream(m, s) : refused_free("cuMemFreeAsync", dptr);
        else if (m && fc.quiet)
            block_free(m, NULL);
    }
    return fc_leave(rc);
}

/* It waits for nothing: of a block cuda.h says so, of a range that it "may perform implicit
 * synchronization", which nobody can rely on. */
static CUresult free_now(struct fc_memory *m)
{
    fc_memory_settled(m, &fc.host, "cuMemFree");
    if (m->kind == FC_RANGE)
        range_free(m);
    else
        block_free(m, NULL);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemFree(CUdeviceptr dptr)
{
    CUresult rc;
    if (fc_enter_release(FC_cuMemFree, &rc)) {
        struct fc_device *d = fc_current(&rc);
        struct fc_memory *m = fc_memory_at(dptr);
        if (m && m->kind != FC_RANGE && m->kind != FC_BLOCK)
            m = NULL;
        if (d && m && m->device != d)
            fc_violation(0, "cuMemFree of memory of device %d while the context of %d is current",
                         m->device->ordinal, d->ordinal);
        if (d || fc.quiet)
            rc = m ? free_now(m) : refused_free("cuMemFree", dptr);
    }
    return fc_leave(rc);
}

/* --- both spellings --------------------------------------------------------------------------- */

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return alloc_async(dptr, bytesize, hStream);
}

CUresult CUDAAPI cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return alloc_async(dptr, bytesize, fc_per_thread(hStream));
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream)
{
    return alloc_from_pool(dptr, bytesize, pool, hStream);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                              CUstream hStream)
{
    return alloc_from_pool(dptr, bytesize, pool, fc_per_thread(hStream));
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
    return free_async(dptr, hStream);
}

CUresult CUDAAPI cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
    return free_async(dptr, fc_per_thread(hStream));
}
