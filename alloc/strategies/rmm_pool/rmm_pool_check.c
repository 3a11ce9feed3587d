/* The walk over all blocks of `rmm-pool`, and the check of its invariants. */
#include "alloc/strategies/rmm_pool/rmm_pool_core.h"

static void walk_block(const struct rmm_pool_block *b, tp_walk_fn *fn, void *ctx)
{
    if (b->list)
        fn(ctx, TP_WALK_SPAN, b->addr, b->size);
    else
        walk_handed_out(fn, ctx, b->addr, b->size, rmm_pool_lead(b), rmm_pool_allocated(b));
}

int tp_rmm_pool_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct rmm_pool *st = state;
    for (const struct rmm_pool_range *r = st->oldest; r; r = r->next) {
        for (const struct rmm_pool_block *b = r->first; b; b = b->behind)
            walk_block(b, fn, ctx);
        if (r->bytes > r->size)
            fn(ctx, TP_WALK_INTERNAL, r->base + r->size, r->bytes - r->size);
    }
    return TP_OK;
}

/* Sums over the ranges, to be compared with lists, tables and counters. */
struct rmm_pool_sums {
    uint64_t blocks, live, ranges, bytes, carved;
};

static const char *check_block(const struct rmm_pool *st, const struct rmm_pool_block *b)
{
    const struct rmm_pool_block *next = b->behind;
    if (next && (next->before != b || next->addr != b->addr + b->size || next->range != b->range))
        return "the blocks of a range have a gap";
    if (next && b->list && b->list == next->list)
        return "two free neighbours of a list are not merged";
    if (b->list)
        return NULL;
    if (meta_map_at(&st->live, b->addr + rmm_pool_lead(b)) != b)
        return "a live block is not in the table of addresses";
    if (!b->requested || rmm_pool_allocated(b) < b->requested)
        return "a live block is smaller than its request";
    return NULL;
}

static const char *check_range(const struct rmm_pool *st, const struct rmm_pool_range *r,
                               struct rmm_pool_sums *sums)
{
    uint64_t bytes = 0;
    const char *fault = NULL;
    if (r->first->addr != r->base || r->first->before)
        return "a range does not begin with its first block";
    for (const struct rmm_pool_block *b = r->first; b && !fault; b = b->behind) {
        bytes += b->size;
        sums->blocks++;
        sums->live += !b->list;
        fault = check_block(st, b);
    }
    sums->ranges++;
    sums->bytes += r->size;
    sums->carved += r->carved;
    if (!fault && (bytes != r->size || r->carved > r->size))
        fault = "the blocks of a range do not add up";
    return fault;
}

/* Counts the blocks of a list that belong there. */
static uint64_t count_blocks(const struct rmm_pool_list *list, struct tp_tree_node *n)
{
    if (!n)
        return 0;
    const struct rmm_pool_block *b = rmm_pool_by_size(n);
    uint64_t count = count_blocks(list, n->low) + count_blocks(list, n->high);
    return b->list == list && b->size <= list->largest ? count + 1 : count;
}

static uint64_t count_queues(struct tp_tree_node *n)
{
    if (!n)
        return 0;
    return rmm_pool_in_order(n)->listed + count_queues(n->low) + count_queues(n->high);
}

static const char *check_queues(const struct rmm_pool *st, uint64_t *free_blocks)
{
    uint64_t listed = 0, queues = 0;
    for (const struct rmm_pool_queue *queue = st->oldest_queue; queue; queue = queue->next) {
        const struct rmm_pool_list *list = queue->list;
        uint64_t count = count_blocks(list, list->blocks);
        const struct rmm_pool_block *most =
            list->largest ? tp_rmm_pool_fit(list, list->largest) : NULL;
        queues++;
        listed += queue->listed;
        *free_blocks += count;
        if (list->queue != queue || count != list->count || (count && !most))
            return "a list has lost a block";
        if (count && (!queue->listed || !tp_rmm_pool_first_queue(st, list->largest)))
            return "a stream queue with free blocks is not found";
    }
    return listed != count_queues(st->queues) || queues != st->queue_of.count
               ? "a stream queue is lost"
               : NULL;
}

int tp_rmm_pool_check(void *state, struct tp_err *err)
{
    const struct rmm_pool *st = state;
    struct rmm_pool_sums sums = {0};
    uint64_t free_blocks = 0;
    const char *fault = NULL;
    for (const struct rmm_pool_range *r = st->oldest; r && !fault; r = r->next)
        fault = check_range(st, r, &sums);
    if (!fault)
        fault = check_queues(st, &free_blocks);
    if (!fault && (sums.live != st->live.count || sums.live + free_blocks != sums.blocks))
        fault = "a free block is in no list";
    if (!fault && (sums.blocks != st->blocks.used || sums.ranges != st->ranges.used))
        fault = "a record is lost";
    if (!fault && (sums.bytes != st->size || sums.carved != st->carved.now ||
                   st->carved.now > st->carved.peak || (st->bounded && st->size > st->most)))
        fault = "the counters do not add up";
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'rmm-pool': %s", fault) : TP_OK;
}
