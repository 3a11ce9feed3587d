/* `arena` looks at itself: the walk that names every block, and the check of its invariants. Never
 * timed. */
#ifndef TP_ARENA_CHECK_H
#define TP_ARENA_CHECK_H

#include "alloc/strategies/arena_core.h"

static inline void walk_small(const struct arena *st, const struct arena_span *s, tp_walk_fn *fn,
                              void *ctx)
{
    uint64_t block = st->classes.size[s->class], start = span_addr(s);
    for (uint32_t i = 0; i < s->blocks; i++) {
        tp_addr addr = start + i * block;
        fn(ctx, chunk_is_live(&st->chunks, addr) ? TP_WALK_LIVE : TP_WALK_CACHED, addr, block);
    }
    uint64_t rest = s->pages * ARENA_PAGE - s->blocks * block;
    if (rest)
        fn(ctx, TP_WALK_INTERNAL, start + s->blocks * block, rest);
}

static int arena_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct arena *st = state;
    for (const struct arena_range *r = st->pages.oldest; r; r = r->newer)
        for (const struct arena_span *s = r->first; s; s = s->behind) {
            if (s->state == ARENA_SPAN_SMALL)
                walk_small(st, s, fn, ctx);
            else
                fn(ctx, s->state == ARENA_SPAN_FREE ? TP_WALK_SPAN : TP_WALK_LIVE, span_addr(s),
                   s->pages * ARENA_PAGE);
        }
    return TP_OK;
}

/* What a look at all spans yields. */
struct arena_sums {
    uint64_t ranges, free_spans, free_pages, large, high;
    uint64_t idle[ARENA_MAX_CLASSES]; /* blocks of a class that are not live */
};

static inline const char *check_span(const struct arena *st, const struct arena_span *s,
                                     struct arena_sums *sums)
{
    if (s->behind && (s->behind->before != s || s->behind->page != s->page + s->pages))
        return "neighbours are linked both ways and touch";
    if (s->state == ARENA_SPAN_FREE) {
        sums->free_spans++;
        sums->free_pages += s->pages;
        if (s->behind && s->behind->state == ARENA_SPAN_FREE)
            return "free neighbours are merged";
        return tree_holds(&st->pages.free, s) ? NULL : "a free span is in the tree";
    }
    if (s->page + s->pages > s->range->high)
        return "a used span lies below the high water of its range";
    if (s->state == ARENA_SPAN_LARGE) {
        sums->large++;
        const uint64_t *found = tp_addr_map_find(&st->large, span_addr(s));
        return found && *found == (uintptr_t)s ? NULL : "a large object is in its table";
    }
    uint64_t block = st->classes.size[s->class];
    if (!s->blocks || s->blocks * block > s->pages * ARENA_PAGE)
        return "the blocks of a span lie inside it";
    for (uint32_t i = 0; i < s->blocks; i++)
        sums->idle[s->class] += !chunk_is_live(&st->chunks, span_addr(s) + i * block);
    return NULL;
}

static inline const char *check_pages(const struct arena *st, struct arena_sums *sums)
{
    const struct arena_pages *h = &st->pages;
    for (const struct arena_range *r = h->oldest; r; r = r->newer) {
        uint64_t pages = 0;
        sums->ranges++;
        sums->high += r->high;
        for (const struct arena_span *s = r->first; s; pages += s->pages, s = s->behind) {
            const char *broken = s->range == r ? check_span(st, s, sums) : "a span knows its range";
            if (broken)
                return broken;
        }
        if (pages != r->pages)
            return "the spans of a range add up to it";
        if (r->newer && (r->newer->older != r || r->newer->sequence <= r->sequence))
            return "ranges are in order of sequence";
    }
    if (sums->ranges != h->range_count || sums->high != h->carved || h->carved > h->peak_carved)
        return "the counts of ranges and carved pages hold";
    if (sums->free_spans != h->free.count || sums->free_pages != h->free_pages)
        return "the tree counts the free spans";
    return sums->large == st->large.count ? NULL : "the table counts the large objects";
}

