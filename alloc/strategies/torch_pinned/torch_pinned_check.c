/* The walk over all blocks of `torch-pinned`, and the check of its invariants. */
#include "alloc/strategies/torch_pinned/torch_pinned_core.h"

static void walk_pinned(const struct torch_pinned *st, const struct pinned_block *b, tp_walk_fn *fn,
                        void *ctx)
{
    uint64_t bytes = pinned_bytes(st, b);
    if (b->state == PINNED_LIVE)
        walk_handed_out(fn, ctx, b->addr, b->size, pinned_lead(st, b), pinned_allocated(st, b));
    else
        fn(ctx, b->state == PINNED_LOST ? TP_WALK_DEAD : TP_WALK_CACHED, b->addr, b->size);
    if (bytes > b->size)
        fn(ctx, TP_WALK_INTERNAL, b->addr + b->size, bytes - b->size);
}

int tp_torch_pinned_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct torch_pinned *st = state;
    uint64_t bytes = round_up(st->rules.reserve, st->page);
    struct slab_cursor c = slab_first(&st->blocks);
    for (const struct pinned_block *b = slab_next(&c); b; b = slab_next(&c))
        if (b->state != PINNED_NONE)
            walk_pinned(st, b, fn, ctx);
    if (st->segment && st->handed < bytes)
        fn(ctx, TP_WALK_SPAN, st->segment + st->handed, bytes - st->handed);
    return TP_OK;
}

/* Sums over the records, to be compared with trees, tables and counters. */
struct pinned_sums {
    uint64_t blocks, live, free, uses, pending, free_bytes, carved, handed;
};

static const char *check_pinned(const struct torch_pinned *st, const struct pinned_block *b,
                                struct pinned_sums *sums)
{
    sums->blocks++;
    sums->live += b->state == PINNED_LIVE;
    sums->free += b->state == PINNED_FREE;
    sums->free_bytes += b->state == PINNED_FREE ? b->size : 0;
    sums->pending += b->state == PINNED_PENDING ? b->pending : 0;
    sums->carved += b->reserved ? pinned_bytes(st, b) : b->size;
    sums->handed += b->reserved ? pinned_bytes(st, b) : 0;
    for (const struct stream_use *u = b->uses; u; u = u->next)
        sums->uses++;
    if (b->state == PINNED_PENDING && !b->pending)
        return "a block waits for nothing";
    if (b->state == PINNED_LOST && !b->reserved)
        return "a block that is not of the reserved segment is lost";
    if (b->state != PINNED_LIVE)
        return b->uses ? "a freed block is in use" : NULL;
    if (meta_map_at(&st->live, b->addr + pinned_lead(st, b)) != b)
        return "a live block is not in the table of addresses";
    if (!b->requested || pinned_allocated(st, b) < b->requested)
        return "a live block is smaller than its request";
    return NULL;
}

/* The depth of the tree bounds the recursion. */
static uint64_t count_free(struct tp_tree_node *n, unsigned size_class, const char **fault)
{
    if (!n)
        return 0;
    const struct pinned_block *b = pinned_by_age(n), *low = pinned_by_age(n->low),
                              *high = pinned_by_age(n->high);
    uint64_t most = b->size;
    most = low && low->largest > most ? low->largest : most;
    most = high && high->largest > most ? high->largest : most;
    if (b->state != PINNED_FREE || pinned_class(b->size) != size_class || b->largest != most)
        *fault = "a free list holds what does not belong there";
    return 1 + count_free(n->low, size_class, fault) + count_free(n->high, size_class, fault);
}

static uint64_t count_queue(const struct torch_pinned *st, const char **fault)
{
    uint64_t count = 0;
    for (const struct tp_link *l = st->queue.behind; l != &st->queue; l = l->behind) {
        const struct pinned_block *b = TP_LINKED(struct stream_use, in_queue, l)->block;
        if (b->state != PINNED_PENDING)
            *fault = "an event is of a block that does not wait";
        count++;
    }
    return count;
}

static bool adds_up(const struct torch_pinned *st, const struct pinned_sums *sums)
{
    return sums->free_bytes == st->free_bytes && sums->carved == st->carved.now &&
           sums->handed == st->handed && st->carved.now <= st->carved.peak &&
           st->handed <= round_up(st->rules.reserve, PINNED_GRAIN);
}

int tp_torch_pinned_check(void *state, struct tp_err *err)
{
    struct torch_pinned *st = state;
    struct pinned_sums sums = {0};
    struct slab_cursor c = slab_first(&st->blocks);
    const char *fault = NULL;
    uint64_t listed = 0;
    for (const struct pinned_block *b = slab_next(&c); b && !fault; b = slab_next(&c))
        fault = b->state == PINNED_NONE ? NULL : check_pinned(st, b, &sums);
    for (unsigned size_class = 0; size_class < PINNED_CLASSES && !fault; size_class++)
        listed += count_free(st->classes[size_class], size_class, &fault);
    uint64_t queued = fault ? 0 : count_queue(st, &fault);
    if (!fault && (sums.live != st->live.count || listed != sums.free || queued != sums.pending))
        fault = "a block is lost";
    if (!fault && (sums.blocks != st->blocks.used || sums.uses + queued != st->uses.used))
        fault = "a record is lost";
    if (!fault && !adds_up(st, &sums))
        fault = "the counters do not add up";
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'torch-pinned': %s", fault) : TP_OK;
}
