/* See mappings.h. */
#include "alloc/sources/common/mappings.h"

#include <stdlib.h>

void tp_mappings_init(struct tp_mappings *s)
{
    *s = (struct tp_mappings){.mapped = 0};
    tp_addr_map_init_plain(&s->spaces);
}

struct tp_mapping *tp_mappings_find(const struct tp_mappings *s, uint64_t base)
{
    const uint64_t *found = tp_addr_map_find(&s->spaces, base);
    return found ? (struct tp_mapping *)(uintptr_t)*found : NULL;
}

bool tp_mappings_fits(uint64_t size, uint64_t unit, uint64_t page)
{
    return unit && size && unit % page == 0 && size % unit == 0;
}

int tp_mappings_room(struct tp_mappings *s, struct tp_mapping **room)
{
    *room = NULL;
    if (tp_addr_map_reserve(&s->spaces, s->spaces.count + UINT64_C(1)))
        return TP_ENOMEM;
    *room = calloc(1, sizeof **room);
    return *room ? TP_OK : TP_ENOMEM;
}

void tp_mappings_add(struct tp_mappings *s, struct tp_mapping *room, uint64_t base, uint64_t size,
                     uint64_t unit)
{
    *room = (struct tp_mapping){size, unit, 0};
    tp_addr_map_insert(&s->spaces, base, (uintptr_t)room);
}

int tp_mappings_empty(const struct tp_mappings *s, uint64_t base, uint64_t size)
{
    const struct tp_mapping *space = tp_mappings_find(s, base);
    return space && space->size == size && !space->mapped ? TP_OK : TP_EINVAL;
}

void tp_mappings_remove(struct tp_mappings *s, uint64_t base)
{
    uint64_t space = 0;
    tp_addr_map_remove(&s->spaces, base, &space);
    free((struct tp_mapping *)(uintptr_t)space);
}

int tp_mappings_are(const struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                    bool mapped)
{
    const struct tp_mapping *space = tp_mappings_find(s, base);
    if (!space || !size || from % space->unit || size % space->unit || from > space->size ||
        size > space->size - from)
        return TP_EINVAL;
    const struct tp_address_range *part = tp_ranges_find(&s->parts, base + from);
    bool good = mapped ? part && part->addr + part->size - (base + from) >= size
                       : !tp_ranges_overlap(&s->parts, base + from, size);
    return good ? TP_OK : TP_EINVAL;
}

int tp_mappings_reserve(struct tp_mappings *s)
{
    return tp_ranges_reserve(&s->parts);
}

void tp_mappings_map(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size)
{
    tp_ranges_widen(&s->parts, base + from, size, base);
    tp_mappings_find(s, base)->mapped += size;
    s->mapped += size;
}

void tp_mappings_unmap(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size)
{
    tp_ranges_narrow(&s->parts, base + from, size);
    tp_mappings_find(s, base)->mapped -= size;
    s->mapped -= size;
}

void tp_mappings_fini(struct tp_mappings *s)
{
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&s->spaces, &at));)
        free((struct tp_mapping *)(uintptr_t)e->value);
    tp_addr_map_fini(&s->spaces);
    tp_ranges_fini(&s->parts);
}
