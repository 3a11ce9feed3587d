/* See verify_heap.h. */
#include "cmd/pytorch/verify/verify_heap.h"

#include "alloc/base/ascending.h"
#include "cmd/verify/recorded_source.h"

#include <stdlib.h>

void tp_verify_differs(struct tp_verified *v, const struct tp_verify_difference *d)
{
    if (v->first.kind == TP_NO_DIFFERENCE)
        v->first = *d;
}

int tp_verify_stream(struct tp_id_map *streams, int64_t stream, uint16_t *out, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = tp_id_map_need(streams, stream, (uint32_t)streams->used, &entry, err);
    if (rc == TP_OK && entry->index >= UINT16_MAX)
        rc = tp_fail(err, TP_EINPUT, "more than %d streams", UINT16_MAX);
    if (rc == TP_OK)
        *out = (uint16_t)entry->index;
    return rc;
}

/* ---- the start ---- */

/* The bytes of a block with room up to `end`. Counts those that are not in the file. */
static uint64_t bytes_of(const struct tp_verify_heap *h, const struct tp_pytorch_block *b,
                         bool small, uint64_t end)
{
    const struct tp_heap_block block = {
        .at = b->address, .requested = b->size, .bytes = b->bytes, .behind = b->behind};
    uint64_t bytes = tp_torch_block_bytes(h->rules, small, &block, end);
    h->out->start_rounded += !b->bytes;
    h->out->start_shown +=
        !b->bytes && b->behind == b->address + bytes && bytes > tp_torch_rounded(h->rules, b->size);
    return bytes;
}

/* Fills in the blocks of a segment, which begin at number `first`; returns their number. */
static size_t blocks_of(const struct tp_verify_heap *h, const struct tp_pytorch_block *segment,
                        const struct tp_pytorch_blocks *all, size_t first, struct tp_torch_at *out)
{
    size_t count = 0;
    for (size_t i = first; i < all->count && tp_pytorch_is_in(&all->items[i], segment); i++) {
        const struct tp_pytorch_block *b = &all->items[i];
        bool more = i + 1 < all->count && tp_pytorch_is_in(b + 1, segment);
        uint64_t end = more ? b[1].address : segment->address + segment->size;
        out[count++] =
            (struct tp_torch_at){b->address, bytes_of(h, b, segment->small, end), b->size};
    }
    return count;
}

static void no_place(const struct tp_verify_heap *h, const struct tp_pytorch_block *b)
{
    tp_verify_differs(h->out, &(struct tp_verify_difference){.kind = TP_START_UNPLACED,
                                                             .size = b->size,
                                                             .stream = b->stream,
                                                             .expected = b->address});
}

static int place_segment(const struct tp_verify_heap *h, const struct tp_verify_spaces *spaces,
                         const struct tp_pytorch_block *from, const struct tp_torch_at *blocks,
                         size_t count, struct tp_err *err)
{
    struct tp_torch_segment s = {.base = from->address, .size = from->size, .small = from->small};
    int rc = tp_verify_stream(h->streams, from->stream, &s.stream, err);
    if (rc == TP_OK && tp_torch_choose_pool(h->st, from->pool))
        rc = tp_fail(err, TP_ENOMEM, "out of memory");
    if (rc != TP_OK)
        return rc;
    bool known = s.base < TP_INVENTED && s.size <= TP_INVENTED - s.base;
    if (known && from->expandable)
        rc = tp_torch_place_mapped(h->st, tp_verify_base_of(spaces, from), &s, blocks, count);
    else
        rc = known ? tp_torch_place(h->st, &s, blocks, count) : TP_EINVAL;
    if (rc == TP_ENOMEM)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    if (rc != TP_OK)
        no_place(h, from);
    h->out->start_segments += rc == TP_OK;
    h->out->start_stretches += rc == TP_OK && from->expandable;
    h->out->start_inferred += rc == TP_OK && from->inferred;
    h->out->start_blocks += rc == TP_OK ? count : 0;
    return TP_OK;
}

static int place_all(const struct tp_verify_heap *h, const struct tp_pytorch_heap *heap,
                     const struct tp_verify_spaces *spaces, struct tp_torch_at *room,
                     struct tp_err *err)
{
    size_t next = 0;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < heap->segments.count; i++) {
        const struct tp_pytorch_block *s = &heap->segments.items[i];
        for (; next < heap->blocks.count && heap->blocks.items[next].address < s->address; next++)
            no_place(h, &heap->blocks.items[next]);
        size_t count = blocks_of(h, s, &heap->blocks, next, room);
        rc = place_segment(h, spaces, s, room, count, err);
        next += count;
    }
    for (; rc == TP_OK && next < heap->blocks.count; next++)
        no_place(h, &heap->blocks.items[next]);
    return rc;
}

