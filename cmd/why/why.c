/* See why.h. */
#include "cmd/why/why.h"

#include "cmd/why/why_picture.h"
#include "traces/places/place_table.h"

#include <stdlib.h>
#include <string.h>

struct asking {
    const struct tp_explained *from;
    const struct tp_why_cfg *cfg;
    struct tp_why *out;
    struct tp_why_layout layout;
    struct tp_why_held held;
};

/* ---- blocks in the way ---- */

/* Keeps the largest blocks by their number among all live ones. */
static void keep_largest(struct asking *a, size_t block, size_t live, size_t *numbers)
{
    struct tp_why *w = a->out;
    uint64_t bytes = a->layout.blocks[block].size;
    size_t at = w->named_count;
    for (; at && w->named[at - 1].bytes < bytes; at--)
        if (at < TP_WHY_NAMED) {
            w->named[at] = w->named[at - 1];
            numbers[at] = numbers[at - 1];
        }
    if (at < TP_WHY_NAMED) {
        w->named[at].bytes = bytes;
        numbers[at] = live;
    }
    w->named_count += w->named_count < TP_WHY_NAMED;
}

static int name_blocks(struct asking *a, struct tp_err *err)
{
    struct tp_why *w = a->out;
    size_t numbers[TP_WHY_NAMED] = {0}, live = 0, next = 0;
    int rc = TP_OK;
    for (size_t k = 0; next < w->room.block_count; k++) {
        if (k == w->room.blocks[next]) {
            keep_largest(a, k, live, numbers);
            next++;
        }
        live += a->layout.blocks[k].requested != 0;
    }
    for (size_t i = 0; rc == TP_OK && i < w->named_count; i++)
        rc = tp_places_find(a->held.list.places, &a->held.list.blocks[numbers[i]].place, 1,
                            &w->named[i].place, err);
    return rc;
}

static int judge(struct asking *a, struct tp_err *err)
{
    const struct tp_why_event *oom = &a->out->moment.what;
    struct tp_why_request rq = {.size = oom->size,
                                .pool = oom->pool,
                                .stream = a->layout.stream,
                                .has_free = oom->has_free,
                                .free = oom->device_free};
    uint64_t limit = a->cfg->limit, reserved = a->out->sum.reserved;
    uint64_t left = limit > reserved ? limit - reserved : 0;
    if (limit && (!rq.has_free || left < rq.free)) { /* the device has more than the process may */
        rq.has_free = true;
        rq.free = left;
    }
    int rc = a->from->by->room(a->from->file.state, &a->layout, &rq, &a->out->room, err);
    return rc == TP_OK ? name_blocks(a, err) : rc;
}

/* ---- what is drawn ---- */

static int picture(struct asking *a, struct tp_err *err)
{
    struct tp_why *w = a->out;
    int rc = tp_why_picture(&w->moment, &a->layout, &a->held, &w->room, a->cfg->pictures,
                            &w->picture, err);
    return rc == TP_OK ? tp_why_curve(a->from, w->device, &w->moment, &w->sum, w->picture, err)
                       : rc;
}

int tp_why(const struct tp_explained *x, uint32_t device, const struct tp_why_cfg *cfg,
           struct tp_why_places *places, struct tp_why *out, struct tp_err *err)
{
    const struct tp_reading *reading = &x->file.reading;
    struct asking a = {.from = x, .cfg = cfg, .out = out, .layout = {.reading = reading}};
    void *state = x->file.state;
    *out = (struct tp_why){.by = x->by,
                           .device = device,
                           .name = x->file.by->part(state, device).name,
                           .silence = x->by->silence(state),
                           .replayed = cfg->replayed,
                           .remarks = cfg->remarks};
    struct tp_why_moment *m = &out->moment;
    int rc = tp_why_moment(x, device, cfg->when, cfg->at, m, err);
    if (rc == TP_OK)
        rc = x->by->heap(state, device, m, &out->verified, &a.layout, err);
    if (rc == TP_OK)
        rc = x->by->held(state, device, m, &a.layout, places, &a.held, err);
    struct tp_sites_cfg sites = cfg->sites;
    sites.at = m->event;
    if (rc == TP_OK)
        rc = tp_sites_of(&a.held.list, &sites, cfg->stop, &out->sites, err);
    if (rc == TP_OK && places->from)
        rc = tp_places_find(&places->places, &a.held.event, 1, &out->place, err);
    out->sum = tp_why_sum(&a.layout);
    out->judged = m->failed && x->by->room;
    if (rc == TP_OK && out->judged)
        rc = judge(&a, err);
    if (rc == TP_OK && cfg->pictures)
        rc = picture(&a, err);
    tp_why_held_release(reading, &a.held);
    tp_why_layout_release(&a.layout);
    return rc;
}

void tp_why_release(struct tp_why *w)
{
    tp_sites_free(w->sites);
    free(w->site_curve);
    tp_sites_free(w->curve_sites);
    tp_why_room_release(&w->room);
    tp_why_picture_free(w->picture);
}
