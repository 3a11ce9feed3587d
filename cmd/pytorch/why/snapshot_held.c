/* See snapshot_explainer.h: what is known of live blocks. A block is known by its address: by the
 * last event that allocated it, or by what the file says of it at its end, if no event does. */
#include "cmd/pytorch/why/snapshot_explainer.h"

#include "alloc/base/ascending.h"
#include "alloc/base/id_map.h"
#include "cmd/pytorch/verify/verify.h"
#include "cmd/why/why_held.h"
#include "cmd/why/why_layout.h"
#include "cmd/why/why_moment.h"
#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/formats/pytorch/pytorch_lower.h"
#include "traces/formats/pytorch/pytorch_places.h"

#include <stdlib.h>

/* How a live block came to be; or a free place in the list. */
struct birth {
    uint64_t event, frames; /* event: of a free place, the number + 1 of the next one */
    uint64_t label;         /* event by which the labels know it */
    int64_t time_us;
    uint32_t phase;
};

struct searching {
    struct tp_pytorch *snapshot;
    const struct tp_why_moment *moment;
    uint32_t device;
    bool taken[TP_PYTORCH_LISTS];
    struct tp_pytorch_phases phases;
    struct tp_id_map at; /* addresses of live blocks; the index is that of their birth */
    struct birth *births;
    size_t count, room;
    uint64_t spare; /* the first free place + 1 */
    struct tp_pytorch_blocks initial;
    struct tp_why_places *places;
    struct tp_pytorch_labels *labels; /* NULL: no event has metadata */
    uint64_t labelled;                /* events that had labels before those of this device */
    struct tp_why_held *out;
};

int tp_snapshot_open_places(void *state, struct tp_why_places *out, struct tp_err *err)
{
    struct tp_pytorch *s = &((struct tp_torch_file *)state)->snapshot;
    struct tp_pytorch_places *from = NULL;
    struct tp_memo memo;
    *out = (struct tp_why_places){.count = 0};
    int rc = TP_OK;
    if (s->framed || s->framed_blocks) {
        tp_pickle_take_memo(s->pickle, &memo);
        rc = tp_pytorch_places_new(s->reading->in, &memo, &from, err);
    }
    if (rc == TP_OK && s->labelled)
        rc = tp_pytorch_places_label(&from, s->reading, err);
    tp_pytorch_places_give(from, &out->places);
    out->from = from;
    return rc;
}

/* ---- births ---- */

static int new_birth(struct searching *k, uint32_t *index, struct tp_err *err)
{
    if (k->spare) {
        *index = (uint32_t)(k->spare - 1);
        k->spare = k->births[*index].event;
        return TP_OK;
    }
    *index = (uint32_t)k->count;
    int rc = TP_READ_GROW(k->snapshot->reading, &k->births, &k->room, k->count + 1, "blocks", err);
    k->count += rc == TP_OK;
    return rc;
}

static int bear(struct searching *k, const struct tp_pytorch_event *ev, uint64_t event,
                struct tp_err *err)
{
    struct tp_id_entry *entry = tp_id_map_find(&k->at, (int64_t)ev->address);
    uint32_t index = entry ? entry->index : 0;
    int rc = entry ? TP_OK : new_birth(k, &index, err);
    if (rc == TP_OK && !entry)
        rc = tp_id_map_put(&k->at, (int64_t)ev->address, index, err);
    if (rc == TP_OK)
        k->births[index] = (struct birth){.event = event,
                                          .frames = ev->frames,
                                          .label = k->labelled + event,
                                          .time_us = ev->time_us,
                                          .phase = tp_pytorch_phase(&k->phases)};
    return rc;
}

static void bury(struct searching *k, const struct tp_pytorch_event *ev)
{
    struct tp_id_entry *entry = tp_id_map_find(&k->at, (int64_t)ev->address);
    if (!entry)
        return;
    k->births[entry->index].event = k->spare;
    k->spare = (uint64_t)entry->index + 1;
    tp_id_map_remove(&k->at, entry);
}

static int label(struct searching *k, const struct tp_pytorch_event *ev, struct tp_err *err)
{
    const struct tp_id_entry *entry = NULL;
    int rc = k->labels ? tp_pytorch_labels_add(k->labels, k->snapshot, ev, err) : TP_OK;
    if (rc == TP_OK && k->labels && ev->action == TP_PYTORCH_ANNOTATE)
        entry = tp_id_map_find(&k->at, (int64_t)ev->address);
    return entry ? tp_pytorch_labels_annotate(k->labels, k->snapshot, k->births[entry->index].label,
                                              ev, err)
                 : rc;
}

