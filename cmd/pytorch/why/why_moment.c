/* See why_moment.h. */
#include "cmd/pytorch/why/why_moment.h"

#include "alloc/base/numbers.h"

const char *const tp_why_when_words[] = {"auto", "oom", "peak", "end", NULL};

struct seeking {
    struct tp_why_moment *out;
    enum tp_pytorch_action freeing;
    uint64_t event;
    struct tp_why_levels now, most;
    uint64_t peak, oom;
};

/* Where a file claims more than a number holds, the sum stays as it is. */
static void change(int64_t *sum, int64_t by)
{
    int64_t changed = 0;
    if (!__builtin_add_overflow(*sum, by, &changed))
        *sum = changed;
}

bool tp_why_follow(struct tp_why_levels *l, enum tp_pytorch_action freeing,
                   const struct tp_pytorch_event *ev)
{
    int64_t size = (int64_t)ev->size;
    if (ev->action == TP_PYTORCH_SEGMENT_ALLOC || ev->action == TP_PYTORCH_SEGMENT_MAP)
        change(&l->reserved, size);
    else if (ev->action == TP_PYTORCH_SEGMENT_FREE || ev->action == TP_PYTORCH_SEGMENT_UNMAP)
        change(&l->reserved, -size);
    else if (ev->action == TP_PYTORCH_ALLOC)
        change(&l->live, size);
    else if (ev->action == freeing)
        change(&l->live, -size);
    else
        return false;
    return true;
}

static void follow(struct seeking *k, const struct tp_pytorch_event *ev)
{
    const struct tp_why_levels *now = &k->now, *most = &k->most;
    if (!tp_why_follow(&k->now, k->freeing, ev) || now->reserved < most->reserved ||
        (now->reserved == most->reserved && now->live <= most->live))
        return;
    k->most = k->now;
    k->peak = k->event;
}

typedef void each_fn(struct seeking *k, const struct tp_pytorch_event *ev);

static int each(const struct tp_pytorch *s, uint32_t device, uint64_t last, each_fn *fn,
                struct seeking *k, struct tp_err *err)
{
    const struct tp_pytorch_device *d = &s->devices[device];
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = d->first, .end = d->first + last};
    int rc = TP_OK;
    for (k->event = 0; rc == TP_OK && (ev = tp_spill_next(&c, &rc, err));) {
        k->event++;
        fn(k, ev);
    }
    return rc;
}

static void seek(struct seeking *k, const struct tp_pytorch_event *ev)
{
    if (ev->action == TP_PYTORCH_OOM && !tp_pytorch_too_large(ev)) {
        k->oom = k->event;
        k->out->ooms++;
    }
    follow(k, ev);
}

static void date(struct seeking *k, const struct tp_pytorch_event *ev)
{
    struct tp_why_moment *m = k->out;
    if (ev->has_time && !m->has_time)
        m->begin_us = ev->time_us;
    if (ev->has_time)
        m->time_us = ev->time_us;
    m->has_time |= ev->has_time;
    m->what = *ev;
    m->failed = ev->action == TP_PYTORCH_OOM && !tp_pytorch_too_large(ev);
}

static int choose(struct tp_why_moment *m, const struct seeking *k, uint32_t device, uint64_t at,
                  struct tp_err *err)
{
    if (m->when == TP_WHY_AUTO)
        m->when = k->oom ? TP_WHY_OOM : TP_WHY_PEAK;
    const uint64_t events[] = {
        [TP_WHY_OOM] = k->oom, [TP_WHY_PEAK] = k->peak, [TP_WHY_END] = m->events, [TP_WHY_AT] = at};
    m->event = events[m->when];
    if (m->when == TP_WHY_OOM && !k->oom)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "device %u did not run out of memory", device),
                       "--at peak is the moment of most reserved memory");
    if (m->event > m->events)
        return tp_fail(err, TP_EUSAGE, "'--at %s': device %u has %s", tp_count(at).s, device,
                       tp_plural(m->events, "event").s);
    return TP_OK;
}

int tp_why_moment(const struct tp_pytorch *s, uint32_t device, enum tp_why_when when, uint64_t at,
                  struct tp_why_moment *out, struct tp_err *err)
{
    struct seeking k = {.out = out, .freeing = tp_pytorch_freeing(s, device)};
    *out = (struct tp_why_moment){
        .when = when, .events = s->devices[device].count, .what = {.action = TP_PYTORCH_SNAPSHOT}};
    int rc = each(s, device, out->events, seek, &k, err);
    if (rc == TP_OK)
        rc = choose(out, &k, device, at, err);
    return rc == TP_OK ? each(s, device, out->event, date, &k, err) : rc;
}
