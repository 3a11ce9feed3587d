/* The walk over all blocks of `stream-pool`, and the check of its invariants. */
#include "alloc/strategies/stream_pool/stream_pool_core.h"

static void pool_walk_block(const struct pool *st, const struct block *b, tp_walk_fn *fn, void *ctx)
{
    static const enum tp_walk_kind kinds[] = {[BLOCK_LIVE] = TP_WALK_LIVE,
                                              [BLOCK_READY] = TP_WALK_CACHED,
                                              [BLOCK_HELD] = TP_WALK_CACHED,
                                              [BLOCK_REFUSED] = TP_WALK_DEAD};
    uint64_t granted = block_granted(b), range = pool_range(st, granted);
    fn(ctx, kinds[b->state], b->addr, granted);
    if (range > granted) /* rounding up to the source's page */
        fn(ctx, TP_WALK_INTERNAL, b->addr + granted, range - granted);
}

/* Sums over the lists, to be compared with the counters. */
struct pool_sums {
    uint64_t blocks, live, ready, held, refused; /* blocks */
    uint64_t cached_bytes, refused_bytes, live_bytes;
    uint64_t uses;
};

/* NULL, or what is wrong with a block. */
static const char *pool_check_block(struct pool *st, const struct block *b, struct pool_sums *sums)
{
    uint64_t granted = block_granted(b), pending = 0;
    sums->blocks++;
    if (block_find(st, b->addr) != b)
        return "a block is not in the table of addresses";
    if (b->state != BLOCK_REFUSED &&
        shelf_find(st, b->shelf->key, (uint16_t)b->shelf->stream) != b->shelf)
        return "a block's shelf cannot be found";
    for (const struct use *u = b->uses; u; u = u->next) {
        sums->uses++;
        pending += u->queued;
        if (u->block != b || (u->queued && b->state != BLOCK_HELD))
            return "a use is not its block's";
    }
    if (pending != b->pending || (pending != 0) != (b->state == BLOCK_HELD))
        return "a block is held without a pending use, or the other way round";
    sums->live += b->state == BLOCK_LIVE;
    sums->live_bytes += b->state == BLOCK_LIVE ? granted : 0;
    sums->ready += b->state == BLOCK_READY;
    sums->held += b->state == BLOCK_HELD;
    sums->cached_bytes += b->state == BLOCK_READY || b->state == BLOCK_HELD ? granted : 0;
    if (b->state == BLOCK_LIVE && (b->size > granted || !b->size))
        return "a live block is smaller than its request";
    return NULL;
}

/* Is `list` in order, with all blocks in `state` and on `s`? Adds its length to *count. */
static bool pool_check_list(const struct tp_link *list, const struct shelf *s,
                            enum block_state state, uint64_t *count)
{
    uint64_t age = 0;
    for (const struct tp_link *l = list->behind; l != list; l = l->behind, ++*count) {
        const struct block *b = TP_LINKED(struct block, on_shelf, l);
        if (l->before->behind != l || b->shelf != s || b->state != state || b->age <= age)
            return false;
        age = b->age;
    }
    return list->before->behind == list;
}

static const char *pool_check_bins(const struct pool *st, const struct pool_sums *sums)
{
    const struct tp_addr_entry *e;
    uint64_t ready = 0, held = 0, counted = 0, shelves = 0;
    for (uint64_t at = 0; (e = tp_addr_map_next(&st->bins, &at));)
        for (const struct shelf *s = (const void *)(uintptr_t)e->value; s; s = s->next) {
            shelves++;
            counted += s->blocks;
            if (s->key != e->key || s->stream != s->lane->stream ||
                (s->next && (s->next->before != s || s->next->bin != s->bin)))
                return "a shelf is in the wrong bin";
            if (!s->blocks)
                return "a shelf without blocks is left";
            if (!pool_check_list(&s->ready, s, BLOCK_READY, &ready) ||
                !pool_check_list(&s->held, s, BLOCK_HELD, &held))
                return "the list of a shelf is broken";
        }
    if (st->beside.count > shelves)
        return "a shelf that is gone is still beside another";
    if (shelves != st->shelves.used || counted != sums->live + sums->ready + sums->held)
        return "bins and blocks do not add up";
    if (ready != sums->ready || held != sums->held || held != st->held)
        return "a cached block is on no shelf";
    return NULL;
}

