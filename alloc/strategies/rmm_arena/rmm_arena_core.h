/* The state of the strategy `rmm-arena`: one range, cut into superblocks, which are cut into
 * blocks.
 *
 *     range         | superblock of stream 1 |  superblock  | superblock of 2 |  superblock ... |
 *     superblock    | live | free | live |      each belongs to one arena: that of a stream, or the
 *                                               global one
 *
 * Arenas order their superblocks by address, and superblocks their free blocks. Both are trees
 * whose nodes know the largest free block below them, so that the first fit is found at once. */
#ifndef TP_RMM_ARENA_CORE_H
#define TP_RMM_ARENA_CORE_H

#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

#define RMM_ARENA_GRAIN UINT64_C(256)       /* alignment of every block */
#define RMM_ARENA_SUPER (UINT64_C(1) << 20) /* bytes of the smallest superblock */
#define RMM_ARENA_MOST  (UINT64_C(1) << 50) /* bytes of the largest request */

/* A place in a tree that is ordered by address. */
struct rmm_arena_spot {
    struct tp_tree_node node;
    tp_addr addr;
    uint64_t free; /* bytes of the largest free block here */
    uint64_t most; /* and in the subtree */
};

struct rmm_arena_owner {
    struct tp_tree_node *supers;
    struct rmm_arena_owner *next_busy, *next_holding;
    uint64_t stream;
    bool busy;    /* the stream made calls since the device was waited for */
    bool holding; /* it had superblocks since they were collected */
};

struct rmm_arena_super {
    struct rmm_arena_spot spot; /* among those of its arena */
    uint64_t size;
    struct tp_tree_node *blocks; /* the free ones */
    struct rmm_arena_owner *owner;
};

struct rmm_arena_block {
    struct rmm_arena_spot spot; /* among the free blocks of its superblock, where it is free */
    uint64_t size;
    struct rmm_arena_block *before, *behind; /* in the range */
    struct rmm_arena_super *super;
    uint64_t requested, align; /* of the request that it serves; 0: free */
};

struct rmm_arena {
    const struct tp_env *env;
    bool size_classes;
    tp_addr base;         /* of the range */
    uint64_t size, bytes; /* what blocks share, and what the source gave */
    uint64_t carved_end;  /* bytes from the base on that were part of a block once */
    struct rmm_arena_owner global;
    struct rmm_arena_owner *busy, *holding; /* arenas of streams */
    struct rmm_arena_block *first;
    struct tp_addr_map live;     /* allocated address -> block */
    struct tp_addr_map owner_of; /* stream + 1 -> arena */
    struct slab blocks, supers, owners;
};

/* Bytes before the allocated address, where more than 256 bytes of alignment are asked
 * for. RMM knows no such requests. */
static inline uint64_t rmm_arena_lead(const struct rmm_arena_block *b)
{
    return b->align > RMM_ARENA_GRAIN ? round_up(b->spot.addr, b->align) - b->spot.addr : 0;
}

/* Bytes that a live block's user may use: the same wherever the block lies. */
static inline uint64_t rmm_arena_allocated(const struct rmm_arena_block *b)
{
    return b->size - (b->align > RMM_ARENA_GRAIN ? b->align - RMM_ARENA_GRAIN : 0);
}

static inline struct rmm_arena_spot *rmm_arena_spot(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rmm_arena_spot, node, n) : NULL;
}

static inline struct rmm_arena_super *rmm_arena_super_at(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rmm_arena_super, spot.node, n) : NULL;
}

static inline struct rmm_arena_block *rmm_arena_block_at(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct rmm_arena_block, spot.node, n) : NULL;
}

static inline bool rmm_arena_is_empty(const struct rmm_arena_super *s)
{
    return s->spot.free == s->size;
}

/* ---- rmm_arena_supers.c: superblocks ---- */

/* Makes the whole range one superblock of the global arena. Records are reserved. */
void tp_rmm_arena_begin(struct rmm_arena *st);

/* The block of `size` bytes for a request of the arena; NULL: there is none. Records are reserved:
 * two blocks and a superblock. */
struct rmm_arena_block *tp_rmm_arena_take(struct rmm_arena *st, struct rmm_arena_owner *owner,
                                          uint64_t size);

/* Makes a block free. A superblock of the global arena that is empty then is merged with empty
 * neighbours there. */
void tp_rmm_arena_give(struct rmm_arena *st, struct rmm_arena_block *b);

/* Hands all superblocks of all streams, used ones too, to the global arena. */
void tp_rmm_arena_collect(struct rmm_arena *st);

/* ---- rmm_arena_check.c: members of the strategy ---- */

int tp_rmm_arena_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_rmm_arena_check(void *state, struct tp_err *err);

#endif
