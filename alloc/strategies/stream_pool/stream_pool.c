/* The strategy `stream-pool`: a stream-ordered pool, in software.
 *
 *     alloc --> same size, same stream: newest first, no wait: the stream's order suffices
 *           --> same size, another stream that has got past the free (cross_stream)
 *           --> the source; refused: idle blocks go back, then pending ones are waited for
 *     free  --> a fence on the stream, and the bin of its size; over `threshold` the oldest blocks
 *               whose fence has passed go back
 *
 * Every block is a range of its own, as with cudaMalloc. A block that was also used on other
 * streams is only free when those have got past it too. One lock around each operation where
 * several threads call; tables and lists are in stream_pool_bins.h, the slow paths in
 * stream_pool_core.h.
 *
 * Known weakness: blocks are neither split nor merged, so memory moves between sizes only by way of
 * the source, and a block of 1 byte holds a page. A block that was adopted and is smaller than its
 * rounded size serves no request again. Where fences pass in no order (a real device), a miss on
 * one stream looks at the others that have the size, one by one. */
#include "alloc/base/lock.h"
#include "alloc/strategies/stream_pool/stream_pool_check.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INLINE      static inline __attribute__((always_inline))
#define OUT_OF_LINE static __attribute__((noinline))

enum rounding { ROUND_512, ROUND_EXACT, ROUND_POW2, ROUND_EIGHTH };
enum compat { COMPAT_NONE, COMPAT_ORIGIN };

struct stream_pool_opts {
    uint64_t threshold, max_cached;
    uint32_t round, cross_stream, compat;
};

static const char *const unlimited_words[] = {"unlimited", NULL};
static const char *const round_words[] = {"512", "exact", "pow2", "eighth", NULL};
static const char *const cross_words[] = {"query", "wait", "never", NULL};
static const char *const compat_words[] = {"none", "origin", NULL};

#define THRESHOLD_UNLIMITED TP_OPT_KEYWORD(0)

static const struct tp_opt stream_pool_rows[] = {
    {.name = "threshold",
     .type = TP_OPT_SIZE,
     .offset = offsetof(struct stream_pool_opts, threshold),
     .def = "unlimited",
     .choices = unlimited_words,
     .arg = "SIZE",
     .help = "cached bytes beyond which a free gives the oldest idle blocks back\n"
             "0: every free gives its block back, at once or as soon as its stream is past it"},
    {.name = "round",
     .type = TP_OPT_CHOICE,
     .offset = offsetof(struct stream_pool_opts, round),
     .def = "512",
     .choices = round_words,
     .arg = "HOW",
     .help = "sizes that share a bin\n512: multiples of 512 bytes\nexact: equal sizes only\n"
             "pow2: powers of two\neighth: 8 steps a doubling"},
    {.name = "cross_stream",
     .type = TP_OPT_CHOICE,
     .offset = offsetof(struct stream_pool_opts, cross_stream),
     .def = "query",
     .choices = cross_words,
     .arg = "HOW",
     .help = "reuse of what another stream freed\nquery: if that stream is past the free\n"
             "wait: waits until it is\nnever: only what the same stream freed"},
    {.name = "max_cached",
     .type = TP_OPT_UINT,
     .offset = offsetof(struct stream_pool_opts, max_cached),
     .def = "0",
     .arg = "N",
     .help = "cached blocks beyond which a free gives the oldest idle ones back, 0 = no limit"},
    {.name = "compat",
     .type = TP_OPT_CHOICE,
     .offset = offsetof(struct stream_pool_opts, compat),
     .def = "none",
     .choices = compat_words,
     .arg = "WHAT",
     .help = "origin: round=exact, threshold=0 if not given, and no regard for streams\n"
             "unsafe: memory is reused while another stream may still work on it"},
    {.name = NULL}};

static void *map_get(void *ctx, size_t size)
{
    return tp_meta_get(ctx, size);
}
static void map_put(void *ctx, void *p, size_t size)
{
    tp_meta_put(ctx, p, size);
}

/* The pool and its lock: only this file knows of threads. */
struct stream_pool {
    struct pool pool; /* first: the tests look into it */
    struct tp_lock lock;
};

/* Defaults cannot be told from given values: only what differs from both is a contradiction. The
 * origin's threshold can be set, so that is none. */
static int refuse_contradictions(const struct stream_pool_opts *opts, struct tp_err *err)
{
    const char *name = NULL, *does = NULL;
    if (opts->compat != COMPAT_ORIGIN)
        return TP_OK;
    if (opts->round != ROUND_512 && opts->round != ROUND_EXACT) {
        name = "round";
        does = "rounds no sizes";
    } else if (opts->cross_stream != CROSS_QUERY) {
        name = "cross_stream";
        does = "ignores streams";
    } else if (opts->max_cached) {
        name = "max_cached";
        does = "does not count blocks";
    }
    if (!name)
        return TP_OK;
    int rc = tp_fail(err, TP_EUSAGE,
                     "strategy 'stream-pool': with 'compat=origin' it %s, which contradicts '%s'",
                     does, name);
    return tp_hint(err, rc, "leave out '%s' or 'compat'", name);
}

