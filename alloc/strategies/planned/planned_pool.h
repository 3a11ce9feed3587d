/* The blocks that lie in the pool of a plan: live ones, and freed ones on which another stream may
 * still work.
 *
 *     pool  |  live  |    |pending| live |         |       a tree by offset; no two overlap
 *
 * The plan is not believed: a range is given only where none of these lies. */
#ifndef TP_PLANNED_POOL_H
#define TP_PLANNED_POOL_H

#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"
#include "alloc/strategies/common/stream_uses.h"

struct planned_block {
    uint64_t offset, bytes;
    uint64_t requested, align; /* of the request that it serves */
    struct tp_tree_node node;
    struct stream_use *uses; /* while it is live */
    struct tp_link fences;   /* of its uses, once it is freed */
    uint32_t stream;
    bool pending; /* freed */
};

struct planned_pool {
    struct tp_source *source;
    tp_addr base;           /* 0: it is not held */
    uint64_t bytes, carved; /* of the range; of those, from its beginning, that blocks have used */
    uint64_t live;          /* blocks */
    struct tp_tree_node *root;
    struct slab blocks, uses;
};

static inline struct planned_block *planned_block_of(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct planned_block, node, n) : NULL;
}

/* The first block that shares a byte with these; NULL: none does. */
struct planned_block *tp_planned_over(const struct planned_pool *p, uint64_t offset,
                                      uint64_t bytes);

/* Adds a block where none lies; its record is reserved. */
struct planned_block *tp_planned_enter(struct planned_pool *p, uint64_t offset, uint64_t bytes);
void tp_planned_drop(struct planned_pool *p, struct planned_block *b);

/* Whether these bytes are free, now that streams went on: blocks for which no stream works any
 * more are dropped. */
bool tp_planned_is_free(struct planned_pool *p, uint64_t offset, uint64_t bytes);

/* The live block at this address; NULL: none begins there. */
struct planned_block *tp_planned_at(const struct planned_pool *p, tp_addr addr);

static inline bool planned_holds(const struct planned_pool *p, tp_addr addr)
{
    return p->base && addr >= p->base && addr - p->base < p->bytes;
}

/* Notes that a stream works on a block. TP_ENOMEM. */
int tp_planned_use(struct planned_pool *p, struct planned_block *b, uint16_t stream);

/* The program has freed a block. */
void tp_planned_free(struct planned_pool *p, struct planned_block *b);

/* Waits for the streams of blocks that are freed, and gives the range back if no block is live.
 * False: it stays. */
bool tp_planned_give_back(struct planned_pool *p);

#endif
