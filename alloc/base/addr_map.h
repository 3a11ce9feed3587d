/* A hash map from addresses to 64-bit values, for the tables of strategies and sources. Readers of
 * traces have it with ids of any kind (id_map.h).
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
 * addresses; a decision may not follow it.
 *
 * A trace chooses keys: sizes, and with them the addresses of a simulated device. Keys chosen to
 * collide end up ever further from their home slots. An entry TP_ADDR_MAP_FAR slots from home does
 * not happen by chance, so it makes the map hash all keys again with a secret factor. Until then
 * the factor is a constant, so that equal programs take equal numbers of instructions. A removal
 * looks no further than the largest distance of any entry. */
#ifndef TP_ADDR_MAP_H
#define TP_ADDR_MAP_H

#include "alloc/base/err.h"
#include "alloc/base/steps.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

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
    uint64_t factor; /* odd factor of the hash: TP_ADDR_MAP_FACTOR, or a secret */
    uint32_t count;  /* entries */
    /* largest distance of an entry from its home, in slots; TP_ADDR_MAP_ANY: no bound is known */
    uint16_t reach;
    uint8_t shift;   /* 64 - log2(slots) */
    uint8_t remixed; /* how often the factor was changed since the table grew */
    tp_addr_map_get_fn *get;
    tp_addr_map_put_fn *put;
    void *ctx;
};

#define TP_ADDR_MAP_FIRST_LOG2 6u
#define TP_ADDR_MAP_FACTOR     UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio */
#define TP_ADDR_MAP_MOST       (UINT32_C(1) << 31)          /* entries */
#define TP_ADDR_MAP_FAR        256u /* slots; the expected largest distance is ln(entries) / 0.19 */
#define TP_ADDR_MAP_ANY        UINT16_MAX
#define TP_ADDR_MAP_REMIXES                                                                        \
    8u /* after so many changes of the factor, another secret would not help */

/* Takes no memory before the first insertion. */
static inline void tp_addr_map_init(struct tp_addr_map *map, tp_addr_map_get_fn *get,
                                    tp_addr_map_put_fn *put, void *ctx)
{
    *map = (struct tp_addr_map){
        .get = get, .put = put, .ctx = ctx, .shift = 64, .factor = TP_ADDR_MAP_FACTOR};
}

static inline void *tp_addr_map_calloc(void *ctx, size_t size)
{
    (void)ctx;
    return calloc(1, size);
}

static inline void tp_addr_map_free(void *ctx, void *p, size_t size)
{
    (void)ctx, (void)size;
    free(p);
}

/* The same with memory of the C library. */
static inline void tp_addr_map_init_plain(struct tp_addr_map *map)
{
    tp_addr_map_init(map, tp_addr_map_calloc, tp_addr_map_free, NULL);
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
    map->reach = 0;
}

/* One multiplication alone would do for random keys, but addresses come in even steps, and for
 * unlucky steps (every 2,016 bytes) the average look-up then passes 179 entries. */
static inline uint64_t tp_addr_map_home(const struct tp_addr_map *map, uint64_t key)
{
    uint64_t mixed = key * map->factor;
    mixed ^= mixed >> 32;
    return (mixed * map->factor) >> map->shift;
}

/* The value of a key, valid until the next insertion or removal; NULL when there is none. */
static inline uint64_t *tp_addr_map_find(const struct tp_addr_map *map, uint64_t key)
{
    if (!map->slots || !key)
        return NULL;
    for (uint64_t i = tp_addr_map_home(map, key);; i = (i + 1) & map->mask) {
        struct tp_addr_entry *e = &map->slots[i];
        TP_STEP();
        if (e->key == key)
            return &e->value;
        if (!e->key)
            return NULL;
    }
}

static inline bool tp_addr_map_is_beyond(const struct tp_addr_map *map, uint64_t distance)
{
    return distance > map->reach && map->reach != TP_ADDR_MAP_ANY;
}

/* Puts a key that the table lacks into a table with a free slot. Returns its distance from home. */
static inline uint64_t tp_addr_map_place(struct tp_addr_map *map, uint64_t key, uint64_t value)
{
    uint64_t home = tp_addr_map_home(map, key), i = home;
    for (; map->slots[i].key; i = (i + 1) & map->mask) {
        assert(map->slots[i].key != key);
        TP_STEP();
    }
    map->slots[i] = (struct tp_addr_entry){key, value};
    return (i - home) & map->mask;
}

/* Notes the distance of an entry from home. True: the distance is too large for chance. */
static inline bool tp_addr_map_reach(struct tp_addr_map *map, uint64_t distance)
{
    if (distance > map->reach)
        map->reach = distance < TP_ADDR_MAP_ANY ? (uint16_t)distance : TP_ADDR_MAP_ANY;
    return distance > TP_ADDR_MAP_FAR;
}

