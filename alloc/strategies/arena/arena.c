/* The strategy `arena`: size classes, per-thread caches, a central pool, arenas.
 *
 *                  thread cache              central pool                page heap          source
 *     caller <-> [ a b c d ] LIFO <-> 0110 1110  bits of the <-> spans of 2 KiB pages, <-> ranges
 *                per class  drain,    1111 0000  class's spans   best fit, merged
 *                           refill               carve, idle     get: a share of what is held
 *                                                                put: after a decay
 *
 * The design follows tcmalloc (Ghemawat and Menage, 2007) and jemalloc (Evans, 2006). All
 * bookkeeping lies outside the memory, so that the strategy also runs on device memory and a wrong
 * free is reliably detected by a bit and by its size.
 *
 * Speed. A cache is an array of addresses, each with the word of its block's live bit. An
 * allocation takes the newest one and sets the bit; a free finds the chunk of 64 KiB by a hash,
 * compares the class of the page, tests and clears the bit, and puts the address and that word
 * back. Beyond a cache's limit the oldest blocks become bits of their spans, and an empty cache
 * takes neighbours from the pool in the order of their places, so that a large heap that is freed
 * in any order is allocated in order again. Freed large objects wait for a request of just their
 * length.
 *
 * Memory. Everything starts small and grows by a share of what is there:
 *
 *     a refill    1 block, then 2, 4, 8 ...     up to `refill_target`
 *     a cache     `local_cache_target`, at least two blocks, then twice as much after each
 *                 drain that was followed by a refill, up to 16 times that target
 *     a span      the pages of one block, then 1/8 of what its class holds, up to `refill_target`
 *     a range     `first_range`, then 1/32 of what is held, up to `arena_size`; 1/4 where that
 *                 is no more than 16 granules of the source: 32 MiB on a device
 *
 * and what is idle goes back by one step: a span whose blocks are all pooled becomes free pages,
 * but for one in each class; before a range is got, all blocks that lie idle in caches are
 * collected, refills begin anew, and the pages of idle spans serve whoever needs them; a range that
 * is wholly free while 8,192 spans are freed goes to the source. Nothing depends on time or on
 * addresses.
 *
 * With several OS threads each thread owns the spans that it carves, and nobody else allocates
 * their blocks: its caches and its pools need no lock, and its own frees no atomic operation. A
 * block that another thread frees comes back by a list of its owner; see arena_owner.h. The page
 * heap has a lock, and every call takes a path of its own, so that a single thread pays for none of
 * this.
 *
 * Known weaknesses: blocks in a thread's cache serve no other thread until the cache drains or a
 * range would be got; with several OS threads, neither do those of its pools, until it runs out of
 * memory or ends. A cache keeps two blocks however large they are, so with the coarse tables a
 * thread may keep 32 MiB of the class of 16 MiB; and one that has grown stays so until idle memory
 * is collected or its thread ends, by default 1 MiB in each class. Without `checks` wrong frees are
 * not detected. */
#include "alloc/base/opt.h"
#include "alloc/strategies/arena/arena_core.h"

struct arena_opts {
    uint64_t arena_size, first_range, alignment, refill_target, local_cache_target, max_arenas;
    uint32_t classes; /* enum arena_table */
    bool checks;
};

static const char *const class_words[] = {"fine", "coarse6", "coarse12", NULL};

