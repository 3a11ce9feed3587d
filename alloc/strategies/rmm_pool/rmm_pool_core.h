/* The state of the strategy `rmm-pool`: ranges, their blocks, and a list of free blocks for each
 * stream.
 *
 *     range     | live | free of 0 | live | free of 2 | free of 0 |     linked by address
 *     queue     a stream, with its list: free blocks by (size, range, address)
 *     queues    those that have a list, by age; each subtree knows its largest free block
 *
 * Neighbours in different lists stay apart until one list is merged into the other. */
#ifndef TP_RMM_POOL_CORE_H
#define TP_RMM_POOL_CORE_H

#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

#define RMM_POOL_GRAIN UINT64_C(256)       /* alignment of every block */
#define RMM_POOL_MOST  (UINT64_C(1) << 50) /* bytes of the largest request */

struct rmm_pool_block;

/* Free blocks. Its queue changes when lists are merged: the smaller one moves. */
struct rmm_pool_list {
    struct tp_tree_node *blocks;
    uint64_t count, largest; /* blocks; bytes of the largest */
    struct rmm_pool_queue *queue;
};

struct rmm_pool_queue {
    struct tp_tree_node in_order; /* among the queues that have a list, where `listed` */
    struct rmm_pool_list *list, own;
    struct rmm_pool_queue *next; /* in the order of their making */
    uint64_t order;
    uint64_t largest; /* bytes of the largest free block of the subtree */
    uint64_t stream;
    bool listed;
};

struct rmm_pool_range {
    tp_addr base;
    uint64_t size;   /* bytes that blocks share */
    uint64_t bytes;  /* bytes of the source's range */
    uint64_t order;  /* place among ranges */
    uint64_t carved; /* bytes from the base on that were part of a block once */
    struct rmm_pool_block *first;
    struct rmm_pool_range *next;
};

struct rmm_pool_block {
    tp_addr addr;
    uint64_t size;
    struct rmm_pool_range *range;
    struct rmm_pool_block *before, *behind; /* in the range */
    struct tp_tree_node by_size;
    struct rmm_pool_list *list; /* NULL: live */
    uint64_t requested, align;  /* of the request that it serves */
    uint64_t stream;            /* that asked for it */
};

struct rmm_pool {
    const struct tp_env *env;
    uint64_t most;               /* bytes that the pool may grow to */
    bool bounded;                /* there is such a limit */
    uint64_t size;               /* bytes of all ranges */
    struct tp_tree_node *queues; /* those that have a list */
    struct rmm_pool_queue *oldest_queue, *newest_queue;
    struct rmm_pool_range *oldest, *newest;
    struct tp_addr_map live;     /* allocated address -> block */
    struct tp_addr_map queue_of; /* stream + 1 -> queue */
    struct slab blocks, ranges, queue_records;
    struct carved carved;
};

/* Bytes before the allocated address, where more than 256 bytes of alignment are asked
 * for. RMM knows no such requests. */
static inline uint64_t rmm_pool_lead(const struct rmm_pool_block *b)
{
    return b->align > RMM_POOL_GRAIN ? round_up(b->addr, b->align) - b->addr : 0;
}

/* Bytes that a live block's user may use: the same wherever the block lies. */
static inline uint64_t rmm_pool_allocated(const struct rmm_pool_block *b)
{
    return b->size - (b->align > RMM_POOL_GRAIN ? b->align - RMM_POOL_GRAIN : 0);
}

static inline struct rmm_pool_block *rmm_pool_by_size(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rmm_pool_block, by_size, n) : NULL;
}

static inline struct rmm_pool_queue *rmm_pool_in_order(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rmm_pool_queue, in_order, n) : NULL;
}

/* ---- rmm_pool_lists.c: free blocks ---- */

/* The queue of a stream, made if it is missing; it has a list then. NULL: out of memory. */
struct rmm_pool_queue *tp_rmm_pool_queue(struct rmm_pool *st, uint16_t stream);

/* Adds a block to a list, as one with its free neighbours of that list. */
void tp_rmm_pool_add(struct rmm_pool *st, struct rmm_pool_list *list, struct rmm_pool_block *b);

/* Takes a block out of its list, cut to `size` bytes; the rest stays in the list. Its record is
 * reserved. */
void tp_rmm_pool_take(struct rmm_pool *st, struct rmm_pool_block *b, uint64_t size);

/* The smallest block of a list with at least `size` bytes, of equal ones the first; NULL: none. */
struct rmm_pool_block *tp_rmm_pool_fit(const struct rmm_pool_list *list, uint64_t size);

/* The first queue whose list has a block of `size` bytes; NULL: none. */
struct rmm_pool_queue *tp_rmm_pool_first_queue(const struct rmm_pool *st, uint64_t size);

/* Merges the lists of other queues into that of `queue`, one after the other, until a block fits;
 * *out: NULL, if none does in the end. */
int tp_rmm_pool_merge(struct rmm_pool *st, struct rmm_pool_queue *queue, uint64_t size,
                      struct rmm_pool_block **out);

/* ---- rmm_pool_check.c: members of the strategy ---- */

int tp_rmm_pool_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_rmm_pool_check(void *state, struct tp_err *err);

#endif
