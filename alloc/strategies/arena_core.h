/* The state of `arena` and its slow paths: refill, large objects, reclaim.
 *
 * Split from arena.c, which has the contract and the fast paths, to keep both readable. The order
 * in which memory is looked for is the policy: a fitting free span, what free tail there is, a new
 * range, a range of exactly what is needed, and when the source refuses that, everything idle is
 * reclaimed and the search is repeated once before the answer is out of memory. */
#ifndef TP_ARENA_CORE_H
#define TP_ARENA_CORE_H

#include "alloc/strategies/arena_chunks.h"
#include "alloc/strategies/arena_lists.h"

struct arena {
    struct arena_classes classes;
    struct tp_addr_map chunks; /* chunk_key -> struct arena_chunk * */
    const struct tp_env *env;
    struct tp_addr_map large; /* address -> struct arena_span * */
    struct arena_central central[ARENA_MAX_CLASSES];
    struct arena_pages pages;
    struct arena_thread *threads; /* newest */
    uint64_t refill_target;       /* bytes */
};

/* Everything that threads cache goes to the pools; with several OS threads only the pools' own. */
static inline void arena_collect(struct arena *st)
{
    if (st->env->concurrent)
        return;
    for (struct arena_thread *thr = st->threads; thr; thr = thr->older)
        for (uint32_t c = 0; c < st->classes.count; c++)
            central_adopt(&st->central[c], &thr->caches[c]);
}

static inline bool span_is_idle(const struct arena *st, const struct arena_span *s)
{
    uint64_t block = st->classes.size[s->class];
    for (uint32_t i = 0; i < s->blocks; i++)
        if (chunk_is_live(&st->chunks, span_addr(s) + i * block))
            return false;
    return true;
}

static inline bool addr_is_condemned(const struct arena *st, tp_addr addr)
{
    return *chunk_class(chunk_find(&st->chunks, addr), addr) == CHUNK_CONDEMNED;
}

/* Takes the blocks of condemned spans out of a pool. */
static inline void central_purge(struct arena *st, struct arena_central *pool)
{
    for (struct arena_segment *seg = pool->top; seg; seg = seg->next) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < seg->count; i++)
            if (!addr_is_condemned(st, seg->items[i]))
                seg->items[kept++] = seg->items[i];
        pool->count -= seg->count - kept;
        seg->count = kept;
        if (seg->run_left && addr_is_condemned(st, seg->run_next)) {
            pool->count -= seg->run_left;
            seg->run_left = 0;
        }
    }
    struct arena_segment **at = &pool->top;
    for (struct arena_segment *seg = *at; seg; seg = *at) {
        if (seg->count || seg->run_left) {
            at = &seg->next;
            continue;
        }
        *at = seg->next;
        segment_free(st->env, seg);
    }
}

/* Small spans without a live block become free pages, so that memory moves between classes. */
static inline void arena_reclaim(struct arena *st)
{
    arena_collect(st);
    if (st->env->concurrent)
        return; /* blocks of an idle span may be in the cache of a thread that is running */
    for (struct arena_range *r = st->pages.oldest; r; r = r->newer)
        for (struct arena_span *s = r->first; s; s = s->behind) {
            s->condemned = s->state == ARENA_SPAN_SMALL && span_is_idle(st, s);
            if (s->condemned)
                chunks_mark(&st->chunks, NULL, s, st->classes.size[s->class], CHUNK_CONDEMNED);
        }
    for (uint32_t c = 0; c < st->classes.count; c++)
        central_purge(st, &st->central[c]);
    for (struct arena_range *r = st->pages.oldest; r; r = r->newer)
        for (struct arena_span *s = r->first, *next; s; s = next) {
            next = s->behind;
            if (!s->condemned)
                continue;
            chunks_mark(&st->chunks, NULL, s, st->classes.size[s->class], 0);
            s->condemned = false;
            if (next && next->state == ARENA_SPAN_FREE)
                next = next->behind; /* is merged into this one */
            pages_give(&st->pages, s);
        }
}

/* Forgets a range that went back; what threads remember of its chunks as well. */
static inline void arena_forget(struct arena *st, tp_addr base, uint64_t bytes)
{
    for (struct arena_thread *thr = st->threads; thr; thr = thr->older) {
        thr->last_chunk = NULL;
        thr->last_index = 0;
    }
    chunks_forget(&st->chunks, st->env, base, bytes);
}

