/* The data structures in which `stream-pool` keeps its blocks.
 *
 *     bins: key -> shelf (stream 0) -> shelf (stream 3)        lanes: stream -> lane
 *                    ready: newest .. oldest                     cached blocks of all sizes by age
 *                    held:  newest .. oldest                     fences of USEs not passed yet
 *
 * A key is a granted size and, for alignments above the source's page, an alignment. A bin is the
 * set of shelves of one key, one shelf for each stream that has a block of that key, live or free;
 * empty shelves and empty bins do not exist. A block freed after a USE on other streams is held
 * until these streams are past the free. Along a shelf and along a lane fences pass in order, so
 * checking the oldest is enough. Everything is ordered by age, nothing by address.
 *
 * A small direct-mapped table caches recently used shelves, and a hit searches no other table. A
 * hash table finds the shelves of a bin, because there may be a thousand streams. */
#ifndef TP_STREAM_POOL_BINS_H
#define TP_STREAM_POOL_BINS_H

#include "alloc/base/links.h"
#include "alloc/strategies/stream_pool/stream_pool_ranks.h"

#define POOL_MAX_BYTES   (UINT64_C(1) << 48) /* largest request, and largest rounded size */
#define POOL_ALIGN_SHIFT 56
#define POOL_SIZE_MASK   ((UINT64_C(1) << POOL_ALIGN_SHIFT) - 1)
#define POOL_RECENT_LOG2 8
#define POOL_RECENT      (1u << POOL_RECENT_LOG2)

enum block_state {
    BLOCK_NONE, /* a free record */
    BLOCK_LIVE,
    BLOCK_READY,  /* cached; its own stream can reuse it at once */
    BLOCK_HELD,   /* cached; another stream may still use it */
    BLOCK_REFUSED /* the source refused to take it back; tried again later */
};

struct shelf;
struct use;

/* Members are ordered by use on the path of a cache hit. */
struct block {
    tp_addr addr;
    uint64_t size, align; /* LIVE: those of the request. REFUSED: size is granted */
    /* shelf of the stream that asked (LIVE) or freed (cached). REFUSED: NULL */
    struct shelf *shelf;
    union {
        struct tp_link on_shelf; /* cached: in shelf->ready or shelf->held */
        struct refused refused;  /* REFUSED: link in the pool's list */
    };
    struct use *uses;       /* uses on other streams since the block was handed out */
    uint32_t pending;       /* HELD: number of uses whose fence is not known to have passed, > 0 */
    uint8_t state;          /* enum block_state */
    struct tp_link in_lane; /* cached: in lane->ready or lane->held */
    uint64_t age;           /* cached: number of the free, from 1 */
    struct tp_fence fence;  /* cached: fence of the free */
};

struct lane {
    uint16_t stream;
    struct tp_link ready, held; /* cached blocks, the oldest first */
    struct tp_link fences;      /* uses whose fence has not passed, in the order of recording */
    uint64_t recorded;          /* with `lazy`: blocks up to this age have their fence */
    struct lane *next;          /* next lane, in the order of first use */
};

struct use {
    struct block *block;
    struct use *next; /* next use of the same block */
    struct lane *lane;
    struct tp_link in_lane; /* link in lane->fences, while `queued` */
    struct tp_fence fence;
    bool queued;
};

struct shelf {
    uint64_t key;
    struct tp_link ready, held; /* the oldest first */
    struct lane *lane;
    struct shelf *before, *next; /* neighbours in the same bin */
    uint64_t bin;                /* number of the bin, from 1 */
    uint16_t stream;
    bool waits;      /* the shelf is filed under a held block (RANK_HELD) */
    uint32_t blocks; /* blocks on this shelf, including one that is about to be added */
};

enum cross_stream { CROSS_QUERY, CROSS_WAIT, CROSS_NEVER };

struct pool {
    struct tp_addr_map addresses; /* address -> struct block *: live, cached or refused */
    uint64_t threshold, max_cached;
    uint64_t release_threshold;    /* bytes of all blocks beyond which a sync gives blocks back */
    uint64_t cached_bytes, cached; /* granted bytes and number of cached blocks, ready and held */
    uint64_t held;                 /* number of held blocks */
    uint64_t age;                  /* number of frees so far */
    uint64_t page;
    const struct tp_env *env;
    struct ranks *ranks;         /* NULL: the pool has few streams */
    uint8_t round, cross_stream; /* enums */
    bool fenced;                 /* the pool asks the source which fences have passed */
    bool eager;                  /* each free records a fence at once */
    bool lazy;                   /* fences are recorded only when they are needed */
    struct shelf *recent[POOL_RECENT];
    struct tp_addr_map bins;    /* key -> first struct shelf * */
    struct tp_addr_map lane_of; /* stream + 1 -> struct lane * */
    /* shelf_name -> struct shelf *, for all but the first shelf of a bin */
    struct tp_addr_map beside;
    uint64_t bins_made;
    struct lane *lanes, *last_lane;
    struct refused *refused;
    uint64_t refused_bytes; /* granted */
    struct carved carved;
    struct slab blocks, shelves, lane_records, uses;
};

static inline uint64_t key_granted(uint64_t key)
{
    return key & POOL_SIZE_MASK;
}

