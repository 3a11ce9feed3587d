/* Entry points of virtual memory management: addresses are reserved, physical memory is made, one
 * is mapped on the other, and access is set.
 *
 *     reserved   |                                  |
 *     mapped     |-- handle 1 --|-- handle 2 --|    |      work may touch what has access
 *
 * A reservation is a span; while nothing is mapped in it, its bytes are live for nobody. Books
 * count reservations and physical memory as ranges.
 *
 * Known weakness: a handle is mapped as a whole (offset 0 and its own size), as the real driver
 * wants it today. */
#include "tests/fake_libcuda/fake_libcuda_state.h"

static bool is_multiple(uint64_t size)
{
    return size > 0 && size % FC_GRANULE == 0;
}

/* The reservation that holds these bytes, or NULL. */
static struct fc_reservation *reservation_over(uint64_t addr, uint64_t size)
{
    for (struct fc_device *d = fc.devices; d < fc.devices + FC_DEVICES; d++) {
        for (struct fc_reservation *r = d->reservations; r; r = r->next) {
            if (addr >= r->span.node.key && size <= r->span.size &&
                addr - r->span.node.key <= r->span.size - size)
                return r;
        }
    }
    return NULL;
}

static CUresult check_prop(const CUmemAllocationProp *prop, struct fc_device **out)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED ||
        prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    *out = fc_device(prop->location.id);
    if (!*out)
        return CUDA_ERROR_INVALID_DEVICE;
    return fc.script.vmm ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                               CUmemAllocationGranularity_flags option)
{
    struct fc_device *d;
    CUresult rc = fc_enter(FC_cuMemGetAllocationGranularity);
    if (!rc && (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        rc = check_prop(prop, &d);
    if (!rc)
        *granularity = FC_GRANULE;
    return fc_leave(rc);
}

/* --- addresses -------------------------------------------------------------------------------- */

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                     CUdeviceptr addr, unsigned long long flags)
{
    CUresult rc = fc_enter(FC_cuMemAddressReserve);
    struct fc_device *d = rc ? NULL : fc_current(&rc);
    (void)addr; /* a wish */
    if (!rc && (!ptr || !is_multiple(size) || (alignment & (alignment - 1)) != 0 || flags != 0))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && !fc.script.vmm)
        rc = CUDA_ERROR_NOT_SUPPORTED;
    if (!rc) {
        struct fc_reservation *r = fc_zeroed(sizeof *r);
        uint64_t align = alignment > FC_GRANULE ? alignment : FC_GRANULE;
        if (align < FC_SPAN && size < FC_SPAN - align)
            *ptr = fc_address(d, &r->span, size, align);
        else
            *ptr = 0;
        if (*ptr) {
            r->next = d->reservations;
            d->reservations = r;
            r->device = d;
            fc.books.ranges++;
        } else {
            free(r);
            rc = CUDA_ERROR_OUT_OF_MEMORY;
        }
    }
    return fc_leave(rc);
}

void fc_reservation_free(struct fc_reservation *r)
{
    struct fc_reservation **at = &r->device->reservations;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    fc_address_free(r->device, &r->span);
    free(r);
    fc.books.ranges--;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    CUresult rc;
    if (fc_enter_release(FC_cuMemAddressFree, &rc)) {
        struct fc_reservation *r = reservation_over(ptr, size);
        if (!r || r->span.node.key != ptr || r->span.size != size)
            rc = fc_violation(CUDA_ERROR_INVALID_VALUE,
                              "cuMemAddressFree of 0x%llx, which was not reserved",
                              (unsigned long long)ptr);
        else if (r->mappings > 0)
            rc = fc_violation(CUDA_ERROR_INVALID_VALUE,
                              "cuMemAddressFree of 0x%llx, where memory is mapped",
                              (unsigned long long)ptr);
        else
            fc_reservation_free(r);
    }
    return fc_leave(rc);
}

/* --- physical memory -------------------------------------------------------------------------- */

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                             const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct fc_device *d = NULL;
    CUresult rc = fc_enter(FC_cuMemCreate);
    if (!rc && (!handle || !is_multiple(size) || size > fc.script.memory || flags != 0))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc)
        rc = check_prop(prop, &d);
    if (!rc && !d->retained)
        rc = fc_violation(CUDA_ERROR_INVALID_CONTEXT, "cuMemCreate on a device without a context");
    if (!rc && (d->physical > fc.script.memory || size > fc.script.memory - d->physical))
        rc = CUDA_ERROR_OUT_OF_MEMORY;
    if (!rc) {
        struct fc_physical *p = fc_zeroed(sizeof *p);
        p->size = size;
        fc_object_add(d, &p->object, FC_PHYSICAL);
        d->physical += size;
        fc.books.ranges++;
        fc.books.range_bytes += size;
        *handle = p->object.node.key;
    }
    return fc_leave(rc);
}