/* Before any memory was taken, new segments grow as the first event that takes some shows. */
static int find_mode(const struct tp_pytorch *s, uint32_t device, struct tp_verify_start *out,
                     struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && !out->takes && (ev = tp_spill_next(&c, &rc, err))) {
        out->expands = ev->action == TP_PYTORCH_SEGMENT_MAP;
        out->takes = out->expands ||
                     (ev->action == TP_PYTORCH_SEGMENT_ALLOC && !tp_pytorch_pool_of(s, device, ev));
    }
    return rc;
}

int tp_verify_start_open(const struct tp_pytorch *s, uint32_t device, uint64_t small,
                         struct tp_verify_start *out, struct tp_err *err)
{
    bool taken[TP_PYTORCH_LISTS] = {false};
    taken[device] = true;
    *out = (struct tp_verify_start){.takes = false};
    int rc = tp_pytorch_heap_at_start(s, taken, &out->heap, err);
    if (rc == TP_OK)
        rc = tp_verify_find_spaces(s, device, small, &out->heap.segments, &out->spaces, err);
    return rc == TP_OK ? find_mode(s, device, out, err) : rc;
}

void tp_verify_start_close(const struct tp_pytorch *s, struct tp_verify_start *start)
{
    tp_verify_spaces_release(s, &start->spaces);
    tp_pytorch_heap_release(s, &start->heap);
}

int tp_verify_place(const struct tp_verify_heap *h, const struct tp_verify_start *start,
                    struct tp_err *err)
{
    struct tp_torch_at *room = calloc(start->heap.blocks.count + 1, sizeof *room);
    int rc = room ? place_all(h, &start->heap, &start->spaces, room, err)
                  : tp_fail(err, TP_ENOMEM, "out of memory");
    free(room);
    return rc;
}

/* ---- the end ---- */

static int by_address(const void *a, const void *b)
{
    const struct tp_torch_at *x = a, *y = b;
    return tp_order(x->addr, y->addr);
}

static int compare_segment(const struct tp_verify_heap *h, size_t i, struct tp_torch_at *room,
                           struct tp_err *err)
{
    const struct tp_pytorch *s = h->snapshot;
    const struct tp_pytorch_block *span = &s->spans.items[i];
    const struct tp_pytorch_content *c = &s->contents[i];
    struct tp_torch_segment at = {.base = span->address, .size = span->size, .small = span->small};
    int rc = tp_verify_stream(h->streams, span->stream, &at.stream, err);
    if (rc == TP_OK && tp_torch_choose_pool(h->st, span->pool))
        rc = tp_fail(err, TP_ENOMEM, "out of memory");
    if (rc != TP_OK)
        return rc;
    for (size_t k = 0; k < c->count; k++) {
        const struct tp_pytorch_block *b = &s->blocks.items[c->first + k];
        room[k] = (struct tp_torch_at){b->address, b->bytes, b->size};
    }
    qsort(room, c->count, sizeof *room, by_address);
    bool same = span->expandable ? tp_torch_is_mapped_at(h->st, &at, room, c->count, c->free_blocks)
                                 : tp_torch_is_at(h->st, &at, room, c->count, c->free_blocks);
    h->out->segments.all++;
    h->out->segments.good += same;
    h->out->blocks += same ? c->count + c->free_blocks : 0;
    if (!same)
        tp_verify_differs(h->out, &(struct tp_verify_difference){.kind = TP_OTHER_LAYOUT,
                                                                 .size = span->size,
                                                                 .stream = span->stream,
                                                                 .expected = span->address});
    return TP_OK;
}

int tp_verify_end(const struct tp_verify_heap *h, struct tp_err *err)
{
    const struct tp_pytorch *s = h->snapshot;
    struct tp_torch_at *room = calloc(s->blocks.count + 1, sizeof *room);
    int rc = room ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; rc == TP_OK && i < s->spans.count; i++)
        if (s->spans.items[i].device == h->out->device)
            rc = compare_segment(h, i, room, err);
    free(room);
    if (rc == TP_OK && s->spans.count && tp_torch_stretches(h->st) > h->out->segments.all)
        tp_verify_differs(h->out, &(struct tp_verify_difference){
                                      .kind = TP_OTHER_LAYOUT, .size = tp_torch_stretches(h->st)});
    return rc;
}