static int follow(struct searching *k, struct tp_err *err)
{
    const struct tp_pytorch *s = k->snapshot;
    const struct tp_pytorch_device *d = &s->devices[k->device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {
        .list = &s->events, .next = d->first, .end = d->first + k->moment->event};
    int64_t ignored = 0;
    int rc = TP_OK;
    for (uint64_t event = 1; rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)); event++) {
        if (ev->has_time)
            tp_pytorch_pass_phases(&k->phases, k->taken, ev->time_us, &ignored);
        rc = label(k, ev, err);
        if (rc == TP_OK && ev->action == TP_PYTORCH_ALLOC)
            rc = bear(k, ev, event, err);
        else if (ev->action == tp_pytorch_freeing(s, k->device))
            bury(k, ev);
    }
    return rc;
}

/* ---- blocks ---- */

static int compare_address(const void *address, const void *block)
{
    const uint64_t *x = address;
    const struct tp_pytorch_block *y = block;
    return tp_order(*x, y->address);
}

static int add_place(struct searching *k, uint64_t frames, uint64_t *number, struct tp_err *err)
{
    int rc = tp_pytorch_places_add(k->places->from, frames, err);
    *number = rc == TP_OK ? ++k->places->count : 0;
    return rc;
}

static int hold(struct searching *k, const struct tp_why_block *at, struct tp_err *err)
{
    const struct tp_why_moment *m = k->moment;
    const struct tp_id_entry *entry = tp_id_map_find(&k->at, (int64_t)at->addr);
    struct tp_held_block held = {
        .size = at->requested, .from_start = !entry, .phase = TP_PYTORCH_NO_PHASE};
    uint64_t frames = 0, born = 0;
    int rc = TP_OK;
    if (entry) {
        const struct birth *b = &k->births[entry->index];
        born = b->event;
        held.age = m->has_time ? tp_pytorch_ns_between(b->time_us, m->time) : m->event - born;
        held.phase = b->phase;
        frames = b->frames;
        if (k->labels)
            rc = tp_pytorch_labels_find(k->labels, b->label, &held.label, err);
    } else if (k->initial.count) {
        const struct tp_pytorch_block *known =
            bsearch(&at->addr, k->initial.items, k->initial.count, sizeof *k->initial.items,
                    compare_address);
        frames = known ? known->frames : 0;
    }
    struct tp_held_list *l = &k->out->list;
    if (rc == TP_OK)
        rc = TP_READ_GROW(k->snapshot->reading, &l->blocks, &k->out->room, l->count + 1, "blocks",
                          err);
    if (rc == TP_OK)
        rc = add_place(k, frames, &held.place, err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(k->snapshot->reading, &k->out->born, &k->out->born_room, l->count + 1,
                          "blocks", err);
    if (rc != TP_OK)
        return rc;
    k->out->born[l->count] = born;
    l->blocks[l->count++] = held;
    return TP_OK;
}

static int hold_all(struct searching *k, const struct tp_why_layout *l, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < l->count; i++)
        if (l->blocks[i].requested)
            rc = hold(k, &l->blocks[i], err);
    if (rc == TP_OK)
        rc = add_place(k, k->moment->what.from, &k->out->event, err);
    return rc;
}

static const char *phase_name(const void *ctx, uint32_t phase)
{
    return tp_pytorch_phase_name(ctx, phase);
}

int tp_snapshot_held(void *state, uint32_t device, const struct tp_why_moment *m,
                     const struct tp_why_layout *l, struct tp_why_places *places,
                     struct tp_why_held *out, struct tp_err *err)
{
    struct tp_pytorch *s = &((struct tp_torch_file *)state)->snapshot;
    struct searching k = {.snapshot = s,
                          .moment = m,
                          .device = device,
                          .phases = {.snapshot = s},
                          .places = places,
                          .out = out};
    k.taken[device] = true;
    k.labels = tp_pytorch_places_labels(places->from);
    k.labelled = k.labels ? tp_spill_count(&k.labels->of) : 0;
    k.at.how = tp_reading_growth(s->reading, "addresses");
    tp_pytorch_sort_annotations(s);
    int rc = follow(&k, err);
    if (rc == TP_OK)
        rc = tp_pytorch_initial(s, k.taken, &k.initial, err);
    if (rc == TP_OK)
        rc = hold_all(&k, l, err);
    tp_id_map_release(&k.at);
    TP_GROW_END(&k.births, &k.room, .budget = s->reading->budget);
    tp_pytorch_free_blocks(s->reading, &k.initial);
    out->list.timed = m->has_time;
    out->list.places = &places->places;
    out->list.phase = s->annotation_count ? phase_name : NULL;
    out->list.ctx = s;
    return rc;
}
