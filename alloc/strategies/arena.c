/* The strategy `arena`: size classes, per-thread caches, a central pool, arenas.
 *
 *     caller -> thread cache -> central pool -> page heap -> source
 *               LIFO per class  per class       spans, best fit
 *
 * The design of tcmalloc (Ghemawat and Menage, 2007) and jemalloc (Evans, 2006). All bookkeeping
 * lies outside the memory, so it runs on a device as it does on the host, and a wrong free is found
 * out by a bit, not by luck. Known weaknesses: a class holds `refill_target` bytes from its first
 * object on; what lies in a thread's cache serves no other thread until it drains or the source
 * refuses. */
#include "alloc/strategies/arena_check.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define OUT_OF_LINE static __attribute__((noinline))

struct arena_opts {
    uint64_t arena_size, first_range, alignment, refill_target, local_cache_target, max_arenas;
    uint32_t classes; /* enum arena_table */
};

static const char *const class_words[] = {"fine", "coarse6", "coarse12", NULL};

static const struct tp_opt arena_rows[] = {
    {.name = "arena_size",
     .type = TP_OPT_SIZE,
     .offset = offsetof(struct arena_opts, arena_size),
     .def = "64MiB",
     .min = ARENA_CHUNK,
     .max = UINT64_C(1) << 40,
     .arg = "SIZE",
     .help = "largest range asked of the source (a larger object gets its own)"},
    {.name = "first_range",
     .type = TP_OPT_SIZE,
     .offset = offsetof(struct arena_opts, first_range),
     .def = "64KiB",
     .min = ARENA_CHUNK,
     .max = UINT64_C(1) << 40,
     .arg = "SIZE",
     .help = "first range, each next one doubles up to arena_size"},
    {.name = "max_arenas",
     .type = TP_OPT_UINT,
     .offset = offsetof(struct arena_opts, max_arenas),
     .def = "0",
     .arg = "N",
     .help = "ranges it may hold, then it is out of memory; 0 = as needed"},
    {.name = "alignment",
     .type = TP_OPT_SIZE,
     .offset = offsetof(struct arena_opts, alignment),
     .def = "16",
     .min = ARENA_STEP,
     .max = ARENA_PAGE,
     .arg = "SIZE",
     .help = "of every block, a power of two"},
    {.name = "classes",
     .type = TP_OPT_CHOICE,
     .offset = offsetof(struct arena_opts, classes),
     .def = "fine",
     .choices = class_words,
     .arg = "TABLE",
     .help = "fine: 16-byte steps to 128 B, then 8 classes a doubling up to 32 KiB\n"
             "coarse6: 64 B 256 B 4 KiB 256 KiB 1 MiB 16 MiB\n"
             "coarse12: 64 B 256 B 4 6 8 16 32 64 128 256 KiB 1 MiB 16 MiB"},
    {.name = "refill_target",
     .type = TP_OPT_SIZE,
     .offset = offsetof(struct arena_opts, refill_target),
     .def = "32KiB",
     .max = UINT64_C(64) << 20,
     .arg = "SIZE",
     .help = "bytes that an empty thread cache takes at once, at least one block"},
    {.name = "local_cache_target",
     .type = TP_OPT_SIZE,
     .offset = offsetof(struct arena_opts, local_cache_target),
     .def = "64KiB",
     .max = UINT64_C(1) << 30,
     .arg = "SIZE",
     .help = "bytes per class that a thread may cache, at least two blocks"},
    {.name = NULL}};

static void *map_get(void *ctx, size_t size)
{
    return tp_meta_get(ctx, size);
}
static void map_put(void *ctx, void *p, size_t size)
{
    tp_meta_put(ctx, p, size);
}

static int arena_init(void *state, const struct tp_env *env, const void *options,
                      struct tp_err *err)
{
    struct arena *st = state;
    const struct arena_opts *opts = options;
    if (opts->alignment & (opts->alignment - 1))
        return tp_fail(err, TP_EUSAGE, "strategy 'arena': 'alignment' must be a power of two");
    st->env = env;
    st->refill_target = opts->refill_target;
    classes_init(&st->classes, opts->classes, opts->alignment, opts->refill_target,
                 opts->local_cache_target);
    pages_init(&st->pages, env, opts->first_range, opts->arena_size, opts->max_arenas);
    /* the maps only pass this on to tp_meta_get, which takes it as const */
    tp_addr_map_init(&st->large, map_get, map_put, (void *)(uintptr_t)env);
    tp_addr_map_init(&st->chunks, map_get, map_put, (void *)(uintptr_t)env);
    if (tp_addr_map_reserve(&st->chunks, 1))
        return tp_fail(err, TP_ENOMEM, "out of memory for the tables of strategy 'arena'");
    return TP_OK;
}

