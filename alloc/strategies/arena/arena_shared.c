/* What the members of `arena` do where several OS threads replay; see arena_owner.h. */
#include "alloc/strategies/arena/arena_core.h"

/* ---- small blocks ---- */

int tp_arena_alloc_shared(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                          struct tp_block *out)
{
    uint64_t least = rq->size - 1, align = rq->align;
    if (UNLIKELY(least >= st->classes.direct || align - 1 >= st->alignment || align & (align - 1)))
        return tp_arena_alloc_slow(st, thr, rq, out);
    struct arena_cache *cache = &thr->caches[st->classes.of[least / ARENA_STEP]];
    if (UNLIKELY(cache->top == cache->floor))
        return tp_arena_alloc_slow(st, thr, rq, out);
    const struct arena_item *item = --cache->top;
    *out = (struct tp_block){item->addr, cache->block};
    if (LIKELY(item->word != NULL))
        word_set_live(item->word, item->addr);
    return TP_OK;
}

/* Frees a block of another owner. */
OUT_OF_LINE int free_others(struct arena *st, struct arena_thread *thr, struct arena_chunk *chunk,
                            uint64_t granule, uint32_t size_class)
{
    const struct arena_page *page = chunk_page(chunk, granule);
    uint64_t tag = page_tag(page);
    if (!tag || tag_class(tag) != size_class || (st->checked && !page_lives(page, granule)))
        return TP_EINVAL;
    return tp_arena_free_remote(st, thr, chunk, granule, tag);
}

/* Frees a block of the calling thread to its cache or its pool. */
INLINE int free_own(struct arena *st, struct arena_thread *thr, tp_addr addr, uint32_t size_class,
                    struct arena_page *page, uint64_t granule)
{
    struct arena_cache *cache = &thr->caches[size_class];
    uint64_t *word = NULL;
    if (LIKELY(st->checked)) {
        if (UNLIKELY(!page_lives(page, granule)))
            return TP_EINVAL;
        word = &page->live[granule_word(granule)];
    }
    if (UNLIKELY(cache->top >= cache->ceiling)) /* keeps the page, where a block lives */
        tp_arena_make_room(st, thr, size_class);
    if (LIKELY(word != NULL))
        word_clear_live(word, addr);
    if (LIKELY(cache->top < cache->ceiling))
        *cache->top++ = (struct arena_item){addr, word};
    else
        tp_arena_put(st, thr, size_class, addr);
    return TP_OK;
}

int tp_arena_free_shared(struct arena *st, struct arena_thread *thr, tp_addr addr,
                         const struct tp_req *rq)
{
    uint64_t least = rq->size - 1;
    if (UNLIKELY(least >= st->classes.direct || rq->align - 1 >= st->alignment))
        return tp_arena_free_slow(st, thr, addr, rq);
    return tp_arena_free_small_shared(st, thr, addr, st->classes.of[least / ARENA_STEP]);
}

int tp_arena_free_small_shared(struct arena *st, struct arena_thread *thr, tp_addr addr,
                               uint32_t size_class)
{
    struct arena_chunk *chunk = chunk_at(&st->chunks, addr);
    uint64_t granule = granule_of(addr);
    if (UNLIKELY(!chunk))
        return TP_EINVAL;
    struct arena_page *page = chunk_page(chunk, granule);
    if (UNLIKELY(page_tag(page) != tag_of(thr->owner, size_class)))
        return free_others(st, thr, chunk, granule, size_class);
    return free_own(st, thr, addr, size_class, page, granule);
}

/* ---- large objects ---- */

/* The length of a large object in pages stands where its first page would have bits of pooled
 * blocks, because a wrong free may look at it while another thread frees the object and its span
 * changes. */
static uint64_t *large_pages(struct arena_page *page)
{
    return &page->pooled[0];
}

/* The first page of a live large object that begins here, or NULL. */
static struct arena_page *large_at(const struct arena *st, tp_addr addr)
{
    struct arena_page *page = page_at(&st->chunks, addr);
    bool large = page && tag_class(page_tag(page)) == ARENA_LARGE;
    return large && (!st->checked || page_lives(page, granule_of(addr))) ? page : NULL;
}

