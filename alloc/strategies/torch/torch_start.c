/* The heap that a recording began with: its segments are taken from the source, its blocks cut out
 * of them, and each is given to the object of the initial heap that it belongs to.
 *
 *     segment   | starting | free | starting | free |      before the first request
 *               | live     | free | starting | free |      after one request of the initial heap
 *
 * Where memory is short, unused segments are left out first, as PyTorch would have given them back;
 * the objects of a segment that still does not fit fail. Of a segment that grows, unused units are
 * left out so. Whether new segments grow is another question: both kinds lie side by side.
 *
 * Known weakness: what is reserved around the stretches of a segment that grows is not recorded. It
 * is taken to begin with the first one, so that a request that PyTorch served with units below that
 * is served with units behind the last one. */
#include "alloc/strategies/torch/torch_core.h"
#include "alloc/strategies/torch/torch_place.h"

static bool on_grain(uint64_t n)
{
    return n % TORCH_GRAIN == 0;
}

/* Blocks lie on multiples of 512 bytes. */
static bool is_known(const struct tp_heap *heap)
{
    const struct tp_heap_block *b = heap->blocks;
    for (uint64_t i = 0; i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        if (!on_grain(s->size))
            return false;
        for (const struct tp_heap_block *end = b + s->blocks; b < end; b++)
            if (!on_grain(b->at - s->base) || !on_grain(b->bytes))
                return false;
    }
    return true;
}

/* ---- what grows ---- */

/* Of its kind, among the pools that are chosen. */
static struct torch_pool *pool_of(struct torch *st, const struct tp_heap_segment *from)
{
    return torch_pool_of(st, from->flags & TP_HEAP_SMALL);
}

static int choose_pools(struct torch *st, const struct tp_heap_segment *from)
{
    return tp_torch_choose_pool(st, tp_pool_number(from->pool[0], from->pool[1]));
}

/* The stretches of one segment that grows follow each other in the heap. */
struct torch_space {
    const struct tp_heap_segment *first; /* stretch; NULL: there was none before */
    uint64_t bytes;                      /* that are reserved from there on */
    uint64_t order;                      /* of the segment */
};

/* Goes on to the next segment of the heap. False: it does not grow. */
static bool step_space(struct torch *st, struct torch_space *space,
                       const struct tp_heap_segment *from, uint64_t order)
{
    bool grows = from->flags & TP_HEAP_EXPANDABLE;
    if (!grows)
        space->first = NULL;
    else if (!space->first || !tp_heap_reaches(space->first, space->bytes, from))
        *space = (struct torch_space){from, tp_torch_space_bytes(st, pool_of(st, from), from->size),
                                      order};
    return grows;
}

/* The source maps such units, and what is mapped lies in them, and is not more than a device has.
 */
