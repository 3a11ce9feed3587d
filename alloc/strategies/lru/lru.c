/* The strategy `lru`: a cache of blocks by exact layout (size and alignment), with a limit on the
 * number of layouts.
 *
 *     alloc(4096, 16):  the newest free block of the key (4096, 16), else the source
 *     free:             on the stack of its key, which becomes the most recent one;
 *                       over a limit, the least recent key gives its oldest block back
 *
 * This is a buffer cache as frameworks have: a program that repeats the same sizes never reaches
 * the source, and a program whose sizes vary by a byte always does, unless `round` makes them
 * equal. Every block is a range of the source, in whole pages, so there are no neighbours to merge.
 * References are counted. With several streams a block goes to another stream only after its fences
 * have passed.
 *
 * Known weaknesses: an object of 64 bytes holds a page. A limit smaller than what a program cycles
 * through makes every call a source call. With several streams, the free blocks of a key are
 * searched from the newest on until one may be used; if that takes long, an index is made
 * (lru_index.c), which slows every call down. Where fences of different streams pass in no order (a
 * real device), a miss queries each stream with pending work. */
#include "alloc/strategies/lru/lru_core.h"

struct lru_opts {
    uint64_t capacity_layouts, capacity_bytes, capacity_blocks;
    uint32_t round; /* enum size_round */
};

/* Words in the order of enum size_round. */
static const char *const round_words[] = {"none", "512", "pow2", "eighth", NULL};

static const struct tp_opt lru_rows[] = {
    TP_UINT_ROW(struct lru_opts, capacity_layouts, .def = "100",
                .help = "max layouts (size and alignment) with cached blocks; 0: no limit"),
    TP_SIZE_ROW(struct lru_opts, capacity_bytes, .def = "0",
                .help = "max cached bytes; 0: no limit"),
    TP_UINT_ROW(struct lru_opts, capacity_blocks, .def = "0",
                .help = "max cached blocks; 0: no limit"),
    TP_CHOICE_ROW(struct lru_opts, round, .def = "none", .choices = round_words, .arg = "HOW",
                  .help = "rounding of sizes; equal results share cached blocks\n"
                          "none: no rounding\n"
                          "512: to multiples of 512 bytes\n"
                          "pow2: to powers of two\n"
                          "eighth: to 8 steps per power of two"),
    {.name = NULL}};

static uint64_t limit_of(uint64_t option)
{
    return option ? option : UINT64_MAX;
}

static int lru_init(void *state, const struct tp_env *env, const void *options, struct tp_err *err)
{
    struct lru *st = state;
    const struct lru_opts *opts = options;
    if (env->source->page < 2)
        return tp_fail(err, TP_EUSAGE, "strategy 'lru' needs a source with pages");
    st->shared = st->several = env->streams > 1;
    st->round = opts->round;
    tp_cache_init(&st->cache, env,
                  st->several ? sizeof(struct lru_node) : sizeof(struct cache_block),
                  sizeof(struct lru_key));
    st->cache.max_bytes = limit_of(opts->capacity_bytes);
    st->cache.max_blocks = limit_of(opts->capacity_blocks);
    st->max_keys = limit_of(opts->capacity_layouts);
    tp_link_init(&st->order);
    tp_link_init(&st->nobody.shelf.ready);
    for (size_t i = 0; i < LRU_NEAR; i++)
        st->near[i].key = &st->nobody;
    st->last = &st->nothing;
    return TP_OK;
}

static void lru_fini(void *state)
{
    struct lru *st = state;
    tp_lru_index_drop(st);
    tp_lru_put_all(st);
    tp_cache_fini(&st->cache);
}

/* ---- alloc ---- */

