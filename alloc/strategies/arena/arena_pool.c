/* The central pool of `arena`: pooled blocks are bits of their spans.
 *
 *     drain    the oldest blocks of a cache -> bits      a span with all its bits is idle
 *     refill   bits of the pool's first span -> cache    lowest address on top
 *     carve    free pages -> a span with all its bits
 *
 * A class keeps one idle span, so that a program that frees and allocates around a limit moves bits
 * and no pages; with several threads it keeps as many as a span may be long, because others give
 * back many blocks at once. Further ones become free pages at once, and every one does when memory
 * is wanted elsewhere: before a range is got, at a trim and before an answer of out of memory. */
#include "alloc/strategies/arena/arena_core.h"

enum { KEPT_IDLE = 1, WORD_BYTES = (1u << CHUNK_SHIFT) / CHUNK_WORDS };

/* Bytes from one word with a block's first bit to the next one. */
static uint64_t word_step(uint64_t block)
{
    return block > WORD_BYTES ? block : WORD_BYTES;
}

/* The word of the live bit of an address in a span, and the chunk that it was last found in. */
static uint64_t *word_at(const struct arena *st, struct arena_chunk **chunk, tp_addr at)
{
    if (!*chunk || (*chunk)->index != at >> CHUNK_SHIFT)
        *chunk = chunk_find(&st->chunks, at);
    return live_word(&st->chunks, *chunk, granule_of(at));
}

/* ---- spans of a class: the caller owns the pool, or holds its lock ---- */

/* Every so many bits of a word, from the lowest. */
static uint64_t bits_every(uint64_t step)
{
    uint64_t bits = 1;
    for (; step < 64; step *= 2)
        bits |= bits << step;
    return bits;
}

/* Sets the bits of all blocks of a span, word by word, or clears them. */
static void span_fill_bits(const struct arena *st, const struct arena_span *s, bool set)
{
    uint64_t block = st->classes.size[s->size_class], granules = block / ARENA_STEP, bit = 0;
    uint64_t every = set ? bits_every(granules) : 0, over = 64 % granules;
    struct arena_chunk *chunk = NULL;
    tp_addr at = span_addr(s), end = at + s->blocks * block;
    for (uint64_t step = word_step(block); at < end; at += step) {
        uint64_t bits = set ? chunk_bit(at) : 0, ends = (end - at) / ARENA_STEP;
        if (block <= WORD_BYTES) {
            bits = every << bit;
            if (UNLIKELY(ends < 64))
                bits &= (UINT64_C(1) << ends) - 1;
            /* of the first block of the next word */
            bit = bit < over ? bit + granules - over : bit - over;
        }
        *word_pooled(&st->chunks, word_at(st, &chunk, at)) = bits;
    }
}

/* Turns an idle span into free pages. */
static void span_release(struct arena *st, struct arena_central *pool, struct arena_span *s)
{
    span_fill_bits(st, s, false);
    if (st->owners)
        tp_arena_chunks_tag(&st->chunks, s, st->classes.size[s->size_class], 0);
    pool_unlink(pool, s);
    pool->count -= s->blocks;
    pool->pages -= s->pages;
    pool->idle--;
    tp_lock_take(&st->heap);
    arena_give(st, s);
    tp_lock_drop(&st->heap);
}

void tp_arena_release_idle(struct arena *st, struct arena_central *pool, uint64_t keep)
{
    for (struct arena_span *s = pool->first, *next; s && pool->idle > keep; s = next) {
        next = s->next;
        if (s->pooled == s->blocks)
            span_release(st, pool, s);
    }
}

void tp_arena_span_is_idle(struct arena *st, struct arena_central *pool, struct arena_span *s)
{
    uint64_t keep = st->owners && s->pages < CARVE_PAGES ? CARVE_PAGES / s->pages : KEPT_IDLE;
    if (++pool->idle > keep)
        span_release(st, pool, s);
}

/* Moves blocks that are in no list to the pool. */
static void pool_put(struct arena *st, struct arena_central *pool, const struct arena_item *items,
                     uint32_t count)
{
    pool->count += count;
    for (const struct arena_item *item = items; item < items + count; item++) {
        uint64_t granule = granule_of(item->addr), *word = item->word;
        if (UNLIKELY(!word))
            word = live_word(&st->chunks, chunk_find(&st->chunks, item->addr), granule);
        struct arena_span *s = word_span(&st->chunks, word, granule);
        uint64_t *pooled = word_pooled(&st->chunks, word);
        assert(!(*pooled & granule_bit(granule)));
        *pooled |= granule_bit(granule);
        s->low = item->addr < s->low ? item->addr : s->low;
        if (UNLIKELY(!s->pooled))
            pool_link(pool, s);
        if (UNLIKELY(++s->pooled == s->blocks))
            tp_arena_span_is_idle(st, pool, s);
    }
}

