/* What `lru` asks of its index (lru_index.c), which is there where looking at blocks one by one
 * took long: `st->index` is not NULL then, and all but `make` want that. */
#ifndef TP_LRU_INDEX_H
#define TP_LRU_INDEX_H

#include "alloc/strategies/lru/lru_core.h"

#define LRU_LOOK                                                                                   \
    64u /* blocks or fences that a call may look at in vain before there is an index               \
         */

/* Everything that is there is entered. Without memory there is no index. */
void tp_lru_index_make(struct lru *st);
void tp_lru_index_drop(struct lru *st); /* fine without one */

/* The nodes of a new slab; a node that is live now; one that was freed; one that left its stack. */
void tp_lru_index_slab(struct lru *st, const struct lru_slab *slab);
void tp_lru_index_live(struct lru *st, struct lru_node *node);
void tp_lru_index_dead(struct lru *st, struct lru_node *node);
void tp_lru_index_free(struct lru *st, struct lru_node *node);
void tp_lru_index_gone(struct lru *st, struct lru_node *node);

/* The newest free block of a key that the stream may have; NULL: none. */
struct lru_node *tp_lru_index_find(struct lru *st, const struct lru_key *key, uint16_t stream);

/* The live block that lies first in the slabs; NULL: none is live. */
struct lru_node *tp_lru_index_first(const struct lru *st);

/* A stream has caught up, or all have. */
void tp_lru_index_synced(struct lru *st, uint16_t stream);

/* NULL, or what is wrong with the index of so many live and free nodes. */
const char *tp_lru_index_fault(const struct lru *st, uint64_t live, uint64_t free_nodes);

#endif
