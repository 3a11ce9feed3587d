/* The walk over all blocks of `bump`, and the check of its invariants. Never timed. */
#include "alloc/strategies/bump/bump_ranges.h"

/* Visits the blocks of a range. Each block ends where the next one begins. */
static void walk_blocks(const struct bump *st, const struct bump_range *r, tp_walk_fn *fn,
                        void *ctx)
{
    tp_addr open = 0;
    enum tp_walk_kind kind = TP_WALK_DEAD;
    for (const struct bump_leaf *leaf = r->leaves; leaf; leaf = leaf->next)
        for (unsigned bit = bit_next(leaf->starts, 0); bit < BUMP_WORDS * 64;
             bit = bit_next(leaf->starts, bit + 1)) {
            tp_addr addr = leaf->base + ((uint64_t)bit << st->unit_log2);
            if (open)
                fn(ctx, kind, open, addr - open);
            open = addr;
            kind = bit_get(leaf->freed, bit) ? TP_WALK_DEAD : TP_WALK_LIVE;
        }
    if (open)
        fn(ctx, kind, open, r->base + r->used - open);
}

int tp_bump_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    struct bump *st = state;
    /* the tails of ranges before the current one are dead until the reset */
    bool passed = st->current != NULL;
    bump_sync(st);
    for (const struct bump_range *r = st->oldest; r; r = r->next) {
        walk_blocks(st, r, fn, ctx);
        if (r == st->current)
            passed = false;
        if (r->used < r->size)
            fn(ctx, passed ? TP_WALK_DEAD : TP_WALK_SPAN, r->base + r->used, r->size - r->used);
    }
    held_walk(st->env, &st->fallbacks, fn, ctx);
    return TP_OK;
}

/* NULL, or what is wrong with one range. Adds its live blocks and leaves to the counts. */
static const char *check_range(const struct bump *st, const struct bump_range *r, uint64_t *live,
                               uint64_t *leaves)
{
    if (r->used > r->size || r->high > r->size || r->used > r->high)
        return "a range is not used beyond its end";
    if (r->used && !(r->leaves && r->leaves->base == r->base && r->leaves->starts[0] & 1))
        return "a used range begins with a block";
    for (const struct bump_leaf *leaf = r->leaves; leaf; leaf = leaf->next, ++*leaves) {
        if (leaf->range != r || leaf_find(st, leaf->base) != leaf)
            return "a leaf is in the table";
        if (leaf->next && leaf->next->base <= leaf->base)
            return "leaves are in order";
        for (unsigned w = 0; w < BUMP_WORDS; w++) {
            if (leaf->freed[w] & ~leaf->starts[w])
                return "a freed block has a start";
            *live += (uint64_t)__builtin_popcountll(leaf->starts[w] & ~leaf->freed[w]);
        }
        tp_addr end = r->base + r->used; /* the end of the used part may lie far behind the leaf */
        uint64_t past = end <= leaf->base ? 0 : ((end - leaf->base - 1) >> st->unit_log2) + 1;
        if (past < BUMP_WORDS * 64 && bit_next(leaf->starts, (unsigned)past) < BUMP_WORDS * 64)
            return "no block begins behind what is used";
    }
    return NULL;
}

int tp_bump_check(void *state, struct tp_err *err)
{
    struct bump *st = state;
    uint64_t live = 0, leaves = 0, carved = 0;
    const char *broken = NULL;
    bump_sync(st);
    for (const struct bump_range *r = st->oldest; r && !broken; r = r->next) {
        broken = check_range(st, r, &live, &leaves);
        carved += r->high;
        if (!r->next && r != st->newest)
            broken = "the newest range is the last";
    }
    carved += held_walk(st->env, &st->fallbacks, NULL, NULL);
    if (!broken && (live != st->live || leaves != st->leaves.count))
        broken = "live blocks and leaves are counted";
    if (!broken && (carved != st->carved.now || carved > st->carved.peak))
        broken = "carved bytes are counted";
    return broken ? tp_fail(err, TP_EBROKEN, "strategy 'bump' broke a rule: %s", broken) : TP_OK;
}