static inline const char *check_tree(const struct arena *st)
{
    uint64_t count = 0;
    for (const struct arena_span *s = tree_first(&st->pages.free, 0); s;
         s = tree_next(&st->pages.free, s)) {
        count++;
        if ((s->smaller && s->smaller->priority > s->priority) ||
            (s->greater && s->greater->priority > s->priority))
            return "the tree is a heap by priority";
    }
    return count == st->pages.free.count ? NULL : "the tree is ordered";
}

/* Visits the addresses of one list until fn says false. */
typedef bool arena_visit_fn(struct arena *st, uint32_t class, tp_addr addr, uint64_t *left);

static inline bool visit_list(struct arena *st, uint32_t class, const tp_addr *items,
                              uint32_t count, tp_addr run, uint32_t run_left, arena_visit_fn *fn,
                              uint64_t *left)
{
    for (uint32_t i = 0; i < count; i++)
        if (!fn(st, class, items[i], left))
            return false;
    for (uint32_t i = 0; i < run_left; i++)
        if (!fn(st, class, run + i * st->classes.size[class], left))
            return false;
    return true;
}

static inline bool visit_cached(struct arena *st, arena_visit_fn *fn, uint64_t *left)
{
    for (uint32_t c = 0; c < st->classes.count; c++) {
        for (const struct arena_segment *seg = st->central[c].top; seg; seg = seg->next)
            if (!visit_list(st, c, seg->items, seg->count, seg->run_next, seg->run_left, fn, left))
                return false;
        for (const struct arena_thread *thr = st->threads; thr; thr = thr->older) {
            const struct arena_cache *k = &thr->caches[c];
            if (!visit_list(st, c, k->segment ? k->segment->items : NULL, k->count, k->run_next,
                            k->run_left, fn, left))
                return false;
        }
    }
    return true;
}

/* A listed block is of the list's class and not live; it is marked live, so that a second listing
 * is found out. */
static bool mark_listed(struct arena *st, uint32_t class, tp_addr addr, uint64_t *left)
{
    struct arena_chunk *chunk = chunk_find(&st->chunks, addr);
    if (!chunk || *chunk_class(chunk, addr) != class || *chunk_word(chunk, addr) & chunk_bit(addr))
        return false;
    *chunk_word(chunk, addr) |= chunk_bit(addr);
    ++*left;
    return true;
}

static bool unmark_listed(struct arena *st, uint32_t class, tp_addr addr, uint64_t *left)
{
    (void)class;
    if (!*left)
        return false;
    --*left;
    *chunk_word(chunk_find(&st->chunks, addr), addr) &= ~chunk_bit(addr);
    return true;
}

static inline const char *check_lists(struct arena *st, const struct arena_sums *sums)
{
    for (uint32_t c = 0; c < st->classes.count; c++) {
        uint64_t pooled = 0, cached = 0;
        for (const struct arena_segment *seg = st->central[c].top; seg; seg = seg->next)
            pooled += seg->count + UINT64_C(1) * seg->run_left;
        if (pooled != st->central[c].count)
            return "a pool counts its blocks";
        for (const struct arena_thread *thr = st->threads; thr; thr = thr->older) {
            const struct arena_cache *k = &thr->caches[c];
            uint32_t most = st->classes.limit[c] > st->classes.refill[c] ? st->classes.limit[c]
                                                                         : st->classes.refill[c];
            if (k->count + UINT64_C(1) * k->run_left > most || k->bound > st->classes.limit[c])
                return "a cache stays within its limit";
            cached += k->count + UINT64_C(1) * k->run_left;
        }
        if (pooled + cached != sums->idle[c])
            return "every block that is not live is in one list";
    }
    uint64_t marked = 0;
    bool sound = visit_cached(st, mark_listed, &marked);
    visit_cached(st, unmark_listed, &marked);
    return sound ? NULL : "a listed block is not live and listed once";
}

static int arena_check(void *state, struct tp_err *err)
{
    struct arena *st = state;
    struct arena_sums sums = {0};
    const char *broken = check_pages(st, &sums);
    if (!broken)
        broken = check_tree(st);
    if (!broken)
        broken = check_lists(st, &sums);
    return broken ? tp_fail(err, TP_EBROKEN, "strategy 'arena' broke a rule: %s", broken) : TP_OK;
}

#endif
