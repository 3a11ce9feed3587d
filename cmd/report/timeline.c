/* See timeline.h. */
#include "cmd/report/timeline.h"

enum { UNTIMED_NS = 1000 }; /* of an event, without recorded times */

int tp_timeline_open(struct tp_timeline *t, const struct tp_result *r, struct tp_err *err)
{
    *t = (struct tp_timeline){.timed = r->facts->time_known};
    return tp_cursor_open(r->trace->program, &t->cursor, err);
}

void tp_timeline_close(struct tp_timeline *t)
{
    tp_cursor_close(t->cursor);
}

int tp_timeline_more(struct tp_timeline *t, struct tp_err *err)
{
    while (!t->ended && (t->index == t->window.count || t->window.prologue)) {
        int got = tp_cursor_next(t->cursor, &t->window, err);
        if (got < 0)
            return got;
        t->ended = !got;
        t->index = 0;
        if (got && !t->window.prologue)
            t->time = t->window.first_time;
    }
    return !t->ended;
}

uint64_t tp_timeline_step(struct tp_timeline *t)
{
    uint64_t event = tp_window_event(&t->window, t->index);
    t->time += t->window.insns[t->index++].gap_ns;
    return t->timed ? t->time : event * UNTIMED_NS;
}

int tp_timeline_at(struct tp_timeline *t, uint64_t event, uint64_t *ns, struct tp_err *err)
{
    int status = 1;
    if (!t->timed) {
        *ns = event * UNTIMED_NS;
        return TP_OK;
    }
    while (event && (status = tp_timeline_more(t, err)) == 1) {
        if (tp_window_event(&t->window, t->index) > event)
            break;
        tp_timeline_step(t);
    }
    *ns = t->time;
    return status < 0 ? -status : TP_OK;
}
