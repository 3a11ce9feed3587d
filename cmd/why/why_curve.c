/* See tp_why_curve in why_picture.h. */
#include "cmd/why/explainer.h"
#include "cmd/why/why_picture.h"

struct curve_walk {
    const struct tp_explained *from;
    const struct tp_why_moment *moment;
    struct tp_why_levels now;
    int64_t reserved, live; /* before the first event */
    uint64_t ns;            /* since the first event that has a time */
    uint64_t event;
    bool drawn; /* a sample is added after each event */
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

static int follow_sample(void *ctx, const struct tp_why_event *ev, struct tp_err *err)
{
    struct curve_walk *w = ctx;
    uint64_t ns = ev->has_time ? w->from->by->ns_between(w->moment->begin, ev->time) : 0;
    (void)err;
    w->event++;
    w->ns = ns > w->ns ? ns : w->ns;
    if (tp_why_follow(&w->now, ev) && w->drawn)
        add_sample(w, w->event);
    return TP_OK;
}

/* Follows the first events of a device. */
static int follow_events(struct curve_walk *w, uint32_t device, uint64_t last, struct tp_err *err)
{
    w->now = (struct tp_why_levels){0};
    w->ns = w->event = 0;
    return w->from->by->walk(w->from->file.state, device, last, follow_sample, w, err);
}

int tp_why_curve(const struct tp_explained *x, uint32_t device, const struct tp_why_moment *m,
                 const struct tp_why_sum *sum, struct tp_why_picture *out, struct tp_err *err)
{
    struct curve_walk w = {.from = x, .moment = m, .out = &out->curve};
    int rc = follow_events(&w, device, m->event, err);
    w.reserved = before((int64_t)sum->reserved, w.now.reserved);
    w.live = before((int64_t)sum->requested, w.now.live);
    w.ns = 0;
    w.now = (struct tp_why_levels){0};
    add_sample(&w, 0);
    w.drawn = true;
    if (rc == TP_OK)
        rc = follow_events(&w, device, m->events, err);
    tp_curve_finish(&out->curve);
    out->end_clock = clock_of(&w, m->events);
    return rc;
}
