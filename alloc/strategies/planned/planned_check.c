/* The walk over the pool of `planned`, and the check of its invariants; `torch` does the rest. */
#include "alloc/strategies/planned/planned_core.h"

extern const struct tp_strategy tp_strategy_torch;

int tp_planned_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    struct planned *st = state;
    const struct planned_pool *p = &st->pool;
    uint64_t at = 0;
    for (struct tp_tree_node *n = p->base ? tp_tree_first(p->root) : NULL; n; n = tp_tree_next(n)) {
        const struct planned_block *b = planned_block_of(n);
        if (b->offset > at)
            fn(ctx, TP_WALK_CACHED, p->base + at, b->offset - at);
        fn(ctx, b->pending ? TP_WALK_CACHED : TP_WALK_LIVE, p->base + b->offset, b->bytes);
        at = b->offset + b->bytes;
    }
    if (p->base && at < p->bytes)
        fn(ctx, TP_WALK_CACHED, p->base + at, p->bytes - at);
    return tp_strategy_torch.walk(&st->torch, fn, ctx);
}

static const char *check_pool(const struct planned_pool *p)
{
    uint64_t end = 0, live = 0, blocks = 0;
    for (struct tp_tree_node *n = tp_tree_first(p->root); n; n = tp_tree_next(n)) {
        const struct planned_block *b = planned_block_of(n);
        if (b->offset < end)
            return "two blocks of the pool overlap";
        if (b->bytes < b->requested || !b->requested || b->offset % b->align)
            return "a block of the pool does not fit its request";
        if (b->pending && (b->uses || !uses_first(&b->fences)))
            return "a freed block of the pool waits for nothing";
        end = b->offset + b->bytes;
        live += !b->pending;
        blocks++;
    }
    if (p->root && (!p->base || end > p->bytes || end > p->carved))
        return "a block lies beyond the pool";
    return live != p->live || blocks != p->blocks.used ? "the blocks of the pool do not add up"
                                                       : NULL;
}

int tp_planned_check(void *state, struct tp_err *err)
{
    struct planned *st = state;
    const char *fault = check_pool(&st->pool);
    return fault ? tp_fail(err, TP_EBROKEN, "%s", fault) : tp_strategy_torch.check(&st->torch, err);
}