static const struct tp_opt arena_rows[] = {
    TP_SIZE_ROW(struct arena_opts, arena_size, .def = "64MiB", .min = ARENA_CHUNK,
                .max = UINT64_C(1) << 40,
                .help = "size of the largest range, in steps of 64 KiB\n"
                        "A larger object gets its own range."),
    TP_SIZE_ROW(
        struct arena_opts, first_range, .def = "64KiB", .min = ARENA_CHUNK,
        .max = UINT64_C(1) << 40,
        .help = "size of the first range\n"
                "Later ranges grow to 1/32 of reserved memory (device: 1/4, at most 32 MiB); they "
                "double if max_arenas limits their number."),
    TP_UINT_ROW(struct arena_opts, max_arenas, .def = "0",
                .help = "max number of ranges, small first ones included; 0: no limit"),
    TP_SIZE_ROW(struct arena_opts, alignment, .def = "16", .min = ARENA_STEP, .max = ARENA_PAGE,
                .help = "alignment of every block, a power of two"),
    TP_CHOICE_ROW(struct arena_opts, classes, .def = "fine", .choices = class_words, .arg = "TABLE",
                  .help =
                      "table of size classes\n"
                      "fine: 16-byte steps to 128 B, then 8 classes per power of two to 32 KiB\n"
                      "coarse6: 64 B 256 B 4 KiB 256 KiB 1 MiB 16 MiB\n"
                      "coarse12: 64 B 256 B 4 6 8 16 32 64 128 256 KiB 1 MiB 16 MiB"),
    TP_SIZE_ROW(struct arena_opts, refill_target, .def = "32KiB", .max = UINT64_C(64) << 20,
                .help = "max bytes that an empty thread cache takes at once\n"
                        "The first refill is one block; each further one doubles."),
    TP_SIZE_ROW(struct arena_opts, local_cache_target, .def = "64KiB", .max = UINT64_C(1) << 30,
                .help =
                    "bytes per class that a thread caches on frees, at least two blocks\n"
                    "Above that, half a refill returns to the central pool. If the thread needs it "
                    "back, the limit doubles, to at most 16 times."),
    TP_FLAG_ROW(struct arena_opts, checks, .def = "yes",
                .help = "detect invalid frees; 'no' trusts address and size (faster)"),
    {.name = NULL}};

static int too_large(struct tp_err *err, const struct arena_opts *opts, const char *name,
                     const char *than)
{
    char value[32], bound[32];
    tp_opt_format(tp_opt_find(arena_rows, name), opts, value, sizeof value);
    tp_opt_format(tp_opt_find(arena_rows, than), opts, bound, sizeof bound);
    return tp_fail(err, TP_EUSAGE, "strategy 'arena': '%s' (%s) is larger than '%s' (%s)", name,
                   value, than, bound);
}

static int check_options(const struct arena_opts *opts, struct tp_err *err)
{
    if (opts->alignment & (opts->alignment - 1))
        return tp_fail(err, TP_EUSAGE, "strategy 'arena': 'alignment' must be a power of two");
    if (opts->first_range > opts->arena_size)
        return too_large(err, opts, "first_range", "arena_size");
    if (opts->refill_target > opts->arena_size)
        return too_large(err, opts, "refill_target", "arena_size");
    return TP_OK;
}

static int arena_init(void *state, const struct tp_env *env, const void *options,
                      struct tp_err *err)
{
    struct arena *st = state;
    const struct arena_opts *opts = options;
    int rc = check_options(opts, err);
    if (rc)
        return rc;
    st->env = env;
    st->shared = env->concurrent;
    st->checked = opts->checks;
    st->refill_target = opts->refill_target;
    st->mem = (struct arena_mem){env, &st->heap};
    tp_arena_classes_init(&st->classes, opts->classes, opts->alignment, opts->refill_target,
                          (uint32_t)opts->local_cache_target);
    st->direct = st->shared ? 0 : st->classes.direct;
    st->watched = st->checked ? st->direct : 0;
    st->alignment = opts->alignment;
    tp_arena_pages_init(&st->pages, env, opts->first_range, opts->arena_size, opts->max_arenas);
    meta_map_init(&st->large, env);
    tp_lock_init(&st->heap, st->shared);
    if ((st->shared && tp_arena_owners_init(st)) ||
        tp_arena_chunks_init(&st->chunks, env, opts->checks)) {
        tp_arena_owners_fini(st);
        tp_lock_fini(&st->heap);
        return tp_fail(err, TP_ENOMEM, "out of memory for the tables of strategy 'arena'");
    }
    return TP_OK;
}

static void arena_fini(void *state)
{
    struct arena *st = state;
    tp_arena_chunks_fini(&st->chunks);
    tp_addr_map_fini(&st->large);
    tp_arena_pages_fini(&st->pages);
    tp_arena_owners_fini(st);
    tp_lock_fini(&st->heap);
}

