/* The page heap of `arena`: source ranges cut into spans of 2 KiB pages.
 *
 *     range   | small | large | free | small |     free: the uncarved tail     |
 *     pages   0       16      57     61      77
 *             <-before/behind-> links; neighbours that are both free are merged at once
 *
 * Best fit with splitting and coalescing. The lower end of a free span is used first, so that the
 * tail of a range stays in one piece and `high` says how much was ever in use. The first range is
 * small and each further one a share of what is held, so that a program of 300 KiB does not seem to
 * need 64 MiB and one of 300 MiB does not get a range for every object. A request larger than the
 * next range gets a range of its own size. Descriptors lie
 * outside the memory and come from slabs. Where the best few spans cannot meet an alignment above a
 * page, arena_aligned.h finds one that can.
 *
 * Every function here requires the heap lock, which also protects the source and the calls to
 * tp_meta_get. */
#ifndef TP_ARENA_PAGES_H
#define TP_ARENA_PAGES_H

#include "alloc/strategies/arena/arena_aligned.h"

#define ARENA_CHUNK        UINT64_C(65536) /* alignment of ranges, bytes */
#define ARENA_UNIT         UINT64_C(16384) /* of the length of ranges, bytes */
#define ARENA_MAX_BYTES    (UINT64_C(1) << 60)
#define ARENA_SLAB_SPANS   30u
#define ARENA_ALIGN_TRIES  8u    /* spans */
#define ARENA_DECAY        8192u /* spans given back while a range was idle: it goes to the source */
#define ARENA_DECAY_STEP   512u  /* spans given back between two looks for such ranges */
#define ARENA_GROWTH_SHARE 32u   /* of the pages held, for the next range */
#define ARENA_GRANULES     16u   /* of the source, for a range: 64 KiB of 4 KiB, 32 MiB of 2 MiB */

struct arena_slab {
    struct arena_slab *next;
    struct arena_span spans[ARENA_SLAB_SPANS];
};

struct arena_pages {
    const struct tp_env *env;
    struct arena_range *oldest, *newest;
    uint64_t range_count, max_ranges; /* max 0 = no limit */
    uint64_t sequence;                /* sequence number of the last range */
    uint64_t pages;                   /* of all ranges */
    uint64_t next_range, range_cap;   /* bytes; next_range: at least */
    uint64_t granule;                 /* bytes in which the source gives up memory */
    struct arena_tree free;
    struct arena_aligned *aligned; /* NULL until a search among the best few fails */
    uint64_t free_pages;
    uint64_t taken;            /* pages that were ever taken */
    uint64_t given;            /* spans that were ever given back: the clock of the decay */
    uint64_t next_look;        /* value of `given` for the next look for ranges that decayed */
    uint64_t idle_ranges;      /* ranges that are wholly free */
    struct carved carved;      /* pages */
    struct arena_span *spares; /* linked by `greater` */
    uint32_t spare_count;
    struct arena_slab *slabs;
};

static inline tp_addr span_addr(const struct arena_span *s)
{
    return s->range->base + s->page * ARENA_PAGE;
}

static inline uint64_t pages_of(uint64_t bytes)
{
    uint64_t pages = bytes / ARENA_PAGE;
    pages += bytes % ARENA_PAGE != 0;
    return pages;
}

static inline bool pages_have_spans(const struct arena_pages *h)
{
    return h->spare_count >= 2;
}

/* Makes sure that the next two calls of span_new succeed. TP_ENOMEM. */
static inline int pages_reserve_spans(struct arena_pages *h)
{
    if (pages_have_spans(h))
        return TP_OK;
    struct arena_slab *slab = tp_meta_get(h->env, sizeof *slab);
    if (!slab)
        return TP_ENOMEM;
    slab->next = h->slabs;
    h->slabs = slab;
    for (uint32_t i = 0; i < ARENA_SLAB_SPANS; i++) {
        slab->spans[i].next = h->spares;
        h->spares = &slab->spans[i];
    }
    h->spare_count += ARENA_SLAB_SPANS;
    return TP_OK;
}

