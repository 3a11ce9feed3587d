/* The state of `arena` and its slow paths: carve, refill, large objects.
 *
 * arena.c has the contract and the fast paths. The policy is the order in which memory is searched:
 * a fitting free span, a shorter free span, a new range, a new range of exactly the needed size.
 * When the source refuses that too, all idle memory is reclaimed and the search is repeated once
 * before the answer is out of memory.
 *
 * Locks, in the order in which they are taken. All are off where one thread plays everything:
 *
 *     locks[c]    the pool of class c and its list of spans; never two at once
 *     heap        pages, writers of the chunk table, large objects, threads, source, tp_meta_get */
#ifndef TP_ARENA_CORE_H
#define TP_ARENA_CORE_H

#include "alloc/strategies/arena/arena_chunks.h"
#include "alloc/strategies/arena/arena_lists.h"

struct arena {
    uint64_t direct;    /* sizes up to this many bytes take the fast paths; 0 with threads */
    uint64_t alignment; /* copy of classes.alignment */
    struct arena_chunks chunks;
    struct arena_classes classes;
    bool shared;  /* env->concurrent */
    bool checked; /* option `checks` */
    const struct tp_env *env;
    struct arena_mem mem;
    struct tp_lock heap;
    struct tp_addr_map large; /* address -> struct arena_span * */
    struct arena_pages pages;
    struct arena_thread *threads; /* the newest thread; links lead to older ones */
    uint64_t refill_target;       /* bytes */
    struct arena_central central[ARENA_MAX_CLASSES];
    struct tp_lock *locks; /* one for each pool; NULL where one thread plays everything */
};

static inline void central_lock(const struct arena *st, uint32_t class)
{
    if (__builtin_expect(st->locks != NULL, 0))
        tp_lock_take(&st->locks[class]);
}

static inline void central_unlock(const struct arena *st, uint32_t class)
{
    if (__builtin_expect(st->locks != NULL, 0))
        tp_lock_drop(&st->locks[class]);
}

/* Marks a small block as live. The address must be one of the arena's own, so that it has a
 * chunk. */
static inline void arena_set_live(struct arena *st, tp_addr addr)
{
    if (!st->checked)
        return;
    uint64_t *word = chunk_word(chunk_find(&st->chunks, addr), addr);
    if (st->shared) /* two threads' blocks may share the word */
        __atomic_fetch_or(word, chunk_bit(addr), __ATOMIC_ACQ_REL);
    else
        *word |= chunk_bit(addr);
}

/* Marks a small block as not live. False: another thread has just freed it, so this is a double
 * free. */
static inline bool arena_clear_live(const struct arena *st, struct arena_chunk *chunk, tp_addr addr)
{
    uint64_t *word = chunk_word(chunk, addr), bit = chunk_bit(addr);
    if (st->shared)
        return __atomic_fetch_and(word, ~bit, __ATOMIC_ACQ_REL) & bit;
    *word &= ~bit;
    return true;
}

/* ---- spans: the heap lock is held ---- */

/* Takes a free span of `wanted` pages, or the longest of at least `least` pages. Where the two
 * differ, `align` must be no more than a page. */
static inline int span_from_tree(struct arena *st, uint64_t wanted, uint64_t least, uint64_t align,
                                 enum arena_span_state state, struct arena_span **out)
{
    int rc = pages_take(&st->pages, wanted, align, state, out);
    if (rc != TP_EOOM || least == wanted)
        return rc;
    const struct arena_span *last = tree_last(&st->pages.free);
    if (!last || last->pages < least)
        return TP_EOOM;
    return pages_take(&st->pages, last->pages, align, state, out);
}

/* Gives wholly free ranges back, newest first, until at most `keep` bytes are free. */
static inline void arena_give_back(struct arena *st, uint64_t keep)
{
    for (struct arena_range *r = st->pages.newest, *older; r && st->pages.idle_ranges; r = older) {
        older = r->older;
        if (st->pages.free_pages * ARENA_PAGE <= keep)
            return;
        tp_addr base = r->base;
        uint64_t bytes = r->pages * ARENA_PAGE;
        if (range_is_free(r) && !tp_arena_pages_put_range(&st->pages, r))
            tp_arena_chunks_forget(&st->chunks, base, bytes);
    }
}

/* Like span_from_tree, but also gets new ranges from the source. again: all idle memory was
 * reclaimed, so free ranges that are too small are given back first, after which the source may
 * have enough. */
static inline int arena_get_span(struct arena *st, uint64_t wanted, uint64_t least, uint64_t align,
                                 enum arena_span_state state, bool again, struct arena_span **out)
{
    int rc = span_from_tree(st, wanted, least, align, state, out);
    if (rc != TP_EOOM)
        return rc;
    if (again)
        arena_give_back(st, 0);
    else
        rc = tp_arena_pages_grow_most(&st->pages, wanted * ARENA_PAGE, align);
    if (rc == TP_EOOM)
        rc = tp_arena_pages_grow(&st->pages, least * ARENA_PAGE, align, true);
    return rc ? rc : span_from_tree(st, wanted, least, align, state, out);
}