static int stream_pool_init(void *state, const struct tp_env *env, const void *options,
                            struct tp_err *err)
{
    const struct stream_pool_opts *opts = options;
    struct stream_pool *sp = state;
    struct pool *st = &sp->pool;
    bool origin = opts->compat == COMPAT_ORIGIN;
    int rc = refuse_contradictions(opts, err);
    if (rc)
        return rc;
    st->env = env;
    st->page = env->source->page;
    st->threshold = origin && opts->threshold == THRESHOLD_UNLIMITED ? 0 : opts->threshold;
    st->max_cached = opts->max_cached ? opts->max_cached : UINT64_MAX;
    st->round = (uint8_t)(origin ? ROUND_EXACT : opts->round);
    st->cross_stream = (uint8_t)opts->cross_stream;
    st->streamed = !origin;
    st->fenced = !origin && tp_src_has_fences(env->source);
    bool limited = st->threshold != THRESHOLD_UNLIMITED || opts->max_cached;
    st->eager = st->fenced && (env->streams > 1 || limited);
    st->lazy = st->fenced && !st->eager;
    slab_init(&st->blocks, env, sizeof(struct block));
    slab_init(&st->shelves, env, sizeof(struct shelf));
    slab_init(&st->lane_records, env, sizeof(struct lane));
    slab_init(&st->uses, env, sizeof(struct use));
    /* the maps only pass this on to tp_meta_get, which takes it as const */
    void *ctx = (void *)(uintptr_t)env;
    tp_addr_map_init(&st->addresses, map_get, map_put, ctx);
    tp_addr_map_init(&st->bins, map_get, map_put, ctx);
    tp_addr_map_init(&st->lane_of, map_get, map_put, ctx);
    tp_addr_map_init(&st->beside, map_get, map_put, ctx);
    tp_lock_init(&sp->lock, env->concurrent);
    return TP_OK;
}

/* Everything goes back, when its streams are past it; a failing wait does not keep memory. */
static void stream_pool_fini(void *state)
{
    struct stream_pool *sp = state;
    struct pool *st = &sp->pool;
    pool_free_all(st);
    while (pool_drain(st, 0))
        pool_give_back(st, pool_oldest(st));
    pool_retry_refused(st);
    pool_drop_ranks(st);
    tp_addr_map_fini(&st->addresses);
    tp_addr_map_fini(&st->bins);
    tp_addr_map_fini(&st->lane_of);
    tp_addr_map_fini(&st->beside);
    slab_fini(&st->blocks);
    slab_fini(&st->shelves);
    slab_fini(&st->lane_records);
    slab_fini(&st->uses);
    tp_lock_fini(&sp->lock);
}

/* ---- requests ---- */

INLINE bool request_is_sound(const struct tp_req *rq)
{
    return rq->size && rq->align && !(rq->align & (rq->align - 1));
}

/* For 1 to POOL_MAX_BYTES, which stay within POOL_MAX_BYTES. */
INLINE uint64_t rounded(const struct pool *st, uint64_t size)
{
    unsigned log2 = 63 - (unsigned)__builtin_clzll(size);
    if (LIKELY(st->round == ROUND_512))
        return (size + 511) & ~UINT64_C(511);
    if (st->round == ROUND_EXACT)
        return size;
    uint64_t step = UINT64_C(1) << (st->round == ROUND_POW2 ? log2 : log2 < 3 ? 0 : log2 - 3);
    return (size + step - 1) & ~(step - 1);
}

/* Of a sound request that is not too large. Every range is aligned to the page, so only more than
 * that tells bins apart. */
INLINE uint64_t key_of(const struct pool *st, uint64_t granted, uint64_t align)
{
    if (LIKELY(align <= st->page))
        return granted;
    return granted | (uint64_t)__builtin_ctzll(align) << POOL_ALIGN_SHIFT;
}

static uint64_t key_align(const struct pool *st, uint64_t key)
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

OUT_OF_LINE int alloc_slow(struct pool *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > POOL_MAX_BYTES)
        return TP_EOOM;
    if (st->held)
        pool_poll(st);
    uint64_t key = key_of(st, rounded(st, rq->size), rq->align);
    struct shelf *shelf = shelf_make(st, key, stream_of(st, rq));
    if (!shelf)
        return TP_ENOMEM;
    if (shelf->ready.newest)
        return hand_out(pool_pop(st, shelf), rq, out);
    struct block *b = NULL;
    shelf->blocks++; /* the block to come: until then the shelf must not go */
    int rc = pool_obtain(st, shelf, key_align(st, key), &b);
    if (rc) {
        shelf_release(st, shelf);
        return rc;
    }
    return hand_out(b, rq, out);
}