/* Gives wholly free ranges back, newest first, until at most `keep` bytes are free. */
static inline void arena_give_back(struct arena *st, uint64_t keep)
{
    for (struct arena_range *r = st->pages.newest, *older; r; r = older) {
        older = r->older;
        if (st->pages.free_pages * ARENA_PAGE <= keep)
            return;
        tp_addr base = r->base;
        uint64_t bytes = r->pages * ARENA_PAGE;
        if (range_is_free(r) && !pages_put_range(&st->pages, r))
            arena_forget(st, base, bytes);
    }
}

/* A span of `wanted` pages, or of fewer, but at least `least` (small spans only: no alignment). */
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

/* As above, from wherever memory can be had; reclaiming first if that is what it takes. */
static inline int arena_get_span(struct arena *st, uint64_t wanted, uint64_t least, uint64_t align,
                                 enum arena_span_state state, struct arena_span **out)
{
    int rc = span_from_tree(st, wanted, least, align, state, out);
    if (rc != TP_EOOM)
        return rc;
    rc = pages_grow(&st->pages, wanted * ARENA_PAGE, align, false);
    if (rc == TP_EOOM)
        rc = pages_grow(&st->pages, least * ARENA_PAGE, align, true);
    if (rc == TP_EOOM) {
        arena_reclaim(st);
        rc = span_from_tree(st, wanted, least, align, state, out);
        if (rc != TP_EOOM)
            return rc;
        arena_give_back(st, 0);
        rc = pages_grow(&st->pages, least * ARENA_PAGE, align, true);
    }
    return rc ? rc : span_from_tree(st, wanted, least, align, state, out);
}

/* Carves up to `wanted` blocks of a class; the cache has no run and owns a segment. grow: new
 * memory may be asked for. */
static inline int arena_carve(struct arena *st, struct arena_cache *cache, uint32_t class,
                              uint32_t wanted, bool grow)
{
    uint64_t block = st->classes.size[class];
    uint64_t most = pages_of(wanted * block), least = pages_of(block);
    struct arena_span *s = NULL;
    int rc = grow ? arena_get_span(st, most, least, ARENA_PAGE, ARENA_SPAN_SMALL, &s)
                  : span_from_tree(st, most, least, ARENA_PAGE, ARENA_SPAN_SMALL, &s);
    if (rc)
        return rc;
    uint64_t fit = s->pages * ARENA_PAGE / block;
    s->class = (uint8_t) class;
    s->blocks = (uint32_t)(fit < wanted ? fit : wanted);
    if (chunks_mark(&st->chunks, st->env, s, block, (uint8_t) class)) {
        chunks_mark(&st->chunks, NULL, s, block, 0);
        pages_give(&st->pages, s);
        return TP_ENOMEM;
    }
    cache->run_next = span_addr(s);
    cache->run_left = s->blocks;
    return TP_OK;
}

/* Fills an empty cache: what the pool has, the rest carved; while the pool has some, no memory is
 * asked for. After a failure the cache is empty and nothing is lost. */
static inline int arena_refill(struct arena *st, struct arena_cache *cache, uint32_t class)
{
    struct arena_central *pool = &st->central[class];
    uint32_t wanted = st->classes.refill[class], limit = st->classes.limit[class];
    uint32_t pooled = pool->count < wanted ? (uint32_t)pool->count : wanted;
    int rc = cache_reserve(st->env, cache, pooled ? pooled : 1, limit);
    if (rc)
        return rc;
    if (pooled < wanted)
        rc = arena_carve(st, cache, class, wanted - pooled, pooled == 0);
    if (rc == TP_EOOM && !pooled && pool->count) { /* a reclaim collected some from threads */
        pooled = pool->count < wanted ? (uint32_t)pool->count : wanted;
        int status = cache_reserve(st->env, cache, pooled, limit);
        if (status)
            return status;
    }
    central_take(st->env, pool, cache, pooled, st->classes.size[class]);
    cache_set_bound(cache, limit);
    return cache->count || cache->run_left ? TP_OK : rc;
}

static inline int arena_alloc_large(struct arena *st, const struct tp_req *rq, struct tp_block *out)
{
    if (rq->size > ARENA_MAX_BYTES)
        return TP_EOOM;
    int rc = tp_addr_map_reserve(&st->large, st->large.count + 1);
    if (rc)
        return rc;
    uint64_t pages = pages_of(rq->size);
    struct arena_span *s = NULL;
    rc = arena_get_span(st, pages, pages, rq->align, ARENA_SPAN_LARGE, &s);
    if (rc)
        return rc;
    tp_addr_map_insert(&st->large, span_addr(s), (uintptr_t)s);
    *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
    return TP_OK;
}

#endif
