/* Ordered trees that find the oldest block or fence for `stream-pool` when a trace has many
 * streams.
 *
 *     among the shelves of a bin   the oldest ready block, those of streams that caught up first
 *                                  the oldest held block, where requests may wait for it
 *     among the queues              the oldest cached block
 *                                  the fence of a USE that was recorded first
 *
 * A pool of few streams searches every shelf and queue instead. An entry is filed under the item
 * that was the oldest at that time; that item may have gone since, so the caller checks an answer
 * and files the entry again where it is out of date. When memory is exhausted, the pool searches
 * every shelf and queue again. */
#ifndef TP_STREAM_POOL_RANKS_H
#define TP_STREAM_POOL_RANKS_H

#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

enum { RANKS_FROM_LANES = 65 };

enum rank_of { RANK_SHELF, RANK_HELD, RANK_LANE_AGE, RANK_LANE_FENCE, RANK_COUNT };

struct rank {
    struct tp_tree_node node; /* node.number: 1 while the entry is filed */
    uint64_t bin;             /* bin of a shelf, else 0 */
    uint64_t late;            /* 0: the stream is past the oldest block */
    uint64_t oldest;          /* age of the oldest block, or serial of the first fence */
    void *owner;              /* struct shelf * or struct stream_queue * */
};

struct ranks {
    const struct tp_env *env;
    struct tp_tree_node *roots[RANK_COUNT];
    struct tp_addr_map entries; /* owner and enum rank_of -> struct rank * */
    struct tp_addr_map uses;    /* block and stream -> 1: the block was used on the stream */
    /* stream + 1 -> age up to which the stream is past its frees */
    struct tp_addr_map synced;
    struct slab records;
};

static inline uint64_t rank_synced(const struct ranks *r, uint32_t stream)
{
    const uint64_t *age = tp_addr_map_find(&r->synced, UINT64_C(1) + stream);
    return age ? *age : 0;
}

/* Notes that a stream is past its frees up to `age`. False: out of memory. */
static inline bool rank_note_synced(struct ranks *r, uint32_t stream, uint64_t age)
{
    uint64_t *noted = tp_addr_map_find(&r->synced, UINT64_C(1) + stream);
    if (noted)
        *noted = age;
    return noted || !tp_addr_map_insert(&r->synced, UINT64_C(1) + stream, age);
}

static inline uint64_t rank_use_key(const void *block, uint16_t stream)
{
    return (uint64_t)(uintptr_t)block << 16 | stream; /* user space ends at 2^47 */
}

/* Removes the entry of an owner that is about to be freed. */
void tp_stream_pool_rank_forget(struct ranks *r, enum rank_of of, const void *owner);

/* The first entry of a bin at or after (late, oldest); NULL: none. */
struct rank *tp_stream_pool_rank_from(const struct ranks *r, enum rank_of of, uint64_t bin,
                                      uint64_t late, uint64_t oldest);

struct ranks *tp_stream_pool_ranks_new(const struct tp_env *env);

/* Files an owner under to.oldest, or removes its entry where that is 0. False: out of memory. */
bool tp_stream_pool_rank_file(struct ranks *r, enum rank_of of, void *owner, struct rank to);

void tp_stream_pool_ranks_free(struct ranks *r);

#endif