/* The memory goes when it is released and mapped nowhere. */
static void physical_drop(struct fc_physical *p)
{
    if (!p->released || p->mappings > 0)
        return;
    p->object.device->physical -= p->size;
    fc_object_remove(&p->object);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult rc;
    if (fc_enter_release(FC_cuMemRelease, &rc)) {
        struct fc_physical *p = fc_object(handle, FC_PHYSICAL, &rc);
        if (p && p->released) {
            rc = fc_violation(CUDA_ERROR_INVALID_VALUE, "cuMemRelease of what was released");
        } else if (p) {
            fc.books.ranges--;
            fc.books.range_bytes -= p->size;
            p->released = true;
            physical_drop(p);
        }
    }
    return fc_leave(rc);
}

/* --- mapping ---------------------------------------------------------------------------------- */

/* The first mapping that touches [addr, addr + size). */
static struct fc_memory *mapping_in(struct fc_device *d, uint64_t addr, uint64_t size)
{
    struct fc_memory *m = fc_memory_over(addr);
    if (!m)
        m = FC_OF(fc_tree_after(&d->live, addr), struct fc_memory, node);
    return m && m->node.key < addr + size ? m : NULL;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                          CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult rc = fc_enter(FC_cuMemMap);
    struct fc_physical *p = rc ? NULL : fc_object(handle, FC_PHYSICAL, &rc);
    struct fc_reservation *r = rc ? NULL : reservation_over(ptr, size);
    if (!rc && (p->released || !r || ptr % FC_GRANULE != 0 || size != p->size || offset || flags))
        rc = fc_violation(CUDA_ERROR_INVALID_VALUE,
                          "cuMemMap of %llu bytes at 0x%llx: not reserved, or not the whole handle",
                          (unsigned long long)size, (unsigned long long)ptr);
    if (!rc && mapping_in(r->device, ptr, size))
        rc = fc_violation(CUDA_ERROR_ALREADY_MAPPED, "cuMemMap at 0x%llx, where memory is mapped",
                          (unsigned long long)ptr);
    if (!rc) {
        struct fc_memory *m = fc_memory_add(r->device, FC_MAPPED, ptr, size);
        m->backing = p;
        m->reservation = r;
        p->mappings++;
        r->mappings++;
    }
    return fc_leave(rc);
}

/* Whether [addr, addr + size) is mapped without a gap, from the start of one to the end of one. */
static bool covered(uint64_t addr, uint64_t size)
{
    while (size > 0) {
        struct fc_memory *m = fc_memory_at(addr);
        if (!m || m->kind != FC_MAPPED || m->size > size)
            return false;
        addr += m->size;
        size -= m->size;
    }
    return true;
}

void fc_unmap(struct fc_memory *m)
{
    struct fc_physical *p = m->backing;
    m->reservation->mappings--;
    p->mappings--;
    fc_memory_drop(m);
    physical_drop(p);
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult rc;
    if (fc_enter_release(FC_cuMemUnmap, &rc)) {
        if (size == 0 || !covered(ptr, size)) {
            rc = fc_violation(CUDA_ERROR_INVALID_VALUE,
                              "cuMemUnmap of %llu bytes at 0x%llx, which are not mapped so",
                              (unsigned long long)size, (unsigned long long)ptr);
        } else {
            for (uint64_t at = ptr; at < ptr + size;) {
                struct fc_memory *m = fc_memory_at(at);
                at += m->size;
                fc_memory_settled(m, &fc.host, "cuMemUnmap");
                fc_unmap(m);
            }
        }
    }
    return fc_leave(rc);
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                size_t count)
{
    CUresult rc = fc_enter(FC_cuMemSetAccess);
    if (!rc && (!desc || count == 0))
        rc = CUDA_ERROR_INVALID_VALUE;
    if (!rc && (size == 0 || !covered(ptr, size)))
        rc = fc_violation(CUDA_ERROR_INVALID_VALUE,
                          "cuMemSetAccess at 0x%llx, which is not mapped so",
                          (unsigned long long)ptr);
    for (size_t i = 0; !rc && i < count; i++) {
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !fc_device(desc[i].location.id))
            rc = CUDA_ERROR_INVALID_DEVICE;
        for (uint64_t at = ptr; !rc && at < ptr + size;) {
            struct fc_memory *m = fc_memory_at(at);
            at += m->size;
            if (desc[i].location.id == m->device->ordinal)
                m->access = desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        }
    }
    return fc_leave(rc);
}
