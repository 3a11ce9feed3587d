/* Turning idle blocks of `arena` back into free pages, so that memory can move between classes:
 * cached blocks go to the pools, and small spans whose blocks all lie in their pool become free
 * pages.
 *
 * Steps per class: count the pooled blocks of every span, take the blocks of complete spans out of
 * the pool, and give those spans to the page heap. Running threads keep their caches; because only
 * pooled blocks count, a block in such a cache keeps its span.
 *
 * A program may fail thousands of times while memory is full, so a class is skipped if it cannot
 * have changed: if no block was added to its pool since the last reclaim, or if it has fewer idle
 * blocks than its smallest span. */
#include "alloc/strategies/arena/arena_core.h"

static void class_unlink(struct arena_central *pool, struct arena_span *s)
{
    *(s->smaller ? &s->smaller->greater : &pool->spans) = s->greater;
    if (s->greater)
        s->greater->smaller = s->smaller;
    s->smaller = s->greater = NULL;
}

/* Moves the cached blocks of a class to its pool. own: only those of this thread, because others
 * are running; NULL: those of all threads. The pool's lock is held. */
static void class_collect(struct arena *st, struct arena_thread *own, uint32_t class)
{
    struct arena_central *pool = &st->central[class];
    if (own) {
        central_adopt(pool, &own->caches[class], &own->runs[class]);
        return;
    }
    if (!pool->stocked)
        return;
    for (struct arena_thread *thr = st->threads; thr; thr = thr->older) {
        struct arena_cache *cache = &thr->caches[class];
        central_adopt(pool, cache, &thr->runs[class]);
        /* the next free takes the slow path, which sets pool->stocked */
        cache->ceiling = cache->floor;
    }
    pool->stocked = st->shared; /* with threads the flag is not kept up to date, so it stays true */
}

/* Sets chunk->first of every chunk to the lowest span of the class in it. */
static void class_index(struct arena *st, struct arena_central *pool)
{
    for (int pass = 0; pass < 2; pass++)
        for (struct arena_span *s = pool->spans; s; s = s->greater) {
            tp_addr at = span_addr(s), end = at + s->pages * ARENA_PAGE;
            s->pooled = 0;
            for (; at < end; at = (at | (ARENA_CHUNK - 1)) + 1) {
                struct arena_chunk *chunk = chunk_find(&st->chunks, at);
                if (!chunk)
                    continue; /* no block begins in this chunk */
                if (pass == 0)
                    chunk->first = NULL;
                else if (!chunk->first || s->page < chunk->first->page)
                    chunk->first = s;
            }
        }
}

/* The span of a block; the block's class must be the one that class_index was called for last. */
static struct arena_span *class_span(const struct arena *st, tp_addr addr)
{
    struct arena_span *s = chunk_find(&st->chunks, addr)->first;
    while (addr - s->range->base >= (s->page + s->pages) * ARENA_PAGE)
        s = s->behind;
    return s;
}

static bool span_is_pooled(const struct arena_span *s)
{
    return s->pooled == s->blocks;
}

/* Counts the pooled blocks of every span of the class. True: all blocks of at least one span are
 * pooled. */
static bool class_count(struct arena *st, struct arena_central *pool)
{
    bool found = false;
    class_index(st, pool);
    for (const struct arena_segment *seg = pool->top; seg; seg = seg->next) {
        for (uint32_t i = 0; i < seg->count; i++) {
            struct arena_span *s = class_span(st, seg->items[i]);
            s->pooled++;
            found = found || span_is_pooled(s);
        }
        if (seg->run.left) {
            struct arena_span *s = class_span(st, seg->run.next);
            s->pooled += seg->run.left;
            found = found || span_is_pooled(s);
        }
    }
    return found;
}

/* Takes the blocks of complete spans out of the pool. Returns the segments that became empty. */
static struct arena_segment *class_purge(struct arena *st, struct arena_central *pool)
{
    struct arena_segment *empty = NULL, **at = &pool->top;
    for (struct arena_segment *seg = *at; seg; seg = *at) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < seg->count; i++)
            if (!span_is_pooled(class_span(st, seg->items[i])))
                seg->items[kept++] = seg->items[i];
        pool->count -= seg->count - kept;
        seg->count = kept;
        if (seg->run.left && span_is_pooled(class_span(st, seg->run.next))) {
            pool->count -= seg->run.left;
            seg->run.left = 0;
        }
        if (seg->count || seg->run.left) {
            at = &seg->next;
            continue;
        }
        *at = seg->next;
        seg->next = empty;
        empty = seg;
    }
    return empty;
}

static void class_give_spans(struct arena *st, struct arena_central *pool)
{
    for (struct arena_span *s = pool->spans, *next; s; s = next) {
        next = s->greater;
        if (!span_is_pooled(s))
            continue;
        class_unlink(pool, s);
        pages_give(&st->pages, s);
    }
}

/* Reclaims the spans of one class. The pool's lock is held. */
static void class_reclaim(struct arena *st, struct arena_central *pool)
{
    struct arena_segment *empty = NULL;
    if (!pool->news || pool->count < pool->least)
        return;
    pool->news = false;
    tp_lock_take(&st->heap);
    if (class_count(st, pool)) {
        empty = class_purge(st, pool);
        class_give_spans(st, pool);
    }
    tp_lock_drop(&st->heap);
    for (struct arena_segment *next; empty; empty = next) {
        next = empty->next;
        segment_free(&st->mem, empty);
    }
}

void tp_arena_reclaim(struct arena *st, struct arena_thread *own)
{
    for (uint32_t c = 0; c < st->classes.count; c++) {
        central_lock(st, c);
        class_collect(st, own, c);
        class_reclaim(st, &st->central[c]);
        central_unlock(st, c);
    }
}