static void arena_fini(void *state)
{
    struct arena *st = state;
    for (uint32_t c = 0; c < st->classes.count; c++)
        central_fini(st->env, &st->central[c]);
    chunks_fini(&st->chunks, st->env);
    tp_addr_map_fini(&st->large);
    pages_fini(&st->pages);
}

static int arena_thread_init(void *state, void *thread)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    thr->older = st->threads;
    if (thr->older)
        thr->older->newer = thr;
    st->threads = thr;
    return TP_OK;
}

static void arena_thread_fini(void *state, void *thread)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    for (uint32_t c = 0; c < st->classes.count; c++) {
        central_adopt(&st->central[c], &thr->caches[c]);
        segment_free(st->env, thr->caches[c].segment);
    }
    *(thr->newer ? &thr->newer->older : &st->threads) = thr->older;
    if (thr->older)
        thr->older->newer = thr->newer;
    *thr = (struct arena_thread){0};
}

/* ---- alloc ---- */

OUT_OF_LINE int alloc_slow(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                           struct tp_block *out)
{
    if (!rq->size || !rq->align || rq->align & (rq->align - 1))
        return TP_EINVAL;
    uint32_t class = classes_of(&st->classes, rq);
    if (class == ARENA_NO_CLASS)
        return arena_alloc_large(st, rq, out);
    struct arena_cache *cache = &thr->caches[class];
    if (!cache->count && !cache->run_left) {
        int rc = arena_refill(st, cache, class);
        if (rc)
            return rc;
    }
    uint64_t block = st->classes.size[class];
    if (cache->count) {
        out->addr = cache->segment->items[--cache->count];
    } else {
        out->addr = cache->run_next;
        cache->run_next += block;
        cache->run_left--;
        cache_set_bound(cache, st->classes.limit[class]);
    }
    out->granted = block;
    chunk_set_live(&st->chunks, out->addr);
    return TP_OK;
}

static int arena_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    uint64_t size = rq->size, align = rq->align;
    if (UNLIKELY(size - 1 >= st->classes.direct || align - 1 >= st->classes.alignment ||
                 align & (align - 1)))
        return alloc_slow(st, thr, rq, out);
    uint32_t class = st->classes.of[(size + ARENA_STEP - 1) / ARENA_STEP];
    struct arena_cache *cache = &thr->caches[class];
    if (UNLIKELY(!cache->count))
        return alloc_slow(st, thr, rq, out);
    tp_addr addr = cache->segment->items[--cache->count];
    *out = (struct tp_block){addr, st->classes.size[class]};
    chunk_set_live(&st->chunks, addr);
    return TP_OK;
}

/* ---- free ---- */

OUT_OF_LINE int free_large(struct arena *st, tp_addr addr)
{
    uint64_t span = 0;
    if (!tp_addr_map_remove(&st->large, addr, &span))
        return TP_EINVAL;
    pages_give(&st->pages, (struct arena_span *)(uintptr_t)span);
    return TP_OK;
}

/* The cache is at its limit, or its array is full. */
OUT_OF_LINE int free_slow(struct arena *st, struct arena_cache *cache, uint32_t class,
                          struct arena_chunk *chunk, tp_addr addr)
{
    uint32_t limit = st->classes.limit[class];
    uint32_t held = cache->count + cache->run_left;
    uint32_t drain = 0;
    int rc = TP_OK;
    if (held >= limit) {
        drain = st->classes.drain[class] < held ? st->classes.drain[class] : held;
        rc = central_reserve(st->env, &st->central[class], drain);
    }
    if (!rc)
        rc = cache_reserve(st->env, cache, cache->count + 1, limit);
    if (rc)
        return rc; /* nothing has changed: the block is still live */
    if (drain)
        central_give(&st->central[class], cache, drain, st->classes.size[class]);
    *chunk_word(chunk, addr) &= ~chunk_bit(addr);
    cache->segment->items[cache->count++] = addr;
    cache_set_bound(cache, limit);
    return TP_OK;
}