static int lru_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    struct lru *st = state;
    (void)thread;
    if (UNLIKELY(st->shared))
        return tp_lru_alloc_any(st, rq, out);
    const struct tp_req asked = *rq;
    const struct lru_near *near = near_of(st, asked.size);
    struct lru_key *key = near->key;
    struct tp_link *ready = &key->shelf.ready, *newest = ready->before;
    if (UNLIKELY(near->size != asked.size || near->align != asked.align || newest == ready))
        return tp_lru_alloc_slow(st, rq, out);
    struct cache_block *b = TP_LINKED(struct cache_block, on_shelf, newest);
    if (cache_pop(&st->cache, ready, b))
        st->cached_keys--;
    key_touch(st, key);
    st->last = b;
    return cache_hand_out(b, &asked, out);
}

/* ---- free ---- */

/* Drops a reference of a user that worked on `stream`. Needs no memory. */
static int drop_reference(struct lru *st, struct cache_block *b, uint16_t stream)
{
    struct lru_node *node = node_of(b);
    if (st->several && b->refs > 1)
        work_add(&node->work, stream);
    else if (st->several)
        work_record(st->cache.env->source, &node->work, stream);
    if (b->refs > 1) {
        b->refs--;
        return TP_OK;
    }
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_dead(st, node);
    node_cache(st, b);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_free(st, node);
    return tp_lru_shrink(st);
}

static inline bool is_request_of(const struct cache_block *b, const struct tp_req *rq)
{
    return b->size == rq->size && b->align == rq->align;
}

/* free for several streams or references, and for wrong addresses. */
static int free_slow(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct lru *st = state;
    struct cache_block *b = cache_find_live(&st->cache, addr);
    return b && is_request_of(b, rq) ? drop_reference(st, b, rq->stream) : TP_EINVAL;
}

/* A block that is freed right after it was allocated needs no look-up. The node itself says
 * whether it still holds this address; it can always be read, because records are kept. */
static int lru_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    struct lru *st = state;
    if (UNLIKELY(st->shared))
        return free_slow(st, thread, addr, rq);
    struct cache_block *b = st->last;
    if (b->addr != addr) {
        b = cache_find(&st->cache, addr);
        if (UNLIKELY(!b))
            return TP_EINVAL;
    }
    if (UNLIKELY(b->refs != 1 || !is_request_of(b, rq)))
        return free_slow(st, thread, addr, rq);
    node_cache(st, b);
    return LIKELY(!lru_is_over(st)) ? TP_OK : tp_lru_shrink(st);
}

/* The stream of a block's allocation. */
static uint16_t stream_of(const struct lru *st, struct cache_block *b)
{
    return st->several ? node_of(b)->work.stream : 0;
}

/* A release names no stream, so the stream of the allocation is used. */
static int lru_release(void *state, void *thread, tp_addr addr)
{
    (void)thread;
    struct lru *st = state;
    struct cache_block *b = cache_find_live(&st->cache, addr);
    return b ? drop_reference(st, b, stream_of(st, b)) : TP_EINVAL;
}

/* ---- retain, use, resize, move ---- */

/* Reserves room for streams: dropping a reference may add one to the list, at a time when no memory
 * may be requested. */
static int reserve_streams(const struct lru *st, struct cache_block *b, uint64_t refs,
                           uint64_t further)
{
    struct lru_node *node = node_of(b);
    if (!st->several)
        return TP_OK;
    return work_reserve(st->cache.env, &node->work, node->work.count + further + (refs - 1));
}

static int lru_retain(void *state, void *thread, tp_addr addr)
{
    (void)thread;
    struct lru *st = state;
    struct cache_block *b = cache_find_live(&st->cache, addr);
    int rc = b ? reserve_streams(st, b, b->refs + 1, 0) : TP_EINVAL;
    if (!rc)
        b->refs++;
    return rc;
}

static int lru_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    struct lru *st = state;
    struct cache_block *b = cache_find_live(&st->cache, addr);
    int rc = b ? reserve_streams(st, b, b->refs, 1) : TP_EINVAL;
    if (!rc && st->several)
        work_add(&node_of(b)->work, stream);
    return rc;
}

