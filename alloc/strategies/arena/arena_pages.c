/* The slow paths of the page heap of `arena`; see arena_pages.h. */
#include "alloc/strategies/arena/arena_pages.h"

#include "alloc/source.h"

struct arena_span *tp_arena_pages_search_all(struct arena_pages *h, struct arena_span *s,
                                             uint64_t pages, uint64_t align)
{
    unsigned log2 = (unsigned)__builtin_ctzll(align);
    if (!h->aligned && (h->aligned = tp_meta_get(h->env, sizeof *h->aligned)) != NULL)
        h->aligned->env = h->env;
    if (h->aligned && !(h->aligned->kept >> log2 & 1) &&
        !tp_arena_aligned_keep(h->aligned, log2, &h->free))
        pages_drop_aligned(h);
    return h->aligned ? tp_arena_aligned_first(h->aligned, log2, pages)
                      : pages_search(s, pages, align, UINT64_MAX);
}

/* Bytes of the next range where the request needs no more: a share of what is held, so that no more
 * than that share is ever held in vain; but a quarter of it where that is no more than some
 * granules of the source, because no block lies in two ranges and a device has large blocks. Where
 * ranges are counted, each is twice the one before. */
static uint64_t pages_usual_size(const struct arena_pages *h)
{
    if (h->max_ranges)
        return h->next_range;
    uint64_t share = (h->pages / ARENA_GROWTH_SHARE) * ARENA_PAGE;
    uint64_t few = h->granule * ARENA_GRANULES, quarter = h->pages * ARENA_PAGE / 4;
    few = few < quarter ? few : quarter;
    share = share > few ? share : few;
    share = share > h->next_range ? share : h->next_range;
    return share < h->range_cap ? share : h->range_cap;
}

/* Bytes of the next range for a request; 0: the size would overflow. */
static uint64_t pages_range_size(const struct arena_pages *h, uint64_t bytes, bool exact)
{
    uint64_t page = h->env->source->page;
    uint64_t unit = exact ? ARENA_PAGE : ARENA_UNIT;
    if (unit < page)
        unit = page;
    if (bytes > ARENA_MAX_BYTES || unit > ARENA_MAX_BYTES)
        return 0;
    bool over = bytes > h->range_cap;
    if (!exact && bytes < pages_usual_size(h))
        bytes = pages_usual_size(h);
    /* the source gives up whole granules anyway; but the cap is a promise */
    if (!exact && bytes >= h->granule && unit < h->granule &&
        (over || round_up(bytes, h->granule) <= h->range_cap))
        unit = h->granule;
    return round_up(bytes, unit);
}

static void pages_link_range(struct arena_pages *h, struct arena_range *r)
{
    r->sequence = ++h->sequence;
    r->older = h->newest;
    if (h->newest)
        h->newest->newer = r;
    else
        h->oldest = r;
    h->newest = r;
    h->range_count++;
    h->pages += r->pages;
    r->first = span_new(h);
    r->first->range = r;
    r->first->pages = r->pages;
    span_set_free(h, r->first);
}

/* Has the heap reached its limit of ranges? */
static bool pages_is_limited(const struct arena_pages *h)
{
    return h->max_ranges && h->range_count >= h->max_ranges;
}

int tp_arena_pages_grow(struct arena_pages *h, uint64_t bytes, uint64_t align, bool exact)
{
    uint64_t size = pages_range_size(h, bytes, exact);
    if (!size || pages_is_limited(h))
        return TP_EOOM;
    if (pages_reserve_spans(h))
        return TP_ENOMEM;
    struct arena_range *r = tp_meta_get(h->env, sizeof *r);
    if (!r)
        return TP_ENOMEM;
    r->align = align > ARENA_CHUNK ? align : ARENA_CHUNK;
    r->pages = size / ARENA_PAGE;
    int rc = tp_src_get(h->env->source, size, r->align, &r->base);
    if (rc) {
        tp_meta_put(h->env, r, sizeof *r);
        return rc;
    }
    pages_link_range(h, r);
    if (!exact && h->max_ranges && bytes <= h->range_cap)
        h->next_range = h->next_range < h->range_cap / 2 ? h->next_range * 2 : h->range_cap;
    return TP_OK;
}

int tp_arena_pages_grow_most(struct arena_pages *h, uint64_t bytes, uint64_t align)
{
    int rc = tp_arena_pages_grow(h, bytes, align, false);
    while (rc == TP_EOOM && h->max_ranges && !pages_is_limited(h) && h->next_range / 2 >= bytes &&
           h->next_range / 2 >= ARENA_CHUNK) {
        h->next_range = h->next_range / 2 & ~(ARENA_CHUNK - 1);
        rc = tp_arena_pages_grow(h, bytes, align, false);
    }
    return rc;
}

int tp_arena_pages_put_range(struct arena_pages *h, struct arena_range *r)
{
    assert(range_is_free(r));
    int rc = tp_src_put(h->env->source, r->base, r->pages * ARENA_PAGE);
    if (rc)
        return rc;
    span_set_used(h, r->first);
    span_drop(h, r->first);
    if (r->older)
        r->older->newer = r->newer;
    else
        h->oldest = r->newer;
    if (r->newer)
        r->newer->older = r->older;
    else
        h->newest = r->older;
    h->range_count--;
    h->pages -= r->pages;
    h->carved.now -= r->high;
    tp_meta_put(h->env, r, sizeof *r);
    return TP_OK;
}

int tp_arena_pages_shrink(struct arena_pages *h, struct arena_span *s, uint64_t pages)
{
    if (pages_reserve_spans(h))
        return TP_ENOMEM;
    struct arena_span *rest = span_split(h, s, pages);
    rest->state = ARENA_SPAN_LARGE;
    pages_give(h, rest);
    return TP_OK;
}

int tp_arena_pages_extend(struct arena_pages *h, struct arena_span *s, uint64_t pages)
{
    struct arena_span *next = s->behind;
    if (!next || next->state != ARENA_SPAN_FREE || s->pages + next->pages < pages)
        return TP_EUNSUP;
    if (pages_reserve_spans(h))
        return TP_ENOMEM;
    span_set_used(h, next);
    if (s->pages + next->pages > pages)
        span_set_free(h, span_split(h, next, pages - s->pages));
    h->taken += next->pages;
    span_join(h, s);
    pages_note_carved(h, s);
    return TP_OK;
}

void tp_arena_pages_init(struct arena_pages *h, const struct tp_env *env, uint64_t first,
                         uint64_t cap, uint64_t max_ranges)
{
    h->env = env;
    h->next_range = first & ~(ARENA_CHUNK - 1);
    h->range_cap = cap & ~(ARENA_CHUNK - 1);
    h->max_ranges = max_ranges;
    h->granule = tp_src_granule(env->source);
    h->next_look = ARENA_DECAY_STEP;
}

void tp_arena_pages_fini(struct arena_pages *h)
{
    pages_drop_aligned(h);
    for (unsigned again = 0; again < 2; again++)
        for (struct arena_range *r = h->oldest; r; r = r->newer)
            put_once(h->env->source, &r->base, r->pages * ARENA_PAGE);
    for (struct arena_range *r = h->oldest, *next; r; r = next) {
        next = r->newer;
        tp_meta_put(h->env, r, sizeof *r);
    }
    for (struct arena_slab *slab = h->slabs, *next; slab; slab = next) {
        next = slab->next;
        tp_meta_put(h->env, slab, sizeof *slab);
    }
}
