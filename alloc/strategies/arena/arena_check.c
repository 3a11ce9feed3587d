/* The walk over all blocks of `arena`, and the check of its invariants. Never timed. */
#include "alloc/strategies/arena/arena_core.h"

/* Called for each block in a thread's cache; false ends the visit. */
typedef bool arena_visit_fn(struct arena *st, uint32_t size_class, const struct arena_item *item,
                            uint64_t *count);

/* Goes through all owners and threads: where one thread replays everything there is no owner, and
 * each thread comes alone; elsewhere an owner may come without a thread, as the orphans do. */
struct arena_step {
    struct arena_owner *owner;
    struct arena_thread *thr;
};

static bool step_next(const struct arena *st, struct arena_step *at)
{
    if (!st->owners) {
        at->thr = at->thr ? at->thr->older : st->threads;
        return at->thr;
    }
    at->owner = at->owner ? at->owner->older : st->owners->all;
    at->thr = at->owner ? at->owner->thr : NULL;
    return at->owner;
}

static bool visit_cached(struct arena *st, arena_visit_fn *fn, uint64_t *visited)
{
    for (struct arena_step at = {0}; step_next(st, &at);)
        for (uint32_t c = 0; at.thr && c < st->classes.count; c++)
            for (struct arena_item *i = at.thr->caches[c].floor; i < at.thr->caches[c].top; i++)
                if (!fn(st, c, i, visited))
                    return false;
    return true;
}

/* Gives the kept spans of all owners the state that says so, which they lack while threads run, or
 * takes it from them. */
static void mark_kept(const struct arena *st, enum arena_span_state state)
{
    for (struct arena_step at = {0}; st->owners && step_next(st, &at);)
        for (uint32_t i = 0; i < at.owner->kept.count; i++)
            at.owner->kept.spans[i]->state = (uint8_t)state;
}

static uint64_t *live_at(const struct arena *st, tp_addr addr)
{
    return live_word(&st->chunks, chunk_find(&st->chunks, addr), granule_of(addr));
}

static bool is_gone(const struct arena *st, tp_addr addr)
{
    return st->owners &&
           page_at(&st->chunks, addr)->gone[granule_word(granule_of(addr))] & chunk_bit(addr);
}

static bool is_pooled(const struct arena *st, tp_addr addr)
{
    return *word_pooled(&st->chunks, live_at(st, addr)) & chunk_bit(addr);
}

/* Checks that a cached block belongs to the cache's class, that it is not pooled and that its bit
 * is clear, then sets the bit, so that a second listing is detected. */
static bool mark_cached(struct arena *st, uint32_t size_class, const struct arena_item *item,
                        uint64_t *marked)
{
    const struct arena_chunk *chunk = chunk_at(&st->chunks, item->addr);
    if (!chunk || chunk_class(chunk, item->addr) != size_class || is_pooled(st, item->addr))
        return false;
    uint64_t *word = live_at(st, item->addr);
    if (*word & chunk_bit(item->addr) || item->word != (st->checked ? word : NULL))
        return false;
    *word |= chunk_bit(item->addr);
    ++*marked;
    return true;
}

static bool unmark_cached(struct arena *st, uint32_t size_class, const struct arena_item *item,
                          uint64_t *marked)
{
    (void)size_class;
    if (!*marked)
        return false;
    --*marked;
    *live_at(st, item->addr) &= ~chunk_bit(item->addr);
    return true;
}

/* Calls `fn` for the pieces of a small span. Without `checks` the bit of a cached block is set and
 * that of a live one is not. */
static void walk_small(const struct arena *st, const struct arena_span *s, tp_walk_fn *fn,
                       void *ctx)
{
    uint64_t block = st->classes.size[s->size_class], start = span_addr(s);
    for (uint32_t i = 0; i < s->blocks; i++) {
        tp_addr addr = start + i * block;
        bool live = chunk_is_live(&st->chunks, addr) == st->checked && !is_pooled(st, addr) &&
                    !is_gone(st, addr);
        fn(ctx, live ? TP_WALK_LIVE : TP_WALK_CACHED, addr, block);
    }
    uint64_t rest = s->pages * ARENA_PAGE - s->blocks * block;
    if (rest)
        fn(ctx, TP_WALK_INTERNAL, start + s->blocks * block, rest);
}

