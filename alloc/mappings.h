/* Spaces of a source: addresses that are reserved first and get memory later, unit by unit.
 *
 *     space   | unit 0 | unit 1 |   -    | unit 3 |   -    |   -    | ...      -: nothing mapped
 *     parts   |      part       |        |  part  |
 *
 * A table knows each space by its base. What is mapped in them lies in a second table, as parts
 * that are as long as they can be, so that mapping a terabyte takes the time and the memory of
 * mapping one unit. Any whole units can be unmapped, however they were mapped. */
#ifndef TP_MAPPINGS_H
#define TP_MAPPINGS_H

#include "alloc/base/addr_map.h"
#include "alloc/range_table.h"

#include <stdlib.h>

struct tp_mapping {
    uint64_t size, unit; /* bytes */
    uint64_t mapped;     /* bytes */
};

struct tp_mappings {
    struct tp_addr_map spaces; /* base -> struct tp_mapping */
    struct range_table parts;  /* that are mapped; tag_addr: the base of their space */
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
    const struct range_item *part = range_table_find(&s->parts, base + from);
    bool good = mapped ? part && part->addr + part->size - (base + from) >= size
                       : !range_table_overlaps(&s->parts, base + from, size);
    return good ? TP_OK : TP_EINVAL;
}

/* Makes sure that the next tp_mappings_map or tp_mappings_unmap cannot fail. TP_ENOMEM. */
static inline int tp_mappings_reserve(struct tp_mappings *s)
{
    return range_table_reserve(&s->parts);
}

/* Notes whole units, of which none is mapped, as mapped. */
static inline void tp_mappings_map(struct tp_mappings *s, uint64_t base, uint64_t from,
                                   uint64_t size)
{
    range_table_widen(&s->parts, base + from, size, base);
    tp_mappings_find(s, base)->mapped += size;
    s->mapped += size;
}

/* Notes whole units, of which each is mapped, as unmapped. */
static inline void tp_mappings_unmap(struct tp_mappings *s, uint64_t base, uint64_t from,
                                     uint64_t size)
{
    range_table_narrow(&s->parts, base + from, size);
    tp_mappings_find(s, base)->mapped -= size;
    s->mapped -= size;
}

static inline void tp_mappings_fini(struct tp_mappings *s)
{
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&s->spaces, &at));)
        free((struct tp_mapping *)(uintptr_t)e->value);
    tp_addr_map_fini(&s->spaces);
    range_table_fini(&s->parts);
}

#endif