static int arena_thread_init(void *state, void *thread)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    for (uint32_t c = 0; c < st->classes.count; c++) {
        thr->caches[c].block = (uint32_t)st->classes.size[c];
        thr->limit[c] = st->classes.limit[c];
    }
    return st->shared ? tp_arena_owner_start(st, thr) : TP_OK;
}

static void arena_thread_fini(void *state, void *thread)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    for (uint32_t c = 0; c < st->classes.count; c++)
        tp_arena_empty(st, thr, c);
    if (st->shared)
        tp_arena_owner_end(st, thr);
    else if (thr->stocked)
        thread_unlink(st, thr);
    *thr = (struct arena_thread){0};
}

/* ---- large objects, where one thread replays everything ---- */

static int large_serial(struct arena *st, const struct tp_req *rq, bool again, struct tp_block *out)
{
    uint64_t pages = pages_of(rq->size);
    struct arena_span *s = rq->align <= ARENA_PAGE ? kept_take(&st->kept, pages) : NULL;
    int rc = TP_OK;
    if (s) {
        s->state = ARENA_SPAN_LARGE;
        *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
        return TP_OK;
    }
    tp_arena_kept_release(st, &st->kept, st->kept.count);
    rc = tp_addr_map_reserve(&st->large, st->large.count + 1);
    if (!rc)
        rc = tp_arena_get_span(st, &st->kept, pages, pages, rq->align, ARENA_SPAN_LARGE, again, &s);
    if (rc)
        return rc;
    tp_addr_map_insert(&st->large, span_addr(s), (uintptr_t)s);
    *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
    return TP_OK;
}

/* The span of a live large object, or NULL. */
static struct arena_span *large_find(const struct arena *st, tp_addr addr)
{
    struct arena_span *s = meta_map_at(&st->large, addr);
    return s && s->state == ARENA_SPAN_LARGE ? s : NULL;
}

static int arena_free_large(struct arena *st, tp_addr addr, uint64_t size)
{
    struct arena_span *s = large_find(st, addr);
    bool fits = s && s->pages == pages_of(size);
    if (fits && s->pages <= KEPT_PAGES) {
        if (st->kept.count == KEPT_SPANS)
            tp_arena_kept_release(st, &st->kept, 1);
        kept_add_serial(st, s);
    } else if (fits) {
        tp_addr_map_remove(&st->large, addr, NULL);
        arena_give(st, s);
    }
    return fits ? TP_OK : TP_EINVAL;
}

/* ---- alloc ---- */

/* True once, after the first out of memory: reclaims all idle blocks, so that the caller tries
 * again. Where other threads run, blocks in their caches are not reclaimed. */
static bool try_again(struct arena *st, struct arena_thread *thr, int rc, bool *again)
{
    if (rc != TP_EOOM || *again)
        return false;
    tp_arena_reclaim(st, st->shared ? thr : NULL);
    return *again = true;
}

static int alloc_large(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                       struct tp_block *out)
{
    bool again = false;
    int rc;
    if (rq->size > ARENA_MAX_BYTES)
        return TP_EOOM;
    do {
        rc = st->owners ? tp_arena_large_shared(st, thr, rq, again, out)
                        : large_serial(st, rq, again, out);
    } while (UNLIKELY(try_again(st, thr, rc, &again)));
    return rc;
}

static int refill(struct arena *st, struct arena_thread *thr, uint32_t size_class)
{
    bool again = false;
    int rc;
    do {
        rc = tp_arena_refill(st, thr, size_class, again);
    } while (UNLIKELY(try_again(st, thr, rc, &again)));
    return rc;
}

int tp_arena_alloc_slow(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                        struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint32_t size_class = classes_of(&st->classes, rq);
    if (size_class == ARENA_NO_CLASS)
        return alloc_large(st, thr, rq, out);
    struct arena_cache *cache = &thr->caches[size_class];
    int rc = cache->top == cache->floor ? refill(st, thr, size_class) : TP_OK;
    if (rc)
        return rc;
    const struct arena_item *item = --cache->top;
    *out = (struct tp_block){item->addr, cache->block};
    if (item->word)
        word_set_live(item->word, item->addr);
    return TP_OK;
}

