/* Requests: a block is found and split, freed and merged, and waits for other streams in between.
 */
#include "alloc/strategies/torch/torch_core.h"

/* ---- blocks ---- */

int tp_torch_reserve(struct torch *st)
{
    if (slab_reserve_two(&st->blocks) || slab_reserve(&st->segment_records))
        return TP_ENOMEM;
    return tp_addr_map_reserve(&st->live, st->live.count + 1);
}

struct torch_block *tp_torch_split(struct torch *st, struct torch_block *b, uint64_t size)
{
    struct torch_block *rest = slab_take(&st->blocks);
    assert(rest);
    rest->addr = b->addr + size;
    rest->size = b->size - size;
    rest->segment = b->segment;
    rest->before = b;
    rest->behind = b->behind;
    if (b->behind)
        b->behind->before = rest;
    b->behind = rest;
    b->size = size;
    return rest;
}

void tp_torch_hand_out(struct torch *st, struct torch_block *b, uint64_t requested, uint64_t align)
{
    struct torch_segment *s = b->segment;
    uint64_t end = b->addr + b->size - s->base;
    b->state = TORCH_LIVE;
    b->requested = requested;
    b->align = align;
    if (!s->unit && end > s->carved) {
        carved_add(&st->carved, end - s->carved);
        s->carved = end;
    }
    tp_addr_map_insert(&st->live, b->addr + torch_lead(b), (uintptr_t)b);
}

/* Leaves the bytes in front of the next multiple of base_grain free, where a large request asks for
 * that and the block has room. NULL: out of records; the block is free. */
static struct torch_block *on_grain_base(struct torch *st, struct torch_block *b, uint64_t size)
{
    const struct tp_torch_rules *r = &st->rules;
    if (LIKELY(!r->base_grain) || !r->expandable || size < r->own_grain)
        return b;
    uint64_t offset = b->addr - b->segment->base, lead = up_to(offset, r->base_grain) - offset;
    if (!lead || lead + size > b->size)
        return b;
    struct torch_block *rest = tp_torch_split(st, b, lead);
    tp_torch_pool_add(b);
    if (!tp_torch_reserve(st))
        return rest;
    tp_torch_release(st, rest);
    return NULL;
}

/* Whether the rest is split off a block that serves `asked`: its own, or of a pool that serves
 * where the device is full, as if no segments grew. */
static bool is_split(const struct torch *st, const struct torch_pool *asked,
                     const struct torch_block *b, uint64_t size)
{
    const struct torch_pool *pool = b->segment->pool;
    if (pool->whole)
        return false;
    if (LIKELY(pool == asked))
        return tp_torch_is_split(&st->rules, pool->small, size, b->size - size);
    struct tp_torch_rules rules = st->rules;
    rules.expandable = false;
    return tp_torch_is_split(&rules, pool->small, size, b->size - size);
}

int tp_torch_alloc(struct torch *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (__builtin_expect(st->to_start > 0, 0))
        return tp_torch_start_one(st, rq, out);
    uint64_t lead = rq->align > TORCH_GRAIN ? rq->align - TORCH_GRAIN : 0;
    if (rq->size > TORCH_MOST || lead > TORCH_MOST)
        return TP_EOOM;
    int rc = tp_torch_reserve(st);
    if (rc)
        return rc;
    tp_torch_poll(st);
    uint64_t size = tp_torch_rounded(&st->rules, rq->size + lead);
    struct torch_pool *pool = torch_pool_of(st, size <= st->rules.small_most);
    struct torch_block *b = tp_torch_pool_fit(st, pool, rq->stream, size);
    if (b)
        tp_torch_pool_remove(b);
    else if ((rc = tp_torch_grow(st, pool, rq->stream, size, &b)))
        return rc;
    if (!(b = on_grain_base(st, b, size)))
        return TP_ENOMEM;
    if (is_split(st, pool, b, size))
        tp_torch_pool_add(tp_torch_split(st, b, size));
    tp_torch_hand_out(st, b, rq->size, rq->align);
    *out = (struct tp_block){b->addr + torch_lead(b), torch_allocated(b)};
    return TP_OK;
}

