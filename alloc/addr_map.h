/* A hash map from addresses to 64-bit values, for the tables of strategies and sources.
 *
 *   home slot of an address = top bits of mix(address * golden) * golden
 *
 *   slots  | - | A:1 | B:7 | C:3 | - | - | D:2 | -       B and C had the home of A: linear probing
 *   remove A:                                            a later entry moves back into the hole, so
 *          | - | B:7 | C:3 |  -  | - | - | D:2 | -       there are no tombstones and no slow decay
 *
 * At most half of the slots are taken, so that a look-up touches one cache line nearly always; keys
 * and values lie side by side for the same reason. Doubling moves every entry at once: an insertion
 * that grows the table is slow. The table never shrinks. The order of a walk depends on the
 * addresses; a decision may not follow it. */
#ifndef TP_ADDR_MAP_H
#define TP_ADDR_MAP_H

#include "alloc/err.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The owner's memory: `get` returns zeroed bytes or NULL; `put` gets the same size back. */
typedef void *tp_addr_map_get_fn(void *ctx, size_t size);
typedef void tp_addr_map_put_fn(void *ctx, void *p, size_t size);

struct tp_addr_entry {
    uint64_t key; /* 0 = no entry */
    uint64_t value;
};

struct tp_addr_map {
    struct tp_addr_entry *slots; /* `mask + 1` of them, or NULL before the first insertion */
    uint64_t mask;
    unsigned shift; /* 64 - log2(slots) */
    uint64_t count; /* entries */
    tp_addr_map_get_fn *get;
    tp_addr_map_put_fn *put;
    void *ctx;
};

#define TP_ADDR_MAP_FIRST_LOG2 6u

/* Takes no memory before the first insertion. */
static inline void tp_addr_map_init(struct tp_addr_map *map, tp_addr_map_get_fn *get,
                                    tp_addr_map_put_fn *put, void *ctx)
{
    *map = (struct tp_addr_map){.get = get, .put = put, .ctx = ctx, .shift = 64};
}

/* A zeroed map, or one whose fini ran, is fine. */
static inline void tp_addr_map_fini(struct tp_addr_map *map)
{
    if (map->slots)
        map->put(map->ctx, map->slots, (size_t)(map->mask + 1) * sizeof *map->slots);
    map->slots = NULL;
    map->mask = 0;
    map->shift = 64;
    map->count = 0;
}

/* One multiplication alone would do for random keys, but addresses come in even steps, and for
 * unlucky steps (every 2,016 bytes) the average look-up then passes 179 entries. */
static inline uint64_t tp_addr_map_home(const struct tp_addr_map *map, uint64_t key)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio, odd */
    uint64_t mixed = key * golden;
    mixed ^= mixed >> 32;
    return (mixed * golden) >> map->shift;
}

/* The value of a key, valid until the next insertion or removal; NULL when there is none. */
static inline uint64_t *tp_addr_map_find(const struct tp_addr_map *map, uint64_t key)
{
    if (!map->slots || !key)
        return NULL;
    for (uint64_t i = tp_addr_map_home(map, key);; i = (i + 1) & map->mask) {
        struct tp_addr_entry *e = &map->slots[i];
        if (e->key == key)
            return &e->value;
        if (!e->key)
            return NULL;
    }
}

/* For a key that is not there, into a table with a free slot. */
static inline void tp_addr_map_place(struct tp_addr_map *map, uint64_t key, uint64_t value)
{
    uint64_t i = tp_addr_map_home(map, key);
    for (; map->slots[i].key; i = (i + 1) & map->mask)
        assert(map->slots[i].key != key);
    map->slots[i] = (struct tp_addr_entry){key, value};
}

/* Makes room for at least `entries` in all. TP_ENOMEM: the map is as it was. */
static inline int tp_addr_map_reserve(struct tp_addr_map *map, uint64_t entries)
{
    struct tp_addr_map old = *map;
    uint64_t slots = old.slots ? old.mask + 1 : UINT64_C(1) << TP_ADDR_MAP_FIRST_LOG2;
    while (slots / 2 < entries && slots < UINT64_C(1) << 59)
        slots *= 2;
    if (slots / 2 < entries || slots > SIZE_MAX / sizeof *map->slots)
        return TP_ENOMEM;
    if (old.slots && slots == old.mask + 1)
        return TP_OK;
    struct tp_addr_entry *fresh = map->get(map->ctx, (size_t)slots * sizeof *fresh);
    if (!fresh)
        return TP_ENOMEM;
    map->slots = fresh;
    map->mask = slots - 1;
    map->shift = 64 - (unsigned)__builtin_ctzll(slots);
    for (uint64_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].key)
            tp_addr_map_place(map, old.slots[i].key, old.slots[i].value);
    if (old.slots)
        map->put(map->ctx, old.slots, (size_t)(old.mask + 1) * sizeof *old.slots);
    return TP_OK;
}

/* Adds a key (not 0) that is not there. TP_OK, or TP_ENOMEM with the map as it was. */
static inline int tp_addr_map_insert(struct tp_addr_map *map, uint64_t key, uint64_t value)
{
    assert(key != 0);
    if (__builtin_expect(!map->slots || (map->count + 1) * 2 > map->mask + 1, 0)) {
        int rc = tp_addr_map_reserve(map, map->count + 1);
        if (rc)
            return rc;
    }
    tp_addr_map_place(map, key, value);
    map->count++;
    return TP_OK;
}

/* False when the key is not there. `value` may be NULL. Never needs memory. */
static inline bool tp_addr_map_remove(struct tp_addr_map *map, uint64_t key, uint64_t *value)
{
    uint64_t *found = tp_addr_map_find(map, key);
    if (!found)
        return false;
    if (value)
        *value = *found;
    struct tp_addr_entry *hole =
        (struct tp_addr_entry *)(void *)((char *)found - offsetof(struct tp_addr_entry, value));
    uint64_t at = (uint64_t)(hole - map->slots);
    for (uint64_t i = (at + 1) & map->mask; map->slots[i].key; i = (i + 1) & map->mask) {
        /* an entry may move into the hole unless its home lies after the hole, up to itself */
        uint64_t home = tp_addr_map_home(map, map->slots[i].key);
        if (((i - home) & map->mask) < ((i - at) & map->mask))
            continue;
        map->slots[at] = map->slots[i];
        at = i;
    }
    map->slots[at].key = 0;
    map->slots[at].value = 0;
    map->count--;
    return true;
}

/* Empties the map and keeps its memory. */
static inline void tp_addr_map_clear(struct tp_addr_map *map)
{
    for (uint64_t i = 0; map->slots && i <= map->mask; i++)
        map->slots[i] = (struct tp_addr_entry){0, 0};
    map->count = 0;
}

/* Walks all entries: `for (uint64_t at = 0; (e = tp_addr_map_next(map, &at));)`. The map must not
 * change meanwhile; values may. NULL at the end. */
static inline struct tp_addr_entry *tp_addr_map_next(const struct tp_addr_map *map, uint64_t *at)
{
    if (!map->slots)
        return NULL;
    while (*at <= map->mask) {
        struct tp_addr_entry *e = &map->slots[(*at)++];
        if (e->key)
            return e;
    }
    return NULL;
}

#endif
