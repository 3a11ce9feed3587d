/* The hot paths of `stream-pool` into and out of the cache, and the interface of the slow paths. */
#ifndef TP_STREAM_POOL_CORE_H
#define TP_STREAM_POOL_CORE_H

#include "alloc/strategies/stream_pool/stream_pool_bins.h"

/* ---- the slow paths, in stream_pool_core.c ---- */

/* Serves a request that no ready block of a recently used shelf can serve. */
int tp_stream_pool_alloc_slow(struct pool *st, const struct tp_req *rq, struct tp_block *out);

/* Moves a block to the shelf of `stream`, which frees it but did not ask for it. */
int tp_stream_pool_change_shelf(struct pool *st, struct block *b, uint16_t stream);

/* Records fences for the uses of a block that is freed on `queue`. Uses on that queue need none,
 * because the fence of the free covers them. */
void tp_stream_pool_fence_uses(struct pool *st, struct block *b, const struct stream_queue *queue);

/* Members of the strategy's table. adopt, use: as in alloc/strategy.h. sync: gives back what was
 * freed on the stream, down to the release threshold, and what is over a limit, as fences have
 * passed. reset: frees every live block on its own stream, in the order of the records. trim: gives
 * back the oldest blocks first, and waits for their fences. */
int tp_stream_pool_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                         struct tp_block *out);
int tp_stream_pool_use(void *state, void *thread, tp_addr addr, uint16_t stream);
int tp_stream_pool_sync(void *state, void *thread, uint16_t stream);
int tp_stream_pool_reset(void *state);
int tp_stream_pool_trim(void *state, uint64_t keep);

/* When a limit is exceeded, gives back the oldest blocks that no stream can still be using. Never
 * waits. */
void tp_stream_pool_limit(struct pool *st);

/* Gives everything back after waiting for the streams. A failing wait does not keep a block from
 * being given back. */
void tp_stream_pool_give_all(struct pool *st);

/* The member `check` of the strategy, in stream_pool_check.c. */
int tp_stream_pool_check(void *state, struct tp_err *err);

/* ---- the hot paths ---- */

/* Has the fence passed? A fence with serial 0 was not recorded because its stream was known to be
 * past that point. */
static inline bool pool_passed(const struct pool *st, const struct tp_fence *f)
{
    return !st->fenced || !f->serial || tp_src_done(st->cache.env->source, f);
}

/* Puts a live block into the cache, on the stream of its shelf. */
static inline __attribute__((always_inline)) void pool_cache(struct pool *st, struct block *b)
{
    struct shelf *shelf = block_shelf(b);
    if (st->eager)
        tp_src_record(st->cache.env->source, shelf->shelf.stream, &b->fence);
    if (__builtin_expect(b->uses != NULL, 0))
        tp_stream_pool_fence_uses(st, b, shelf->queue);
    bool held = b->pending > 0;
    st->held += held;
    b->block.refs = 0;
    b->age = ++st->age;
    cache_add(&st->cache, __builtin_expect(held, 0) ? &shelf->held : &shelf->shelf.ready,
              &b->block);
    tp_link_insert(__builtin_expect(held, 0) ? &shelf->queue->held : &shelf->queue->ready,
                   &b->in_list);
    if (st->eager && __builtin_expect(st->ranks != NULL, 0)) {
        tp_stream_pool_rank_shelf(st, shelf);
        tp_stream_pool_rank_queue(st, shelf->queue);
        if (shelf_oldest(&shelf->held) == b)
            tp_stream_pool_rank_held(st, shelf);
    }
}

/* Takes the newest ready block of a shelf off its lists. There must be one; the shelf still counts
 * it. */
static inline struct block *pool_pop(struct pool *st, struct shelf *s)
{
    struct tp_link *ready = &s->shelf.ready;
    struct block *b = TP_LINKED(struct block, block.on_shelf, ready->before);
    cache_pop(&st->cache, ready, &b->block);
    tp_link_out(&b->in_list);
    return b;
}

/* May the pool rely on fences passing in the order of recording? Then it also knows which streams
 * were synchronised. */
static inline bool pool_is_ordered(const struct pool *st)
{
    return st->ranks && st->cache.env->source->flags & TP_SRC_ORDERED;
}

/* ---- requests ---- */

/* The allocated size for a request of 1 to POOL_MAX_BYTES bytes; at most POOL_MAX_BYTES. */
INLINE uint64_t rounded(const struct pool *st, uint64_t size)
{
    if (LIKELY(st->round == SIZE_512))
        return round_up(size, 512);
    return round_up(size, size_step(st->round, size));
}

/* The key of a valid request that is not too large. Every range is aligned to the page, so only
 * larger alignments are part of the key. */
INLINE uint64_t key_of(const struct pool *st, uint64_t allocated, uint64_t align)
{
    if (LIKELY(align <= st->cache.page))
        return allocated;
    return cache_key(allocated, (unsigned)__builtin_ctzll(align));
}

static inline uint64_t key_align(const struct pool *st, uint64_t key)
{
    return cache_key_align(key) > st->cache.page ? cache_key_align(key) : st->cache.page;
}

#endif
