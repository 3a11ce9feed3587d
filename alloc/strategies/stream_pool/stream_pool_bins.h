/* The data structures in which `stream-pool` keeps its blocks.
 *
 *     bins: key -> shelf (stream 0) -> shelf (stream 3)        queues: stream -> queue
 *                    ready: newest .. oldest                     cached blocks of all sizes by age
 *                    held:  newest .. oldest                     fences of USEs not passed yet
 *
 * Bins are those of cache.h, whose key is an allocated size and, for alignments above the source's
 * page, an alignment. A block freed after a USE on other streams is held until these streams are
 * past the free. Along a shelf and along a queue fences pass in order, so
 * checking the oldest is enough. Everything is ordered by age, nothing by address.
 *
 * A small direct-mapped table caches recently used shelves, and a hit searches no other table. */
#ifndef TP_STREAM_POOL_BINS_H
#define TP_STREAM_POOL_BINS_H

#include "alloc/strategies/cache/cache.h"
#include "alloc/strategies/common/stream_uses.h"
#include "alloc/strategies/stream_pool/stream_pool_ranks.h"

#define POOL_MAX_BYTES   (UINT64_C(1) << 48) /* largest request, and largest rounded size */
#define POOL_RECENT_LOG2 8
#define POOL_RECENT      (1u << POOL_RECENT_LOG2)

/* A block is live, or ready: cached, and its own stream can reuse it at once, or held: cached, and
 * another stream may still use it, or refused. Members are ordered by use on the path of a hit. */
struct block {
    struct cache_block block;
    struct stream_use *uses; /* uses on other streams since the block was allocated */
    uint64_t pending;        /* held: number of uses whose fence is not known to have passed, > 0 */
    struct tp_link in_list;  /* cached: in queue->ready or queue->held */
    uint64_t age;            /* cached: number of the free, from 1 */
    struct tp_fence fence;   /* cached: fence of the free */
};

struct stream_queue {
    uint16_t stream;
    struct tp_link ready, held; /* cached blocks, the oldest first */
    struct tp_link fences;      /* uses whose fence has not passed, in the order of recording */
    uint64_t recorded;          /* with `lazy`: blocks up to this age have their fence */
    struct stream_queue *next;  /* next queue, in the order of first use */
};

/* Of the stream that asked for its live blocks, and freed its cached ones. */
struct shelf {
    struct cache_shelf shelf;
    struct tp_link held; /* the oldest first */
    struct stream_queue *queue;
    bool waits; /* the shelf is filed under a held block (RANK_HELD) */
};

enum cross_stream { CROSS_QUERY, CROSS_WAIT, CROSS_NEVER };

struct pool {
    struct cache cache;          /* its limits are the threshold and max_cached */
    uint64_t release_threshold;  /* bytes of all blocks beyond which a sync gives blocks back */
    uint64_t held;               /* number of held blocks */
    uint64_t age;                /* number of frees so far */
    struct ranks *ranks;         /* NULL: the pool has few streams */
    uint8_t round, cross_stream; /* enums */
    bool fenced;                 /* the pool asks the source which fences have passed */
    bool eager;                  /* each free records a fence at once */
    bool lazy;                   /* fences are recorded only when they are needed */
    struct shelf *recent[POOL_RECENT];
    struct tp_addr_map queue_of; /* stream + 1 -> struct stream_queue * */
    struct stream_queue *queues, *last_queue;
    struct slab queue_records, uses;
};

static inline struct block *pool_block(struct cache_block *b)
{
    return b ? TP_LINKED(struct block, block, b) : NULL;
}

static inline struct shelf *pool_shelf(struct cache_shelf *s)
{
    return s ? TP_LINKED(struct shelf, shelf, s) : NULL;
}

static inline struct shelf *block_shelf(const struct block *b)
{
    return pool_shelf(b->block.shelf);
}

static inline struct block *block_find_live(const struct pool *st, tp_addr addr)
{
    return pool_block(cache_find_live(&st->cache, addr));
}

/* ---- lists ---- */