/* Moves pooled blocks of a span, `most` at most, to the items below `at`, the lowest address last.
 * Returns how many. */
static uint32_t span_take(struct arena *st, struct arena_span *s, struct arena_item *at,
                          uint32_t most)
{
    uint64_t step = word_step(st->classes.size[s->size_class]);
    uint32_t left = most < s->pooled ? most : s->pooled, taken = left;
    uintptr_t kept = st->checked ? UINTPTR_MAX : 0; /* bits of an item's pointer */
    tp_addr addr = step == WORD_BYTES ? s->low & ~(tp_addr)(WORD_BYTES - 1) : s->low;
    struct arena_chunk *chunk = NULL;
    for (;; addr += step) {
        uint64_t *word = word_at(st, &chunk, addr);
        uint64_t *pooled = word_pooled(&st->chunks, word), bits = *pooled;
        tp_addr base = addr & ~(tp_addr)(WORD_BYTES - 1);
        if (!bits)
            continue;
        for (; bits && left; left--, bits &= bits - 1) {
            (--at)->addr = base + (uint64_t)__builtin_ctzll(bits) * ARENA_STEP;
            at->word = (uint64_t *)((uintptr_t)word & kept);
        }
        *pooled = bits;
        if (!left)
            break;
    }
    s->pooled -= taken;
    s->low = s->pooled ? addr : UINT64_MAX;
    return taken;
}

/* Moves `count` blocks, which the pool must have, to an empty cache with room for them. */
static void pool_take(struct arena *st, struct arena_central *pool, struct arena_cache *cache,
                      uint32_t count)
{
    struct arena_item *at = cache->top = cache->floor + count;
    pool->count -= count;
    while (count) {
        struct arena_span *s = pool->first;
        pool->idle -= s->pooled == s->blocks;
        uint32_t taken = span_take(st, s, at, count);
        if (!s->pooled)
            pool_unlink(pool, s);
        at -= taken;
        count -= taken;
    }
}

/* Bytes at the end of a span of `pages` pages that are no block. */
static uint64_t tail_of(uint64_t pages, uint64_t block)
{
    return pages * ARENA_PAGE % block;
}

/* Pages of the next span of a class: a share of what the class holds, so that a class that needs
 * little gets little. Of the next few lengths that one is taken whose last page is used best. */
static uint64_t carve_pages(const struct arena_central *pool, uint64_t block)
{
    uint64_t held = pool->pages;
    uint64_t least = pages_of(block), most = CARVE_PAGES;
    uint64_t pages = held / CARVE_SHARE < most ? held / CARVE_SHARE : most;
    uint64_t best = pages > least ? pages : least, end = best + held / 2;
    end = end < 2 * most ? end : 2 * most;
    for (uint64_t more = best + 1; more <= end; more++)
        if (tail_of(more, block) * best < tail_of(best, block) * more) /* a smaller share */
            best = more;
    return best;
}

/* Takes pages for a span of a class and gives those back in which no block would lie. */
static int carve_span(struct arena *st, struct arena_thread *thr, uint32_t size_class, bool again,
                      struct arena_span **out)
{
    uint64_t block = st->classes.size[size_class];
    uint64_t wanted = carve_pages(pool_of(st, thr, size_class), block);
    int rc = tp_arena_get_span(st, kept_of(st, thr), wanted, pages_of(block), ARENA_PAGE,
                               ARENA_SPAN_SMALL, again, out);
    if (rc)
        return rc;
    struct arena_span *s = *out;
    s->blocks = (uint32_t)(s->pages * ARENA_PAGE / block);
    if (pages_of(s->blocks * block) < s->pages)
        rc = tp_arena_pages_shrink(&st->pages, s, pages_of(s->blocks * block));
    s->size_class = (uint8_t)size_class;
    s->pooled = s->blocks;
    s->low = span_addr(s);
    if (!rc)
        rc = tp_arena_chunks_mark(&st->chunks, s, block,
                                  st->owners ? tag_of(thr->owner, size_class) : 0);
    if (rc)
        pages_give(&st->pages, s);
    return rc;
}

/* Carves a span for a class whose pool is empty. */
static int pool_carve(struct arena *st, struct arena_thread *thr, uint32_t size_class, bool again)
{
    struct arena_central *pool = pool_of(st, thr, size_class);
    struct arena_span *s = NULL;
    tp_lock_take(&st->heap);
    int rc = carve_span(st, thr, size_class, again, &s);
    tp_lock_drop(&st->heap);
    if (rc)
        return rc;
    span_fill_bits(st, s, true);
    pool_link(pool, s);
    pool->count += s->blocks;
    pool->pages += s->pages;
    pool->idle++;
    return TP_OK;
}

