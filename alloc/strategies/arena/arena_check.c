/* The walk over all blocks of `arena`, and the check of its invariants. Never timed. */
#include "alloc/strategies/arena/arena_core.h"

/* Called for each address of a list; false ends the visit. */
typedef bool arena_visit_fn(struct arena *st, uint32_t class, tp_addr addr, uint64_t *count);

static bool visit_list(struct arena *st, uint32_t class, const tp_addr *items, uint32_t count,
                       const struct arena_run *run, arena_visit_fn *fn, uint64_t *visited)
{
    for (uint32_t i = 0; i < count; i++)
        if (!fn(st, class, items[i], visited))
            return false;
    for (uint32_t i = 0; i < run->left; i++)
        if (!fn(st, class, run->next + i * st->classes.size[class], visited))
            return false;
    return true;
}

static bool visit_idle(struct arena *st, arena_visit_fn *fn, uint64_t *visited)
{
    for (uint32_t c = 0; c < st->classes.count; c++) {
        for (const struct arena_segment *seg = st->central[c].top; seg; seg = seg->next)
            if (!visit_list(st, c, seg->items, seg->count, &seg->run, fn, visited))
                return false;
        for (const struct arena_thread *thr = st->threads; thr; thr = thr->older) {
            const struct arena_cache *k = &thr->caches[c];
            if (!visit_list(st, c, k->floor, cache_count(k), &thr->runs[c], fn, visited))
                return false;
        }
    }
    return true;
}

/* Checks that a listed block belongs to the list's class and that its bit is clear, then sets the
 * bit, so that a second listing is detected. */
static bool mark_idle(struct arena *st, uint32_t class, tp_addr addr, uint64_t *marked)
{
    struct arena_chunk *chunk = addr % ARENA_STEP ? NULL : chunk_find(&st->chunks, addr);
    if (!chunk || chunk_class(chunk, addr) != class || *chunk_word(chunk, addr) & chunk_bit(addr))
        return false;
    *chunk_word(chunk, addr) |= chunk_bit(addr);
    ++*marked;
    return true;
}

static bool unmark_idle(struct arena *st, uint32_t class, tp_addr addr, uint64_t *marked)
{
    (void)class;
    if (!*marked)
        return false;
    --*marked;
    *chunk_word(chunk_find(&st->chunks, addr), addr) &= ~chunk_bit(addr);
    return true;
}

/* Calls `fn` for the pieces of a small span. `bit` is the kind of blocks whose bit is set. */
static void walk_small(const struct arena *st, const struct arena_span *s, enum tp_walk_kind bit,
                       tp_walk_fn *fn, void *ctx)
{
    enum tp_walk_kind clear = bit == TP_WALK_LIVE ? TP_WALK_CACHED : TP_WALK_LIVE;
    uint64_t block = st->classes.size[s->class], start = span_addr(s);
    for (uint32_t i = 0; i < s->blocks; i++) {
        tp_addr addr = start + i * block;
        fn(ctx, chunk_is_live(&st->chunks, addr) ? bit : clear, addr, block);
    }
    uint64_t rest = s->pages * ARENA_PAGE - s->blocks * block;
    if (rest)
        fn(ctx, TP_WALK_INTERNAL, start + s->blocks * block, rest);
}

/* Without `checks` no bit is set during the run, so the blocks that are in no list are the live
 * ones. */
int tp_arena_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    struct arena *st = state;
    uint64_t marked = 0;
    if (!st->checked)
        visit_idle(st, mark_idle, &marked);
    for (const struct arena_range *r = st->pages.oldest; r; r = r->newer)
        for (const struct arena_span *s = r->first; s; s = s->behind) {
            if (s->state == ARENA_SPAN_SMALL)
                walk_small(st, s, st->checked ? TP_WALK_LIVE : TP_WALK_CACHED, fn, ctx);
            else
                fn(ctx, s->state == ARENA_SPAN_FREE ? TP_WALK_SPAN : TP_WALK_LIVE, span_addr(s),
                   s->pages * ARENA_PAGE);
        }
    if (!st->checked)
        visit_idle(st, unmark_idle, &marked);
    return TP_OK;
}

/* Sums over all spans. */
struct arena_sums {
    uint64_t ranges, idle_ranges, free_spans, free_pages, large, high;
    /* `idle`: blocks with a clear bit */
    uint64_t spans[ARENA_MAX_CLASSES], idle[ARENA_MAX_CLASSES];
};

static const char *check_span(const struct arena *st, const struct arena_span *s,
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
    if (s->blocks < st->central[s->class].least)
        return "no span has fewer blocks than the least";
    sums->spans[s->class]++;
    for (uint32_t i = 0; i < s->blocks; i++)
        sums->idle[s->class] += !chunk_is_live(&st->chunks, span_addr(s) + i * block);
    return NULL;
}

