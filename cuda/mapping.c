/* Spaces of the source `cuda`: addresses are reserved first, and memory is made and mapped there in
 * units.
 *
 *     map      cuMemCreate for each unit, cuMemMap for each, cuMemSetAccess once
 *     unmap    cuMemUnmap and cuMemRelease for each unit
 *     alias    cuMemMap of each unit's handle at a second address, cuMemSetAccess once
 *     unalias  cuMemUnmap for each unit
 *
 * A unit has a handle of its own, so that any units can go later. Where memory runs out half way
 * the units made so far are released again.
 *
 * Known weakness: that is what PyTorch does too, and it costs two calls per unit; a driver would
 * take larger pieces in fewer calls. */
#include "cuda/cuda_source.h"

static CUmemAllocationProp prop_of(const struct cuda_source *s)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = s->gpu.ordinal}};
}

/* Asks the device once. Not counted: a replay asks before its first operation. */
uint64_t tp_cuda_map_page(void *state)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    int able = 0;
    size_t page = 0;
    if (s->map_page || g->driver.missing[CUDA_VMM] || cuda_enter(g))
        return s->map_page;
    if (CUDA_LOOK(g, DeviceGetAttribute, &able,
                  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, g->device) ||
        !able)
        return 0;
    CUmemAllocationProp prop = prop_of(s);
    if (CUDA_LOOK(g, MemGetAllocationGranularity, &page, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
        return 0;
    s->map_page = page;
    return page;
}

int tp_cuda_space_get(void *state, uint64_t size, uint64_t unit, tp_addr *out)
{
    struct cuda_source *s = state;
    struct cuda_gpu *g = &s->gpu;
    struct tp_mapping *room = NULL;
    CUdeviceptr base = 0;
    uint64_t page = tp_cuda_map_page(s);
    if (!page)
        return TP_EUNSUP;
    if (!tp_mappings_fits(size, unit, page))
        return TP_EINVAL;
    int rc = cuda_enter(g);
    if (!rc)
        rc = tp_mappings_room(&s->mappings, &room);
    if (rc)
        return rc;
    CUresult code = CUDA_CALL(g, MemAddressReserve, &base, size, 0, 0, 0);
    rc = code == CUDA_ERROR_OUT_OF_MEMORY ? TP_EOOM : cuda_status(g, "cuMemAddressReserve", code);
    if (rc) {
        free(room);
        return rc;
    }
    tp_mappings_add(&s->mappings, room, base, size, unit);
    *out = base;
    return TP_OK;
}

int tp_cuda_space_put(void *state, tp_addr base, uint64_t size)
{
    struct cuda_source *s = state;
    int rc = tp_mappings_empty(&s->mappings, base, size);
    if (!rc)
        rc = cuda_enter(&s->gpu);
    if (!rc)
        rc = CUDA_TRY(&s->gpu, MemAddressFree, base, size);
    if (!rc)
        tp_mappings_remove(&s->mappings, base);
    return rc;
}

/* ---- units ---- */

/* A part of a space, in addresses. */
struct cuda_part {
    uint64_t unit, begin, end;
};

/* Takes a unit out of the table; returns its handle. */
static CUmemGenericAllocationHandle take_unit(struct cuda_source *s, uint64_t at)
{
    uint64_t handle = 0;
    tp_addr_map_remove(&s->units, at, &handle);
    return handle;
}

/* Gives units back without an answer: those below `made`, of which those below `mapped` are
 * mapped. */
static void drop_units(struct cuda_source *s, const struct cuda_part *p, uint64_t made,
                       uint64_t mapped)
{
    for (uint64_t at = p->begin; at < made; at += p->unit) {
        if (at < mapped)
            CUDA_LOOK(&s->gpu, MemUnmap, at, p->unit);
        CUDA_LOOK(&s->gpu, MemRelease, take_unit(s, at));
    }
}

static int make_units(struct cuda_source *s, const struct cuda_part *p)
{
    struct cuda_gpu *g = &s->gpu;
    const CUmemAllocationProp prop = prop_of(s);
    for (uint64_t at = p->begin; at < p->end; at += p->unit) {
        CUmemGenericAllocationHandle handle = 0;
        CUresult code = CUDA_CALL(g, MemCreate, &handle, p->unit, &prop, 0);
        if (code != CUDA_SUCCESS) {
            int rc =
                code == CUDA_ERROR_OUT_OF_MEMORY ? TP_EOOM : cuda_status(g, "cuMemCreate", code);
            drop_units(s, p, at, p->begin);
            return rc;
        }
        tp_addr_map_insert(&s->units, at, handle);
    }
    return TP_OK;
}

static int place_units(struct cuda_source *s, const struct cuda_part *p)
{
    struct cuda_gpu *g = &s->gpu;
    const CUmemAccessDesc access = {.location = prop_of(s).location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    uint64_t at = p->begin;
    int rc = TP_OK;
    for (; !rc && at < p->end; at += rc ? 0 : p->unit)
        rc = CUDA_TRY(g, MemMap, at, p->unit, 0, *tp_addr_map_find(&s->units, at), 0);
    if (!rc)
        rc = CUDA_TRY(g, MemSetAccess, p->begin, p->end - p->begin, &access, 1);
    if (rc)
        drop_units(s, p, p->end, at);
    return rc;
}

static struct cuda_part part_of(const struct cuda_source *s, tp_addr base, uint64_t begin,
                                uint64_t size)
{
    return (struct cuda_part){tp_mappings_find(&s->mappings, base)->unit, begin, begin + size};
}

int tp_cuda_map_units(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct cuda_source *s = state;
    int rc = tp_mappings_are(&s->mappings, base, from, size, false);
    if (!rc)
        rc = cuda_enter(&s->gpu);
    if (rc)
        return rc;
    if (size > s->total)
        return TP_EOOM;
    const struct cuda_part p = part_of(s, base, base + from, size);
    rc = tp_mappings_reserve(&s->mappings);
    if (!rc)
        rc = tp_addr_map_reserve(&s->units, s->units.count + size / p.unit);
    if (!rc)
        rc = make_units(s, &p);
    if (!rc)
        rc = place_units(s, &p);
    if (!rc)
        tp_mappings_map(&s->mappings, base, from, size);
    return rc;
}

int tp_cuda_unmap_units(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct cuda_source *s = state;
    int rc = tp_mappings_are(&s->mappings, base, from, size, true);
    if (!rc)
        rc = tp_mappings_reserve(&s->mappings);
    if (!rc)
        rc = cuda_enter(&s->gpu);
    if (rc)
        return rc;
    const struct cuda_part p = part_of(s, base, base + from, size);
    uint64_t at = p.begin;
    while (!rc && at < p.end) {
        rc = CUDA_TRY(&s->gpu, MemUnmap, at, p.unit);
        if (rc)
            break;
        rc = CUDA_TRY(&s->gpu, MemRelease, take_unit(s, at));
        at += p.unit;
    }
    if (at > p.begin)
        tp_mappings_unmap(&s->mappings, base, from, at - p.begin);
    return rc;
}

/* ---- aliases ---- */

static void drop_aliases(struct cuda_source *s, const struct cuda_part *p, uint64_t mapped)
{
    for (uint64_t at = p->begin; at < mapped; at += p->unit)
        CUDA_LOOK(&s->gpu, MemUnmap, at, p->unit);
}

/* The driver maps one handle at as many addresses as it is asked to. */
static int place_aliases(struct cuda_source *s, const struct cuda_part *p, tp_addr of)
{
    struct cuda_gpu *g = &s->gpu;
    const CUmemAccessDesc access = {.location = prop_of(s).location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    uint64_t at = p->begin;
    int rc = TP_OK;
    for (; !rc && at < p->end; at += rc ? 0 : p->unit)
        rc = CUDA_TRY(g, MemMap, at, p->unit, 0, *tp_addr_map_find(&s->units, of + (at - p->begin)),
                      0);
    if (!rc)
        rc = CUDA_TRY(g, MemSetAccess, p->begin, p->end - p->begin, &access, 1);
    if (rc)
        drop_aliases(s, p, at);
    return rc;
}

int tp_cuda_alias(void *state, tp_addr base, uint64_t from, uint64_t size, tp_addr of)
{
    struct cuda_source *s = state;
    int rc = tp_mappings_can_alias(&s->mappings, base, from, size, of);
    if (!rc)
        rc = cuda_enter(&s->gpu);
    if (!rc)
        rc = tp_mappings_alias(&s->mappings, base, from, size, of);
    if (rc)
        return rc;
    const struct cuda_part p = part_of(s, base, base + from, size);
    rc = place_aliases(s, &p, of);
    if (rc)
        tp_mappings_unalias(&s->mappings, base, from, size);
    return rc;
}

int tp_cuda_unalias(void *state, tp_addr base, uint64_t from, uint64_t size)
{
    struct cuda_source *s = state;
    int rc = tp_mappings_are_aliases(&s->mappings, base, from, size);
    if (!rc)
        rc = cuda_enter(&s->gpu);
    if (rc)
        return rc;
    struct cuda_part p = part_of(s, base, base + from, size);
    tp_mappings_unalias(&s->mappings, base, from, size);
    for (; !rc && p.begin < p.end; p.begin += rc ? 0 : p.unit)
        rc = CUDA_TRY(&s->gpu, MemUnmap, p.begin, p.unit);
    drop_aliases(s, &p, p.end); /* after a failure: the rest */
    return rc;
}

void tp_cuda_spaces_close(struct cuda_source *s)
{
    const struct tp_addr_entry *e;
    for (const struct tp_address_range *i; (i = tp_ranges_any(&s->mappings.aliases));) {
        const struct cuda_part p = part_of(s, i->tag_addr, i->addr, i->size);
        drop_aliases(s, &p, p.end);
        tp_mappings_unalias(&s->mappings, i->tag_addr, i->addr - i->tag_addr, i->size);
    }
    for (const struct tp_address_range *i; (i = tp_ranges_any(&s->mappings.parts));) {
        const struct cuda_part p = part_of(s, i->tag_addr, i->addr, i->size);
        drop_units(s, &p, p.end, p.end);
        tp_ranges_remove(&s->mappings.parts, i);
    }
    for (uint64_t i = 0; (e = tp_addr_map_next(&s->mappings.spaces, &i));)
        CUDA_LOOK(&s->gpu, MemAddressFree, e->key, tp_mappings_find(&s->mappings, e->key)->size);
    tp_mappings_fini(&s->mappings);
    tp_addr_map_fini(&s->units);
}