int tp_arena_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    static const enum tp_walk_kind kinds[] = {[ARENA_SPAN_FREE] = TP_WALK_SPAN,
                                              [ARENA_SPAN_LARGE] = TP_WALK_LIVE,
                                              [ARENA_SPAN_KEPT] = TP_WALK_CACHED};
    struct arena *st = state;
    uint64_t marked = 0;
    mark_kept(st, ARENA_SPAN_KEPT);
    if (!st->checked)
        visit_cached(st, mark_cached, &marked);
    for (const struct arena_range *r = st->pages.oldest; r; r = r->newer)
        for (const struct arena_span *s = r->first; s; s = s->behind) {
            if (s->state == ARENA_SPAN_SMALL)
                walk_small(st, s, fn, ctx);
            else
                fn(ctx, kinds[s->state], span_addr(s), s->pages * ARENA_PAGE);
        }
    if (!st->checked)
        visit_cached(st, unmark_cached, &marked);
    mark_kept(st, ARENA_SPAN_LARGE);
    return TP_OK;
}

/* Sums over all spans. */
struct arena_sums {
    uint64_t ranges, idle_ranges, free_spans, free_pages, large, kept, high;
    struct class_sums {
        uint64_t pages, pooled, spans, idle; /* spans: with pooled blocks; idle: with no others */
        uint64_t unused;                     /* blocks that are not live */
        uint64_t gone;                       /* of them, those that their owner has not got back */
    } classes[ARENA_MAX_CLASSES];
};

static const char *check_small(const struct arena *st, const struct arena_span *s,
                               struct class_sums *sums)
{
    uint64_t block = st->classes.size[s->size_class];
    uint32_t pooled = 0;
    if (!s->blocks || s->blocks * block > s->pages * ARENA_PAGE)
        return "the blocks of a span lie inside it";
    for (uint32_t i = 0; i < s->blocks; i++) {
        tp_addr addr = span_addr(s) + i * block;
        const struct arena_chunk *chunk = chunk_find(&st->chunks, addr);
        if (!chunk || chunk_class(chunk, addr) != s->size_class ||
            word_span(&st->chunks, live_at(st, addr), granule_of(addr)) != s)
            return "a page knows its span";
        bool is_free = is_pooled(st, addr);
        if (is_free && (chunk_is_live(&st->chunks, addr) || addr < s->low))
            return "a pooled block is not live, and none lies below the lowest";
        pooled += is_free;
        sums->unused += !chunk_is_live(&st->chunks, addr);
        /* one set too late, by a wrong free, says nothing */
        sums->gone += is_gone(st, addr) && *live_at(st, addr) & chunk_bit(addr);
    }
    sums->pages += s->pages;
    sums->pooled += pooled;
    sums->spans += pooled != 0;
    sums->idle += pooled == s->blocks;
    return pooled == s->pooled ? NULL : "a span counts its pooled blocks";
}

/* A large object is found by its address. */
static const char *check_large(const struct arena *st, const struct arena_span *s)
{
    tp_addr addr = span_addr(s);
    if (!st->owners) {
        const uint64_t *found = tp_addr_map_find(&st->large, addr);
        return found && *found == (uintptr_t)s ? NULL : "a large object is in its table";
    }
    const struct arena_page *page = page_at(&st->chunks, addr);
    if (!page || tag_class(page_tag(page)) < ARENA_ENDED || page->span != s || is_gone(st, addr))
        return "a page knows its large object";
    return !st->checked || chunk_is_live(&st->chunks, addr) == (s->state == ARENA_SPAN_LARGE)
               ? NULL
               : "a kept span is not live";
}

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
    if (s->state == ARENA_SPAN_SMALL)
        return check_small(st, s, &sums->classes[s->size_class]);
    sums->large++;
    sums->kept += s->state == ARENA_SPAN_KEPT;
    return check_large(st, s);
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
    uint64_t kept = st->kept.count;
    for (struct arena_step at = {0}; st->owners && step_next(st, &at);)
        kept += at.owner->kept.count;
    return (st->owners || sums->large == st->large.count) && sums->kept == kept
               ? NULL
               : "the table counts the large objects, and the kept ones are listed";
}

