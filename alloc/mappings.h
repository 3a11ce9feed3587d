/* Spaces of a source: addresses that are reserved first and get memory later, unit by unit.
 *
 *     space   | unit 0 | unit 1 |   -    | unit 3 |   -    |   -    | ...      -: nothing mapped
 *
 * A table knows each space by its base and each mapped unit by its address, with a handle that is
 * the source's own. So what is mapped or unmapped is checked unit by unit, however it was mapped.
 *
 * Known weakness: a mapped unit takes an entry of 16 bytes in a table that never shrinks. */
#ifndef TP_MAPPINGS_H
#define TP_MAPPINGS_H

#include "alloc/base/addr_map.h"

#include <stdlib.h>

struct tp_mapping {
    uint64_t size, unit; /* bytes */
    uint64_t mapped;     /* bytes */
};

struct tp_mappings {
    struct tp_addr_map spaces; /* base -> struct tp_mapping */
    struct tp_addr_map units;  /* address of a mapped unit -> handle */
    uint64_t mapped;           /* bytes in all spaces */
};

static inline void *tp_mappings_table_get(void *ctx, size_t size)
{
    (void)ctx;
    return calloc(1, size);
}

static inline void tp_mappings_table_put(void *ctx, void *p, size_t size)
{
    (void)ctx, (void)size;
    free(p);
}

static inline void tp_mappings_init(struct tp_mappings *s)
{
    *s = (struct tp_mappings){.mapped = 0};
    tp_addr_map_init(&s->spaces, tp_mappings_table_get, tp_mappings_table_put, NULL);
    tp_addr_map_init(&s->units, tp_mappings_table_get, tp_mappings_table_put, NULL);
}

static inline struct tp_mapping *tp_mappings_find(const struct tp_mappings *s, uint64_t base)
{
    const uint64_t *found = tp_addr_map_find(&s->spaces, base);
    return found ? (struct tp_mapping *)(uintptr_t)*found : NULL;
}

/* Is `size` a number of whole units, and are these whole pages? */
static inline bool tp_mappings_fits(uint64_t size, uint64_t unit, uint64_t page)
{
    return unit && size && unit % page == 0 && size % unit == 0;
}

/* Makes room for one more space, so that tp_mappings_add cannot fail. TP_ENOMEM. */
static inline int tp_mappings_room(struct tp_mappings *s, struct tp_mapping **room)
{
    *room = NULL;
    if (tp_addr_map_reserve(&s->spaces, s->spaces.count + UINT64_C(1)))
        return TP_ENOMEM;
    *room = calloc(1, sizeof **room);
    return *room ? TP_OK : TP_ENOMEM;
}

static inline void tp_mappings_add(struct tp_mappings *s, struct tp_mapping *room, uint64_t base,
                                   uint64_t size, uint64_t unit)
{
    *room = (struct tp_mapping){size, unit, 0};
    tp_addr_map_insert(&s->spaces, base, (uintptr_t)room);
}

/* TP_EINVAL: this is no space of `size` bytes, or something is mapped in it. */
static inline int tp_mappings_empty(const struct tp_mappings *s, uint64_t base, uint64_t size)
{
    const struct tp_mapping *space = tp_mappings_find(s, base);
    return space && space->size == size && !space->mapped ? TP_OK : TP_EINVAL;
}

static inline void tp_mappings_remove(struct tp_mappings *s, uint64_t base)
{
    uint64_t space = 0;
    tp_addr_map_remove(&s->spaces, base, &space);
    free((struct tp_mapping *)(uintptr_t)space);
}

/* TP_EINVAL unless these are whole units of a space, and all of them mapped, or all unmapped. */
static inline int tp_mappings_are(const struct tp_mappings *s, uint64_t base, uint64_t from,
                                  uint64_t size, bool mapped)
{
    const struct tp_mapping *space = tp_mappings_find(s, base);
    if (!space || !size || from % space->unit || size % space->unit || from > space->size ||
        size > space->size - from)
        return TP_EINVAL;
    for (uint64_t at = base + from; at < base + from + size; at += space->unit)
        if ((tp_addr_map_find(&s->units, at) != NULL) != mapped)
            return TP_EINVAL;
    return TP_OK;
}

/* Makes room for the units of `size` bytes. TP_ENOMEM. */
static inline int tp_mappings_units_room(struct tp_mappings *s, uint64_t base, uint64_t size)
{
    return tp_addr_map_reserve(&s->units, s->units.count + size / tp_mappings_find(s, base)->unit);
}

/* Notes a unit as mapped; there is room for it. */
static inline void tp_mappings_map(struct tp_mappings *s, uint64_t base, uint64_t at,
                                   uint64_t handle)
{
    struct tp_mapping *space = tp_mappings_find(s, base);
    tp_addr_map_insert(&s->units, at, handle);
    space->mapped += space->unit;
    s->mapped += space->unit;
}

/* Notes a unit as unmapped; returns its handle. */
static inline uint64_t tp_mappings_unmap(struct tp_mappings *s, uint64_t base, uint64_t at)
{
    struct tp_mapping *space = tp_mappings_find(s, base);
    uint64_t handle = 0;
    tp_addr_map_remove(&s->units, at, &handle);
    space->mapped -= space->unit;
    s->mapped -= space->unit;
    return handle;
}

/* tp_mappings_map and tp_mappings_unmap for all units of a part, with a handle of 0. */
static inline void tp_mappings_map_all(struct tp_mappings *s, uint64_t base, uint64_t from,
                                       uint64_t size)
{
    uint64_t unit = tp_mappings_find(s, base)->unit;
    for (uint64_t at = base + from; at < base + from + size; at += unit)
        tp_mappings_map(s, base, at, 0);
}

static inline void tp_mappings_unmap_all(struct tp_mappings *s, uint64_t base, uint64_t from,
                                         uint64_t size)
{
    uint64_t unit = tp_mappings_find(s, base)->unit;
    for (uint64_t at = base + from; at < base + from + size; at += unit)
        tp_mappings_unmap(s, base, at);
}

static inline void tp_mappings_fini(struct tp_mappings *s)
{
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&s->spaces, &at));)
        free((struct tp_mapping *)(uintptr_t)e->value);
    tp_addr_map_fini(&s->spaces);
    tp_addr_map_fini(&s->units);
}

#endif