static inline uint64_t block_granted(const struct block *b)
{
    return b->state == BLOCK_REFUSED ? b->size : key_granted(b->shelf->key);
}

/* Bytes of the source's range behind a block of `granted` bytes. */
static inline uint64_t pool_range(const struct pool *st, uint64_t granted)
{
    return round_up(granted, st->page);
}

static inline struct block *block_find(const struct pool *st, tp_addr addr)
{
    return meta_map_at(&st->addresses, addr);
}

static inline struct block *block_find_live(const struct pool *st, tp_addr addr)
{
    struct block *b = block_find(st, addr);
    return b && b->state == BLOCK_LIVE ? b : NULL;
}

static inline struct block *block_refused(const struct refused *r)
{
    return (struct block *)(uintptr_t)((const char *)r - offsetof(struct block, refused));
}

/* ---- lists ---- */

/* The oldest of a shelf's ready or held blocks; NULL: the list is empty. */
static inline struct block *shelf_oldest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, on_shelf, list, list->behind);
}

static inline struct block *shelf_newest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, on_shelf, list, list->before);
}

static inline struct block *block_older(struct block *a, struct block *b)
{
    return !a || (b && b->age < a->age) ? b : a;
}

/* The oldest ready block of a lane; NULL: none. */
static inline struct block *lane_ready(const struct lane *lane)
{
    return TP_LINK_ITEM(struct block, in_lane, &lane->ready, lane->ready.behind);
}

/* The oldest cached block of a lane, ready or held; NULL: none. */
static inline struct block *lane_oldest(const struct lane *lane)
{
    return block_older(lane_ready(lane),
                       TP_LINK_ITEM(struct block, in_lane, &lane->held, lane->held.behind));
}

/* The newest block of a list of a lane; NULL: none. */
static inline struct block *lane_newest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, in_lane, list, list->before);
}

/* The next older block than `b` of a list of a lane; NULL: none. */
static inline struct block *lane_older(const struct tp_link *list, const struct block *b)
{
    return TP_LINK_ITEM(struct block, in_lane, list, b->in_lane.before);
}

/* The use whose fence passes first. */
static inline struct use *lane_use(const struct lane *lane)
{
    return TP_LINK_ITEM(struct use, in_lane, &lane->fences, lane->fences.behind);
}

/* ---- ranks ---- */

/* Drops the ranks when memory for them is exhausted. */
void tp_stream_pool_drop_ranks(struct pool *st);

/* Files a shelf again after its oldest ready block may have changed. */
void tp_stream_pool_rank_shelf(struct pool *st, struct shelf *s);

/* Files a shelf again after its oldest held block has changed. Not needed when the last one has
 * gone, because callers check answers. */
void tp_stream_pool_rank_held(struct pool *st, struct shelf *s);

void tp_stream_pool_rank_lane(struct pool *st, struct lane *lane);

void tp_stream_pool_rank_use(struct pool *st, const struct use *u);

/* ---- lanes and shelves ---- */

static inline struct lane *lane_find(const struct pool *st, uint16_t stream)
{
    return meta_map_at(&st->lane_of, UINT64_C(1) + stream);
}

static inline uint32_t recent_index(uint64_t key, uint32_t stream)
{
    const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio, odd */
    return (uint32_t)(((key ^ (uint64_t)stream << 40) * golden) >> (64 - POOL_RECENT_LOG2));
}

/* The first shelf of the bin of a key; NULL: there is no such bin. */
static inline struct shelf *bin_find(const struct pool *st, uint64_t key)
{
    return meta_map_at(&st->bins, key);
}

static inline uint64_t shelf_name(uint64_t bin, uint32_t stream)
{
    return bin << 16 | stream;
}

static inline struct shelf *shelf_find(struct pool *st, uint64_t key, uint16_t stream)
{
    struct shelf **recent = &st->recent[recent_index(key, stream)];
    if (*recent && (*recent)->key == key && (*recent)->stream == stream)
        return *recent;
    struct shelf *s = bin_find(st, key);
    if (s && s->stream != stream)
        s = meta_map_at(&st->beside, shelf_name(s->bin, stream));
    if (s)
        *recent = s;
    return s;
}

/* Takes one block off a shelf's count. Frees the shelf after its last block, and the bin after its
 * last shelf. */
static inline void shelf_release(struct pool *st, struct shelf *s)
{
    assert(s->blocks > 0);
    if (--s->blocks)
        return;
    assert(!shelf_oldest(&s->ready) && !shelf_oldest(&s->held));
    struct shelf **recent = &st->recent[recent_index(s->key, s->stream)];
    if (*recent == s)
        *recent = NULL;
    tp_addr_map_remove(&st->beside, shelf_name(s->bin, s->stream), NULL);
    if (s->before)
        s->before->next = s->next;
    else if (s->next)
        *tp_addr_map_find(&st->bins, s->key) = (uintptr_t)s->next;
    else
        tp_addr_map_remove(&st->bins, s->key, NULL);
    if (s->next)
        s->next->before = s->before;
    if (__builtin_expect(st->ranks != NULL, 0)) {
        tp_stream_pool_rank_forget(st->ranks, RANK_SHELF, s);
        if (s->waits)
            tp_stream_pool_rank_forget(st->ranks, RANK_HELD, s);
    }
    slab_give(&st->shelves, s);
}

#endif
