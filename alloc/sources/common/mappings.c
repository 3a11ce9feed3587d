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

/* ---- aliases ---- */

static struct tp_mapping_alias *alias_of(struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct tp_mapping_alias, by_memory, n);
}

static uint64_t most_of(struct tp_tree_node *n)
{
    return n ? alias_of(n)->most : 0;
}

static void note_end(struct tp_tree_node *n)
{
    struct tp_mapping_alias *a = alias_of(n);
    uint64_t below = most_of(n->low) > most_of(n->high) ? most_of(n->low) : most_of(n->high);
    a->most = a->of + a->size > below ? a->of + a->size : below;
}

static bool is_alias_before(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct tp_mapping_alias *x = TP_TREE_ITEM(const struct tp_mapping_alias, by_memory, a);
    const struct tp_mapping_alias *y = TP_TREE_ITEM(const struct tp_mapping_alias, by_memory, b);
    return x->of != y->of ? x->of < y->of : x->addr < y->addr;
}

/* Is any of these bytes mapped a second time? If one that begins before `addr` reaches it, the
 * highest end on the left does. */
static bool is_aliased(struct tp_tree_node *n, uint64_t addr, uint64_t size)
{
    while (n && most_of(n) > addr) {
        const struct tp_mapping_alias *a = alias_of(n);
        TP_STEP();
        if (a->of < addr + size && a->of + a->size > addr)
            return true;
        n = most_of(n->low) > addr ? n->low : n->high;
    }
    return false;
}

int tp_mappings_can_alias(const struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                          uint64_t of)
{
    int rc = tp_mappings_are(s, base, from, size, false);
    const struct tp_address_range *part = rc ? NULL : tp_ranges_find(&s->parts, of);
    if (!part)
        return TP_EINVAL;
    uint64_t unit = tp_mappings_find(s, base)->unit, first = part->tag_addr;
    bool whole = tp_mappings_find(s, first)->unit == unit && (of - first) % unit == 0;
    return whole && size <= part->size - (of - part->addr) ? TP_OK : TP_EINVAL;
}

int tp_mappings_alias(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                      uint64_t of)
{
    struct tp_mapping_alias *a = tp_ranges_reserve(&s->aliases) ? NULL : malloc(sizeof *a);
    if (!a)
        return TP_ENOMEM;
    *a = (struct tp_mapping_alias){.addr = base + from, .size = size, .of = of};
    tp_ranges_insert(&s->aliases, (struct tp_address_range){base + from, size, base, (uintptr_t)a});
    tp_tree_insert(&s->aliased, &a->by_memory, is_alias_before, note_end);
    tp_mappings_find(s, base)->mapped += size;
    return TP_OK;
}

int tp_mappings_are_aliases(const struct tp_mappings *s, uint64_t base, uint64_t from,
                            uint64_t size)
{
    uint64_t at = base + from, end = at + size;
    while (size && at < end) {
        const struct tp_address_range *r = tp_ranges_find(&s->aliases, at);
        if (!r || r->addr != at || r->tag_addr != base || r->size > end - at)
            return TP_EINVAL;
        at += r->size;
    }
    return size ? TP_OK : TP_EINVAL;
}

void tp_mappings_unalias(struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size)
{
    tp_mappings_find(s, base)->mapped -= size;
    for (uint64_t at = base + from; size;) {
        const struct tp_address_range *r = tp_ranges_find(&s->aliases, at);
        struct tp_mapping_alias *a = (struct tp_mapping_alias *)(uintptr_t)r->tag_size;
        at += r->size;
        size -= r->size;
        tp_tree_remove(&s->aliased, &a->by_memory, note_end);
        free(a);
        tp_ranges_remove(&s->aliases, r);
    }
}

/* ---- parts ---- */

int tp_mappings_are(const struct tp_mappings *s, uint64_t base, uint64_t from, uint64_t size,
                    bool mapped)
{
    const struct tp_mapping *space = tp_mappings_find(s, base);
    if (!space || !size || from % space->unit || size % space->unit || from > space->size ||
        size > space->size - from)
        return TP_EINVAL;
    const struct tp_address_range *part = tp_ranges_find(&s->parts, base + from);
    bool good = mapped ? part && part->addr + part->size - (base + from) >= size &&
                             !is_aliased(s->aliased, base + from, size)
                       : !tp_ranges_overlap(&s->parts, base + from, size) &&
                             !tp_ranges_overlap(&s->aliases, base + from, size);
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
    for (const struct tp_address_range *r; (r = tp_ranges_any(&s->aliases));) {
        free((struct tp_mapping_alias *)(uintptr_t)r->tag_size);
        tp_ranges_remove(&s->aliases, r);
    }
    tp_addr_map_fini(&s->spaces);
    tp_ranges_fini(&s->aliases);
    tp_ranges_fini(&s->parts);
}