static const char *check_tree(const struct arena *st)
{
    uint64_t count = 0;
    for (struct arena_span *s = tree_first(&st->pages.free, 0), *next; s; s = next, count++) {
        next = tree_next(s);
        uint32_t low = tp_tree_height(s->node.low), high = tp_tree_height(s->node.high);
        if (s->node.height != 1 + (low > high ? low : high) || low > high + 1 || high > low + 1)
            return "the tree is balanced";
        if (next && !tree_less(s, next))
            return "the tree is ordered";
    }
    return count == st->pages.free.count ? NULL : "the tree holds all free spans";
}

static const char *check_cache(const struct arena *st, const struct arena_thread *thr, uint32_t c)
{
    const struct arena_cache *k = &thr->caches[c];
    uint32_t limit = thr->limit[c], refill = st->classes.refill[c], held = cache_count(k);
    if (held > (limit > refill ? limit : refill) || thr->step[c] > refill ||
        !classes_may_hold(&st->classes, c, limit))
        return "a cache stays within its limit";
    if (k->block != st->classes.size[c] || k->top < k->floor || k->ceiling < k->floor ||
        k->ceiling > k->floor + (cache_room(k) < limit ? cache_room(k) : limit))
        return "a cache's pointers are in order";
    return NULL;
}

/* Checks the list of a pool's spans and adds the pool to the sums of all pools of the class. */
static const char *check_pool(const struct arena_central *pool, uint32_t c, struct class_sums *sums)
{
    uint64_t pooled = 0, idle = 0;
    for (const struct arena_span *s = pool->first; s; s = s->next) {
        if (s->state != ARENA_SPAN_SMALL || s->size_class != c || !s->pooled ||
            (s->next ? s->next->previous : pool->last) != s)
            return "the spans of a pool are linked both ways";
        sums->spans++;
        pooled += s->pooled;
        idle += s->pooled == s->blocks;
    }
    sums->pages += pool->pages;
    sums->pooled += pooled;
    sums->idle += idle;
    return pool->count == pooled && pool->idle == idle
               ? NULL
               : "a pool counts its blocks and its free spans";
}

/* Checks the pools and the caches of one class against what its spans say. */
static const char *check_class(const struct arena *st, uint32_t c, const struct class_sums *sums)
{
    struct class_sums seen = {0};
    uint64_t cached = 0;
    const struct arena_central *shared =
        st->owners ? &st->owners->orphans->pools[c] : &st->central[c];
    const char *broken = check_pool(shared, c, &seen);
    for (struct arena_step at = {0}; !broken && step_next(st, &at);) {
        broken = at.owner ? check_pool(&at.owner->pools[c], c, &seen) : NULL;
        if (!broken && at.thr)
            broken = check_cache(st, at.thr, c);
        cached += at.thr ? cache_count(&at.thr->caches[c]) : 0;
    }
    if (broken)
        return broken;
    if (seen.pooled != sums->pooled || seen.pages != sums->pages || seen.idle != sums->idle)
        return "the pools of a class hold its pooled blocks, its pages and its free spans";
    if (seen.spans != sums->spans)
        return "every span with pooled blocks is linked to its pool";
    if (st->checked && sums->pooled + cached + sums->gone != sums->unused)
        return "every block that is not live is in one list";
    return NULL;
}

/* Checks that every cached block begins where a block can begin and is listed only once. */
static const char *check_lists(struct arena *st)
{
    uint64_t marked = 0;
    bool sound = visit_cached(st, mark_cached, &marked);
    visit_cached(st, unmark_cached, &marked);
    return sound ? NULL : "a cached block is not live and listed once";
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
    mark_kept(st, ARENA_SPAN_KEPT);
    const char *broken = check_pages(st, &sums);
    mark_kept(st, ARENA_SPAN_LARGE);
    if (!broken)
        broken = check_tree(st);
    if (!broken)
        broken = tp_arena_aligned_fault(st->pages.aligned, st->pages.free.count);
    for (uint32_t c = 0; !broken && c < st->classes.count; c++)
        broken = check_class(st, c, &sums.classes[c]);
    if (!broken)
        broken = check_chunks(st);
    if (!broken)
        broken = check_lists(st);
    if (!broken && st->owners)
        broken = tp_arena_frees_fault(st);
    return broken ? tp_fail(err, TP_EBROKEN, "strategy 'arena' broke a rule: %s", broken) : TP_OK;
}
