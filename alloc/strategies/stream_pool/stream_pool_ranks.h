/* Who has the oldest: what `stream-pool` asks when a trace has many streams.
 *
 *     among the shelves of a bin   the oldest ready block, those of streams that caught up first
 *                                  the oldest held block, where requests may wait for it
 *     among the lanes              the oldest cached block
 *                                  the fence of a USE that was recorded first
 *
 * A pool of few streams looks at each and has none of this. Entries are filed under what was the
 * oldest when they were filed; a block may have gone since, so whoever asks looks whether an answer
 * still holds and files it anew where it does not. Without memory the pool looks at each again. */
#ifndef TP_STREAM_POOL_RANKS_H
#define TP_STREAM_POOL_RANKS_H

#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

enum { RANKS_FROM_LANES = 65 };

enum rank_of { RANK_SHELF, RANK_HELD, RANK_LANE_AGE, RANK_LANE_FENCE, RANK_COUNT };

struct rank {
    struct tp_tree_node node; /* number: is it filed? */
    uint64_t bin;             /* of a shelf; else 0 */
    uint64_t late;            /* 0: its stream has caught up with its oldest block */
    uint64_t oldest;          /* age, or serial of a fence */
    void *owner;              /* struct shelf * or struct lane * */
};

struct ranks {
    const struct tp_env *env;
    struct tp_tree_node *roots[RANK_COUNT];
    struct tp_addr_map entries; /* owner and enum rank_of -> struct rank * */
    struct tp_addr_map uses;    /* block and stream -> 1: was it used there? */
    struct tp_addr_map synced;  /* stream + 1 -> age of the last free when it caught up */
    struct slab records;
};

static inline struct rank *rank_at(const struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rank, node, n) : NULL;
}

static inline bool rank_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    const struct rank *x = rank_at(a), *y = rank_at(b);
    if (x->bin != y->bin)
        return x->bin < y->bin;
    return x->late != y->late ? x->late < y->late : x->oldest < y->oldest;
}

/* Owners are at multiples of 8. */
static inline uint64_t rank_key(enum rank_of of, const void *owner)
{
    return (uintptr_t)owner + of;
}

static inline void rank_take_out(struct ranks *r, enum rank_of of, struct rank *e)
{
    if (e->node.number)
        tp_tree_remove(&r->roots[of], &e->node, rank_less, NULL);
    e->node.number = 0;
}

/* Files an owner under its oldest; 0: it has none. False: no memory. */
static inline bool rank_file(struct ranks *r, enum rank_of of, void *owner, struct rank to)
{
    struct rank *e = meta_map_at(&r->entries, rank_key(of, owner));
    if (e && e->node.number && e->bin == to.bin && e->late == to.late && e->oldest == to.oldest)
        return true;
    if (!e) {
        if (!to.oldest)
            return true;
        if (tp_addr_map_reserve(&r->entries, r->entries.count + UINT64_C(1)) ||
            !(e = slab_take(&r->records)))
            return false;
        tp_addr_map_insert(&r->entries, rank_key(of, owner), (uintptr_t)e);
    }
    rank_take_out(r, of, e);
    e->bin = to.bin;
    e->late = to.late;
    e->oldest = to.oldest;
    e->owner = owner;
    if (to.oldest) {
        tp_tree_insert(&r->roots[of], &e->node, rank_less, NULL);
        e->node.number = 1;
    }
    return true;
}

/* The owner is about to go. */
static inline void rank_forget(struct ranks *r, enum rank_of of, const void *owner)
{
    uint64_t value = 0;
    if (!tp_addr_map_remove(&r->entries, rank_key(of, owner), &value))
        return;
    rank_take_out(r, of, (struct rank *)(uintptr_t)value);
    slab_give(&r->records, (void *)(uintptr_t)value);
}

/* The first of a bin that is not before (late, oldest); NULL: none. */
static inline struct rank *rank_from(const struct ranks *r, enum rank_of of, uint64_t bin,
                                     uint64_t late, uint64_t oldest)
{
    const struct rank least = {.bin = bin, .late = late, .oldest = oldest};
    struct tp_tree_node *best = NULL;
    for (struct tp_tree_node *at = r->roots[of]; at;) {
        bool before = rank_less(at, &least.node);
        TP_STEP();
        best = before ? best : at;
        at = before ? at->high : at->low;
    }
    return best && rank_at(best)->bin == bin ? rank_at(best) : NULL;
}

static inline uint64_t rank_synced(const struct ranks *r, uint32_t stream)
{
    const uint64_t *age = tp_addr_map_find(&r->synced, UINT64_C(1) + stream);
    return age ? *age : 0;
}

/* False: no memory. */
static inline bool rank_note_synced(struct ranks *r, uint32_t stream, uint64_t age)
{
    uint64_t *noted = tp_addr_map_find(&r->synced, UINT64_C(1) + stream);
    if (noted)
        *noted = age;
    return noted || !tp_addr_map_insert(&r->synced, UINT64_C(1) + stream, age);
}

/* ---- what blocks were used on ---- */

static inline uint64_t rank_use_key(const void *block, uint16_t stream)
{
    return (uint64_t)(uintptr_t)block << 16 | stream; /* user space ends at 2^47 */
}

/* ---- life ---- */

static inline struct ranks *ranks_new(const struct tp_env *env)
{
    struct ranks *r = tp_meta_get(env, sizeof *r);
    if (!r)
        return NULL;
    r->env = env;
    slab_init(&r->records, env, sizeof(struct rank));
    meta_map_init(&r->entries, env);
    meta_map_init(&r->uses, env);
    meta_map_init(&r->synced, env);
    return r;
}

static inline void ranks_free(struct ranks *r)
{
    if (!r)
        return;
    tp_addr_map_fini(&r->entries);
    tp_addr_map_fini(&r->uses);
    tp_addr_map_fini(&r->synced);
    slab_fini(&r->records);
    tp_meta_put(r->env, r, sizeof *r);
}

#endif
