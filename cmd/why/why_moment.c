/* See why_moment.h. */
#include "cmd/why/why_moment.h"

#include "alloc/base/numbers.h"
#include "cmd/why/explainer.h"

const char *const tp_why_when_words[] = {"auto", "oom", "peak", "end", NULL};

struct seeking {
    struct tp_why_moment *out;
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

bool tp_why_follow(struct tp_why_levels *l, const struct tp_why_event *ev)
{
    int64_t size = (int64_t)ev->size;
    change(&l->reserved, (int64_t)ev->taken);
    if (ev->action == TP_WHY_TAKES)
        change(&l->reserved, size);
    else if (ev->action == TP_WHY_RETURNS)
        change(&l->reserved, -size);
    else if (ev->action == TP_WHY_ALLOCS)
        change(&l->live, size);
    else if (ev->action == TP_WHY_FREES)
        change(&l->live, -size);
    else
        return false;
    return true;
}

static void follow(struct seeking *k, const struct tp_why_event *ev)
{
    const struct tp_why_levels *now = &k->now, *most = &k->most;
    if (!tp_why_follow(&k->now, ev) || now->reserved < most->reserved ||
        (now->reserved == most->reserved && now->live <= most->live))
        return;
    k->most = k->now;
    k->peak = k->event;
}

static int seek(void *ctx, const struct tp_why_event *ev, struct tp_err *err)
{
    struct seeking *k = ctx;
    (void)err;
    k->event++;
    if (ev->action == TP_WHY_FAILS) {
        k->oom = k->event;
        k->out->ooms++;
    }
    follow(k, ev);
    return TP_OK;
}

static int date(void *ctx, const struct tp_why_event *ev, struct tp_err *err)
{
    struct tp_why_moment *m = ((struct seeking *)ctx)->out;
    (void)err;
    if (ev->has_time && !m->has_time)
        m->begin = ev->time;
    if (ev->has_time)
        m->time = ev->time;
    m->has_time |= ev->has_time;
    m->what = *ev;
    m->failed = ev->action == TP_WHY_FAILS;
    return TP_OK;
}

static int choose(struct tp_why_moment *m, const struct seeking *k, struct tp_text device,
                  uint64_t at, struct tp_err *err)
{
    if (m->when == TP_WHY_AUTO)
        m->when = k->oom ? TP_WHY_OOM : TP_WHY_PEAK;
    const uint64_t events[] = {
        [TP_WHY_OOM] = k->oom, [TP_WHY_PEAK] = k->peak, [TP_WHY_END] = m->events, [TP_WHY_AT] = at};
    m->event = events[m->when];
    if (m->when == TP_WHY_OOM && !k->oom)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "%s did not run out of memory", device.s),
                       "--at peak is the moment of most reserved memory");
    if (m->event > m->events)
        return tp_fail(err, TP_EUSAGE, "'--at %s': %s has %s", tp_count(at).s, device.s,
                       tp_plural(m->events, "event").s);
    return TP_OK;
}

int tp_why_moment(const struct tp_explained *x, uint32_t device, enum tp_why_when when, uint64_t at,
                  struct tp_why_moment *out, struct tp_err *err)
{
    struct seeking k = {.out = out};
    const void *state = x->file.state;
    *out = (struct tp_why_moment){.when = when, .events = x->by->events(state, device)};
    int rc = x->by->walk(state, device, out->events, seek, &k, err);
    if (rc == TP_OK)
        rc =
            choose(out, &k, tp_device_title(device, x->file.by->part(state, device).name), at, err);
    if (rc == TP_OK)
        rc = x->by->walk(state, device, out->event, date, &k, err);
    out->since_ns = x->by->ns_between(out->begin, out->time);
    return rc;
}