/* Moves all entries into a new table of `slots` slots. TP_ENOMEM: the map is unchanged. */
static inline int tp_addr_map_move(struct tp_addr_map *map, uint64_t slots, uint64_t factor)
{
    struct tp_addr_map old = *map;
    struct tp_addr_entry *fresh = map->get(map->ctx, (size_t)slots * sizeof *fresh);
    if (!fresh)
        return TP_ENOMEM;
    map->slots = fresh;
    map->mask = slots - 1;
    map->shift = (uint8_t)(64 - __builtin_ctzll(slots));
    map->factor = factor;
    map->reach = 0;
    for (uint64_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].key)
            tp_addr_map_reach(map, tp_addr_map_place(map, old.slots[i].key, old.slots[i].value));
    if (old.slots)
        map->put(map->ctx, old.slots, (size_t)(old.mask + 1) * sizeof *old.slots);
    return TP_OK;
}

/* Makes room for at least `entries` entries in all. TP_ENOMEM: the map is unchanged. */
static inline int tp_addr_map_reserve(struct tp_addr_map *map, uint64_t entries)
{
    uint64_t slots = map->slots ? map->mask + 1 : UINT64_C(1) << TP_ADDR_MAP_FIRST_LOG2;
    if (entries > TP_ADDR_MAP_MOST)
        return TP_ENOMEM;
    while (slots / 2 < entries)
        slots *= 2;
    if (slots > SIZE_MAX / sizeof *map->slots)
        return TP_ENOMEM;
    if (map->slots && slots == map->mask + 1)
        return TP_OK;
    int rc = tp_addr_map_move(map, slots, map->factor);
    if (!rc)
        map->remixed = 0;
    return rc;
}

/* Called when an entry lies further from home than every earlier one. Where chance cannot explain
 * the distance, the map changes to a secret factor, which nobody could know when choosing keys.
 * Without memory for a new table the map stays unchanged. */
__attribute__((noinline, unused)) static void tp_addr_map_stretch(struct tp_addr_map *map,
                                                                  uint64_t distance)
{
    uint64_t secret = 0;
    if (!tp_addr_map_reach(map, distance) || map->remixed == TP_ADDR_MAP_REMIXES)
        return;
    map->remixed++;
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) == (ssize_t)sizeof secret)
        tp_addr_map_move(map, map->mask + 1, secret | 1);
}

/* Adds a key (not 0) that the map lacks. TP_OK, or TP_ENOMEM and the map is unchanged. */
static inline int tp_addr_map_insert(struct tp_addr_map *map, uint64_t key, uint64_t value)
{
    assert(key != 0);
    if (__builtin_expect(!map->slots || (map->count + UINT64_C(1)) * 2 > map->mask + 1, 0)) {
        int rc = tp_addr_map_reserve(map, map->count + UINT64_C(1));
        if (rc)
            return rc;
    }
    uint64_t distance = tp_addr_map_place(map, key, value);
    map->count++;
    if (__builtin_expect(distance > map->reach, 0))
        tp_addr_map_stretch(map, distance);
    return TP_OK;
}

/* The entry of a value that was found. */
static inline struct tp_addr_entry *tp_addr_map_entry(uint64_t *value)
{
    return (struct tp_addr_entry *)(void *)((char *)value - offsetof(struct tp_addr_entry, value));
}

/* Removes an entry of the map. */
static inline void tp_addr_map_drop(struct tp_addr_map *map, const struct tp_addr_entry *hole)
{
    uint64_t at = (uint64_t)(hole - map->slots);
    for (uint64_t i = (at + 1) & map->mask; map->slots[i].key; i = (i + 1) & map->mask) {
        TP_STEP();
        if (__builtin_expect(tp_addr_map_is_beyond(map, (i - at) & map->mask), 0))
            break; /* no entry from here on has a home at or before the hole */
        /* an entry may move into the hole unless its home lies between the hole and the entry */
        uint64_t home = tp_addr_map_home(map, map->slots[i].key);
        if (((i - home) & map->mask) < ((i - at) & map->mask))
            continue;
        map->slots[at] = map->slots[i];
        at = i;
    }
    map->slots[at].key = 0;
    map->slots[at].value = 0;
    map->count--;
}

/* False when the key is not there. `value` may be NULL. Never needs memory. */
static inline bool tp_addr_map_remove(struct tp_addr_map *map, uint64_t key, uint64_t *value)
{
    uint64_t *found = tp_addr_map_find(map, key);
    if (!found)
        return false;
    if (value)
        *value = *found;
    tp_addr_map_drop(map, tp_addr_map_entry(found));
    return true;
}

/* Empties the map and keeps its memory. */
static inline void tp_addr_map_clear(struct tp_addr_map *map)
{
    for (uint64_t i = 0; map->slots && i <= map->mask; i++)
        map->slots[i] = (struct tp_addr_entry){0, 0};
    map->count = 0;
    map->reach = 0;
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