/* Is a list of `lane` in order, with all blocks in `state`? Adds its length to *count. */
static bool pool_check_ages(const struct tp_link *list, const struct lane *lane,
                            enum block_state state, uint64_t *count)
{
    uint64_t age = UINT64_MAX;
    for (const struct block *b = lane_newest(list); b; b = lane_older(list, b), ++*count) {
        if (b->in_lane.behind->before != &b->in_lane || b->shelf->lane != lane ||
            b->state != state || b->age >= age)
            return false;
        age = b->age;
    }
    return true;
}

static const char *pool_check_lanes(const struct pool *st, const struct pool_sums *sums)
{
    uint64_t ready = 0, held = 0, lanes = 0, queued = 0;
    for (const struct lane *lane = st->lanes; lane; lane = lane->next) {
        lanes++;
        if (!pool_check_ages(&lane->ready, lane, BLOCK_READY, &ready) ||
            !pool_check_ages(&lane->held, lane, BLOCK_HELD, &held))
            return "the blocks of a stream are out of order";
        const struct tp_link *l = lane->fences.behind;
        for (; l != &lane->fences; l = l->behind, queued++) {
            const struct use *u = TP_LINKED(struct use, in_lane, l);
            if (!u->queued || u->lane != lane || u->block->state != BLOCK_HELD ||
                l->behind->before != l)
                return "the queue of a stream is broken";
        }
    }
    if (lanes != st->lane_of.count || ready != sums->ready || held != sums->held ||
        ready + held != st->cached)
        return "a cached block is in no stream";
    return queued >= sums->held ? NULL : "a held block waits for nothing";
}

static const char *pool_check_counts(const struct pool *st, const struct pool_sums *sums)
{
    uint64_t refused = 0, refused_bytes = 0;
    for (const struct refused *r = st->refused; r; r = r->next, refused++) {
        const struct block *b = block_refused(r);
        refused_bytes += b->size;
        if (b->state != BLOCK_REFUSED)
            return "a block that was not refused is set aside";
    }
    if (sums->blocks != st->addresses.count || sums->blocks != st->blocks.used ||
        sums->blocks != sums->live + sums->ready + sums->held + refused)
        return "the table of addresses does not add up";
    if (sums->uses != st->uses.used)
        return "a use is lost";
    if (sums->cached_bytes != st->cached_bytes || refused_bytes != st->refused_bytes ||
        sums->live_bytes + sums->cached_bytes + refused_bytes != st->carved.now ||
        st->carved.now > st->carved.peak)
        return "the counters do not add up";
    return NULL;
}

static const char *pool_fault(struct pool *st)
{
    struct pool_sums sums = {0};
    const char *fault = NULL;
    struct slab_cursor c = slab_first(&st->blocks);
    for (const struct block *b; !fault && (b = slab_next(&c));)
        if (b->state != BLOCK_NONE)
            fault = pool_check_block(st, b, &sums);
    if (!fault)
        fault = pool_check_bins(st, &sums);
    if (!fault)
        fault = pool_check_lanes(st, &sums);
    return fault ? fault : pool_check_counts(st, &sums);
}

int tp_stream_pool_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct pool *st = state;
    struct slab_cursor c = slab_first(&st->blocks);
    for (const struct block *b; (b = slab_next(&c));)
        if (b->state != BLOCK_NONE)
            pool_walk_block(st, b, fn, ctx);
    return TP_OK;
}

int tp_stream_pool_check(void *state, struct tp_err *err)
{
    const char *fault = pool_fault(state);
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'stream-pool': %s", fault) : TP_OK;
}
