/* The walk over all chunks of `bfc`, and the check of its invariants. */
#include "alloc/strategies/bfc/bfc_core.h"

static enum tp_walk_kind kind_of(const struct bfc_chunk *c)
{
    static const enum tp_walk_kind kinds[] = {
        [BFC_NONE] = TP_WALK_INTERNAL,
        [BFC_LIVE] = TP_WALK_LIVE,
        [BFC_FREE] = TP_WALK_SPAN,
        [BFC_STARTING] = TP_WALK_CACHED,
    };
    return kinds[bfc_state(c)];
}

int tp_bfc_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct bfc *st = state;
    for (struct bfc_region *r = bfc_first_region(st); r; r = bfc_next_region(r)) {
        for (const struct bfc_chunk *c = r->first; c; c = c->behind)
            fn(ctx, kind_of(c), c->addr, c->size);
        if (r->bytes > r->size)
            fn(ctx, TP_WALK_INTERNAL, r->base + r->size, r->bytes - r->size);
    }
    return TP_OK;
}

/* Sums over the regions, to be compared with trees, tables and counters. */
struct bfc_sums {
    uint64_t chunks, free, live, regions, bytes, used, carved;
    uint64_t unused, idle; /* regions without a chunk in use, and their bytes */
};

/* What is wrong with a chunk and the one behind it; NULL: nothing. */
static const char *check_neighbours(const struct bfc *st, const struct bfc_chunk *c)
{
    const struct bfc_chunk *next = c->behind;
    if (!next)
        return NULL;
    if (next->before != c || next->addr != c->addr + c->size || next->region != c->region ||
        next->order != c->order)
        return "the chunks of a region have a gap";
    if (bfc_state(c) == BFC_FREE && bfc_state(next) == BFC_FREE && c->bins == next->bins &&
        st->rules.merge_before && st->rules.merge_behind)
        return "two free neighbours are not merged";
    return NULL;
}

static const char *check_chunk(const struct bfc *st, const struct bfc_chunk *c,
                               struct bfc_sums *sums)
{
    bool live = bfc_state(c) == BFC_LIVE;
    sums->chunks++;
    sums->free += bfc_state(c) == BFC_FREE;
    sums->live += live;
    sums->used += bfc_state(c) == BFC_FREE ? 0 : c->size;
    if (bfc_state(c) == BFC_NONE || !c->size)
        return "a chunk is neither free nor in use";
    if (live && bfc_find_live(st, c->addr) != c)
        return "a live chunk is not in the table of addresses";
    if (live && (!c->requested || c->size < c->requested))
        return "a live chunk is smaller than its request";
    return check_neighbours(st, c);
}

static const char *check_region(const struct bfc *st, const struct bfc_region *r,
                                struct bfc_sums *sums)
{
    uint64_t bytes = 0, in_use = 0;
    const char *fault = NULL;
    if (r->first->addr != r->base || r->first->before || r->last->behind ||
        r->last->addr + r->last->size != r->base + r->size)
        return "a region does not begin and end with its first and last chunk";
    for (const struct bfc_chunk *c = r->first; c && !fault; c = c->behind) {
        bytes += c->size;
        in_use += bfc_state(c) != BFC_FREE;
        fault = check_chunk(st, c, sums);
    }
    sums->regions++;
    sums->unused += !in_use;
    sums->idle += in_use ? 0 : r->size;
    sums->bytes += r->size;
    sums->carved += r->carved;
    if (!fault && (bytes != r->size || in_use != r->in_use || r->carved > r->size))
        fault = "the chunks of a region do not add up";
    return fault;
}

/* Chunks in the bins of a stream, whose sizes must ascend; UINT64_MAX: they do not, or a bin is not
 * where it is looked for. */
static uint64_t count_bins(const struct bfc *st, const struct bfc_bins *bins)
{
    uint64_t count = 0, occupied = 0, last = 0;
    for (unsigned i = 0; i < BFC_BINS; i++)
        occupied |= (uint64_t)(bins->bins[i] != NULL) << i;
    if (occupied != bins->occupied)
        return UINT64_MAX;
    struct bfc_search s = tp_bfc_search(st, bins, 1);
    for (const struct bfc_chunk *c; (c = tp_bfc_found(&s));) {
        if (bfc_state(c) != BFC_FREE || c->size < last)
            return UINT64_MAX;
        last = c->size;
        count += c->bins == bins;
    }
    return count;
}

static uint64_t count_nodes(const struct tp_tree_node *n)
{
    return n ? 1 + count_nodes(n->low) + count_nodes(n->high) : 0;
}

static uint64_t count_links(const struct tp_link *head)
{
    uint64_t count = 0;
    for (const struct tp_link *l = head->behind; l != head; l = l->behind)
        count++;
    return count;
}

static uint64_t count_all_bins(const struct bfc *st)
{
    uint64_t count = count_bins(st, &st->any), at = 0;
    for (struct tp_addr_entry *e; (e = tp_addr_map_next(&st->bins_of, &at));) {
        uint64_t own = count_bins(st, (const void *)(uintptr_t)e->value);
        if (own == UINT64_MAX || count == UINT64_MAX)
            return UINT64_MAX;
        count += own;
    }
    return count;
}

static const char *check_sums(const struct bfc *st, const struct bfc_sums *sums)
{
    if (count_all_bins(st) != sums->free ||
        count_nodes(st->placed) != (st->by_address ? sums->free : 0))
        return "the bins do not have the free chunks";
    if (sums->live != st->live.count)
        return "the table of addresses does not add up";
    if (sums->chunks != st->chunks.used || sums->regions != st->regions.used)
        return "a record is lost";
    if (sums->idle != st->idle || sums->unused != count_links(&st->unused))
        return "the list of unused regions does not have them";
    if (sums->bytes != st->pool || sums->used != st->in_use || sums->carved != st->carved.now ||
        st->carved.now > st->carved.peak)
        return "the counters do not add up";
    return NULL;
}

int tp_bfc_check(void *state, struct tp_err *err)
{
    const struct bfc *st = state;
    struct bfc_sums sums = {0};
    const char *fault = NULL;
    for (struct bfc_region *r = bfc_first_region(st); r && !fault; r = bfc_next_region(r))
        fault = check_region(st, r, &sums);
    if (!fault)
        fault = check_sums(st, &sums);
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'bfc': %s", fault) : TP_OK;
}
