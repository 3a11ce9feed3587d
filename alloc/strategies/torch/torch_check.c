/* The walk over all blocks of `torch`, and the check of its invariants. */
#include "alloc/strategies/torch/torch_core.h"

static void walk_block(const struct torch_block *b, tp_walk_fn *fn, void *ctx)
{
    if (b->state == TORCH_LIVE)
        walk_handed_out(fn, ctx, b->addr, b->size, torch_lead(b), torch_allocated(b));
    else if (b->state != TORCH_UNMAPPED)
        fn(ctx, b->state == TORCH_FREE ? TP_WALK_SPAN : TP_WALK_CACHED, b->addr, b->size);
}

int tp_torch_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    struct torch *st = state;
    for (struct tp_link *l = st->segments.behind; l != &st->segments; l = l->behind) {
        const struct torch_segment *s = torch_segment_of(l);
        for (const struct torch_block *b = s->first; b; b = b->behind)
            walk_block(b, fn, ctx);
        if (s->bytes > s->size)
            fn(ctx, TP_WALK_INTERNAL, s->base + s->size, s->bytes - s->size);
    }
    return TP_OK;
}

/* Sums over the segments, to be compared with trees, tables and counters. */
struct torch_sums {
    uint64_t blocks, live, pending, uses, segments, bytes, carved;
    uint64_t free[2], unused[2], unmapped[2]; /* blocks of the large and of the small pool */
    uint64_t free_bytes[2];
    uint64_t room[2]; /* the largest that an unmapped block offers */
    tp_addr open;     /* where the bytes that are open up to the block begin */
};

/* What an unmapped block offers begins at it or at the free block in front, and goes on as long as
 * unmapped and free blocks take turns. */
static void note_room(const struct torch_block *b, struct torch_sums *sums)
{
    uint32_t before = b->before ? b->before->state : TORCH_NONE;
    uint64_t *room = &sums->room[b->segment->pool->small];
    bool unmapped = b->state == TORCH_UNMAPPED;
    if (before != (unmapped ? TORCH_FREE : TORCH_UNMAPPED))
        sums->open = b->addr;
    if (!unmapped && (b->state != TORCH_FREE || before != TORCH_UNMAPPED))
        return;
    uint64_t offer = b->addr + b->size - sums->open;
    *room = offer > *room ? offer : *room;
}

static void count_block(const struct torch_block *b, struct torch_sums *sums)
{
    bool small = b->segment->pool->small;
    sums->blocks++;
    sums->live += b->state == TORCH_LIVE;
    sums->pending += b->state == TORCH_PENDING;
    sums->free[small] += b->state == TORCH_FREE;
    if (b->state == TORCH_FREE) {
        uint64_t unused = torch_is_whole(b) ? b->size : tp_torch_unmappable(b);
        sums->unused[small] += unused != 0;
        sums->free_bytes[small] += unused;
    }
    sums->unmapped[small] += b->state == TORCH_UNMAPPED;
    note_room(b, sums);
    for (const struct stream_use *u = b->uses; u; u = u->next)
        sums->uses++;
}

/* What is wrong with a block and the one behind it; NULL: nothing. */
static const char *check_neighbours(const struct torch *st, const struct torch_block *b)
{
    if (b->behind && (b->behind->before != b || b->behind->addr != b->addr + b->size ||
                      b->behind->segment != b->segment))
        return "the blocks of a segment have a gap";
    if (b->state == TORCH_FREE && b->behind && b->behind->state == TORCH_FREE &&
        st->rules.merge_before && st->rules.merge_behind)
        return "two free neighbours are not merged";
    if (b->state == TORCH_UNMAPPED && b->behind && b->behind->state == TORCH_UNMAPPED)
        return "two unmapped neighbours are not one";
    return NULL;
}

static const char *check_block(struct torch *st, const struct torch_block *b,
                               struct torch_sums *sums)
{
    const char *fault = check_neighbours(st, b);
    count_block(b, sums);
    if (fault)
        return fault;
    if (b->state == TORCH_UNMAPPED &&
        ((b->addr - b->segment->base) % b->segment->unit || b->size % b->segment->unit))
        return "an unmapped block has no whole units";
    if (b->state == TORCH_LIVE && torch_find_live(st, b->addr + torch_lead(b)) != b)
        return "a live block is not in the table of addresses";
    if (b->state == TORCH_LIVE && (!b->requested || torch_allocated(b) < b->requested))
        return "a live block is smaller than its request";
    if ((b->pending != 0) != (b->state == TORCH_PENDING) || b->state == TORCH_NONE)
        return "a block waits for nothing, or the other way round";
    return NULL;
}

