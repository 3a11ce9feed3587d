/* The walk over all blocks of `rmm-arena`, and the check of its invariants. */
#include "alloc/strategies/rmm_arena/rmm_arena_core.h"

static void walk_block(const struct rmm_arena_block *b, tp_walk_fn *fn, void *ctx)
{
    if (!b->requested)
        fn(ctx, TP_WALK_SPAN, b->spot.addr, b->size);
    else
        walk_handed_out(fn, ctx, b->spot.addr, b->size, rmm_arena_lead(b), rmm_arena_allocated(b));
}

int tp_rmm_arena_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct rmm_arena *st = state;
    for (const struct rmm_arena_block *b = st->first; b; b = b->behind)
        walk_block(b, fn, ctx);
    if (st->bytes > st->size)
        fn(ctx, TP_WALK_INTERNAL, st->base + st->size, st->bytes - st->size);
    return TP_OK;
}

/* Sums over the range, to be compared with trees and tables. */
struct rmm_arena_sums {
    uint64_t blocks, live, free, supers, bytes;
};

static const char *check_block(const struct rmm_arena *st, const struct rmm_arena_block *b)
{
    const struct rmm_arena_block *next = b->behind;
    const struct rmm_arena_super *s = b->super;
    if (next && (next->before != b || next->spot.addr != b->spot.addr + b->size))
        return "the blocks have a gap";
    if (next && next->super == s && !b->requested && !next->requested)
        return "two free neighbours are not merged";
    if (b->spot.addr < s->spot.addr || b->spot.addr + b->size > s->spot.addr + s->size)
        return "a block is not in its superblock";
    if (!b->requested)
        return b->size > s->spot.free ? "a superblock does not know its largest block" : NULL;
    if (meta_map_at(&st->live, b->spot.addr + rmm_arena_lead(b)) != b)
        return "a live block is not in the table of addresses";
    return rmm_arena_allocated(b) < b->requested ? "a live block is smaller than its request"
                                                 : NULL;
}

/* A superblock that begins with this block. */
static const char *check_super(const struct rmm_arena *st, const struct rmm_arena_super *s,
                               const struct rmm_arena_block *first)
{
    if (s->spot.addr != first->spot.addr)
        return "a superblock does not begin with its first block";
    if (s->size < RMM_ARENA_SUPER)
        return "a superblock is too small";
    if (s->owner != &st->global && !s->owner->holding)
        return "a superblock would not be collected";
    return NULL;
}

static uint64_t count_nodes(const struct tp_tree_node *n)
{
    return n ? 1 + count_nodes(n->low) + count_nodes(n->high) : 0;
}

static uint64_t count_free(struct tp_tree_node *n)
{
    if (!n)
        return 0;
    return count_nodes(rmm_arena_super_at(n)->blocks) + count_free(n->low) + count_free(n->high);
}

static const char *check_sums(const struct rmm_arena *st, const struct rmm_arena_sums *sums)
{
    uint64_t supers = count_nodes(st->global.supers), free = count_free(st->global.supers);
    for (const struct rmm_arena_owner *o = st->holding; o; o = o->next_holding) {
        supers += count_nodes(o->supers);
        free += count_free(o->supers);
    }
    if (supers != sums->supers || supers != st->supers.used)
        return "a superblock is lost";
    if (free != sums->free || sums->live != st->live.count)
        return "a block is lost";
    if (sums->blocks != st->blocks.used)
        return "a record is lost";
    return sums->bytes != st->size ? "the blocks do not add up" : NULL;
}

int tp_rmm_arena_check(void *state, struct tp_err *err)
{
    const struct rmm_arena *st = state;
    struct rmm_arena_sums sums = {0};
    const struct rmm_arena_super *last = NULL;
    const char *fault = NULL;
    for (const struct rmm_arena_block *b = st->first; b && !fault; b = b->behind) {
        sums.blocks++;
        sums.live += b->requested != 0;
        sums.free += !b->requested;
        sums.bytes += b->size;
        sums.supers += b->super != last;
        fault = b->super != last ? check_super(st, b->super, b) : NULL;
        last = b->super;
        if (!fault)
            fault = check_block(st, b);
    }
    if (!fault)
        fault = check_sums(st, &sums);
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'rmm-arena': %s", fault) : TP_OK;
}
