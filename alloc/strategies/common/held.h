/* A table of blocks that each are a whole range of the source.
 *
 *     address -> size * 2 | HELD_REFUSED        a size stands for whole pages of the source
 *
 * A range that the source refused to take back stays in the table, marked by HELD_REFUSED, and is
 * no block. */
#ifndef TP_HELD_H
#define TP_HELD_H

#include "alloc/strategies/common/chores.h"

#define HELD_REFUSED UINT64_C(1)

static inline uint64_t held_bytes(const struct tp_env *env, uint64_t value)
{
    return round_up(value >> 1, env->source->page);
}

/* The table's value for a block; NULL: no block begins at this address. */
static inline uint64_t *held_find(const struct tp_addr_map *held, tp_addr addr)
{
    uint64_t *value = tp_addr_map_find(held, addr);
    return value && !(*value & HELD_REFUSED) ? value : NULL;
}

/* Allocated bytes of a block; 0: no block begins at this address. */
static inline uint64_t held_usable(const struct tp_env *env, const struct tp_addr_map *held,
                                   tp_addr addr)
{
    const uint64_t *value = held_find(held, addr);
    return value ? held_bytes(env, *value) : 0;
}

/* Gets a block from the source. The caller has reserved room in the table. */
static inline int held_get(const struct tp_env *env, struct tp_addr_map *held, uint64_t size,
                           uint64_t align, struct tp_block *out)
{
    uint64_t bytes = round_up(size, env->source->page);
    tp_addr addr = 0;
    int rc = tp_src_get(env->source, bytes, align, &addr);
    if (rc)
        return rc;
    tp_addr_map_insert(held, addr, size << 1);
    *out = (struct tp_block){addr, bytes};
    return TP_OK;
}

/* Gives back the block that held_find found. Returns the bytes that the source took, 0 if it
 * refused. */
static inline uint64_t held_put(const struct tp_env *env, struct tp_addr_map *held, tp_addr addr,
                                uint64_t *value)
{
    uint64_t bytes = held_bytes(env, *value);
    if (tp_src_put(env->source, addr, bytes)) {
        *value |= HELD_REFUSED;
        return 0;
    }
    tp_addr_map_remove(held, addr, NULL);
    return bytes;
}

/* Gives all ranges back, those refused before included. Returns the bytes that the source took. */
static inline uint64_t held_put_all(const struct tp_env *env, struct tp_addr_map *held)
{
    struct tp_addr_entry *e;
    uint64_t taken = 0, refused = 0;
    for (uint64_t at = 0; (e = tp_addr_map_next(held, &at));) {
        uint64_t bytes = held_bytes(env, e->value);
        bool kept = tp_src_put(env->source, e->key, bytes);
        e->value = kept ? e->value | HELD_REFUSED : 0;
        taken += kept ? 0 : bytes;
        refused += kept;
    }
    for (uint64_t i = 0; held->count > refused;) {
        if (held->slots[i].key && !held->slots[i].value)
            tp_addr_map_remove(held, held->slots[i].key, NULL);
        else
            i++; /* after a removal another entry may lie here */
    }
    return taken;
}

/* Visits all ranges and returns their bytes. `fn` may be NULL. */
static inline uint64_t held_walk(const struct tp_env *env, const struct tp_addr_map *held,
                                 tp_walk_fn *fn, void *ctx)
{
    const struct tp_addr_entry *e;
    uint64_t sum = 0;
    for (uint64_t at = 0; (e = tp_addr_map_next(held, &at));) {
        uint64_t bytes = held_bytes(env, e->value);
        sum += bytes;
        if (fn)
            fn(ctx, e->value & HELD_REFUSED ? TP_WALK_DEAD : TP_WALK_LIVE, e->key, bytes);
    }
    return sum;
}

#endif
