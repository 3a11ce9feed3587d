/* The interface of the index of `lru` (lru_index.c). The index is made when searching blocks one by
 * one takes long. All functions except `make` and `drop` require that st->index is not NULL. */
#ifndef TP_LRU_INDEX_H
#define TP_LRU_INDEX_H

#include "alloc/strategies/lru/lru_core.h"

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

#endif
