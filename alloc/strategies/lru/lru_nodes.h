/* The nodes of `lru`, where blocks come from, and giving back. */
#ifndef TP_LRU_NODES_H
#define TP_LRU_NODES_H

#include "alloc/strategies/lru/lru_index.h"

/* ---- nodes ---- */

static inline int slab_add(struct lru *st)
{
    const uint64_t line = sizeof(struct lru_node);
    uint32_t count = st->newest_slab ? st->newest_slab->count * 2 : LRU_FIRST_SLAB;
    count = count > LRU_LAST_SLAB ? LRU_LAST_SLAB : count;
    size_t bytes = sizeof(struct lru_slab) + (count + 1) * line;
    struct lru_slab *slab = tp_meta_get(st->env, bytes);
    struct lru_work *works = NULL;
    if (slab && st->several)
        works = tp_meta_get(st->env, count * sizeof *works);
    if (!slab || (st->several && !works)) {
        tp_meta_put(st->env, slab, bytes);
        return TP_ENOMEM;
    }
    uintptr_t nodes = ((uintptr_t)(slab + 1) + line - 1) & ~(uintptr_t)(line - 1);
    *slab = (struct lru_slab){
        .bytes = bytes, .nodes = (struct lru_node *)nodes, .works = works, .count = count};
    for (uint32_t i = count; i-- > 0;) {
        slab->nodes[i].work = works ? &works[i] : NULL;
        slab->nodes[i].below = st->spare;
        st->spare = &slab->nodes[i];
    }
    *(st->newest_slab ? &st->newest_slab->next : &st->oldest_slab) = slab;
    st->newest_slab = slab;
    if (__builtin_expect(st->index != NULL, 0))
        index_slab(st, slab);
    return TP_OK;
}

/* Makes sure that there is a spare node and room for it in the table. */
static inline int node_reserve(struct lru *st)
{
    int rc = tp_addr_map_reserve(&st->blocks, st->blocks.count + 1);
    return rc || st->spare ? rc : slab_add(st);
}

/* A reserved node becomes a live block. */
static inline struct lru_node *node_take(struct lru *st, struct lru_key *key, tp_addr addr,
                                         uint64_t bytes, uint16_t stream)
{
    struct lru_node *node = st->spare;
    st->spare = node->below;
    node->addr = addr;
    node->bytes = bytes;
    node->key = key;
    if (node->work)
        work_start(node->work, stream);
    tp_addr_map_insert(&st->blocks, addr, (uintptr_t)node);
    st->carved += bytes;
    if (st->carved > st->peak_carved)
        st->peak_carved = st->carved;
    return node;
}

static inline void node_drop(struct lru *st, struct lru_node *node)
{
    struct lru_work *work = node->work;
    tp_addr_map_remove(&st->blocks, node->addr, NULL);
    st->carved -= node->bytes;
    if (work)
        work_fini(st->env, work);
    *node = (struct lru_node){.below = st->spare, .work = work};
    st->spare = node;
}

/* Any block, or NULL. */
static inline struct lru_node *node_find(const struct lru *st, tp_addr addr)
{
    return meta_map_at(&st->blocks, addr);
}

/* ---- giving back ---- */

/* Puts a block that is in no stack, when nothing works on it any more. */
static inline int node_put(struct lru *st, struct lru_node *node)
{
    int rc = node->work ? work_wait(st->env->source, node->work) : TP_OK;
    return rc ? rc : tp_src_put(st->env->source, node->addr, node->bytes);
}

/* The block leaves its key for the source, which may refuse it: then it stays held, apart. */
static inline void node_give_back(struct lru *st, struct lru_node *node)
{
    struct lru_key *key = node->key;
    node->key = NULL;
    if (node_put(st, node)) {
        node->refused.next = st->refused;
        st->refused = &node->refused;
    } else {
        node_drop(st, node);
    }
    key_release(st, key);
}

/* The least recently used key gives its oldest block back. False: nothing is cached. */
static inline bool evict_one(struct lru *st)
{
    struct lru_key *key = st->head.newer;
    while (key != &st->head && !key->top) {
        key_unlink(key); /* the next free links it again */
        key = st->head.newer;
    }
    if (key == &st->head)
        return false;
    struct lru_node *node = key->bottom;
    stack_remove(st, key, node);
    if (__builtin_expect(st->index != NULL, 0))
        index_gone(st, node);
    node_give_back(st, node);
    return true;
}

static inline struct lru_node *node_refused(const struct refused *r)
{
    return (struct lru_node *)(uintptr_t)((const char *)r - offsetof(struct lru_node, refused));
}

static inline bool put_refused(void *state, struct refused *r)
{
    struct lru_node *node = node_refused(r);
    if (node_put(state, node))
        return false;
    node_drop(state, node);
    return true;
}

/* Memory from the source; when it refuses, evicts one block after the other until it does not. */
static inline int get_bytes(struct lru *st, uint64_t bytes, uint64_t align, tp_addr *out)
{
    struct tp_source *source = st->env->source;
    int rc = tp_src_get(source, bytes, align, out);
    while (rc == TP_EOOM && evict_one(st))
        rc = tp_src_get(source, bytes, align, out);
    if (rc == TP_EOOM && refused_retry(&st->refused, put_refused, st))
        rc = tp_src_get(source, bytes, align, out);
    return rc;
}

#endif
