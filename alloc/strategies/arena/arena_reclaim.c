/* How memory moves between the classes of `arena`: what threads cache goes to the pools, and small
 * spans whose blocks all lie in their pool become free pages.
 *
 * Per class: count the pooled blocks of every span, take the blocks of full ones out of the pool,
 * give those spans to the page heap. Threads that are running keep what they cache, and since only
 * pooled blocks count, a block that is in one's hands keeps its span.
 *
 * A program may fail thousands of times while memory is full, so what cannot have changed is not
 * looked at again: a class in which no block came in since the last look, or with fewer idle blocks
 * than its smallest span has. */
#include "alloc/strategies/arena/arena_core.h"

static void class_unlink(struct arena_central *pool, struct arena_span *s)
{
    *(s->smaller ? &s->smaller->greater : &pool->spans) = s->greater;
    if (s->greater)
        s->greater->smaller = s->smaller;
    s->smaller = s->greater = NULL;
}

/* Everything that threads cache of a class goes to its pool. own: of this thread only, because
 * others are running; NULL: of all. The pool's lock is held. */
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
        cache->ceiling = cache->floor; /* the next free goes the long way and stocks the pool */
    }
    pool->stocked = st->shared; /* nobody keeps it up to date where threads run */
}

/* Lets every chunk know the lowest span of the class in it. */
static void class_index(struct arena *st, struct arena_central *pool)
{
    for (int pass = 0; pass < 2; pass++)
        for (struct arena_span *s = pool->spans; s; s = s->greater) {
            tp_addr at = span_addr(s), end = at + s->pages * ARENA_PAGE;
            s->pooled = 0;
            for (; at < end; at = (at | (ARENA_CHUNK - 1)) + 1) {
                struct arena_chunk *chunk = chunk_find(&st->chunks, at);
                if (!chunk)
                    continue; /* no block begins in it */
                if (pass == 0)
                    chunk->first = NULL;
                else if (!chunk->first || s->page < chunk->first->page)
                    chunk->first = s;
            }
        }
}

/* The span of a block of the class that was indexed last. */
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

/* Counts the pooled blocks of every span of the class; true when some span has all of its own. */
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

/* Takes the blocks of spans that go out of the pool; returns the segments that are empty now. */
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

/* The pool's lock is held. */
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

/* No lock is held. own: see class_collect. */
void tp_arena_reclaim(struct arena *st, struct arena_thread *own)
{
    for (uint32_t c = 0; c < st->classes.count; c++) {
        central_lock(st, c);
        class_collect(st, own, c);
        class_reclaim(st, &st->central[c]);
        central_unlock(st, c);
    }
}