static const char *check_pages(const struct arena *st, struct arena_sums *sums)
{
    const struct arena_pages *h = &st->pages;
    for (const struct arena_range *r = h->oldest; r; r = r->newer) {
        uint64_t pages = 0;
        sums->ranges++;
        sums->idle_ranges += range_is_free(r);
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
    if (sums->ranges != h->range_count || sums->high != h->carved.now ||
        h->carved.now > h->carved.peak)
        return "the counts of ranges and carved pages hold";
    if (sums->idle_ranges != h->idle_ranges)
        return "wholly free ranges are counted";
    if (sums->free_spans != h->free.count || sums->free_pages != h->free_pages)
        return "the tree counts the free spans";
    return sums->large == st->large.count ? NULL : "the table counts the large objects";
}

static const char *check_tree(const struct arena *st)
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

static const char *check_cache(const struct arena *st, const struct arena_thread *thr, uint32_t c)
{
    const struct arena_cache *k = &thr->caches[c];
    uint32_t limit = st->classes.limit[c], refill = st->classes.refill[c];
    uint64_t held = cache_count(k) + UINT64_C(1) * thr->runs[c].left;
    if (held > (limit > refill ? limit : refill))
        return "a cache stays within its limit";
    if (k->block != st->classes.size[c] || k->top < k->floor || k->ceiling < k->floor ||
        k->ceiling > k->floor + (cache_room(k) < limit ? cache_room(k) : limit))
        return "a cache's pointers are in order";
    if (held && !st->central[c].stocked && !st->shared)
        return "a cache that holds something is known to";
    return NULL;
}

/* Checks the pool and the caches of one class. */
static const char *check_class(const struct arena *st, uint32_t c, const struct arena_sums *sums)
{
    const struct arena_central *pool = &st->central[c];
    uint64_t pooled = 0, cached = 0, spans = 0;
    for (const struct arena_segment *seg = pool->top; seg; seg = seg->next)
        pooled += seg->count + UINT64_C(1) * seg->run.left;
    if (pooled != pool->count)
        return "a pool counts its blocks";
    for (const struct arena_span *s = pool->spans; s; s = s->greater, spans++)
        if (s->state != ARENA_SPAN_SMALL || s->class != c ||
            (s->greater && s->greater->smaller != s))
            return "the spans of a class are linked both ways";
    if (spans != sums->spans[c])
        return "every small span is linked to its class";
    for (const struct arena_thread *thr = st->threads; thr; thr = thr->older) {
        const char *broken = check_cache(st, thr, c);
        if (broken)
            return broken;
        cached += cache_count(&thr->caches[c]) + UINT64_C(1) * thr->runs[c].left;
    }
    if (st->checked && pooled + cached != sums->idle[c])
        return "every block that is not live is in one list";
    return NULL;
}

/* Number of blocks whose bit is set. */
static uint64_t count_bits(const struct arena *st)
{
    uint64_t bits = 0;
    for (uint32_t c = 0; c < st->classes.count; c++)
        for (const struct arena_span *s = st->central[c].spans; s; s = s->greater)
            for (uint32_t i = 0; i < s->blocks; i++)
                bits += chunk_is_live(&st->chunks, span_addr(s) + i * st->classes.size[c]);
    return bits;
}

/* Checks that every listed block begins where a block can begin and is listed only once. */
static const char *check_lists(struct arena *st)
{
    uint64_t marked = 0, before = count_bits(st);
    bool sound = visit_idle(st, mark_idle, &marked);
    sound = sound && count_bits(st) == before + marked;
    visit_idle(st, unmark_idle, &marked);
    return sound ? NULL : "a listed block is not live and listed once";
}

static const char *check_chunks(const struct arena *st)
{
    const struct arena_chunks *t = &st->chunks;
    uint64_t count = 0;
    for (uint64_t i = 0; i <= table_mask(t->table); i++) {
        const struct arena_chunk *chunk = table_slots(t->table)[i];
        if (chunk == &tp_arena_no_chunk)
            continue;
        if (chunk_find(t, chunk->index << CHUNK_SHIFT) != chunk)
            return "every chunk is found where it hashes to";
        count++;
    }
    return count == t->count && count * 4 <= table_mask(t->table) + 1
               ? NULL
               : "the table of chunks counts them and is sparse";
}

int tp_arena_check(void *state, struct tp_err *err)
{
    struct arena *st = state;
    struct arena_sums sums = {0};
    const char *broken = check_pages(st, &sums);
    if (!broken)
        broken = check_tree(st);
    if (!broken)
        broken = tp_arena_aligned_fault(st->pages.aligned, st->pages.free.count);
    for (uint32_t c = 0; !broken && c < st->classes.count; c++)
        broken = check_class(st, c, &sums);
    if (!broken)
        broken = check_chunks(st);
    if (!broken)
        broken = check_lists(st);
    return broken ? tp_fail(err, TP_EBROKEN, "strategy 'arena' broke a rule: %s", broken) : TP_OK;
}