static int lru_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                      struct tp_block *out)
{
    (void)thread;
    struct lru *st = state;
    struct cache_block *b = cache_find_live(&st->cache, addr);
    if (!b || !request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > b->allocated || rq->align != b->align ||
        round_size(st, rq->size) != cache_key_size(b->shelf->key))
        return TP_EUNSUP;
    b->size = rq->size;
    *out = (struct tp_block){addr, b->allocated};
    return TP_OK;
}

/* Makes a new block that takes over the references of the old one, whose number only the cache
 * knows. With a single reference it returns TP_EUNSUP, because the caller's alloc and free do as
 * well. */
static int lru_move(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                    struct tp_block *out)
{
    (void)thread;
    struct lru *st = state;
    struct cache_block *old = cache_find_live(&st->cache, addr);
    if (!old || !request_is_sound(rq))
        return TP_EINVAL;
    if (old->refs == 1)
        return TP_EUNSUP;
    int rc = tp_lru_alloc_slow(st, rq, out);
    if (rc)
        return rc;
    struct cache_block *b = cache_find(&st->cache, out->addr);
    struct tp_source *source = st->cache.env->source;
    rc = reserve_streams(st, b, old->refs, 0);
    if (rc) {
        drop_reference(st, b, rq->stream);
        return rc;
    }
    void *to = tp_src_host(source, out->addr), *from = tp_src_host(source, addr);
    if (to && from)
        memcpy(to, from, old->size < rq->size ? old->size : rq->size);
    b->refs = old->refs;
    old->refs = 1;
    return drop_reference(st, old, rq->stream);
}

/* ---- reset and sync ---- */

static void free_wholly(struct lru *st, struct cache_block *b)
{
    b->refs = 1;
    drop_reference(st, b, stream_of(st, b));
}

/* Frees every live block, in the order of records, on the stream of its allocation. */
static int lru_reset(void *state)
{
    struct lru *st = state;
    uint64_t looks = 0, freed = 0;
    for (struct lru_node *n; st->index && (n = tp_lru_index_first(st));)
        free_wholly(st, &n->block);
    struct slab_cursor c = slab_first(&st->cache.blocks);
    for (struct lru_node *n; !st->index && (n = node_next(&c)); looks++) {
        TP_STEP();
        if (n->block.refs) {
            free_wholly(st, &n->block);
            freed++;
        }
    }
    if (looks > LRU_LOOK * (1 + freed))
        tp_lru_index_make(st);
    return TP_OK;
}

/* Tells the index about fences that have passed, because it does not query them otherwise. */
static int lru_sync(void *state, void *thread, uint16_t stream)
{
    (void)thread;
    struct lru *st = state;
    if (st->index && st->several)
        tp_lru_index_synced(st, stream);
    return TP_OK;
}

const struct tp_strategy tp_strategy_lru = {
    .name = "lru",
    .summary = "exact-size cache",
    .resembles = "a framework's buffer cache",
    .to_use = "a model of a cache of buffers by shape in front of cudaMalloc or mmap, as in\n"
              "frameworks and inference servers; it pays off when the same shapes recur",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_STREAMS | TP_CAP_ALIGN | TP_CAP_RETAINS,
    .state_size = sizeof(struct lru),
    .opts_size = sizeof(struct lru_opts),
    .options = lru_rows,
    .init = lru_init,
    .fini = lru_fini,
    .alloc = lru_alloc,
    .free = lru_free,
    .resize = lru_resize,
    .move = lru_move,
    .retain = lru_retain,
    .release = lru_release,
    .adopt = tp_lru_adopt,
    .use = lru_use,
    .sync = lru_sync,
    .reset = lru_reset,
    .trim = tp_lru_trim,
    .usable = tp_cache_usable,
    .stats = tp_cache_stats,
    .walk = tp_cache_walk,
    .check = tp_lru_check,
};
