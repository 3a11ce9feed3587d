/* See tp_why_curve in why_picture.h. */
#include "cmd/pytorch/why/why_picture.h"

struct curve_walk {
    const struct tp_why_moment *moment;
    struct tp_why_levels now;
    int64_t reserved, live; /* before the first event */
    uint64_t ns;            /* since the first event that has a time */
    struct tp_curve *out;
};

/* What a file claims may be less than nothing. */
static uint64_t level(int64_t begin, int64_t change)
{
    int64_t now = 0;
    return __builtin_add_overflow(begin, change, &now) || now < 0 ? 0 : (uint64_t)now;
}

static int64_t before(int64_t now, int64_t change)
{
    int64_t begin = 0;
    return __builtin_sub_overflow(now, change, &begin) ? 0 : begin;
}

static uint64_t clock_of(const struct curve_walk *w, uint64_t event)
{
    return w->moment->has_time ? w->ns : event;
}

static void add_sample(struct curve_walk *w, uint64_t event)
{
    uint64_t live = level(w->live, w->now.live);
    tp_curve_add(w->out, &(struct tp_curve_point){
                             .event = event,
                             .bytes = {[TP_CURVE_REQUESTED] = live,
                                       [TP_CURVE_ALLOCATED] = live,
                                       [TP_CURVE_RESERVED] = level(w->reserved, w->now.reserved)},
                             .clock = clock_of(w, event)});
}

static void date_sample(struct curve_walk *w, const struct tp_pytorch_event *ev)
{
    uint64_t ns = ev->has_time ? tp_pytorch_ns_between(w->moment->begin_us, ev->time_us) : 0;
    w->ns = ns > w->ns ? ns : w->ns;
}

/* Follows the first events of a device; `drawn`: and adds a sample after each. */
static int walk(struct curve_walk *w, const struct tp_pytorch *s, uint32_t device, uint64_t last,
                bool drawn, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[device];
    const enum tp_pytorch_action freeing = tp_pytorch_freeing(s, device);
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + last};
    int rc = TP_OK;
    w->now = (struct tp_why_levels){0};
    for (uint64_t event = 1; rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)); event++) {
        date_sample(w, ev);
        if (tp_why_follow(&w->now, freeing, ev) && drawn)
            add_sample(w, event);
    }
    return rc;
}

int tp_why_curve(const struct tp_pytorch *s, uint32_t device, const struct tp_why_moment *m,
                 const struct tp_why_sum *sum, struct tp_why_picture *out, struct tp_err *err)
{
    struct curve_walk w = {.moment = m, .out = &out->curve};
    int rc = walk(&w, s, device, m->event, false, err);
    w.reserved = before((int64_t)sum->reserved, w.now.reserved);
    w.live = before((int64_t)sum->requested, w.now.live);
    w.ns = 0;
    w.now = (struct tp_why_levels){0};
    add_sample(&w, 0);
    if (rc == TP_OK)
        rc = walk(&w, s, device, m->events, true, err);
    tp_curve_finish(&out->curve);
    out->end_clock = clock_of(&w, m->events);
    return rc;
}
