/* What `stream-pool` keeps its blocks in.
 *
 *     bins: key -> shelf (stream 0) -> shelf (stream 3)        lanes: stream -> lane
 *                    ready: newest .. oldest                     cached blocks of all sizes by age
 *                    held:  newest .. oldest                     fences of USEs not passed yet
 *
 * A key is a granted size and, beyond the source's page, an alignment. A bin is the shelves of one
 * key, one for each stream that has a block of it, live or free; without a block there is no shelf,
 * and without a shelf no bin. A block freed after a USE on further streams is held until those have
 * got past the free. Along a shelf and along a lane fences pass in order, so that looking at the
 * oldest is enough; everything is ordered by age, nothing by address.
 *
 * A small direct-mapped table remembers shelves: a hit looks into no other. The shelves of a bin
 * are found by another, because there may be a thousand streams. */
#ifndef TP_STREAM_POOL_BINS_H
#define TP_STREAM_POOL_BINS_H

#include "alloc/base/links.h"
#include "alloc/strategies/stream_pool/stream_pool_ranks.h"

#define POOL_MAX_BYTES   (UINT64_C(1) << 48) /* of a request, and of what it is rounded to */
#define POOL_ALIGN_SHIFT 56
#define POOL_SIZE_MASK   ((UINT64_C(1) << POOL_ALIGN_SHIFT) - 1)
#define POOL_RECENT_LOG2 8
#define POOL_RECENT      (1u << POOL_RECENT_LOG2)

enum block_state {
    BLOCK_NONE, /* a free record */
    BLOCK_LIVE,
    BLOCK_READY,  /* cached; on its stream it may be had at once */
    BLOCK_HELD,   /* cached; a further stream may still use it */
    BLOCK_REFUSED /* the source did not take it back: tried again later */
};

struct shelf;
struct use;

/* In the order of what a hit touches. */
struct block {
    tp_addr addr;
    uint64_t size, align; /* LIVE: of the request. REFUSED: size = granted */
    struct shelf *shelf;  /* LIVE: of the stream that asked; cached: that freed. REFUSED: NULL */
    union {
        struct tp_link on_shelf; /* cached: by age */
        struct refused refused;  /* REFUSED: in the list of these */
    };
    struct use *uses;       /* on further streams since it was handed out */
    uint32_t pending;       /* HELD: uses whose fence was not seen to pass; > 0 */
    uint8_t state;          /* enum block_state */
    struct tp_link in_lane; /* cached: by age */
    uint64_t age;           /* cached: which free it was, from 1 */
    struct tp_fence fence;  /* cached: of that free */
};

struct lane {
    uint16_t stream;
    struct tp_link blocks; /* the oldest first */
    struct tp_link fences; /* of uses, to pass, in the order of recording */
    uint64_t recorded;     /* lazy: blocks up to this age have their fence */
    struct lane *next;     /* in the order of first use */
};

struct use {
    struct block *block;
    struct use *next; /* of the block */
    struct lane *lane;
    struct tp_link in_lane; /* while `queued` */
    struct tp_fence fence;
    bool queued;
};

struct shelf {
    uint64_t key;
    struct tp_link ready, held; /* the oldest first */
    struct lane *lane;
    struct shelf *before, *next; /* of the same bin */
    uint64_t bin;                /* which bin it was, from 1 */
    uint16_t stream;
    bool waits;      /* it was filed under a held block */
    uint32_t blocks; /* whose `shelf` this is, and one that is about to be */
};

enum cross_stream { CROSS_QUERY, CROSS_WAIT, CROSS_NEVER };

struct pool {
    struct tp_addr_map addresses; /* -> struct block *, live, cached or refused */
    uint64_t threshold, max_cached;
    uint64_t cached_bytes, cached; /* granted, blocks; ready and held */
    uint64_t held;                 /* blocks */
    uint64_t age;                  /* of the last free */
    uint64_t page;
    const struct tp_env *env;
    struct ranks *ranks;         /* NULL: of few streams */
    uint8_t round, cross_stream; /* enums */
    bool streamed;               /* tells streams apart */
    bool fenced;                 /* and asks the source how far they are */
    bool eager;                  /* fences are recorded by each free ... */
    bool lazy;                   /* ... or when they are needed */
    struct shelf *recent[POOL_RECENT];
    struct tp_addr_map bins;    /* key -> first struct shelf * */
    struct tp_addr_map lane_of; /* stream + 1 -> struct lane * */
    struct tp_addr_map beside;  /* shelf_name -> struct shelf *, all but the first of a bin */
    uint64_t bins_made;
    struct lane *lanes, *last_lane;
    struct refused *refused;
    uint64_t refused_bytes; /* granted */
    struct carved carved;
    struct slab blocks, shelves, lane_records, uses;
    struct tp_lock lock;
};

static inline uint64_t key_granted(uint64_t key)
{
    return key & POOL_SIZE_MASK;
}

static inline uint64_t block_granted(const struct block *b)
{
    return b->state == BLOCK_REFUSED ? b->size : key_granted(b->shelf->key);
}

/* What the source gave for so many granted bytes. */
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

/* Of a shelf's ready or held blocks; NULL: there is none. */
static inline struct block *shelf_oldest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, on_shelf, list, list->behind);
}

static inline struct block *shelf_newest(const struct tp_link *list)
{
    return TP_LINK_ITEM(struct block, on_shelf, list, list->before);
}

static inline struct block *lane_oldest(const struct lane *lane)
{
    return TP_LINK_ITEM(struct block, in_lane, &lane->blocks, lane->blocks.behind);
}

static inline struct block *lane_newest(const struct lane *lane)
{
    return TP_LINK_ITEM(struct block, in_lane, &lane->blocks, lane->blocks.before);
}

/* The next older one. */
static inline struct block *lane_older(const struct lane *lane, const struct block *b)
{
    return TP_LINK_ITEM(struct block, in_lane, &lane->blocks, b->in_lane.before);
}

/* The use whose fence passes first. */
static inline struct use *lane_use(const struct lane *lane)
{
    return TP_LINK_ITEM(struct use, in_lane, &lane->fences, lane->fences.behind);
}

/* ---- ranks ---- */

/* There is no memory for them, so there are none. */
void tp_stream_pool_drop_ranks(struct pool *st);

/* What these are filed under may have changed. */
void tp_stream_pool_rank_shelf(struct pool *st, struct shelf *s);

/* The oldest held block is another one: not needed where it is gone, which whoever asks sees. */
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

/* The first shelf of a bin; NULL: no such bin. */
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

/* One block less; a shelf without blocks goes, and a bin without shelves. */
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
