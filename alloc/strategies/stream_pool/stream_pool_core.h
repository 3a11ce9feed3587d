/* The hot paths of `stream-pool` in and out of the cache, and what the slow ones offer. */
#ifndef TP_STREAM_POOL_CORE_H
#define TP_STREAM_POOL_CORE_H

#include "alloc/strategies/stream_pool/stream_pool_bins.h"

/* ---- the slow paths, in stream_pool_core.c ---- */

/* Where the newest ready block of a shelf seen lately is not the answer. */
int tp_stream_pool_alloc_slow(struct pool *st, const struct tp_req *rq, struct tp_block *out);

/* The stream that frees a block is another than the one that asked for it. */
int tp_stream_pool_change_shelf(struct pool *st, struct block *b, uint16_t stream);

int tp_stream_pool_adopt(struct pool *st, tp_addr addr, const struct tp_req *rq,
                         struct tp_block *out);
int tp_stream_pool_use(struct pool *st, tp_addr addr, uint16_t stream);

/* Fences for the uses of a block that is freed on `lane`, whose own fence covers uses there. */
void tp_stream_pool_fence_uses(struct pool *st, struct block *b, const struct lane *lane);

/* Members of the strategy's table. sync: fences have passed, which is when blocks over a limit can
 * go. reset: every live block becomes free, in the order of the records, each on the stream that
 * has it. trim: oldest first; waits. */
int tp_stream_pool_sync(void *state, void *thread, uint16_t stream);
int tp_stream_pool_reset(void *state);
int tp_stream_pool_trim(void *state, uint64_t keep);

/* Over a limit: gives back the oldest blocks that no stream can still be using; never blocks. */
void tp_stream_pool_limit(struct pool *st);

/* Everything goes back, when its streams are past it; a failing wait does not keep memory. */
void tp_stream_pool_give_all(struct pool *st);

/* The walk, and the invariants that every test checks, in stream_pool_check.c. */
int tp_stream_pool_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_stream_pool_check(void *state, struct tp_err *err);

/* ---- the hot ones ---- */

/* A fence without a serial was never recorded: its stream was seen to be past it. */
static inline bool pool_passed(const struct pool *st, const struct tp_fence *f)
{
    return !st->fenced || !f->serial || tp_src_done(st->env->source, f);
}

/* A live block becomes free on the stream of its shelf. */
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
    tp_link_insert(&shelf->lane->blocks, &b->in_lane);
    st->cached_bytes += key_granted(shelf->key);
    st->cached++;
    if (st->eager && __builtin_expect(st->ranks != NULL, 0)) {
        tp_stream_pool_rank_shelf(st, shelf);
        tp_stream_pool_rank_lane(st, shelf->lane);
        if (shelf_oldest(&shelf->held) == b)
            tp_stream_pool_rank_held(st, shelf);
    }
}

/* A block leaves its lists. */
static inline void pool_uncount(struct pool *st, struct block *b)
{
    tp_link_out(&b->on_shelf);
    tp_link_out(&b->in_lane);
    st->cached_bytes -= key_granted(b->shelf->key);
    st->cached--;
}

/* The newest ready block of a shelf that has one leaves its lists; the shelf still counts it. */
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

/* May the pool go by the order of recording? Streams that were synchronised are known. */
static inline bool pool_is_ordered(const struct pool *st)
{
    return st->ranks && st->env->source->flags & TP_SRC_ORDERED;
}

/* ---- requests ---- */

/* For 1 to POOL_MAX_BYTES, which stay within POOL_MAX_BYTES. */
INLINE uint64_t rounded(const struct pool *st, uint64_t size)
{
    if (LIKELY(st->round == SIZE_512))
        return round_up(size, 512);
    return round_up(size, size_step(st->round, size));
}

/* Of a sound request that is not too large. Every range is aligned to the page, so only more than
 * that tells bins apart. */
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

INLINE uint16_t stream_of(const struct pool *st, const struct tp_req *rq)
{
    return st->streamed ? rq->stream : 0;
}

/* `b` is out of the cache, on a shelf of the request. */
INLINE int hand_out(struct block *b, const struct tp_req *rq, struct tp_block *out)
{
    b->state = BLOCK_LIVE;
    b->size = rq->size;
    b->align = rq->align;
    *out = (struct tp_block){b->addr, key_granted(b->shelf->key)};
    return TP_OK;
}

#endif
