/* The walk over all blocks of `stitch`, and the check of its invariants. Memory is named once: at
 * the addresses of the block that has it. */
#include "alloc/strategies/stitch/stitch_core.h"

static void walk_block(const struct stitch_block *b, tp_walk_fn *fn, void *ctx)
{
    uint64_t taken = stitch_taken(b);
    if (b->state == STITCH_LIVE)
        walk_handed_out(fn, ctx, b->addr, taken, stitch_lead(b), stitch_allocated(b));
    else if (b->state == STITCH_PENDING)
        fn(ctx, TP_WALK_CACHED, b->addr, taken);
    else if (b->state == STITCH_FREE && !b->stitched)
        fn(ctx, TP_WALK_SPAN, b->addr, b->size);
}

int tp_stitch_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    struct stitch *st = state;
    for (struct tp_link *l = st->stretches.behind; l != &st->stretches; l = l->behind)
        for (const struct stitch_primitive *p = stitch_stretch_of(l)->first; p; p = p->behind)
            walk_block(&p->b, fn, ctx);
    for (struct tp_link *l = st->busy.behind; l != &st->busy; l = l->behind)
        walk_block(&stitch_in_list(l)->b, fn, ctx);
    return tp_strategy_torch.walk(st->torch, fn, ctx);
}

/* Sums over the stretches, to be compared with trees, tables and counters. */
struct stitch_sums {
    uint64_t primitives, free, sewn, live, pending, uses, stretches, pieces, bytes, whole,
        free_bytes;
    uint64_t joined, kept, parts, used, joined_bytes;
};

static const char *check_block(const struct stitch *st, const struct stitch_block *b,
                               struct stitch_sums *sums)
{
    sums->live += b->state == STITCH_LIVE;
    sums->pending += b->state == STITCH_PENDING;
    for (const struct stream_use *u = b->uses; u; u = u->next)
        sums->uses++;
    if ((b->pending != 0) != (b->state == STITCH_PENDING))
        return "a block waits for nothing, or the other way round";
    if (!b->size || b->size % st->unit)
        return "a block has no whole units";
    if (b->state != STITCH_LIVE)
        return NULL;
    if (meta_map_at(&st->live, b->addr + stitch_lead(b)) != b)
        return "a live block is not in the table of addresses";
    return stitch_allocated(b) < b->requested ? "a live block is smaller than its request" : NULL;
}

static const char *check_primitive(const struct stitch *st, const struct stitch_primitive *p,
                                   struct stitch_sums *sums)
{
    const struct stitch_primitive *next = p->behind;
    sums->primitives++;
    sums->free += p->b.state == STITCH_FREE;
    sums->sewn += p->b.state == STITCH_SEWN;
    sums->free_bytes += p->b.state == STITCH_FREE ? p->b.size : 0;
    sums->whole += p->b.state == STITCH_FREE && !p->before && !next ? p->b.size : 0;
    if (next &&
        (next->before != p || next->b.addr != p->b.addr + p->b.size || next->stretch != p->stretch))
        return "the blocks of a stretch have a gap";
    if (next && p->b.state == STITCH_FREE && next->b.state == STITCH_FREE)
        return "two free neighbours are not merged";
    if (p->b.stream != p->stretch->stream || p->b.stitched || p->b.state == STITCH_NONE)
        return "a primitive block is not what it should be";
    if ((p->user != NULL) != (p->b.state == STITCH_SEWN))
        return "memory is in a stitched block, and does not know it";
    return check_block(st, &p->b, sums);
}

static const char *check_stretch(const struct stitch *st, const struct stitch_stretch *s,
                                 struct stitch_sums *sums)
{
    const char *fault = NULL;
    uint64_t bytes = 0;
    if (s->first->b.addr != s->base || s->first->before)
        return "a stretch does not begin with its first block";
    for (const struct stitch_primitive *p = s->first; p && !fault; p = p->behind) {
        bytes += p->b.size;
        fault = check_primitive(st, p, sums);
    }
    for (const struct tp_link *l = s->pieces.behind; l != &s->pieces; l = l->behind)
        sums->pieces++;
    sums->stretches++;
    sums->bytes += s->size;
    return fault || bytes == s->size ? fault : "the blocks of a stretch do not add up";
}

