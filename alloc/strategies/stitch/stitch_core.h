/* The state of the strategy `stitch`: primitive blocks, stitched blocks, and those of either kind
 * that are free, in order.
 *
 *     stretch    | primitive | primitive | primitive |     memory that was mapped at once, with
 *                     |            |           |           addresses of its own
 *     pieces          |     +------+      +----+
 *     stitched       | piece | piece ... | piece |         addresses alone: whole units of free
 *                                                          primitive blocks, mapped again
 *
 * All memory belongs to primitive blocks. A stitched block that is live has each piece that it uses
 * cut out as a primitive block of its own, so that no memory is live twice. One that is not live
 * has addresses only: whether it can serve is looked up when a request of its size comes, as its
 * pieces may have been split, merged or used by others since. */
#ifndef TP_STITCH_CORE_H
#define TP_STITCH_CORE_H

#include "alloc/base/links.h"
#include "alloc/base/tree.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"
#include "alloc/strategies/common/stream_uses.h"

#define STITCH_GRAIN  UINT64_C(512)       /* alignment that every block has */
#define STITCH_MOST   (UINT64_C(1) << 50) /* bytes of the largest request */
#define STITCH_PIECES 1024u               /* blocks that are stitched to one at most */
#define STITCH_LOOKS  128u                /* pieces that a request looks at in vain */

enum stitch_state {
    STITCH_NONE,
    STITCH_LIVE,
    STITCH_PENDING, /* freed, and other streams may still use it */
    STITCH_FREE,    /* of a stitched block: its addresses are kept */
    STITCH_SEWN     /* of a primitive block: a stitched block uses it */
};

/* What serves a request. */
struct stitch_block {
    tp_addr addr;
    uint64_t size; /* bytes, whole units */
    uint64_t requested, align;
    struct stream_use *uses;
    struct tp_tree_node by_size; /* while it is free */
    uint32_t pending;            /* fences of other streams that have not passed */
    uint16_t stream;
    uint8_t state; /* enum stitch_state */
    bool stitched; /* it is a struct stitch_joined, else a struct stitch_primitive */
};

struct stitch_stretch {
    tp_addr base;
    uint64_t size;
    uint64_t order; /* of its making */
    struct stitch_primitive *first;
    struct tp_link in_all;
    struct tp_link in_whole; /* while it is one free block */
    struct tp_link pieces;   /* of stitched blocks that lie in it */
    uint16_t stream;
};

struct stitch_primitive {
    struct stitch_block b;
    struct stitch_stretch *stretch;
    struct stitch_primitive *before, *behind; /* in the stretch */
    struct stitch_joined *user;               /* while it is sewn */
    struct tp_tree_node by_place;
};

struct stitch_piece {
    struct stitch_joined *joined;
    struct stitch_stretch *stretch;
    tp_addr addr;    /* of its memory, in the stretch */
    uint64_t size;   /* bytes */
    uint64_t offset; /* in the stitched block */
    struct tp_link in_stretch;
};

/* A stitched block; b.size is what its pieces have. */
struct stitch_joined {
    struct stitch_block b;
    uint64_t reserved; /* bytes of its addresses */
    uint64_t used;     /* bytes that serve its request, from the beginning on */
    uint64_t freed;    /* counts the frees: the latest is tried first */
    struct tp_fence fence;
    struct stitch_piece *pieces;
    uint32_t count, room;
    uint32_t busy; /* the piece that was not free at the last look */
    struct tp_link in_list;
};

struct stitch_queue {
    struct fence_queue of; /* first; of this stream, for blocks of others */
    uint64_t free_bytes;   /* in free primitive blocks of the stream */
    uint64_t settled;      /* the last release for which the stream was waited for */
};

struct stitch_opts {
    bool vmm_defragment, re_alloc;
    double reuse_limit;
    uint64_t frag_limit, defrag_level, auto_gc, chunk, small_limit;
};

struct stitch {
    const struct tp_env *env;
    struct stitch_opts opts;
    void *torch;                 /* an instance of `torch`, for small requests */
    uint64_t small_most;         /* bytes of the largest of them */
    uint64_t unit;               /* bytes that all other blocks are multiples of */
    struct tp_tree_node *free;   /* primitive blocks by stream, the largest first */
    struct tp_tree_node *placed; /* all primitive blocks */
    struct tp_tree_node *kept;   /* stitched blocks that are not live, by stream and size */
    struct tp_link stretches;    /* in the order of their making */
    struct tp_link wholes;       /* stretches that are one free block, in the order of the frees */
    struct tp_link idle;         /* stitched blocks in `kept`, the least recently freed first */
    struct tp_link busy;         /* the others */
    struct tp_addr_map live;     /* address -> struct stitch_block */
    struct tp_addr_map queue_of; /* stream + 1 -> queue */
    struct fence_queue *queues;
    struct slab primitives, joined_records, stretch_records, queue_records, uses;
    struct stitch_primitive **picked; /* STITCH_PIECES blocks that are about to be stitched */
    struct carved carved;             /* of both, as the last call left it */
    uint64_t bytes;                   /* of all stretches */
    uint64_t joined_bytes;            /* of the addresses of stitched blocks */
    uint64_t whole_bytes;             /* in stretches that are free as a whole */
    uint64_t made, freed, releases, retries;
    uint64_t waiting; /* blocks that wait for fences */
    bool fenced;
};

extern const struct tp_strategy tp_strategy_torch;

static inline struct stitch_block *stitch_by_size(struct tp_tree_node *n)
{
    return n ? TP_TREE_ITEM(struct stitch_block, by_size, n) : NULL;
}