/* The oldest of a shelf's ready or held blocks; NULL: the list is empty. */
static inline struct block *shelf_oldest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, block.on_shelf, list, list->behind);
}

static inline struct block *shelf_newest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, block.on_shelf, list, list->before);
}

static inline struct block *block_older(struct block *a, struct block *b)
{
    return !a || (b && b->age < a->age) ? b : a;
}

/* The oldest ready block of a queue; NULL: none. */
static inline struct block *queue_ready(const struct stream_queue *queue)
{
    return TP_LINK_ITEM(struct block, in_list, &queue->ready, queue->ready.behind);
}

/* The oldest cached block of a queue, ready or held; NULL: none. */
static inline struct block *queue_oldest(const struct stream_queue *queue)
{
    return block_older(queue_ready(queue),
                       TP_LINK_ITEM(struct block, in_list, &queue->held, queue->held.behind));
}

/* The newest block of a list of a queue; NULL: none. */
static inline struct block *queue_newest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, in_list, list, list->before);
}

/* The next older block than `b` of a list of a queue; NULL: none. */
static inline struct block *queue_older(const struct tp_link *list, const struct block *b)
{
    return TP_LINK_ITEM(struct block, in_list, list, b->in_list.before);
}

/* The stream queue that has the fence of a use, or will have it. */
static inline struct stream_queue *use_queue(const struct stream_use *u)
{
    return TP_LINKED(struct stream_queue, fences, u->queue);
}

/* ---- ranks ---- */

/* Drops the ranks when memory for them is exhausted. */
void tp_stream_pool_drop_ranks(struct pool *st);

/* Files a shelf again after its oldest ready block may have changed. */
void tp_stream_pool_rank_shelf(struct pool *st, struct shelf *s);

/* Files a shelf again after its oldest held block has changed. Not needed when the last one has
 * gone, because callers check answers. */
void tp_stream_pool_rank_held(struct pool *st, struct shelf *s);

void tp_stream_pool_rank_queue(struct pool *st, struct stream_queue *queue);

void tp_stream_pool_rank_use(struct pool *st, const struct stream_use *u);

/* ---- queues and shelves ---- */

static inline struct stream_queue *queue_find(const struct pool *st, uint16_t stream)
{
    return meta_map_at(&st->queue_of, UINT64_C(1) + stream);
}

static inline uint32_t recent_index(uint64_t key, uint32_t stream)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio, odd */
    return (uint32_t)(((key ^ (uint64_t)stream << 40) * golden) >> (64 - POOL_RECENT_LOG2));
}

/* The first shelf of the bin of a key; NULL: there is no such bin. */
static inline struct shelf *bin_find(const struct pool *st, uint64_t key)
{
    return pool_shelf(meta_map_at(&st->cache.bins, key));
}

static inline struct shelf *shelf_next(const struct shelf *s)
{
    return pool_shelf(s->shelf.next);
}

static inline struct shelf *shelf_find(struct pool *st, uint64_t key, uint16_t stream)
{
    struct shelf **recent = &st->recent[recent_index(key, stream)];
    if (*recent && (*recent)->shelf.key == key && (*recent)->shelf.stream == stream)
        return *recent;
    struct shelf *s = pool_shelf(cache_shelf_find(&st->cache, key, stream));
    if (s)
        *recent = s;
    return s;
}

/* Takes one block off a shelf's count. Frees the shelf after its last block, and the bin after its
 * last shelf. */
static inline void shelf_release(struct pool *st, struct shelf *s)
{
    assert(s->shelf.blocks > 0);
    if (--s->shelf.blocks)
        return;
    struct shelf **recent = &st->recent[recent_index(s->shelf.key, s->shelf.stream)];
    if (*recent == s)
        *recent = NULL;
    if (__builtin_expect(st->ranks != NULL, 0)) {
        tp_stream_pool_rank_forget(st->ranks, RANK_SHELF, s);
        if (s->waits)
            tp_stream_pool_rank_forget(st->ranks, RANK_HELD, s);
    }
    tp_cache_shelf_drop(&st->cache, &s->shelf);
}

#endif
