/* An address maps to the id of its object until the object is freed or moved:
 *
 *     malloc = P        P -> 1
 *     realloc P = Q     Q -> 1      the id that lowering sees stays 1
 *     malloc = P        P -> 2
 *
 * Known weakness: ids are never used again, so a file can have 2^32 - 1 objects at most. */
#include "traces/lower/pointers.h"

#include "alloc/program/program.h"

#include <stdlib.h>

void tp_pointers_init(struct tp_pointers *p, uint32_t *objects, struct tp_budget *budget)
{
    *p = (struct tp_pointers){.objects = objects,
                              .map.how = {.what = "addresses", .budget = budget}};
}

void tp_pointers_release(struct tp_pointers *p)
{
    tp_id_map_release(&p->map);
}

static int64_t id_of(const struct tp_id_entry *entry, uint64_t address)
{
    return entry ? (int64_t)entry->index : -1 - (int64_t)(address & INT64_MAX);
}

int tp_pointers_add(struct tp_pointers *p, uint64_t address, int64_t *id, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    if (*p->objects == UINT32_MAX)
        return tp_fail(err, TP_EINPUT, "more than 2^32 - 1 objects");
    uint32_t fresh = *p->objects + 1;
    int rc = tp_id_map_need(&p->map, (int64_t)address, fresh, &entry, err);
    if (rc)
        return rc;
    *id = entry->index;
    *p->objects += entry->index == fresh;
    return TP_OK;
}

int64_t tp_pointers_find(const struct tp_pointers *p, uint64_t address)
{
    return id_of(tp_id_map_find(&p->map, (int64_t)address), address);
}

int64_t tp_pointers_remove(struct tp_pointers *p, uint64_t address)
{
    struct tp_id_entry *entry = tp_id_map_find(&p->map, (int64_t)address);
    int64_t id = id_of(entry, address);
    if (entry)
        tp_id_map_remove(&p->map, entry);
    return id;
}

int tp_pointers_move(struct tp_pointers *p, uint64_t from, uint64_t to, int64_t *id,
                     struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    if (*id < 0)
        return tp_pointers_add(p, to, id, err);
    if (from == to)
        return TP_OK;
    tp_pointers_remove(p, from);
    return tp_id_map_need(&p->map, (int64_t)to, (uint32_t)*id, &entry, err);
}