INLINE int alloc_any(struct pool *st, const struct tp_req *rq, struct tp_block *out)
{
    if (UNLIKELY(!request_is_sound(rq) || rq->size > POOL_MAX_BYTES || st->held))
        return alloc_slow(st, rq, out);
    uint64_t key = key_of(st, rounded(st, rq->size), rq->align);
    uint16_t stream = stream_of(st, rq);
    struct shelf *s = st->recent[recent_index(key, stream)];
    if (UNLIKELY(!s || s->key != key || s->stream != stream || !s->ready.newest))
        return alloc_slow(st, rq, out);
    return hand_out(pool_pop(st, s), rq, out);
}

OUT_OF_LINE int alloc_locked(struct stream_pool *sp, const struct tp_req *rq, struct tp_block *out)
{
    tp_lock_take(&sp->lock);
    int rc = alloc_any(&sp->pool, rq, out);
    tp_lock_drop(&sp->lock);
    return rc;
}

static int stream_pool_alloc(void *state, void *thread, const struct tp_req *rq,
                             struct tp_block *out)
{
    (void)thread;
    struct stream_pool *sp = state;
    return LIKELY(!sp->lock.on) ? alloc_any(&sp->pool, rq, out) : alloc_locked(sp, rq, out);
}

/* The stream that frees a block is another than the one that asked for it. */
OUT_OF_LINE int change_shelf(struct pool *st, struct block *b, uint16_t stream)
{
    struct shelf *shelf = shelf_make(st, b->shelf->key, stream);
    if (!shelf)
        return TP_ENOMEM;
    shelf->blocks++;
    shelf_release(st, b->shelf);
    b->shelf = shelf;
    return TP_OK;
}

INLINE int free_any(struct pool *st, tp_addr addr, const struct tp_req *rq)
{
    struct block *b = block_find_live(st, addr);
    if (UNLIKELY(!b || b->size != rq->size || b->align != rq->align))
        return TP_EINVAL;
    uint16_t stream = stream_of(st, rq);
    if (UNLIKELY(b->shelf->stream != stream) && change_shelf(st, b, stream))
        return TP_ENOMEM; /* still live */
    pool_cache(st, b);
    if (UNLIKELY(pool_is_over(st)))
        pool_limit(st);
    return TP_OK;
}

OUT_OF_LINE int free_locked(struct stream_pool *sp, tp_addr addr, const struct tp_req *rq)
{
    tp_lock_take(&sp->lock);
    int rc = free_any(&sp->pool, addr, rq);
    tp_lock_drop(&sp->lock);
    return rc;
}

static int stream_pool_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct stream_pool *sp = state;
    return LIKELY(!sp->lock.on) ? free_any(&sp->pool, addr, rq) : free_locked(sp, addr, rq);
}

/* In place where the new size would be granted the same. */
static int resize_any(struct pool *st, tp_addr addr, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    struct block *b = block_find_live(st, addr);
    if (!b)
        return TP_EINVAL;
    uint64_t key = b->shelf->key;
    if (rq->size > POOL_MAX_BYTES || rounded(st, rq->size) != key_granted(key) ||
        rq->align > key_align(st, key))
        return TP_EUNSUP;
    return hand_out(b, rq, out);
}

static int stream_pool_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                              struct tp_block *out)
{
    (void)thread;
    struct stream_pool *sp = state;
    tp_lock_take(&sp->lock);
    int rc = resize_any(&sp->pool, addr, rq, out);
    tp_lock_drop(&sp->lock);
    return rc;
}

/* The range is what the source gave for the size: whole pages. */
static int adopt_any(struct pool *st, tp_addr addr, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq) || rq->size > POOL_MAX_BYTES || !addr || block_find(st, addr) ||
        addr & (rq->align - 1) || addr & (st->page - 1))
        return TP_EINVAL;
    uint64_t granted = rounded(st, rq->size), range = pool_range(st, rq->size);
    if (granted > range)
        granted = range;
    int rc = pool_reserve(st);
    if (rc)
        return rc;
    struct shelf *shelf = shelf_make(st, key_of(st, granted, rq->align), stream_of(st, rq));
    if (!shelf)
        return TP_ENOMEM;
    shelf->blocks++;
    return hand_out(pool_enter(st, shelf, addr), rq, out);
}

static int stream_pool_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                             struct tp_block *out)
{
    (void)thread;
    struct stream_pool *sp = state;
    tp_lock_take(&sp->lock);
    int rc = adopt_any(&sp->pool, addr, rq, out);
    tp_lock_drop(&sp->lock);
    return rc;
}

