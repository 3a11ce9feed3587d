/* See pytorch_heap.h. The segments follow from their events as the blocks do (pytorch_initial.c).
 *
 * Known weakness: a segment that was freed before the events begin, in a ring buffer that was full,
 * is in no file. */
#include "traces/formats/pytorch/pytorch_heap.h"

#include "alloc/base/ascending.h"
#include "alloc/base/id_map.h"

#include <stdlib.h>

#define SMALL_SEGMENT (UINT64_C(2) << 20) /* bytes of a segment of the small pool */

enum { GONE, THERE };

struct segment_search {
    const struct tp_pytorch *snapshot;
    uint32_t device;
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
                                                           .pool = ev->pool,
                                                           .device = f->device,
                                                           .small = ev->size == SMALL_SEGMENT},
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
        if (end->items[i].device == f->device && !end->items[i].expandable &&
            !tp_id_map_find(&f->seen, (int64_t)end->items[i].address))
            rc = tp_pytorch_add_block(f->snapshot->reading, f->out, &end->items[i], err);
    return rc;
}

static int find_segments(const struct tp_pytorch *s, uint32_t device, struct tp_pytorch_blocks *out,
                         struct tp_err *err)
{
    struct segment_search f = {.snapshot = s, .device = device, .out = out};
    f.seen.how = tp_reading_growth(s->reading, "segments");
    int rc = of_events(&f, err);
    if (rc == TP_OK)
        rc = of_the_end(&f, err);
    if (rc == TP_OK)
        rc = tp_pytorch_growing_at_start(s, device, out, err);
    tp_id_map_release(&f.seen);
    return rc;
}

/* ---- what lies behind a block ---- */

/* The blocks of one device. `ends`: where the next block or the segment's end begins; 0: the search
 * for this block is over. */
struct behind_search {
    struct tp_pytorch_block *blocks;
    size_t count, left;
    uint64_t *ends;
};

/* A block in no segment is given up. */
static void find_ends(struct behind_search *f, const struct tp_pytorch_blocks *segments)
{
    size_t i = 0;
    for (size_t b = 0; b < f->count; b++) {
        const struct tp_pytorch_block *block = &f->blocks[b], *next = block + 1;
        while (i < segments->count &&
               (segments->items[i].device < block->device ||
                (segments->items[i].device == block->device &&
                 segments->items[i].address + segments->items[i].size <= block->address)))
            i++;
        const struct tp_pytorch_block *s = i < segments->count ? &segments->items[i] : NULL;
        if (!s || !tp_pytorch_is_in(block, s))
            continue;
        bool more = b + 1 < f->count && tp_pytorch_is_in(next, s);
        f->ends[b] = more ? next->address : s->address + s->size;
        f->left++;
    }
}

/* The last block that begins at `address` or before; f->count: none. */
static size_t block_before(const struct behind_search *f, uint64_t address)
{
    size_t low = 0, high = f->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->blocks[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : f->count;
}

static void look_behind(struct behind_search *f, const struct tp_pytorch_event *ev,
                        enum tp_pytorch_action freeing)
{
    bool alloc = ev->action == TP_PYTORCH_ALLOC;
    if (!alloc && ev->action != freeing)
        return;
    size_t i = block_before(f, ev->address);
    if (i == f->count || !f->ends[i])
        return;
    struct tp_pytorch_block *b = &f->blocks[i];
    if (alloc ? ev->address - b->address < b->size || ev->address >= f->ends[i]
              : ev->address != b->address)
        return;
    b->behind = alloc ? ev->address : 0;
    f->ends[i] = 0;
    f->left--;
}

/* Fills in `behind` of the blocks of one device. */
static int find_behind(const struct tp_pytorch *s, uint32_t device, struct behind_search *f,
                       const struct tp_pytorch_blocks *segments, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[device];
    const enum tp_pytorch_action freeing = tp_pytorch_freeing(s, device);
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + d->count};
    struct tp_growth how = tp_reading_growth(s->reading, "addresses");
    size_t room = 0;
    int rc = tp_grow(&f->ends, &room, f->count, sizeof *f->ends, &how, err);
    if (rc != TP_OK)
        return rc;
    memset(f->ends, 0, f->count * sizeof *f->ends);
    find_ends(f, segments);
    while (rc == TP_OK && f->left && (ev = tp_spill_next(&c, &rc, err)))
        look_behind(f, ev, freeing);
    tp_grow_end(&f->ends, &room, sizeof *f->ends, &how);
    return rc;
}

static int find_all_behind(const struct tp_pytorch *s, struct tp_pytorch_heap *heap,
                           struct tp_err *err)
{
    struct tp_pytorch_block *all = heap->blocks.items;
    int rc = TP_OK;
    for (size_t i = 0, end = 0; rc == TP_OK && i < heap->blocks.count; i = end) {
        while (end < heap->blocks.count && all[end].device == all[i].device)
            end++;
        struct behind_search f = {.blocks = all + i, .count = end - i};
        rc = find_behind(s, all[i].device, &f, &heap->segments, err);
    }
    return rc;
}

/* ---- the whole ---- */

static int by_address(const void *a, const void *b)
{
    const struct tp_pytorch_block *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return tp_order(x->address, y->address);
}

int tp_pytorch_heap_at_start(const struct tp_pytorch *s, const bool *taken,
                             struct tp_pytorch_heap *out, struct tp_err *err)
{
    int rc = tp_pytorch_initial(s, taken, &out->blocks, err);
    for (uint32_t i = 0; rc == TP_OK && i < TP_PYTORCH_LISTS; i++)
        if (taken[i])
            rc = find_segments(s, i, &out->segments, err);
    if (out->segments.count > 1)
        qsort(out->segments.items, out->segments.count, sizeof *out->segments.items, by_address);
    return rc == TP_OK ? find_all_behind(s, out, err) : rc;
}

void tp_pytorch_heap_release(const struct tp_pytorch *s, struct tp_pytorch_heap *heap)
{
    tp_pytorch_free_blocks(s->reading, &heap->segments);
    tp_pytorch_free_blocks(s->reading, &heap->blocks);
}
