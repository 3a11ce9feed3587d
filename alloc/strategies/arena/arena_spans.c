/* Spans: where they come from when no free one is long enough, and the large ones that are kept for
 * the next request of their length. The heap lock is held. */
#include "alloc/strategies/arena/arena_core.h"

void tp_arena_give_back(struct arena *st, uint64_t keep, uint64_t age)
{
    for (struct arena_range *r = st->pages.newest, *older; r && st->pages.idle_ranges; r = older) {
        older = r->older;
        if (st->pages.free_pages * ARENA_PAGE <= keep)
            return;
        tp_addr base = r->base;
        uint64_t bytes = r->pages * ARENA_PAGE;
        if (range_is_free(r) && st->pages.given - r->idle_since >= age &&
            !tp_arena_pages_put_range(&st->pages, r))
            tp_arena_chunks_forget(&st->chunks, base, bytes);
    }
}

void tp_arena_kept_release(struct arena *st, struct arena_kept *kept, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (LIKELY(!st->owners))
            tp_addr_map_remove(&st->large, span_addr(kept->spans[i]), NULL);
        else
            tp_arena_chunks_tag(&st->chunks, kept->spans[i], ARENA_PAGE, 0);
        arena_give(st, kept->spans[i]);
    }
    kept->count -= count;
    memmove(kept->spans, kept->spans + count, kept->count * sizeof *kept->spans);
    memmove(kept->pages, kept->pages + count, kept->count * sizeof *kept->pages);
}

/* Takes a free span of `wanted` pages, or the longest of at least `least` pages. Where the two
 * differ, `align` must be no more than a page. */
static int span_from_tree(struct arena *st, uint64_t wanted, uint64_t least, uint64_t align,
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

/* Where one thread replays everything: turns idle blocks into free pages before a range is got, a
 * few times for each range, so that a program that repeats itself soon needs neither; and not
 * before enough was taken since the last time. False: nothing was found. */
static bool arena_collect(struct arena *st)
{
    struct arena_collected *last = &st->collected;
    uint64_t before = st->pages.free_pages;
    if (last->range != st->pages.sequence)
        last->left = COLLECTS;
    last->range = st->pages.sequence;
    if (st->shared || !last->left ||
        (st->pages.taken - last->taken) * COLLECT_SHARE < st->pages.pages)
        return false;
    tp_arena_reclaim(st, NULL);
    last->left--;
    last->taken = st->pages.taken;
    return st->pages.free_pages != before;
}

int tp_arena_get_span(struct arena *st, struct arena_kept *kept, uint64_t wanted, uint64_t least,
                      uint64_t align, enum arena_span_state state, bool again,
                      struct arena_span **out)
{
    int rc = span_from_tree(st, wanted, least, align, state, out);
    if (rc != TP_EOOM)
        return rc;
    if (kept->count) {
        tp_arena_kept_release(st, kept, kept->count);
        rc = span_from_tree(st, wanted, least, align, state, out);
        if (rc != TP_EOOM)
            return rc;
    }
    if (!again && arena_collect(st)) {
        rc = span_from_tree(st, wanted, least, align, state, out);
        if (rc != TP_EOOM)
            return rc;
    }
    if (again)
        tp_arena_give_back(st, 0, 0);
    else
        rc = tp_arena_pages_grow_most(&st->pages, wanted * ARENA_PAGE, align);
    if (rc == TP_EOOM)
        rc = tp_arena_pages_grow(&st->pages, least * ARENA_PAGE, align, true);
    return rc ? rc : span_from_tree(st, wanted, least, align, state, out);
}
