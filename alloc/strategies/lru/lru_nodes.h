/* The slow paths of `lru`, in lru_nodes.c, and helpers that they share with the fast paths. */
#ifndef TP_LRU_NODES_H
#define TP_LRU_NODES_H

#include "alloc/strategies/lru/lru_core.h"

/* The interface of the index of `lru` (lru_index.c). The index is made when searching blocks one by
 * one takes long. All functions except `make` and `drop` require that st->index is not NULL. */

#define LRU_LOOK                                                                                   \
    64u /* blocks or fences that a call may check without success before the index is made \ */

/* Makes the index from all existing nodes. When memory is exhausted there is no index. */
void tp_lru_index_make(struct lru *st);
void tp_lru_index_drop(struct lru *st); /* does nothing without an index */

/* Updates of the index. slab: the nodes of a new slab. live: a node became live. dead: a node is no
 * longer live. free: a node was pushed on its stack. gone: a node left its stack. */
void tp_lru_index_slab(struct lru *st, const struct lru_slab *slab);
void tp_lru_index_live(struct lru *st, struct lru_node *node);
void tp_lru_index_dead(struct lru *st, struct lru_node *node);
void tp_lru_index_free(struct lru *st, struct lru_node *node);
void tp_lru_index_gone(struct lru *st, struct lru_node *node);

/* The newest free block of a key that `stream` may use now; NULL: none. */
struct lru_node *tp_lru_index_find(struct lru *st, const struct lru_key *key, uint16_t stream);

/* The live block that comes first in slab order; NULL: none is live. */
struct lru_node *tp_lru_index_first(const struct lru *st);

/* A stream was synchronised, or all streams (TP_ALL_STREAMS). */
void tp_lru_index_synced(struct lru *st, uint16_t stream);

/* NULL, or what is wrong with the index, which must hold `live` live and `free_nodes` free
 * nodes. */
const char *tp_lru_index_fault(const struct lru *st, uint64_t live, uint64_t free_nodes);

/* slow: serves a request that the newest block of a recent key cannot serve. any: serves every
 * request where there are several threads or streams. */
int tp_lru_alloc_slow(struct lru *st, const struct tp_req *rq, struct tp_block *out);
int tp_lru_alloc_any(struct lru *st, const struct tp_req *rq, struct tp_block *out);

/* Makes the node of a block of `bytes` bytes that the caller provides. TP_ENOMEM. */
int tp_lru_enter(struct lru *st, struct lru_key *key, tp_addr addr, uint64_t bytes, uint16_t stream,
                 struct lru_node **out);

/* Gives every block back, live ones after waiting for their work. */
void tp_lru_put_all(struct lru *st);

/* Evicts until no limit is exceeded. */
int tp_lru_shrink(struct lru *st);

/* Evicts until no more than `keep` bytes are cached. */
int tp_lru_trim(void *state, uint64_t keep);

/* The node of a block in any state, or NULL. */
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

/* hand_out for code that may run with an index. */
static inline void hand_out_known(struct lru *st, struct lru_node *node, const struct tp_req *rq,
                                  struct tp_block *out)
{
    hand_out(node, rq, out);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_live(st, node);
}

#endif
