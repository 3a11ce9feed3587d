/* Finds the blocks that were live when the recording began.
 *
 *     seen first as        alloc       free        never, but live at the end
 *     the block is         new         initial     initial, and stays
 *
 * An address has one block at a time. After an initial block was freed, its address may be
 * allocated again and be live at the end, so for each address in the events it is kept whether it
 * is live. Known weakness: a block allocated after the recording was stopped counts as initial if
 * its address is in no event. */
#include "traces/formats/pytorch/pytorch_heap.h"

#include "alloc/base/ascending.h"
#include "alloc/base/id_map.h"

#include <stdlib.h>

enum { GONE, LIVE };

struct initial_search {
    const struct tp_pytorch *snapshot;
    enum tp_pytorch_action freeing;
    struct tp_id_map seen; /* addresses of one device; the index is LIVE or GONE */
    struct tp_pytorch_blocks *out;
};

/* Keeps the state of an address. *first is set if it was in no event before. */
static int see(struct initial_search *f, uint64_t address, uint32_t state, bool *first,
               struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    size_t used = f->seen.used;
    int rc = tp_id_map_need(&f->seen, (int64_t)address, state, &entry, err);
    if (rc != TP_OK)
        return rc;
    *first = f->seen.used > used;
    entry->index = state;
    return TP_OK;
}

static int look_at(struct initial_search *f, uint32_t device, const struct tp_pytorch_event *ev,
                   struct tp_err *err)
{
    bool first = false;
    if (ev->action == TP_PYTORCH_ALLOC)
        return see(f, ev->address, LIVE, &first, err);
    if (ev->action != f->freeing)
        return TP_OK;
    int rc = see(f, ev->address, GONE, &first, err);
    if (rc != TP_OK || !first)
        return rc;
    return tp_pytorch_add_block(
        f->snapshot->reading, f->out,
        &(struct tp_pytorch_block){
            .address = ev->address, .size = ev->size, .stream = ev->stream, .device = device},
        err);
}

static int of_events(struct initial_search *f, uint32_t device, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &f->snapshot->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {
        .list = &f->snapshot->events, .next = d->first, .end = d->first + d->count};
    int rc = TP_OK;
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        rc = look_at(f, device, ev, err);
    return rc;
}

/* Adds the blocks that are live at the end and in no event: they were live all the time. */
static int of_the_end(struct initial_search *f, uint32_t device, struct tp_err *err)
{
    const struct tp_pytorch_blocks *end = &f->snapshot->blocks;
    for (size_t i = 0; i < end->count; i++) {
        const struct tp_pytorch_block *b = &end->items[i];
        if (b->device != device || tp_id_map_find(&f->seen, (int64_t)b->address))
            continue;
        int rc = tp_pytorch_add_block(f->snapshot->reading, f->out, b, err);
        if (rc != TP_OK)
            return rc;
    }
    return TP_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct tp_pytorch_block *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return tp_order(x->address, y->address);
}

int tp_pytorch_initial(const struct tp_pytorch *s, const bool *taken, struct tp_pytorch_blocks *out,
                       struct tp_err *err)
{
    int rc = TP_OK;
    for (uint32_t device = 0; rc == TP_OK && device < TP_PYTORCH_LISTS; device++) {
        struct initial_search f = {.snapshot = s, .out = out};
        if (!taken[device])
            continue;
        f.freeing = tp_pytorch_freeing(s, device);
        f.seen.how = tp_reading_growth(s->reading, "addresses");
        rc = of_events(&f, device, err);
        if (rc == TP_OK)
            rc = of_the_end(&f, device, err);
        tp_id_map_release(&f.seen);
    }
    if (rc == TP_OK && out->count > 1)
        qsort(out->items, out->count, sizeof *out->items, by_place);
    return rc;
}
