/* The strategy `stream-pool`: a stream-ordered pool with bins of exact sizes.
 *
 *     alloc --> same size, same stream: newest first, no wait: the stream's order suffices
 *           --> same size, another stream that has got past the free (cross_stream)
 *           --> the source; refused: free blocks go back, then pending ones are waited for
 *     free  --> a fence on the stream, and the bin of its size; over `threshold` the oldest blocks
 *               whose fence has passed go back
 *     sync  --> free blocks that were freed on the stream go back, down to `release_threshold`
 *
 * When blocks go back is as in the pool of cudaMallocAsync: that of driver 580 (CUDA 13.0, H200)
 * gives memory back when the stream on which it was freed, an event of it or the device is
 * synchronised, not when another stream is.
 *
 * Every block is a range of its own, as with cudaMalloc. A block that was also used on other
 * streams is free only when those are past the free too. With several threads one lock is taken
 * around each operation. Tables and lists are in stream_pool_bins.h, the slow paths in
 * stream_pool_core.c.
 *
 * Known weakness: blocks are neither split nor merged, as the driver's are, so memory moves between
 * sizes only through the source, and a block of 1 byte holds a page. A recorded sync may have been
 * a query, at which the driver gives nothing back. An adopted block that is smaller than its
 * rounded size serves no other request. Where fences of different streams pass in no order (a real
 * device), a miss on one stream checks the other streams that have the size one by one. */
#include "alloc/strategies/stream_pool/stream_pool_core.h"

struct stream_pool_opts {
    uint64_t release_threshold, threshold, max_cached;
    uint32_t round, cross_stream;
};

static const char *const max_words[] = {"max", NULL};
static const char *const unlimited_words[] = {"unlimited", NULL};
static const char *const round_words[] = {"512", "exact", "pow2", "eighth", NULL};
static const enum size_round rounds[] = {SIZE_512, SIZE_EXACT, SIZE_POW2, SIZE_EIGHTH};
static const char *const cross_words[] = {"query", "wait", "never", NULL};

#define THRESHOLD_UNLIMITED TP_OPT_KEYWORD(0) /* and `max`: more than there are bytes */

static const struct tp_opt stream_pool_rows[] = {
    TP_SIZE_ROW(struct stream_pool_opts, release_threshold, .def = "0", .choices = max_words,
                .help = "reserved bytes to keep when a stream or the device syncs\n"
                        "0: release all free blocks of the stream, the default of CUDA\n"
                        "max: release nothing"),
    TP_SIZE_ROW(struct stream_pool_opts, threshold, .def = "unlimited", .choices = unlimited_words,
                .help = "cached bytes above which a free releases the oldest cached blocks\n"
                        "0: release each block as soon as its stream has passed the free"),
    TP_CHOICE_ROW(struct stream_pool_opts, round, .def = "512", .choices = round_words,
                  .arg = "HOW",
                  .help = "rounding of sizes; equal results share a bin\n"
                          "512: to multiples of 512 bytes\n"
                          "exact: none\n"
                          "pow2: to powers of two\n"
                          "eighth: to 8 steps per power of two"),
    TP_CHOICE_ROW(struct stream_pool_opts, cross_stream, .def = "query", .choices = cross_words,
                  .arg = "HOW",
                  .help = "reuse of blocks freed on another stream\n"
                          "query: if that stream has passed the free\n"
                          "wait: wait until it has\n"
                          "never: reuse on the same stream only"),
    TP_UINT_ROW(struct stream_pool_opts, max_cached, .def = "0",
                .help = "cached blocks above which a free releases the oldest; 0: no limit"),
    {.name = NULL}};

