/* The hot paths of `stream-pool` into and out of the cache, and the interface of the slow paths. */
#ifndef TP_STREAM_POOL_CORE_H
#define TP_STREAM_POOL_CORE_H

#include "alloc/strategies/stream_pool/stream_pool_bins.h"

/* ---- the slow paths, in stream_pool_core.c ---- */

/* Serves a request that no ready block of a recently used shelf can serve. */
int tp_stream_pool_alloc_slow(struct pool *st, const struct tp_req *rq, struct tp_block *out);

/* Moves a block to the shelf of `stream`, which frees it but did not ask for it. */
int tp_stream_pool_change_shelf(struct pool *st, struct block *b, uint16_t stream);

int tp_stream_pool_adopt(struct pool *st, tp_addr addr, const struct tp_req *rq,
                         struct tp_block *out);
int tp_stream_pool_use(struct pool *st, tp_addr addr, uint16_t stream);

/* Records fences for the uses of a block that is freed on `lane`. Uses on that lane need none,
 * because the fence of the free covers them. */
void tp_stream_pool_fence_uses(struct pool *st, struct block *b, const struct lane *lane);

/* Members of the strategy's table. sync: gives back what was freed on the stream, down to the
 * release threshold, and what is over a limit, as fences have passed.
 * reset: frees every live block on its own stream, in the order of the records. trim: gives back
 * the oldest blocks first, and waits for their fences. */
int tp_stream_pool_sync(void *state, void *thread, uint16_t stream);
int tp_stream_pool_reset(void *state);
int tp_stream_pool_trim(void *state, uint64_t keep);

/* When a limit is exceeded, gives back the oldest blocks that no stream can still be using. Never
 * waits. */
void tp_stream_pool_limit(struct pool *st);

/* Gives everything back after waiting for the streams. A failing wait does not keep a block from
 * being given back. */
void tp_stream_pool_give_all(struct pool *st);

/* The members `walk` and `check` of the strategy, in stream_pool_check.c. */
int tp_stream_pool_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_stream_pool_check(void *state, struct tp_err *err);

/* ---- the hot paths ---- */

/* Has the fence passed? A fence with serial 0 was not recorded because its stream was known to be
 * past that point. */
static inline bool pool_passed(const struct pool *st, const struct tp_fence *f)
{
    return !st->fenced || !f->serial || tp_src_done(st->env->source, f);
}

/* Puts a live block into the cache, on the stream of its shelf. */
static inline __attribute__((always_inline)) void pool_cache(struct pool *st, struct block *b)
{
    struct shelf *shelf = b->shelf;
    if (st->eager)
        tp_src_record(st->env->source, (uint16_t)shelf->stream, &b->fence);
    if (__builtin_expect(b->uses != NULL, 0))
        tp_stream_pool_fence_uses(st, b, shelf->lane);
    bool held = b->pending > 0;
    st->held += held;
    b->state = held ? BLOCK_HELD : BLOCK_READY;
    b->age = ++st->age;
    tp_link_insert(__builtin_expect(held, 0) ? &shelf->held : &shelf->ready, &b->on_shelf);
    tp_link_insert(__builtin_expect(held, 0) ? &shelf->lane->held : &shelf->lane->ready,
                   &b->in_lane);
    st->cached_bytes += key_granted(shelf->key);
    st->cached++;
    if (st->eager && __builtin_expect(st->ranks != NULL, 0)) {
        tp_stream_pool_rank_shelf(st, shelf);
        tp_stream_pool_rank_lane(st, shelf->lane);
        if (shelf_oldest(&shelf->held) == b)
            tp_stream_pool_rank_held(st, shelf);
    }
}

/* Takes a cached block off its lists and counts. */
static inline void pool_uncount(struct pool *st, struct block *b)
{
    tp_link_out(&b->on_shelf);
    tp_link_out(&b->in_lane);
    st->cached_bytes -= key_granted(b->shelf->key);
    st->cached--;
}

/* Takes the newest ready block of a shelf off its lists. There must be one; the shelf still counts
 * it. */
static inline struct block *pool_pop(struct pool *st, struct shelf *s)
{
    struct block *b = TP_LINKED(struct block, on_shelf, s->ready.before);
    pool_uncount(st, b);
    return b;
}

static inline bool pool_is_over(const struct pool *st)
{
    return st->cached_bytes > st->threshold || st->cached > st->max_cached;
}

/* May the pool rely on fences passing in the order of recording? Then it also knows which streams
 * were synchronised. */
static inline bool pool_is_ordered(const struct pool *st)
{
    return st->ranks && st->env->source->flags & TP_SRC_ORDERED;
}

/* ---- requests ---- */

/* The granted size for a request of 1 to POOL_MAX_BYTES bytes; at most POOL_MAX_BYTES. */
INLINE uint64_t rounded(const struct pool *st, uint64_t size)
{
    if (LIKELY(st->round == SIZE_512))
        return round_up(size, 512);
    return round_up(size, size_step(st->round, size));
}

/* The key of a valid request that is not too large. Every range is aligned to the page, so only
 * larger alignments are part of the key. */
INLINE uint64_t key_of(const struct pool *st, uint64_t granted, uint64_t align)
{
    if (LIKELY(align <= st->page))
        return granted;
    return granted | (uint64_t)__builtin_ctzll(align) << POOL_ALIGN_SHIFT;
}

static inline uint64_t key_align(const struct pool *st, uint64_t key)
{
    uint64_t log2 = key >> POOL_ALIGN_SHIFT;
    return log2 ? UINT64_C(1) << log2 : st->page;
}

/* Hands out a block that has left the cache and lies on the shelf of the request. */
INLINE int pool_hand_out(struct block *b, const struct tp_req *rq, struct tp_block *out)
{
    b->state = BLOCK_LIVE;
    b->size = rq->size;
    b->align = rq->align;
    *out = (struct tp_block){b->addr, key_granted(b->shelf->key)};
    return TP_OK;
}

#endif
