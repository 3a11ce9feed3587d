/* See pytorch_heap.h. The segments follow from their events as the blocks do (pytorch_initial.c).
 *
 * Known weakness: a segment that was freed before the events begin, in a ring buffer that was full,
 * is in no file. */
#include "traces/formats/pytorch/pytorch_heap.h"

#include "alloc/base/id_map.h"
#include "traces/formats/pytorch/pytorch_lower.h"

#include <stdlib.h>

enum { GONE, THERE };

struct segment_search {
    const struct tp_pytorch *snapshot;
    uint32_t device;
    uint64_t small;
    struct tp_id_map seen; /* segments of the events; the index is THERE or GONE */
    struct tp_pytorch_blocks *out;
};

static int look_at(struct segment_search *f, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    bool freed = ev->action == TP_PYTORCH_SEGMENT_FREE;
    if (!freed && ev->action != TP_PYTORCH_SEGMENT_ALLOC)
        return TP_OK;
    size_t used = f->seen.used;
    int rc = tp_id_map_need(&f->seen, (int64_t)ev->address, THERE, &entry, err);
    if (rc != TP_OK)
        return rc;
    entry->index = freed ? GONE : THERE;
    if (!freed || f->seen.used == used)
        return TP_OK;
    return tp_pytorch_add_block(f->snapshot->reading, f->out,
                                &(struct tp_pytorch_block){.address = ev->address,
                                                           .size = ev->size,
                                                           .stream = ev->stream,
                                                           .device = f->device,
                                                           .small = ev->size == f->small},
                                err);
}

static int of_events(struct segment_search *f, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &f->snapshot->devices[f->device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {
        .list = &f->snapshot->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        rc = look_at(f, ev, err);
    return rc;
}

static int of_the_end(struct segment_search *f, struct tp_err *err)
{
    const struct tp_pytorch_blocks *end = &f->snapshot->spans;
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < end->count; i++)
        if (end->items[i].device == f->device &&
            !tp_id_map_find(&f->seen, (int64_t)end->items[i].address))
            rc = tp_pytorch_add_block(f->snapshot->reading, f->out, &end->items[i], err);
    return rc;
}

static int by_address(const void *a, const void *b)
{
    const struct tp_pytorch_block *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

int tp_pytorch_heap_at_start(const struct tp_pytorch *s, uint32_t device, uint64_t small,
                             struct tp_pytorch_heap *out, struct tp_err *err)
{
    struct segment_search f = {
        .snapshot = s, .device = device, .small = small, .out = &out->segments};
    bool taken[TP_PYTORCH_DEVICES] = {false};
    taken[device] = true;
    f.seen.how = tp_reading_growth(s->reading, "segments");
    int rc = of_events(&f, err);
    if (rc == TP_OK)
        rc = of_the_end(&f, err);
    tp_id_map_release(&f.seen);
    if (rc == TP_OK)
        rc = tp_pytorch_initial(s, taken, tp_pytorch_freeing(s), &out->blocks, err);
    if (out->segments.count > 1)
        qsort(out->segments.items, out->segments.count, sizeof *out->segments.items, by_address);
    return rc;
}

void tp_pytorch_heap_release(const struct tp_pytorch *s, struct tp_pytorch_heap *heap)
{
    tp_pytorch_free_blocks(s->reading, &heap->segments);
    tp_pytorch_free_blocks(s->reading, &heap->blocks);
}