/* ---- caches ---- */

/* What it gave to the pool it could have kept. */
static void cache_may_hold_more(const struct arena *st, struct arena_thread *thr,
                                uint32_t size_class)
{
    thr->drained[size_class] = false;
    if (classes_may_hold(&st->classes, size_class, UINT64_C(2) * thr->limit[size_class]))
        thr->limit[size_class] *= 2;
}

static void note_stocked(struct arena *st, struct arena_thread *thr)
{
    if (!st->owners && !thr->stocked)
        thread_link(st, thr);
}

int tp_arena_refill(struct arena *st, struct arena_thread *thr, uint32_t size_class, bool again)
{
    struct arena_central *pool = pool_of(st, thr, size_class);
    struct arena_cache *cache = &thr->caches[size_class];
    uint32_t full = st->classes.refill[size_class],
             step = thr->step[size_class] ? thr->step[size_class] : 1;
    int rc = TP_OK;
    assert(cache->top == cache->floor);
    if (!pool->count && st->owners)
        tp_arena_gather(st, thr, size_class);
    if (!pool->count)
        rc = pool_carve(st, thr, size_class, again);
    if (!rc) { /* a carve may have emptied all caches */
        note_stocked(st, thr);
        if (thr->drained[size_class])
            cache_may_hold_more(st, thr, size_class);
        uint32_t limit = thr->limit[size_class];
        uint32_t count = pool->count < step ? (uint32_t)pool->count : step;
        cache_slide(cache);
        if (cache_reserve(&st->mem, cache, count, limit))
            count = cache_room(cache) < count ? cache_room(cache) : count;
        rc = count ? TP_OK : TP_ENOMEM;
        pool_take(st, pool, cache, count);
        cache_set_ceiling(cache, limit);
        thr->step[size_class] = step < full / 2 ? step * 2 : full;
    }
    return rc;
}

/* Moves the oldest `count` blocks of a cache to the pool. */
static void cache_drain(struct arena *st, struct arena_central *pool, struct arena_cache *cache,
                        uint32_t count)
{
    pool_put(st, pool, cache->floor, count);
    cache_drop_oldest(cache, count);
}

void tp_arena_make_room(struct arena *st, struct arena_thread *thr, uint32_t size_class)
{
    struct arena_central *pool = pool_of(st, thr, size_class);
    struct arena_cache *cache = &thr->caches[size_class];
    uint32_t limit = thr->limit[size_class], held = cache_count(cache);
    uint32_t drain = st->classes.drain[size_class] < held ? st->classes.drain[size_class] : held;
    note_stocked(st, thr);
    if (held >= limit) {
        cache_drain(st, pool, cache, drain);
        thr->drained[size_class] = true;
    }
    if (!cache_open(&st->mem, cache, limit)) {
        cache_drain(st, pool, cache, drain);
        cache_slide(cache);
    }
    cache_set_ceiling(cache, limit);
}

void tp_arena_put(struct arena *st, struct arena_thread *thr, uint32_t size_class, tp_addr addr)
{
    const struct arena_item item = {.addr = addr};
    pool_put(st, pool_of(st, thr, size_class), &item, 1);
}

void tp_arena_empty(struct arena *st, struct arena_thread *thr, uint32_t size_class)
{
    struct arena_cache *cache = &thr->caches[size_class];
    pool_put(st, pool_of(st, thr, size_class), cache->floor, cache_count(cache));
    array_free(&st->mem, cache_array(cache));
    *cache = (struct arena_cache){.block = cache->block};
    thr->step[size_class] = 0;
    thr->limit[size_class] = st->classes.limit[size_class];
    thr->drained[size_class] = false;
}

/* ---- idle memory becomes free pages ---- */

/* A program may fail thousands of times while memory is full, so only threads are visited that may
 * have blocks again: without an array the next free takes the slow path, which notes the thread. */
static void empty_all(struct arena *st)
{
    for (struct arena_thread *thr; (thr = st->threads) != NULL; thread_unlink(st, thr))
        for (uint32_t c = 0; c < st->classes.count; c++)
            tp_arena_empty(st, thr, c);
}

void tp_arena_reclaim(struct arena *st, struct arena_thread *own)
{
    if (st->owners) {
        tp_arena_reclaim_owned(st, own);
        return;
    }
    empty_all(st);
    for (uint32_t c = 0; c < st->classes.count; c++)
        tp_arena_release_idle(st, &st->central[c], 0);
    tp_arena_kept_release(st, &st->kept, st->kept.count);
}
