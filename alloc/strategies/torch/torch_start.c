/* The heap that a recording began with: its segments are taken from the source, its blocks cut out
 * of them, and each is handed out to the object of the prologue that it belongs to.
 *
 *     segment   | starting | free | starting | free |      before the first request
 *               | live     | free | starting | free |      after one request of the prologue
 *
 * Where memory is short, idle segments are left out first, as PyTorch would have given them back;
 * the objects of a segment that still does not fit fail. */
#include "alloc/strategies/torch/torch_core.h"
#include "alloc/strategies/torch/torch_place.h"

static bool on_grain(uint64_t n)
{
    return n % TORCH_GRAIN == 0;
}

/* Segments that grow are not begun with; blocks lie on multiples of 512 bytes. */
static bool is_known(const struct tp_heap *heap)
{
    const struct tp_heap_block *b = heap->blocks;
    for (uint64_t i = 0; i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        if (s->flags & TP_HEAP_EXPANDABLE || !on_grain(s->size))
            return false;
        for (const struct tp_heap_block *end = b + s->blocks; b < end; b++)
            if (!on_grain(b->at - s->base) || !on_grain(b->bytes))
                return false;
    }
    return true;
}

/* ---- a segment ---- */

/* Cuts a block out of the free one at the end of a segment: what lies before it is free, what is
 * left behind it is returned, in no pool; NULL: nothing is left. */
static struct torch_block *cut_out(struct torch *st, struct torch_block *rest, uint64_t before,
                                   uint64_t bytes)
{
    struct torch_block *b = rest;
    if (before) {
        b = tp_torch_split(st, rest, before);
        tp_torch_pool_add(rest);
    }
    b->state = TORCH_STARTING;
    if (bytes == b->size)
        return NULL;
    return tp_torch_reserve(st) ? NULL : tp_torch_split(st, b, bytes);
}

static int cut_all(struct torch *st, struct torch_block *rest, const struct tp_heap_segment *from,
                   const struct tp_heap_block *blocks)
{
    uint64_t at = from->base, end = from->base + from->size;
    for (uint64_t i = 0; i < from->blocks; i++) {
        const struct tp_heap_block *b = &blocks[i];
        uint64_t next = i + 1 < from->blocks ? b[1].at : end;
        uint64_t bytes = tp_torch_block_bytes(&st->rules, from->flags & TP_HEAP_SMALL, b, next);
        bytes = bytes < next - b->at ? bytes : next - b->at;
        if (tp_torch_reserve(st))
            return TP_ENOMEM;
        rest = cut_out(st, rest, b->at - at, bytes);
        at = b->at + bytes;
        if (!rest && at < end)
            return TP_ENOMEM;
    }
    if (rest)
        tp_torch_pool_add(rest);
    return TP_OK;
}

/* Puts a segment among the others by its order: before the first one, from *place on, that is
 * behind it. */
static void put_in_order(struct torch *st, struct torch_segment *s, uint64_t order,
                         struct tp_link **place)
{
    s->order = order;
    tp_link_out(&s->in_all);
    while (*place != &st->segments && torch_segment_of(*place)->order < order)
        *place = (*place)->behind;
    tp_link_insert(*place, &s->in_all);
}

/* Segments keep the order of their addresses, in whatever order they are taken. */
static int take(struct torch *st, const struct tp_heap_segment *from,
                const struct tp_heap_block *blocks, uint64_t order, struct tp_link **place)
{
    tp_addr base = 0;
    int rc = tp_torch_choose_pool(st, tp_pool_number(from->pool[0], from->pool[1]));
    if (!rc)
        rc = tp_torch_reserve(st);
    if (!rc)
        rc = tp_torch_get_range(st, from->size, &base);
    if (rc)
        return rc;
    struct torch_pool *pool = torch_pool_of(st, from->flags & TP_HEAP_SMALL);
    struct torch_block *rest = tp_torch_enter(st, pool, from->stream, base, from->size);
    put_in_order(st, rest->segment, order, place);
    return cut_all(st, rest, from, blocks);
}

/* ---- the heap ---- */

static int take_all(struct torch *st, const struct tp_heap *heap, bool idle)
{
    const struct tp_heap_block *blocks = heap->blocks;
    struct tp_link *place = st->segments.behind;
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        if (idle == !s->blocks)
            rc = take(st, s, blocks, i + 1, &place);
        blocks += s->blocks;
    }
    return rc;
}

/* The block behind another, that of the next segment where it is the last one. */
static struct torch_block *behind(const struct torch *st, const struct torch_block *b)
{
    struct tp_link *next = b->segment->in_all.behind;
    if (b->behind)
        return b->behind;
    return next != &st->segments ? torch_segment_of(next)->first : NULL;
}

/* The first block that waits for its object, from `b` on; NULL: none. */
static struct torch_block *starting_from(const struct torch *st, struct torch_block *b)
{
    while (b && b->state != TORCH_STARTING)
        b = behind(st, b);
    return b;
}

int tp_torch_start(struct torch *st, const struct tp_heap *heap)
{
    if (st->rules.expandable || !is_known(heap))
        return TP_EUNSUP;
    int rc = take_all(st, heap, false);
    if (rc == TP_OK)
        rc = take_all(st, heap, true);
    st->chosen = NULL;
    if (rc != TP_OK && rc != TP_EOOM)
        return rc;
    st->made = heap->segment_count;
    st->to_start = heap->block_count;
    if (st->segments.behind != &st->segments)
        st->starting = starting_from(st, torch_segment_of(st->segments.behind)->first);
    return TP_OK;
}

int tp_torch_start_one(struct torch *st, const struct tp_req *rq, struct tp_block *out)
{
    struct torch_block *b = st->starting;
    uint64_t lead = rq->align > TORCH_GRAIN ? rq->align - TORCH_GRAIN : 0;
    int rc = tp_torch_reserve(st);
    if (rc)
        return rc;
    st->to_start--;
    if (!b)
        return TP_EOOM;
    st->starting = starting_from(st, behind(st, b));
    if (rq->size > b->size || lead > b->size - rq->size) { /* this is no object of the heap */
        tp_torch_release(st, b);
        return TP_EOOM;
    }
    tp_torch_hand_out(st, b, rq->size, rq->align);
    *out = (struct tp_block){b->addr + torch_lead(b), torch_granted(b)};
    return TP_OK;
}