/* A large object that a kept span serves, where one thread replays everything; the rest of the rare
 * requests is left to alloc_slow. */
OUT_OF_LINE int alloc_rare(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                           struct tp_block *out)
{
    if (UNLIKELY(st->shared))
        return tp_arena_alloc_shared(st, thr, rq, out);
    if (rq->size - 1 < st->classes.largest || rq->size > ARENA_MAX_BYTES ||
        rq->align - 1 >= ARENA_PAGE || rq->align & (rq->align - 1))
        return tp_arena_alloc_slow(st, thr, rq, out);
    struct arena_span *s = kept_take(&st->kept, pages_of(rq->size));
    if (!s)
        return tp_arena_alloc_slow(st, thr, rq, out);
    s->state = ARENA_SPAN_LARGE;
    out->addr = span_addr(s);
    out->allocated = s->pages * ARENA_PAGE;
    return TP_OK;
}

/* In arena_alloc and arena_free every rare path is a tail call with the arguments as they came, so
 * that no register has to be saved. */
static int arena_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    uint64_t least = rq->size - 1, align = rq->align;
    if (UNLIKELY(least >= st->direct || align - 1 >= st->alignment || align & (align - 1)))
        return alloc_rare(st, thr, rq, out);
    struct arena_cache *cache = &thr->caches[st->classes.of[least / ARENA_STEP]];
    struct arena_item *top = cache->top;
    /* two separate stores, because a combined one would wait for the address */
    out->allocated = cache->block;
    if (UNLIKELY(top == cache->floor))
        return tp_arena_alloc_slow(st, thr, rq, out);
    tp_addr addr = (--top)->addr;
    uint64_t *word = top->word;
    cache->top = top;
    out->addr = addr;
    if (LIKELY(word != NULL)) {
        uint64_t bits = *word;
        *word = bits | granule_bit(addr / ARENA_STEP);
    }
    return TP_OK;
}

/* ---- free ---- */

/* Frees a small block of this class; TP_EINVAL if the address is none. Nothing changes unless it
 * succeeds. */
OUT_OF_LINE int free_small(struct arena *st, struct arena_thread *thr, tp_addr addr,
                           uint32_t size_class)
{
    struct arena_cache *cache = &thr->caches[size_class];
    if (st->shared)
        return tp_arena_free_small_shared(st, thr, addr, size_class);
    struct arena_chunk *chunk = st->checked ? chunk_if_live(&st->chunks, addr) : NULL;
    if (st->checked && (!chunk || chunk_class(chunk, addr) != size_class))
        return TP_EINVAL;
    uint64_t *word = chunk ? chunk_live(chunk, granule_of(addr)) : NULL;
    if (cache->top >= cache->ceiling)
        tp_arena_make_room(st, thr, size_class);
    if (word)
        word_clear_live(word, addr);
    if (cache->top < cache->ceiling)
        *cache->top++ = (struct arena_item){addr, word};
    else
        tp_arena_put(st, thr, size_class, addr);
    return TP_OK;
}

int tp_arena_free_slow(struct arena *st, struct arena_thread *thr, tp_addr addr,
                       const struct tp_req *rq)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint32_t size_class = classes_of(&st->classes, rq);
    if (size_class == ARENA_NO_CLASS)
        return st->owners ? tp_arena_free_large_shared(st, thr, addr, rq->size)
                          : arena_free_large(st, addr, rq->size);
    return free_small(st, thr, addr, size_class);
}

/* Without `checks`: address and size are believed. */
OUT_OF_LINE int free_unchecked(struct arena *st, struct arena_thread *thr, tp_addr addr,
                               const struct tp_req *rq)
{
    struct arena_cache *cache = &thr->caches[st->classes.of[(rq->size - 1) / ARENA_STEP]];
    if (UNLIKELY(rq->align - 1 >= st->alignment || cache->top >= cache->ceiling))
        return tp_arena_free_slow(st, thr, addr, rq);
    *cache->top++ = (struct arena_item){.addr = addr};
    return TP_OK;
}