static inline struct arena_span *span_new(struct arena_pages *h)
{
    struct arena_span *s = h->spares;
    assert(s && h->spare_count);
    h->spares = s->next;
    h->spare_count--;
    *s = (struct arena_span){0};
    return s;
}

static inline void span_drop(struct arena_pages *h, struct arena_span *s)
{
    s->next = h->spares;
    h->spares = s;
    h->spare_count++;
}

static inline void pages_drop_aligned(struct arena_pages *h)
{
    if (h->aligned)
        tp_arena_aligned_fini(h->aligned);
    h->aligned = NULL;
}

static inline void span_set_free(struct arena_pages *h, struct arena_span *s)
{
    s->state = ARENA_SPAN_FREE;
    h->free_pages += s->pages;
    if (s->pages == s->range->pages) {
        h->idle_ranges++;
        s->range->idle_since = h->given;
    }
    tree_insert(&h->free, s);
    if (__builtin_expect(h->aligned != NULL, 0) && !tp_arena_aligned_add(h->aligned, s))
        pages_drop_aligned(h);
}

/* Counts a span as used after it was taken out of the tree. */
static inline void span_count_used(struct arena_pages *h, struct arena_span *s)
{
    h->free_pages -= s->pages;
    h->idle_ranges -= s->pages == s->range->pages;
    if (__builtin_expect(h->aligned != NULL, 0))
        tp_arena_aligned_remove(h->aligned, s);
}

static inline void span_set_used(struct arena_pages *h, struct arena_span *s)
{
    tree_remove(&h->free, s);
    span_count_used(h, s);
}

/* Cuts a span after its first `pages` pages and returns the rest, which is in no list. Needs a
 * spare descriptor. */
static inline struct arena_span *span_split(struct arena_pages *h, struct arena_span *s,
                                            uint64_t pages)
{
    assert(pages && pages < s->pages);
    struct arena_span *rest = span_new(h);
    rest->range = s->range;
    rest->page = s->page + pages;
    rest->pages = s->pages - pages;
    rest->before = s;
    rest->behind = s->behind;
    if (s->behind)
        s->behind->before = rest;
    s->behind = rest;
    s->pages = pages;
    return rest;
}

/* Joins a span and the span behind it. Neither may be in the tree. */
static inline void span_join(struct arena_pages *h, struct arena_span *s)
{
    struct arena_span *gone = s->behind;
    s->pages += gone->pages;
    s->behind = gone->behind;
    if (s->behind)
        s->behind->before = s;
    span_drop(h, gone);
}

static inline void pages_note_carved(struct arena_pages *h, const struct arena_span *s)
{
    struct arena_range *r = s->range;
    if (s->page + s->pages <= r->high)
        return;
    carved_add(&h->carved, s->page + s->pages - r->high);
    r->high = s->page + s->pages;
}

/* Frees a span and merges it with free neighbours. Cannot fail. */
static inline void pages_give(struct arena_pages *h, struct arena_span *s)
{
    h->given++;
    if (s->behind && s->behind->state == ARENA_SPAN_FREE) {
        span_set_used(h, s->behind);
        span_join(h, s);
    }
    if (s->before && s->before->state == ARENA_SPAN_FREE) {
        s = s->before;
        span_set_used(h, s);
        span_join(h, s);
    }
    span_set_free(h, s);
}

/* The first span from `s` on with an aligned place. After `most` failed tries it returns the next
 * span untested, or NULL at the end. */
static inline struct arena_span *pages_search(struct arena_span *s, uint64_t pages, uint64_t align,
                                              uint64_t most)
{
    while (s && most-- && span_skip(s, pages, align) == UINT64_MAX)
        s = tree_next(s);
    return s;
}

/* The first free span with an aligned place; no span before `s` has one. Where memory for the trees
 * is exhausted, the spans are tried one by one. */