static inline struct stitch_primitive *stitch_primitive_of(struct stitch_block *b)
{
    return (struct stitch_primitive *)(void *)b;
}

static inline struct stitch_joined *stitch_joined_of(struct stitch_block *b)
{
    return (struct stitch_joined *)(void *)b;
}

static inline struct stitch_joined *stitch_in_list(struct tp_link *l)
{
    return TP_LINKED(struct stitch_joined, in_list, l);
}

static inline struct stitch_stretch *stitch_stretch_of(struct tp_link *l)
{
    return TP_LINKED(struct stitch_stretch, in_all, l);
}

/* Bytes of a block that its request takes. */
static inline uint64_t stitch_taken(const struct stitch_block *b)
{
    return b->stitched ? ((const struct stitch_joined *)(const void *)b)->used : b->size;
}

/* Bytes in front of the allocated address, where more than 512 bytes of alignment are asked for. */
static inline uint64_t stitch_lead(const struct stitch_block *b)
{
    return b->align > STITCH_GRAIN ? round_up(b->addr, b->align) - b->addr : 0;
}

static inline uint64_t stitch_allocated(const struct stitch_block *b)
{
    return stitch_taken(b) - (b->align > STITCH_GRAIN ? b->align - STITCH_GRAIN : 0);
}

/* ---- stitch_primitives.c: memory, split and merged ---- */

/* Makes sure that the next `count` records of a slab can be taken. */
int tp_stitch_reserve(struct slab *records, uint32_t count);

struct stitch_queue *tp_stitch_queue(struct stitch *st, uint16_t stream); /* NULL: out of memory */

/* The smallest free block of a stream with at least `size` bytes; NULL: none. */
struct stitch_primitive *tp_stitch_fit(const struct stitch *st, uint16_t stream, uint64_t size);

/* The largest free block of a stream, and the next smaller one; NULL: none. */
struct stitch_primitive *tp_stitch_largest(const struct stitch *st, uint16_t stream);
struct stitch_primitive *tp_stitch_smaller(struct stitch_primitive *p);

/* The block that has these bytes, if it is free and has all of them; NULL: it is not. */
struct stitch_primitive *tp_stitch_free_at(const struct stitch *st, const struct stitch_stretch *s,
                                           tp_addr addr, uint64_t size);

/* Cuts bytes out of a free block: what is left on either side stays free. Two records are reserved.
 * The result is in no tree of free blocks. */
struct stitch_primitive *tp_stitch_cut(struct stitch *st, struct stitch_primitive *p, tp_addr addr,
                                       uint64_t size);

/* The block that begins at `addr` of a stretch; NULL: none does. */
struct stitch_primitive *tp_stitch_begins_at(const struct stitch *st,
                                             const struct stitch_stretch *s, tp_addr addr);

/* Makes a block free, merged with its free neighbours. */
void tp_stitch_give(struct stitch *st, struct stitch_primitive *p);

/* Gets a stretch of `size` bytes from the source: one free block. */
int tp_stitch_grow(struct stitch *st, uint16_t stream, uint64_t size,
                   struct stitch_primitive **out);

/* Gives stretches that are free as a whole back until they have at most `keep` bytes, after waiting
 * for their streams. */
int tp_stitch_shrink(struct stitch *st, uint64_t keep);

/* Gives a stretch back with all that is live in it. False: the source refused. */
bool tp_stitch_put(struct stitch *st, struct stitch_stretch *s);

/* ---- stitch_joined.c: blocks that are stitched ---- */

/* A stitched block of a stream that can serve at least `least` and has at most `most` bytes; NULL:
 * none. */
struct stitch_joined *tp_stitch_find(struct stitch *st, uint16_t stream, uint64_t least,
                                     uint64_t most);

/* Takes the first `size` bytes of one that was found. TP_ENOMEM: nothing has changed. */
int tp_stitch_use(struct stitch *st, struct stitch_joined *j, uint64_t size);

/* Stitches the largest free blocks of a stream to one of `size` bytes. TP_EOOM: they are too few,
 * or there are no addresses. */
int tp_stitch_join(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_joined **out);

/* Gives the pieces of a stitched block back, whose addresses are kept. */
void tp_stitch_leave(struct stitch *st, struct stitch_joined *j);

/* Drops the least recently freed ones until the addresses of all have at most `most` bytes. */
int tp_stitch_drop(struct stitch *st, uint64_t most);

/* Takes away what stitched blocks have in a stretch that is wholly free: those that are not live,
 * and the unused ends of those that are. */
int tp_stitch_unsew(struct stitch *st, struct stitch_stretch *s);

/* At the end: drops it, even if it is live. */
int tp_stitch_undo(struct stitch *st, struct stitch_joined *j);

/* ---- stitch_streams.c: other streams ---- */

/* Notes a use of a block on a stream. */
int tp_stitch_note(struct stitch *st, struct stitch_block *b, uint16_t stream);

/* A freed block waits for a fence on each stream that used it. */
void tp_stitch_fence(struct stitch *st, struct stitch_block *b);

/* Gives back what waits no longer; waits for all. */
void tp_stitch_poll(struct stitch *st);
int tp_stitch_wait(struct stitch *st);

/* Waits for a stream, once in a release. */
int tp_stitch_settle(struct stitch *st, uint16_t stream);

/* A freed block waits for nothing. */
void tp_stitch_release(struct stitch *st, struct stitch_block *b);

/* ---- stitch_check.c ---- */

int tp_stitch_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_stitch_check(void *state, struct tp_err *err);

#endif