/* A large object that will be kept, where one thread replays everything; the rest of the rare frees
 * is left to free_slow. */
OUT_OF_LINE int free_rare(struct arena *st, struct arena_thread *thr, tp_addr addr,
                          const struct tp_req *rq)
{
    if (rq->size - 1 < st->direct)
        return st->checked ? tp_arena_free_slow(st, thr, addr, rq)
                           : free_unchecked(st, thr, addr, rq);
    if (UNLIKELY(st->shared))
        return tp_arena_free_shared(st, thr, addr, rq);
    if (rq->size - 1 < st->classes.largest || rq->align & (rq->align - 1) || !rq->align ||
        st->kept.count == KEPT_SPANS)
        return tp_arena_free_slow(st, thr, addr, rq);
    struct arena_span *s = large_find(st, addr);
    if (!s || s->pages != pages_of(rq->size) || s->pages > KEPT_PAGES)
        return tp_arena_free_slow(st, thr, addr, rq);
    kept_add_serial(st, s);
    return TP_OK;
}

static int arena_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    struct arena *st = state;
    struct arena_thread *thr = thread;
    uint64_t least = rq->size - 1;
    if (UNLIKELY(least >= st->watched || rq->align - 1 >= st->alignment))
        return free_rare(st, thr, addr, rq);
    size_t size_class = st->classes.of[least / ARENA_STEP];
    uint64_t granule = granule_of(addr), index = granule_index(granule);
    struct arena_chunk *chunk = chunk_guess(&st->chunks, index);
    if (UNLIKELY(chunk->index != index || chunk->size_class[granule_page(granule)] != size_class))
        return tp_arena_free_slow(st, thr, addr, rq);
    uint64_t *word = chunk_live(chunk, granule), bits = *word;
    if (UNLIKELY(!(bits >> (granule & 63) & 1)))
        return TP_EINVAL;
    struct arena_cache *cache = &thr->caches[size_class];
    struct arena_item *top = cache->top;
    if (UNLIKELY(top >= cache->ceiling))
        return tp_arena_free_slow(st, thr, addr, rq);
    *word = bits & ~granule_bit(granule);
    top->addr = addr;
    top->word = word;
    cache->top = top + 1;
    return TP_OK;
}

/* ---- resize, trim, usable ---- */

/* The span of a live large object, or NULL. */
static struct arena_span *large_of_block(const struct arena *st, tp_addr addr)
{
    return st->owners ? tp_arena_large_shared_find(st, addr) : large_find(st, addr);
}

/* The class of a live small block, or ARENA_NO_CLASS. Without `checks` the address is not
 * verified. */
static uint32_t class_of_block(const struct arena *st, tp_addr addr)
{
    if (!st->checked && large_of_block(st, addr))
        return ARENA_NO_CLASS;
    const struct arena_chunk *chunk =
        st->checked ? chunk_if_live(&st->chunks, addr) : chunk_find(&st->chunks, addr);
    uint32_t size_class = chunk ? chunk_class(chunk, addr) : ARENA_LARGE;
    return size_class == ARENA_LARGE ? ARENA_NO_CLASS : size_class;
}

static int change_pages(struct arena *st, struct arena_kept *kept, struct arena_span *s,
                        uint64_t pages)
{
    if (s->behind && s->behind->state == ARENA_SPAN_KEPT)
        tp_arena_kept_release(st, kept, kept->count);
    if (pages <= s->pages)
        return pages < s->pages ? tp_arena_pages_shrink(&st->pages, s, pages) : TP_OK;
    int rc = tp_arena_pages_extend(&st->pages, s, pages);
    if (rc != TP_EUNSUP || !st->owners || !kept->count)
        return rc;
    tp_arena_kept_release(st, kept,
                          kept->count); /* one of them may lie behind; its state does not tell */
    return tp_arena_pages_extend(&st->pages, s, pages);
}