struct arena_span *tp_arena_pages_search_all(struct arena_pages *h, struct arena_span *s,
                                             uint64_t pages, uint64_t align);

/* The best fit, or NULL. When the first few spans that are long enough have no aligned place, a
 * span is taken that is so long that it must have one; all spans are searched only where there is
 * none. */
static inline struct arena_span *pages_find(struct arena_pages *h, uint64_t pages, uint64_t align)
{
    struct arena_span *s =
        pages_search(tree_first(&h->free, pages), pages, align, ARENA_ALIGN_TRIES);
    if (!s || span_skip(s, pages, align) != UINT64_MAX)
        return s;
    struct arena_span *sure = tree_first(&h->free, pages + align / ARENA_PAGE - 1);
    sure = pages_search(sure, pages, align, ARENA_ALIGN_TRIES);
    if (sure && span_skip(sure, pages, align) != UINT64_MAX)
        return sure;
    return tp_arena_pages_search_all(h, s, pages, align);
}

/* Takes the best fit out of the tree after making sure that there are descriptors for the rest of
 * it. In the common case there are some and any place will do, and one descent of the tree is
 * enough. TP_EOOM: nothing fits. TP_ENOMEM. */
static inline int pages_take_out(struct arena_pages *h, uint64_t pages, uint64_t align,
                                 struct arena_span **out)
{
    struct arena_span *s;
    if (__builtin_expect(align <= ARENA_PAGE && pages_have_spans(h), 1)) {
        s = *out = tree_first(&h->free, pages);
        if (s)
            span_set_used(h, s);
        return s ? TP_OK : TP_EOOM;
    }
    s = *out = pages_find(h, pages, align);
    if (!s)
        return TP_EOOM;
    if (pages_reserve_spans(h))
        return TP_ENOMEM;
    span_set_used(h, s);
    return TP_OK;
}

/* Takes `pages` pages from the best fit. TP_EOOM: nothing fits. TP_ENOMEM. */
static inline int pages_take(struct arena_pages *h, uint64_t pages, uint64_t align,
                             enum arena_span_state state, struct arena_span **out)
{
    struct arena_span *s;
    int rc = pages_take_out(h, pages, align, &s);
    if (rc)
        return rc;
    uint64_t skip = span_skip(s, pages, align);
    if (skip) {
        struct arena_span *head = s;
        s = span_split(h, head, skip);
        span_set_free(h, head);
    }
    if (s->pages > pages)
        span_set_free(h, span_split(h, s, pages));
    s->state = (uint8_t)state;
    h->taken += pages;
    pages_note_carved(h, s);
    *out = s;
    return TP_OK;
}

/* Gets one more range with a free span of at least `bytes`. exact: no larger than needed. */
int tp_arena_pages_grow(struct arena_pages *h, uint64_t bytes, uint64_t align, bool exact);

/* Gets one more range of the usual size. Where the source refuses it and the number of ranges is
 * limited, half that size is tried, and so on, because even a range of the needed size counts as
 * one. */
int tp_arena_pages_grow_most(struct arena_pages *h, uint64_t bytes, uint64_t align);

static inline bool range_is_free(const struct arena_range *r)
{
    return r->first->state == ARENA_SPAN_FREE && !r->first->behind;
}

/* Gives a wholly free range back. On a refusal nothing changes. */
int tp_arena_pages_put_range(struct arena_pages *h, struct arena_range *r);

/* Makes a large span shorter in place and frees the rest. */
int tp_arena_pages_shrink(struct arena_pages *h, struct arena_span *s, uint64_t pages);

/* Makes a large span longer in place, if enough is free behind it. */
int tp_arena_pages_extend(struct arena_pages *h, struct arena_span *s, uint64_t pages);

void tp_arena_pages_init(struct arena_pages *h, const struct tp_env *env, uint64_t first,
                         uint64_t cap, uint64_t max_ranges);

/* Gives every range back to the source, live blocks or not. Refused ranges are tried once more when
 * the others are gone. */
void tp_arena_pages_fini(struct arena_pages *h);

#endif
