/* See moment.h. */
#include "traces/places/moment.h"

struct moment_walk {
    struct tp_moment moment;
    tp_take_step *take;
    void *ctx;
    uint64_t insn, time;
    bool behind; /* an instruction behind the moment was reached */
};

struct tp_moment tp_moment_of(const struct tp_program *p, uint16_t device, uint64_t at)
{
    const struct tp_demand *peak = tp_program_demand(p, device);
    if (at != TP_AT_PEAK)
        return (struct tp_moment){at, UINT64_MAX};
    return (struct tp_moment){peak->event, peak->insn};
}

static int take_window(struct moment_walk *m, const struct tp_window *w, struct tp_err *err)
{
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && !m->behind && i < w->count; i++) {
        struct tp_moment_step step = {.insn = &w->insns[i],
                                      .event = w->initial_heap ? 0 : tp_window_event(w, i)};
        m->behind = !w->initial_heap && (m->insn > m->moment.insn || step.event > m->moment.event);
        if (m->behind)
            break;
        m->time += step.insn->gap_ns;
        m->insn += !w->initial_heap;
        step.time = m->time;
        rc = m->take(m->ctx, &step, err);
    }
    return rc;
}

int tp_moment_walk(struct tp_program *p, struct tp_moment moment, tp_take_step *take, void *ctx,
                   int (*stop)(struct tp_err *err), struct tp_err *err)
{
    struct moment_walk m = {.moment = moment, .take = take, .ctx = ctx};
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    int got = 0, rc = tp_cursor_open(p, &cursor, err);
    while (rc == TP_OK && !m.behind && (got = tp_cursor_next(cursor, &w, err)) == 1) {
        rc = take_window(&m, &w, err);
        if (rc == TP_OK && stop)
            rc = stop(err);
    }
    tp_cursor_close(cursor);
    return rc == TP_OK && got < 0 ? -got : rc;
}