static int resize_large(struct arena *st, struct arena_thread *thr, tp_addr addr,
                        const struct tp_req *rq, struct tp_block *out)
{
    struct arena_span *s = large_of_block(st, addr);
    uint64_t pages = pages_of(rq->size);
    int rc = TP_OK;
    if (!s)
        return TP_EINVAL;
    /* by the place in the range: which addresses the source chose must decide nothing */
    if (classes_of(&st->classes, rq) != ARENA_NO_CLASS || rq->align > s->range->align ||
        s->page * ARENA_PAGE & (rq->align - 1))
        return TP_EUNSUP;
    if (pages != s->pages || !st->owners) { /* what need not change needs no lock */
        tp_lock_take(&st->heap);
        rc = change_pages(st, kept_of(st, thr), s, pages);
        if (!rc && st->owners)
            tp_arena_large_shared_note(st, s);
        tp_lock_drop(&st->heap);
    }
    if (!rc)
        *out = (struct tp_block){addr, pages * ARENA_PAGE};
    return rc;
}

static int resize_small(const struct arena *st, uint32_t size_class, tp_addr addr,
                        const struct tp_req *rq, struct tp_block *out)
{
    if (classes_of(&st->classes, rq) != size_class)
        return TP_EUNSUP;
    *out = (struct tp_block){addr, st->classes.size[size_class]};
    return TP_OK;
}

OUT_OF_LINE int resize_slow(struct arena *st, struct arena_thread *thr, tp_addr addr,
                            const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint32_t size_class = class_of_block(st, addr);
    return size_class == ARENA_NO_CLASS ? resize_large(st, thr, addr, rq, out)
                                        : resize_small(st, size_class, addr, rq, out);
}

static int arena_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    struct arena *st = state;
    uint64_t least = rq->size - 1, align = rq->align;
    if (UNLIKELY(least >= st->watched || align - 1 >= st->alignment || align & (align - 1)))
        return resize_slow(st, thread, addr, rq, out);
    uint64_t granule = granule_of(addr), index = granule_index(granule);
    struct arena_chunk *chunk = chunk_guess(&st->chunks, index);
    if (UNLIKELY(chunk->index != index || !(*chunk_live(chunk, granule) & granule_bit(granule))))
        return resize_slow(st, thread, addr, rq, out);
    uint32_t size_class = st->classes.of[least / ARENA_STEP];
    if (chunk->size_class[granule_page(granule)] != size_class)
        return TP_EUNSUP;
    *out = (struct tp_block){addr, st->classes.size[size_class]};
    return TP_OK;
}

static int arena_trim(void *state, uint64_t keep)
{
    struct arena *st = state;
    tp_arena_reclaim(st, NULL); /* no other thread is running during a trim */
    tp_lock_take(&st->heap);
    tp_arena_give_back(st, keep, 0);
    tp_lock_drop(&st->heap);
    return TP_OK;
}

static uint64_t arena_usable(void *state, tp_addr addr)
{
    struct arena *st = state;
    uint32_t size_class = class_of_block(st, addr);
    if (size_class != ARENA_NO_CLASS)
        return st->classes.size[size_class];
    const struct arena_span *s = large_of_block(st, addr);
    return s ? s->pages * ARENA_PAGE : 0;
}

static bool arena_detects(void *state)
{
    return ((const struct arena *)state)->checked;
}

static void arena_stats(void *state, struct tp_stats *out)
{
    const struct arena *st = state;
    *out = (struct tp_stats){.carved_bytes = st->pages.carved.now * ARENA_PAGE,
                             .peak_carved_bytes = st->pages.carved.peak * ARENA_PAGE,
                             .start_bytes = st->pages.next_range};
}

const struct tp_strategy tp_strategy_arena = {
    .name = "arena",
    .summary = "size classes",
    .resembles = "jemalloc's design, not its footprint",
    .to_use = "jemalloc, tcmalloc and mimalloc work alike in a host program\n"
              "(LD_PRELOAD=libjemalloc.so.2); PyTorch has no setting for it",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_THREADS,
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
    .walk = tp_arena_walk,
    .check = tp_arena_check,
    .detects = arena_detects,
};