static int arena_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)rq;
    struct arena *st = state;
    struct arena_thread *thr = thread;
    struct arena_chunk *chunk = thr->last_chunk;
    if (addr >> CHUNK_SHIFT != thr->last_index) { /* predicted well where it is rare or the rule */
        chunk = chunk_find(&st->chunks, addr);
        if (UNLIKELY(!chunk))
            return free_large(st, addr);
        thr->last_chunk = chunk;
        thr->last_index = addr >> CHUNK_SHIFT;
    }
    if (UNLIKELY(!chunk || addr % ARENA_STEP))
        return free_large(st, addr);
    uint64_t *word = chunk_word(chunk, addr), bit = chunk_bit(addr);
    if (UNLIKELY(!(*word & bit)))
        return free_large(st, addr);
    uint32_t class = *chunk_class(chunk, addr);
    struct arena_cache *cache = &thr->caches[class];
    if (UNLIKELY(cache->count >= cache->bound))
        return free_slow(st, cache, class, chunk, addr);
    *word &= ~bit;
    cache->segment->items[cache->count++] = addr;
    return TP_OK;
}

/* ---- resize, trim, usable ---- */

static int resize_large(struct arena *st, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    const uint64_t *found = tp_addr_map_find(&st->large, addr);
    if (!found)
        return TP_EINVAL;
    struct arena_span *s = (struct arena_span *)(uintptr_t)*found;
    uint64_t pages = pages_of(rq->size);
    if (classes_of(&st->classes, rq) != ARENA_NO_CLASS || addr & (rq->align - 1))
        return TP_EUNSUP;
    int rc = TP_OK;
    if (pages < s->pages)
        rc = pages_shrink(&st->pages, s, pages);
    else if (pages > s->pages)
        rc = pages_extend(&st->pages, s, pages);
    if (!rc)
        *out = (struct tp_block){addr, pages * ARENA_PAGE};
    return rc;
}

static int arena_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    (void)thread;
    struct arena *st = state;
    if (!rq->size || !rq->align || rq->align & (rq->align - 1))
        return TP_EINVAL;
    if (!chunk_is_live(&st->chunks, addr))
        return resize_large(st, addr, rq, out);
    uint32_t class = *chunk_class(chunk_find(&st->chunks, addr), addr);
    if (classes_of(&st->classes, rq) != class)
        return TP_EUNSUP;
    *out = (struct tp_block){addr, st->classes.size[class]};
    return TP_OK;
}

static int arena_trim(void *state, uint64_t keep)
{
    arena_reclaim(state);
    arena_give_back(state, keep);
    return TP_OK;
}

static uint64_t arena_usable(void *state, tp_addr addr)
{
    struct arena *st = state;
    if (chunk_is_live(&st->chunks, addr))
        return st->classes.size[*chunk_class(chunk_find(&st->chunks, addr), addr)];
    const uint64_t *span = tp_addr_map_find(&st->large, addr);
    return span ? ((struct arena_span *)(uintptr_t)*span)->pages * ARENA_PAGE : 0;
}

static void arena_stats(void *state, struct tp_stats *out)
{
    const struct arena *st = state;
    *out = (struct tp_stats){.carved_bytes = st->pages.carved * ARENA_PAGE,
                             .peak_carved_bytes = st->pages.peak_carved * ARENA_PAGE,
                             .start_bytes = st->refill_target};
}

const struct tp_strategy tp_strategy_arena = {
    .name = "arena",
    .summary = "size classes",
    .resembles = "jemalloc, tcmalloc (not RMM's arena resource)",
    .to_use = "a host program gets the like of it from jemalloc, tcmalloc or mimalloc\n"
              "(LD_PRELOAD=libjemalloc.so.2); nothing to switch on in PyTorch",
    .group = TP_GROUP_POLICY,
    .caps = TP_CAP_ALIGN,
    .state_size = sizeof(struct arena),
    .thread_size = sizeof(struct arena_thread),
    .opts_size = sizeof(struct arena_opts),
    .options = arena_rows,
    .init = arena_init,
    .fini = arena_fini,
    .alloc = arena_alloc,
    .free = arena_free,
    .resize = arena_resize,
    .trim = arena_trim,
    .thread_init = arena_thread_init,
    .thread_fini = arena_thread_fini,
    .usable = arena_usable,
    .stats = arena_stats,
    .walk = arena_walk,
    .check = arena_check,
};