static int stream_pool_init(void *state, const struct tp_env *env, const void *options,
                            struct tp_err *err)
{
    const struct stream_pool_opts *opts = options;
    struct pool *st = state;
    (void)err;
    tp_cache_init(&st->cache, env, sizeof(struct block), sizeof(struct shelf));
    st->cache.max_bytes = opts->threshold;
    st->cache.max_blocks = opts->max_cached ? opts->max_cached : UINT64_MAX;
    st->release_threshold = opts->release_threshold;
    st->round = (uint8_t)rounds[opts->round];
    st->cross_stream = (uint8_t)opts->cross_stream;
    st->fenced = tp_src_has_fences(env->source);
    bool limited = opts->threshold != THRESHOLD_UNLIMITED || opts->max_cached;
    st->eager = st->fenced && (env->streams > 1 || limited);
    st->lazy = st->fenced && !st->eager;
    slab_init(&st->queue_records, env, sizeof(struct stream_queue));
    slab_init(&st->uses, env, sizeof(struct stream_use));
    meta_map_init(&st->queue_of, env);
    return TP_OK;
}

static void stream_pool_fini(void *state)
{
    struct pool *st = state;
    tp_stream_pool_give_all(st);
    tp_addr_map_fini(&st->queue_of);
    slab_fini(&st->queue_records);
    slab_fini(&st->uses);
    tp_cache_fini(&st->cache);
}

/* ---- requests ---- */

static int stream_pool_alloc(void *state, void *thread, const struct tp_req *rq,
                             struct tp_block *out)
{
    (void)thread;
    struct pool *st = state;
    if (UNLIKELY(!request_is_sound(rq) || rq->size > POOL_MAX_BYTES || st->held))
        return tp_stream_pool_alloc_slow(st, rq, out);
    uint64_t key = key_of(st, rounded(st, rq->size), rq->align);
    uint16_t stream = rq->stream;
    struct shelf *s = st->recent[recent_index(key, stream)];
    if (UNLIKELY(!s || s->shelf.key != key || s->shelf.stream != stream ||
                 s->shelf.ready.before == &s->shelf.ready))
        return tp_stream_pool_alloc_slow(st, rq, out);
    return cache_hand_out(&pool_pop(st, s)->block, rq, out);
}

static int stream_pool_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct pool *st = state;
    struct block *b = block_find_live(st, addr);
    if (UNLIKELY(!b || b->block.size != rq->size || b->block.align != rq->align))
        return TP_EINVAL;
    uint16_t stream = rq->stream;
    if (UNLIKELY(b->block.shelf->stream != stream) && tp_stream_pool_change_shelf(st, b, stream))
        return TP_ENOMEM; /* the block is still live */
    pool_cache(st, b);
    if (UNLIKELY(cache_is_over(&st->cache)))
        tp_stream_pool_limit(st);
    return TP_OK;
}

/* Resizes in place if the new size is allocated the same bytes. */
static int stream_pool_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                              struct tp_block *out)
{
    (void)thread;
    struct pool *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    struct block *b = block_find_live(st, addr);
    if (!b)
        return TP_EINVAL;
    if (rq->size > POOL_MAX_BYTES || rounded(st, rq->size) != b->block.allocated ||
        rq->align > key_align(st, b->block.shelf->key))
        return TP_EUNSUP;
    return cache_hand_out(&b->block, rq, out);
}

const struct tp_strategy tp_strategy_stream_pool = {
    .name = "stream-pool",
    .summary = "stream-ordered",
    .resembles = "exact-size bins per stream",
    .to_use = "cudaMallocAsync uses the driver's stream-ordered pool, which splits and merges\n"
              "blocks; cudaMemPoolAttrReleaseThreshold sets its release_threshold",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct pool),
    .opts_size = sizeof(struct stream_pool_opts),
    .options = stream_pool_rows,
    .init = stream_pool_init,
    .fini = stream_pool_fini,
    .alloc = stream_pool_alloc,
    .free = stream_pool_free,
    .resize = stream_pool_resize,
    .adopt = tp_stream_pool_adopt,
    .use = tp_stream_pool_use,
    .sync = tp_stream_pool_sync,
    .reset = tp_stream_pool_reset,
    .trim = tp_stream_pool_trim,
    .usable = tp_cache_usable,
    .stats = tp_cache_stats,
    .walk = tp_cache_walk,
    .check = tp_stream_pool_check,
};