struct arena_span *tp_arena_large_shared_find(const struct arena *st, tp_addr addr)
{
    const struct arena_page *page = large_at(st, addr);
    return page ? page->span : NULL;
}

void tp_arena_large_shared_note(const struct arena *st, const struct arena_span *s)
{
    __atomic_store_n(large_pages(page_at(&st->chunks, span_addr(s))), s->pages, __ATOMIC_RELAXED);
}

/* Takes pages for a large object, which has yet to begin. The heap lock is held. */
static int large_carve(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                       bool again, struct arena_span **out)
{
    uint64_t pages = pages_of(rq->size);
    struct arena_kept *kept = &thr->owner->kept;
    tp_arena_kept_release(st, kept, kept->count);
    int rc = tp_arena_get_span(st, kept, pages, pages, rq->align, ARENA_SPAN_LARGE, again, out);
    if (rc)
        return rc;
    (*out)->size_class = ARENA_LARGE;
    (*out)->blocks = 1;
    rc = tp_arena_chunks_mark(&st->chunks, *out, pages * ARENA_PAGE,
                              tag_of(thr->owner, ARENA_ENDED));
    if (rc)
        pages_give(&st->pages, *out);
    else
        tp_arena_large_shared_note(st, *out);
    return rc;
}

int tp_arena_large_shared(struct arena *st, struct arena_thread *thr, const struct tp_req *rq,
                          bool again, struct tp_block *out)
{
    uint64_t pages = pages_of(rq->size);
    struct arena_span *s = rq->align <= ARENA_PAGE ? kept_take(&thr->owner->kept, pages) : NULL;
    if (!s) {
        tp_lock_take(&st->heap);
        int rc = large_carve(st, thr, rq, again, &s);
        tp_lock_drop(&st->heap);
        if (rc)
            return rc;
    }
    *out = (struct tp_block){span_addr(s), pages * ARENA_PAGE};
    struct arena_page *page = page_at(&st->chunks, out->addr);
    __atomic_store_n(&page->tag, tag_of(thr->owner, ARENA_LARGE), __ATOMIC_RELEASE);
    if (st->checked) /* an object of whole pages begins with the first bit of one */
        word_set_live(page->live, out->addr);
    return TP_OK;
}

/* Keeps a span that was a large object, or frees it. kept: where the thread that freed it keeps its
 * own; NULL: it was another's. */
static void large_put(struct arena *st, struct arena_span *s, struct arena_kept *kept)
{
    bool keeps = kept && s->pages <= KEPT_PAGES;
    if (!keeps || kept->count == KEPT_SPANS) {
        tp_lock_take(&st->heap);
        if (keeps)
            tp_arena_kept_release(st, kept, 1);
        else {
            tp_arena_chunks_tag(&st->chunks, s, ARENA_PAGE, 0);
            arena_give(st, s);
        }
        tp_lock_drop(&st->heap);
    }
    if (keeps)
        kept_add(kept, s);
}

/* Ends the life of a large object by its tag, so that who comes late finds another one there,
 * whatever the page holds by then. False: another came first. */
static bool large_end(struct arena_page *page, uint64_t tag)
{
    uint64_t ended = tag_of(tag_owner(tag), ARENA_ENDED);
    if (!__atomic_compare_exchange_n(&page->tag, &tag, ended, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return false;
    __atomic_store_n(&page->live[0], 0, __ATOMIC_RELAXED);
    return true;
}

int tp_arena_free_large_shared(struct arena *st, struct arena_thread *thr, tp_addr addr,
                               uint64_t size)
{
    struct arena_page *page = large_at(st, addr);
    if (!page || __atomic_load_n(large_pages(page), __ATOMIC_RELAXED) != pages_of(size))
        return TP_EINVAL;
    uint64_t tag = page_tag(page);
    if (tag_class(tag) != ARENA_LARGE || !large_end(page, tag))
        return TP_EINVAL;
    large_put(st, page->span, tag_owner(tag) == thr->owner ? &thr->owner->kept : NULL);
    return TP_OK;
}