/* What a piece has of its memory: the whole of a primitive block that is sewn, if the stitched
 * block uses it. */
static const char *check_piece(const struct stitch *st, const struct stitch_joined *j,
                               const struct stitch_piece *p, struct stitch_sums *sums)
{
    sums->parts++;
    if (p->joined != j || p->addr < p->stretch->base ||
        p->addr + p->size > p->stretch->base + p->stretch->size)
        return "a part of a stitched block is not in its stretch";
    if (p->offset >= j->used)
        return NULL;
    uint64_t size = j->used - p->offset < p->size ? j->used - p->offset : p->size;
    const struct stitch_primitive *of = tp_stitch_begins_at(st, p->stretch, p->addr);
    sums->used++;
    return !of || of->user != j || of->b.size != size ? "a stitched block does not own its memory"
                                                      : NULL;
}

static const char *check_joined(const struct stitch *st, const struct stitch_joined *j,
                                struct stitch_sums *sums)
{
    uint64_t bytes = 0;
    const char *fault = check_block(st, &j->b, sums);
    for (uint32_t i = 0; i < j->count && !fault; i++) {
        fault = check_piece(st, j, &j->pieces[i], sums);
        if (!fault && j->pieces[i].offset != bytes)
            fault = "a stitched block has a gap";
        bytes += j->pieces[i].size;
    }
    sums->joined++;
    sums->kept += j->b.state == STITCH_FREE;
    sums->joined_bytes += j->reserved;
    if (!fault && (bytes != j->b.size || j->used > bytes || j->reserved < bytes))
        fault = "the parts of a stitched block do not add up";
    if (!fault && (j->used != 0) != (j->b.state != STITCH_FREE))
        fault = "a stitched block has memory that it does not use";
    return fault;
}

static uint64_t count_nodes(const struct tp_tree_node *n)
{
    return n ? 1 + count_nodes(n->low) + count_nodes(n->high) : 0;
}

static const char *check_sums(const struct stitch *st, const struct stitch_sums *sums)
{
    uint64_t free = 0, queued = 0;
    for (const struct fence_queue *of = st->queues; of; of = of->next) {
        const struct stitch_queue *queue = TP_LINKED(const struct stitch_queue, of, of);
        free += queue->free_bytes;
        for (const struct tp_link *l = of->fences.behind; l != &of->fences; l = l->behind)
            queued++;
    }
    if (sums->free != count_nodes(st->free) || sums->primitives != count_nodes(st->placed) ||
        sums->kept != count_nodes(st->kept))
        return "the trees do not have the blocks";
    if (sums->sewn != sums->used || sums->parts != sums->pieces)
        return "memory of a stitched block is lost";
    if (sums->primitives != st->primitives.used || sums->stretches != st->stretch_records.used ||
        sums->joined != st->joined_records.used || sums->uses + queued != st->uses.used)
        return "a record is lost";
    if (sums->live != st->live.count || sums->pending != st->waiting)
        return "the table of addresses does not add up";
    if (sums->bytes != st->bytes || sums->whole != st->whole_bytes || free != sums->free_bytes ||
        sums->joined_bytes != st->joined_bytes)
        return "the counters do not add up";
    return NULL;
}

int tp_stitch_check(void *state, struct tp_err *err)
{
    struct stitch *st = state;
    struct stitch_sums sums = {0};
    const char *fault = NULL;
    for (struct tp_link *l = st->stretches.behind; l != &st->stretches && !fault; l = l->behind)
        fault = check_stretch(st, stitch_stretch_of(l), &sums);
    for (struct tp_link *l = st->busy.behind; l != &st->busy && !fault; l = l->behind)
        fault = check_joined(st, stitch_in_list(l), &sums);
    for (struct tp_link *l = st->idle.behind; l != &st->idle && !fault; l = l->behind)
        fault = check_joined(st, stitch_in_list(l), &sums);
    if (!fault)
        fault = check_sums(st, &sums);
    if (fault)
        return tp_fail(err, TP_EBROKEN, "strategy 'stitch': %s", fault);
    return tp_strategy_torch.check(st->torch, err);
}