/* ---- freeing ---- */

void tp_torch_join(struct torch *st, struct torch_block *low, struct torch_block *high)
{
    low->size += high->size;
    low->behind = high->behind;
    if (high->behind)
        high->behind->before = low;
    slab_give(&st->blocks, high);
}

struct torch_block *tp_torch_join_free(struct torch *st, struct torch_block *b, bool before,
                                       bool behind)
{
    struct torch_block *low = b->before, *high = b->behind;
    if (before && low && low->state == TORCH_FREE) {
        tp_torch_pool_remove(low);
        tp_torch_join(st, low, b);
        b = low;
    }
    if (behind && high && high->state == TORCH_FREE) {
        tp_torch_pool_remove(high);
        tp_torch_join(st, b, high);
    }
    tp_torch_pool_add(b);
    return b;
}

void tp_torch_release(struct torch *st, struct torch_block *b)
{
    tp_torch_join_free(st, b, st->rules.merge_before, st->rules.merge_behind);
}

/* ---- other streams ---- */

static struct fence_queue *queue_make(struct torch *st, uint16_t stream)
{
    struct fence_queue *queue = meta_map_at(&st->queue_of, stream + UINT64_C(1));
    if (queue || tp_addr_map_reserve(&st->queue_of, st->queue_of.count + 1) ||
        !(queue = slab_take(&st->queue_records)))
        return queue;
    queue->stream = stream;
    queue->next = st->queues;
    st->queues = queue;
    tp_link_init(&queue->fences);
    tp_addr_map_insert(&st->queue_of, stream + UINT64_C(1), (uintptr_t)queue);
    return queue;
}

static int add_use(struct torch *st, struct torch_block *b, uint16_t stream)
{
    if (!st->fenced || stream == b->segment->stream || uses_have(b->uses, stream))
        return TP_OK;
    struct fence_queue *queue = queue_make(st, stream);
    return queue && uses_note(&st->uses, &b->uses, b, stream, &queue->fences) ? TP_OK : TP_ENOMEM;
}

int tp_torch_use(struct torch *st, tp_addr addr, uint16_t stream)
{
    struct torch_block *b = torch_find_live(st, addr);
    return b ? add_use(st, b, stream) : TP_EINVAL;
}

/* A freed block waits for a fence on each stream that used it. */
static void fence_uses(struct torch *st, struct torch_block *b)
{
    for (struct stream_use *u = b->uses; u; u = u->next) {
        uses_queue(st->env->source, u);
        b->pending++;
    }
    b->uses = NULL;
    b->state = TORCH_PENDING;
    st->waiting++;
}

/* PyTorch learns of other streams from record_stream alone. Here a block that another stream frees
 * counts as used by it. */
int tp_torch_free(struct torch *st, tp_addr addr, const struct tp_req *rq)
{
    struct torch_block *b = torch_find_live(st, addr);
    if (!b || b->requested != rq->size || b->align != rq->align)
        return TP_EINVAL;
    int rc = add_use(st, b, rq->stream);
    if (rc)
        return rc; /* the block is still live */
    tp_addr_map_remove(&st->live, addr, NULL);
    if (b->uses)
        fence_uses(st, b);
    else
        tp_torch_release(st, b);
    return TP_OK;
}

/* ---- waiting ---- */

/* A use has left its queue. */
static void pass(void *ctx, struct stream_use *u)
{
    struct torch *st = ctx;
    struct torch_block *b = u->block;
    slab_give(&st->uses, u);
    if (--b->pending)
        return;
    st->waiting--;
    tp_torch_release(st, b);
}

void tp_torch_poll(struct torch *st)
{
    uses_poll(st->env->source, st->waiting ? st->queues : NULL, pass, st);
}

int tp_torch_wait(struct torch *st)
{
    return uses_wait(st->env->source, st->waiting ? st->queues : NULL, pass, st);
}
