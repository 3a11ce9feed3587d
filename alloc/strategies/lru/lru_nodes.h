/* The slow paths of `lru`, in lru_nodes.c, and what they share with the fast ones. */
#ifndef TP_LRU_NODES_H
#define TP_LRU_NODES_H

#include "alloc/strategies/lru/lru_index.h"

/* Where the newest block of the key seen lately is not the answer. `any`: with several threads,
 * streams, or both. */
int tp_lru_alloc_slow(struct lru *st, const struct tp_req *rq, struct tp_block *out);
int tp_lru_alloc_any(struct lru *st, const struct tp_req *rq, struct tp_block *out);

/* A block that the caller gives, of so many bytes. */
int tp_lru_enter(struct lru *st, struct lru_key *key, tp_addr addr, uint64_t bytes, uint16_t stream,
                 struct lru_node **out);

/* Puts every block, live ones once nothing works on them. */
void tp_lru_put_all(struct lru *st);

/* Evicts until no limit is exceeded. */
int tp_lru_shrink(struct lru *st);

/* Evicts until no more than `keep` bytes are cached. */
int tp_lru_trim(void *state, uint64_t keep);

/* Any block, or NULL. */
static inline struct lru_node *node_find(const struct lru *st, tp_addr addr)
{
    return meta_map_at(&st->blocks, addr);
}

static inline struct lru_node *node_refused(const struct refused *r)
{
    return (struct lru_node *)(uintptr_t)((const char *)r - offsetof(struct lru_node, refused));
}

static inline bool lru_is_over(const struct lru *st)
{
    return st->cached_bytes > st->max_bytes || st->cached_keys > st->max_keys ||
           st->cached_blocks > st->max_blocks;
}

static inline void hand_out(struct lru_node *node, const struct tp_req *rq, struct tp_block *out)
{
    node->refs = 1;
    node->size = rq->size;
    *out = (struct tp_block){node->addr, node->bytes};
}

/* The same, where there may be an index. */
static inline void hand_out_known(struct lru *st, struct lru_node *node, const struct tp_req *rq,
                                  struct tp_block *out)
{
    hand_out(node, rq, out);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_live(st, node);
}

#endif