/* ---- the spans of a class ---- */

static inline void class_link(struct arena_central *pool, struct arena_span *s)
{
    pool->least = pool->spans && pool->least < s->blocks ? pool->least : s->blocks;
    s->smaller = NULL;
    s->greater = pool->spans;
    if (s->greater)
        s->greater->smaller = s;
    pool->spans = s;
}

/* Carves up to `wanted` blocks of a class as the run of a cache whose run is empty. grow: may get
 * memory from the source. Both locks are held. */
static inline int arena_carve(struct arena *st, struct arena_run *run, uint32_t class,
                              uint32_t wanted, bool grow, bool again)
{
    uint64_t block = st->classes.size[class];
    uint64_t most = pages_of(wanted * block), least = pages_of(block);
    struct arena_span *s = NULL;
    int rc = grow ? arena_get_span(st, most, least, ARENA_PAGE, ARENA_SPAN_SMALL, again, &s)
                  : span_from_tree(st, most, least, ARENA_PAGE, ARENA_SPAN_SMALL, &s);
    if (rc)
        return rc;
    uint64_t fit = s->pages * ARENA_PAGE / block;
    s->class = (uint8_t) class;
    s->blocks = (uint32_t)(fit < wanted ? fit : wanted);
    if (tp_arena_chunks_mark(&st->chunks, s, block)) {
        pages_give(&st->pages, s);
        return TP_ENOMEM;
    }
    class_link(&st->central[class], s);
    *run = (struct arena_run){span_addr(s), s->blocks};
    return TP_OK;
}

/* ---- refill ---- */

/* Fills an empty cache from the pool, and carves the rest; memory is requested from the source only
 * if the pool is empty. After a failure the cache is empty and nothing is lost. The pool's lock is
 * held. */
static inline int refill_locked(struct arena *st, struct arena_thread *thr, uint32_t class,
                                bool again)
{
    struct arena_central *pool = &st->central[class];
    struct arena_cache *cache = &thr->caches[class];
    struct arena_run *run = &thr->runs[class];
    uint32_t wanted = st->classes.refill[class];
    uint32_t pooled = pool->count < wanted ? (uint32_t)pool->count : wanted;
    uint32_t room = wanted < LIST_FIRST_ROOM ? wanted : LIST_FIRST_ROOM; /* room for cache_unroll */
    int rc = cache_reserve(&st->mem, cache, pooled > room ? pooled : room);
    if (rc)
        return rc;
    pool->stocked = true;
    if (pooled < wanted) {
        tp_lock_take(&st->heap);
        rc = arena_carve(st, run, class, wanted - pooled, pooled == 0, again);
        tp_lock_drop(&st->heap);
    }
    central_take(&st->mem, pool, cache, pooled);
    if (cache->top == cache->floor)
        cache_unroll(cache, run, st->classes.limit[class]);
    else
        cache_set_ceiling(cache, run, st->classes.limit[class]);
    return cache->top != cache->floor ? TP_OK : rc;
}

/* ---- large objects ---- */

static inline int large_locked(struct arena *st, const struct tp_req *rq, bool again,
                               struct tp_block *out)
{
    int rc = tp_addr_map_reserve(&st->large, st->large.count + 1);
    if (rc)
        return rc;
    uint64_t pages = pages_of(rq->size);
    struct arena_span *s = NULL;
    rc = arena_get_span(st, pages, pages, rq->align, ARENA_SPAN_LARGE, again, &s);
    if (rc)
        return rc;
    tp_addr_map_insert(&st->large, span_addr(s), (uintptr_t)s);
    *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
    return TP_OK;
}

/* The span of a live large object, or NULL. The heap lock is held. */
static inline struct arena_span *large_find(const struct arena *st, tp_addr addr)
{
    return meta_map_at(&st->large, addr);
}

static inline int arena_free_large(struct arena *st, tp_addr addr, uint64_t size)
{
    tp_lock_take(&st->heap);
    struct arena_span *s = large_find(st, addr);
    bool fits = s && s->pages == pages_of(size);
    if (fits) {
        tp_addr_map_remove(&st->large, addr, NULL);
        pages_give(&st->pages, s);
    }
    tp_lock_drop(&st->heap);
    return fits ? TP_OK : TP_EINVAL;
}

/* ---- in files of their own ---- */

/* Turns idle blocks of all classes back into free pages (arena_reclaim.c). No lock is held. own:
 * only this thread's caches are emptied, because other threads are running; NULL: all caches are
 * emptied. */
void tp_arena_reclaim(struct arena *st, struct arena_thread *own);

/* The members `walk` and `check` of the strategy, in arena_check.c. */
int tp_arena_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_arena_check(void *state, struct tp_err *err);

#endif