static bool was_used_on(const struct pool *st, const struct block *b, uint16_t stream)
{
    if (st->ranks)
        return tp_addr_map_find(&st->ranks->uses, rank_use_key(b, stream)) != NULL;
    for (const struct use *u = b->uses; u; u = u->next) {
        TP_STEP();
        if (u->lane->stream == stream)
            return true;
    }
    return false;
}

/* Noted once a stream; the fence is recorded when the block is freed. */
static int use_any(struct pool *st, tp_addr addr, uint16_t stream)
{
    struct block *b = block_find_live(st, addr);
    if (!b)
        return TP_EINVAL;
    if (!st->fenced)
        return TP_OK;
    if (was_used_on(st, b, stream))
        return TP_OK;
    struct lane *lane = lane_make(st, stream);
    struct use *u = lane ? slab_take(&st->uses) : NULL;
    if (!u)
        return TP_ENOMEM;
    u->block = b;
    u->lane = lane;
    u->next = b->uses;
    b->uses = u;
    pool_rank_use(st, u);
    return TP_OK;
}

static int stream_pool_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    struct stream_pool *sp = state;
    tp_lock_take(&sp->lock);
    int rc = use_any(&sp->pool, addr, stream);
    tp_lock_drop(&sp->lock);
    return rc;
}

/* Fences have passed, which is when blocks over a limit can go. */
static int stream_pool_sync(void *state, void *thread, uint16_t stream)
{
    (void)thread;
    struct pool *st = &((struct stream_pool *)state)->pool;
    for (struct lane *lane = st->lanes; lane && st->lazy; lane = lane->next)
        if (stream == TP_ALL_STREAMS || stream == lane->stream)
            pool_synced(st, lane);
    if (pool_is_ordered(st) && stream != TP_ALL_STREAMS && lane_find(st, stream))
        pool_rank_synced(st, lane_find(st, stream), st->age);
    if (pool_is_over(st))
        pool_limit(st);
    return TP_OK;
}

static int stream_pool_reset(void *state)
{
    struct pool *st = &((struct stream_pool *)state)->pool;
    pool_free_all(st);
    pool_limit(st);
    return TP_OK;
}

static int stream_pool_trim(void *state, uint64_t keep)
{
    struct pool *st = &((struct stream_pool *)state)->pool;
    pool_retry_refused(st);
    return pool_drain(st, keep);
}

/* ---- never timed ---- */

static uint64_t stream_pool_usable(void *state, tp_addr addr)
{
    const struct block *b = block_find_live(&((struct stream_pool *)state)->pool, addr);
    return b ? block_granted(b) : 0;
}

static void stream_pool_stats(void *state, struct tp_stats *out)
{
    const struct pool *st = &((struct stream_pool *)state)->pool;
    *out = (struct tp_stats){.carved_bytes = st->carved, .peak_carved_bytes = st->peak_carved};
}

static int stream_pool_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct pool *st = &((struct stream_pool *)state)->pool;
    for (struct slab_chunk *chunk = st->blocks.oldest; chunk; chunk = chunk->next)
        for (unsigned i = 0; i < SLAB_ITEMS; i++) {
            const struct block *b = slab_at(&st->blocks, chunk, i);
            if (b->state != BLOCK_NONE)
                pool_walk_block(st, b, fn, ctx);
        }
    return TP_OK;
}

static int stream_pool_check(void *state, struct tp_err *err)
{
    const char *fault = pool_fault(&((struct stream_pool *)state)->pool);
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'stream-pool': %s", fault) : TP_OK;
}

const struct tp_strategy tp_strategy_stream_pool = {
    .name = "stream-pool",
    .summary = "stream-ordered",
    .resembles = "cudaMallocAsync, done in software",
    .to_use = "cudaMallocAsync and cudaFreeAsync are the driver's pool of this kind;\n"
              "cudaMemPoolAttrReleaseThreshold is its threshold",
    .group = TP_GROUP_POLICY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS | TP_CAP_THREADS,
    .state_size = sizeof(struct stream_pool),
    .opts_size = sizeof(struct stream_pool_opts),
    .options = stream_pool_rows,
    .init = stream_pool_init,
    .fini = stream_pool_fini,
    .alloc = stream_pool_alloc,
    .free = stream_pool_free,
    .resize = stream_pool_resize,
    .adopt = stream_pool_adopt,
    .use = stream_pool_use,
    .sync = stream_pool_sync,
    .reset = stream_pool_reset,
    .trim = stream_pool_trim,
    .usable = stream_pool_usable,
    .stats = stream_pool_stats,
    .walk = stream_pool_walk,
    .check = stream_pool_check,
};