static bool has_whole_units(struct torch *st, const struct tp_heap *heap)
{
    uint64_t page = tp_src_map_page(st->env->source), left = TORCH_SPACE;
    struct torch_space space = {.first = NULL};
    for (uint64_t i = 0; i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        uint64_t unit = tp_torch_unit(st, pool_of(st, s));
        if (!step_space(st, &space, s, i + 1))
            continue;
        if (!page || unit % page || s->size % unit || (s->base - space.first->base) % unit ||
            s->size > left)
            return false;
        left -= s->size;
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

/* The bytes of a block with room up to the next one. It was split off by the rules for a segment of
 * its kind, whatever holds now. */
static uint64_t bytes_of(struct torch *st, const struct tp_heap_segment *from,
                         const struct tp_heap_block *blocks, uint64_t i)
{
    const struct tp_heap_block *b = &blocks[i];
    uint64_t next = i + 1 < from->blocks ? b[1].at : from->base + from->size;
    if (pool_of(st, from)->whole)
        return next - b->at;
    struct tp_torch_rules then = st->rules;
    then.expandable = (from->flags & TP_HEAP_EXPANDABLE) != 0;
    uint64_t bytes = tp_torch_block_bytes(&then, from->flags & TP_HEAP_SMALL, b, next);
    return bytes < next - b->at ? bytes : next - b->at;
}

static int cut_all(struct torch *st, struct torch_block *rest, const struct tp_heap_segment *from,
                   const struct tp_heap_block *blocks)
{
    uint64_t at = from->base, end = from->base + from->size;
    for (uint64_t i = 0; i < from->blocks; i++) {
        const struct tp_heap_block *b = &blocks[i];
        uint64_t bytes = bytes_of(st, from, blocks, i);
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

/* Segments keep the order of their addresses, in whatever order they are taken: moves `place` to
 * the first one with this order, or behind it. */
static void seek(const struct torch *st, struct tp_link **place, uint64_t order)
{
    while (*place != &st->segments && torch_segment_of(*place)->order < order)
        *place = (*place)->behind;
}

/* Puts a new segment there. */
static void put_in_order(struct torch *st, struct torch_segment *s, struct tp_link **place)
{
    tp_link_out(&s->in_all);
    seek(st, place, s->order);
    tp_link_insert(*place, &s->in_all);
}

static int take_segment(struct torch *st, const struct tp_heap_segment *from,
                        const struct tp_heap_block *blocks, uint64_t order, struct tp_link **place)
{
    tp_addr base = 0;
    int rc = choose_pools(st, from);
    if (!rc)
        rc = tp_torch_reserve(st);
    if (!rc)
        rc = tp_torch_get_range(st, from->size, &base);
    if (rc)
        return rc;
    st->made = order - 1; /* the number that it gets is the next one */
    struct torch_block *rest =
        tp_torch_enter(st, pool_of(st, from), from->stream, base, from->size);
    put_in_order(st, rest->segment, place);
    return cut_all(st, rest, from, blocks);
}

/* ---- a stretch of one that grows ---- */

/* The segment of a space, which is made where there is none yet. */
static int need_space(struct torch *st, const struct torch_space *space, struct tp_link **place,
                      struct torch_segment **out)
{
    const struct tp_heap_segment *first = space->first;
    struct torch_block *b = NULL;
    seek(st, place, space->order);
    if (*place != &st->segments && torch_segment_of(*place)->order == space->order) {
        *out = torch_segment_of(*place);
        return TP_OK;
    }
    st->made = space->order - 1;
    int rc = choose_pools(st, first);
    if (!rc)
        rc = tp_torch_add_space(st, pool_of(st, first), first->stream, first->size, &b);
    if (rc)
        return rc;
    *out = b->segment;
    put_in_order(st, *out, place);
    *place = &(*out)->in_all;
    return TP_OK;
}

/* A stretch that is being filled. */
struct torch_stretch {
    struct torch_segment *segment;
    tp_addr base;             /* where it lies now */
    uint64_t done;            /* bytes from there on whose units need no more looking at */
    struct torch_block *free; /* the free block at the end of what is mapped */
};

/* Maps units up to `end`. */
static int map_to(struct torch *st, struct torch_stretch *s, uint64_t end)
{
    if (end <= s->done)
        return TP_OK;
    uint64_t bytes = end - s->done;
    int rc = tp_torch_is_allowed(st, bytes)
                 ? tp_torch_map_at(st, s->segment, s->base + s->done, bytes, &s->free)
                 : TP_EOOM;
    s->done = end;
    return rc;
}

/* Maps the units that hold blocks, and cuts these out. */
static int fill(struct torch *st, struct torch_stretch *s, const struct tp_heap_segment *from,
                const struct tp_heap_block *blocks)
{
    uint64_t unit = s->segment->unit;
    for (uint64_t i = 0; i < from->blocks; i++) {
        uint64_t at = blocks[i].at - from->base, bytes = bytes_of(st, from, blocks, i);
        uint64_t begin = at / unit * unit;
        s->done = begin > s->done ? begin : s->done;
        int rc = map_to(st, s, up_to(at + bytes, unit));
        if (!rc)
            rc = tp_torch_reserve(st);
        if (rc)
            return rc;
        struct torch_block *b = s->free;
        uint64_t before = s->base + at - b->addr, behind = b->size - before - bytes;
        tp_torch_pool_remove(b);
        s->free = cut_out(st, b, before, bytes);
        if (!s->free && behind)
            return TP_ENOMEM;
        if (s->free)
            tp_torch_pool_add(s->free);
    }
    return TP_OK;
}

/* Maps the other units. */
static int fill_unused(struct torch *st, struct torch_stretch *s,
                       const struct tp_heap_segment *from, const struct tp_heap_block *blocks)
{
    uint64_t unit = s->segment->unit;
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < from->blocks; i++) {
        uint64_t at = blocks[i].at - from->base;
        uint64_t end = up_to(at + bytes_of(st, from, blocks, i), unit);
        rc = map_to(st, s, at / unit * unit);
        s->done = end > s->done ? end : s->done;
    }
    return rc ? rc : map_to(st, s, from->size);
}

static int take_stretch(struct torch *st, const struct torch_space *space,
                        const struct tp_heap_segment *from, const struct tp_heap_block *blocks,
                        bool unused, struct tp_link **place)
{
    struct torch_stretch s = {.done = 0};
    int rc = unused || from->blocks ? need_space(st, space, place, &s.segment) : TP_OK;
    if (rc || !s.segment)
        return rc;
    s.base = s.segment->base + (from->base - space->first->base);
    return unused ? fill_unused(st, &s, from, blocks) : fill(st, &s, from, blocks);
}

/* ---- the heap ---- */

static int take_all(struct torch *st, const struct tp_heap *heap, bool unused)
{
    const struct tp_heap_block *blocks = heap->blocks;
    struct tp_link *place = st->segments.behind;
    struct torch_space space = {.first = NULL};
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        if (step_space(st, &space, s, i + 1))
            rc = take_stretch(st, &space, s, blocks, unused, &place);
        else if (unused == !s->blocks)
            rc = take_segment(st, s, blocks, i + 1, &place);
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
    if (!is_known(heap) || !has_whole_units(st, heap))
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
    if (rq->size > b->size || lead > b->size - rq->size) { /* this is not an object of the heap */
        tp_torch_release(st, b);
        return TP_EOOM;
    }
    tp_torch_hand_out(st, b, rq->size, rq->align);
    *out = (struct tp_block){b->addr + torch_lead(b), torch_allocated(b)};
    return TP_OK;
}
