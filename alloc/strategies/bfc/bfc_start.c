/* The heap that a recording began with: its regions are taken from the source, its chunks cut out
 * of them, and each is given to the object of the initial heap that it belongs to.
 *
 *     region    | starting | free | starting | free |      before the first request
 *               | live     | free | starting | free |      after one request of the initial heap
 *
 * Where memory is short, unused regions are left out; the objects of a region that still does not
 * fit fail.
 *
 * What the allocator takes next is not recorded. It is taken to be what the rules would take behind
 * the fewest regions with as many bytes. */
#include "alloc/strategies/bfc/bfc_core.h"

static bool on_grain(uint64_t n)
{
    return n % BFC_GRAIN == 0;
}

/* One pool of regions that do not grow, and chunks on multiples of 256 bytes. */
static bool is_known(const struct tp_heap *heap)
{
    const struct tp_heap_block *b = heap->blocks;
    for (uint64_t i = 0; i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        if (s->flags || s->pool[0] || s->pool[1] || !s->size || !on_grain(s->size))
            return false;
        for (const struct tp_heap_block *end = b + s->blocks; b < end; b++)
            if (!on_grain(b->at - s->base) || !on_grain(b->bytes))
                return false;
    }
    return true;
}

/* ---- a region ---- */

/* The bytes of a chunk with room up to the next one. */
static uint64_t bytes_of(const struct bfc *st, const struct tp_heap_segment *from,
                         const struct tp_heap_block *blocks, uint64_t i)
{
    const struct tp_heap_block *b = &blocks[i];
    uint64_t next = i + 1 < from->blocks ? b[1].at : from->base + from->size;
    uint64_t room = next - b->at, bytes = b->bytes;
    if (!bytes) {
        bytes = tp_bfc_rounded(&st->rules, b->requested);
        bytes = bytes < room ? tp_bfc_cut(&st->rules, room, bytes) : room;
    }
    return bytes < room ? bytes : room;
}

/* Cuts a chunk out of the free one at the end of a region: what lies before it is free, what is
 * left behind it is returned, in no bin; NULL: nothing is left. */
static struct bfc_chunk *cut_out(struct bfc *st, struct bfc_chunk *rest, uint64_t before,
                                 uint64_t bytes)
{
    struct bfc_chunk *c = rest;
    if (before) {
        c = tp_bfc_split(st, rest, before);
        tp_bfc_add(st, rest);
    }
    rest = NULL;
    if (bytes < c->size && tp_bfc_reserve(st) == TP_OK)
        rest = tp_bfc_split(st, c, bytes);
    tp_bfc_use(st, c, BFC_STARTING);
    return rest;
}

static int cut_all(struct bfc *st, struct bfc_chunk *rest, const struct tp_heap_segment *from,
                   const struct tp_heap_block *blocks)
{
    uint64_t at = from->base, end = from->base + from->size;
    for (uint64_t i = 0; i < from->blocks; i++) {
        uint64_t bytes = bytes_of(st, from, blocks, i);
        if (tp_bfc_reserve(st)) {
            tp_bfc_add(st, rest);
            return TP_ENOMEM;
        }
        rest = cut_out(st, rest, blocks[i].at - at, bytes);
        at = blocks[i].at + bytes;
        if (!rest && at < end)
            return TP_ENOMEM;
    }
    if (rest)
        tp_bfc_add(st, rest);
    return TP_OK;
}

static int take_region(struct bfc *st, const struct tp_heap_segment *from,
                       const struct tp_heap_block *blocks, uint64_t order)
{
    tp_addr base = 0;
    uint64_t align = 1;
    struct bfc_bins *bins = tp_bfc_bins_of(st, from->stream);
    int rc = bins ? tp_bfc_reserve(st) : TP_ENOMEM;
    if (!rc && from->size > tp_bfc_left(st))
        rc = TP_EOOM;
    if (!rc)
        rc = tp_bfc_get_range(st, from->size, &align, &base);
    if (rc)
        return rc;
    st->made = order - 1; /* the number that it gets is the next one */
    struct bfc_chunk *c = tp_bfc_enter(st, base, from->size, align);
    c->region->oldest = order == 1;
    c->bins = bins;
    return cut_all(st, c, from, blocks);
}

static int take_all(struct bfc *st, const struct tp_heap *heap, bool unused)
{
    const struct tp_heap_block *blocks = heap->blocks;
    int rc = TP_OK;
    for (uint64_t i = 0; rc == TP_OK && i < heap->segment_count; i++) {
        const struct tp_heap_segment *s = &heap->segments[i];
        if (unused == !s->blocks)
            rc = take_region(st, s, blocks, i + 1);
        blocks += s->blocks;
    }
    return rc;
}

/* ---- the next region ---- */

/* The regions of a heap are not known, but their sum: doubled again and again, each once, they are
 * the powers of two that make it up. Where doubling ends, so does the guess. */
static void find_next(struct bfc *st, const struct tp_heap *heap)
{
    uint64_t first = tp_bfc_first_bytes(st), sum = 0;
    bool enlarged = false;
    if (st->next || !heap->segment_count)
        return;
    for (uint64_t i = 0; i < heap->segment_count; i++)
        sum += heap->segments[i].size < TP_BFC_SPACE - sum ? heap->segments[i].size : 0;
    st->next = first;
    for (uint64_t bytes = first; bytes <= sum && bytes < TP_BFC_SPACE; bytes *= 2)
        if (sum / first & bytes / first) {
            tp_bfc_next_region(&st->rules, &st->next, bytes, TP_BFC_SPACE, &enlarged);
            tp_bfc_region_taken(&st->rules, &st->next, enlarged);
        }
    if (st->next > st->rules.doubled_most)
        st->next = st->rules.doubled_most;
}

/* ---- the heap ---- */

/* The chunk behind another, that of the next region where it is the last one. */
static struct bfc_chunk *behind(const struct bfc_chunk *c)
{
    struct bfc_region *next = c->behind ? NULL : bfc_next_region(c->region);
    return next ? next->first : c->behind;
}

/* The first chunk that waits for its object, from `c` on; NULL: none. */
static struct bfc_chunk *starting_from(struct bfc_chunk *c)
{
    while (c && bfc_state(c) != BFC_STARTING)
        c = behind(c);
    return c;
}

int tp_bfc_start(struct bfc *st, const struct tp_heap *heap)
{
    if (!is_known(heap))
        return TP_EUNSUP;
    find_next(st, heap);
    int rc = take_all(st, heap, false);
    if (rc == TP_OK)
        rc = take_all(st, heap, true);
    if (rc != TP_OK && rc != TP_EOOM)
        return rc;
    st->made = heap->segment_count;
    st->to_start = heap->block_count;
    if (st->in_order)
        st->starting = starting_from(bfc_first_region(st)->first);
    return TP_OK;
}

int tp_bfc_start_one(struct bfc *st, const struct tp_req *rq, struct tp_block *out)
{
    struct bfc_chunk *c = st->starting;
    int rc = tp_bfc_reserve(st);
    if (rc)
        return rc;
    st->to_start--;
    if (!c)
        return TP_EOOM;
    st->starting = starting_from(behind(c));
    tp_bfc_unuse(st, c);
    if (rq->size > c->size || rq->align > c->region->align ||
        (rq->align > BFC_GRAIN && tp_bfc_padding(c, rq->align))) {
        tp_bfc_release(st, c); /* this is not an object of the heap */
        return TP_EOOM;
    }
    tp_bfc_hand_out(st, c, rq->size, rq->align);
    *out = (struct tp_block){c->addr, c->size};
    return TP_OK;
}