static const char *check_segment(struct torch *st, const struct torch_segment *s,
                                 struct torch_sums *sums)
{
    uint64_t bytes = 0, unmapped = 0;
    const char *fault = NULL;
    if (s->first->addr != s->base || s->first->before)
        return "a segment does not begin with its first block";
    for (const struct torch_block *b = s->first; b && !fault; b = b->behind) {
        bytes += b->size;
        unmapped += b->state == TORCH_UNMAPPED ? b->size : 0;
        fault = check_block(st, b, sums);
    }
    sums->segments++;
    sums->bytes += s->unit ? s->mapped : s->size;
    sums->carved += s->carved;
    if (!fault && (bytes != s->size || s->carved > s->size))
        return "the blocks of a segment do not add up";
    if (!fault && s->unit ? s->mapped + unmapped != s->size : unmapped != 0)
        return "the mapped bytes of a segment do not add up";
    return fault;
}

/* Counts a tree from its first block on, whose sizes must ascend; UINT64_MAX: they do not. */
static uint64_t count_unused(const struct torch_pool *pool, struct torch_block *b)
{
    uint64_t count = 0;
    for (const struct torch_block *last = NULL; b; b = tp_torch_unused_behind(b)) {
        if (b->state != TORCH_FREE || b->segment->pool != pool ||
            (last && last->size > b->size && last->segment->stream == b->segment->stream))
            return UINT64_MAX;
        last = b;
        count++;
    }
    return count;
}

static uint64_t count_nodes(const struct tp_tree_node *n)
{
    return n ? 1 + count_nodes(n->low) + count_nodes(n->high) : 0;
}

static uint64_t count_queued(const struct torch *st)
{
    uint64_t count = 0;
    for (const struct fence_queue *queue = st->queues; queue; queue = queue->next)
        for (const struct tp_link *l = queue->fences.behind; l != &queue->fences; l = l->behind)
            count++;
    return count;
}

static uint64_t most_room(const struct torch_pool *pool, uint64_t most)
{
    uint64_t own =
        pool->unmapped ? TP_TREE_ITEM(struct torch_block, by_size, pool->unmapped)->room.most : 0;
    return own > most ? own : most;
}

/* Do the trees of a kind of pools, large or small, have these blocks? */
static bool are_complete(const struct torch *st, int small, const struct torch_sums *sums)
{
    const struct torch_pool *own = small ? &st->small : &st->large;
    uint64_t free = 0, unmapped = 0, unused = 0, free_bytes = 0, room = 0, placed = 0;
    for (const struct torch_private *p = st->privates; own;) {
        free += count_nodes(own->free) + count_nodes(own->grown);
        placed += count_nodes(own->placed);
        unmapped += count_nodes(own->unmapped);
        room = most_room(own, room);
        unused += count_unused(own, tp_torch_unused_first(own));
        unused += count_unused(own, tp_torch_units_first(own));
        free_bytes += own->free_bytes;
        own = NULL;
        if (p) {
            own = small ? &p->small : &p->large;
            p = p->next;
        }
    }
    return free == sums->free[small] && unmapped == sums->unmapped[small] &&
           placed == (st->by_address ? free : 0) && room == sums->room[small] &&
           unused == sums->unused[small] && free_bytes == sums->free_bytes[small];
}

static const char *check_sums(const struct torch *st, const struct torch_sums *sums)
{
    for (int small = 0; small < 2; small++)
        if (!are_complete(st, small, sums))
            return "the trees of a pool do not have its blocks";
    if (sums->live != st->live.count || sums->pending != st->waiting)
        return "the table of addresses does not add up";
    if (sums->uses + count_queued(st) != st->uses.used)
        return "a use is lost";
    if (sums->blocks != st->blocks.used || sums->segments != st->segment_records.used)
        return "a record is lost";
    if (sums->bytes != st->segment_bytes || sums->carved != st->carved.now ||
        st->carved.now > st->carved.peak)
        return "the counters do not add up";
    return NULL;
}

int tp_torch_check(void *state, struct tp_err *err)
{
    struct torch *st = state;
    struct torch_sums sums = {0};
    const char *fault = NULL;
    for (struct tp_link *l = st->segments.behind; l != &st->segments && !fault; l = l->behind)
        fault = check_segment(st, torch_segment_of(l), &sums);
    if (!fault)
        fault = check_sums(st, &sums);
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'torch': %s", fault) : TP_OK;
}
