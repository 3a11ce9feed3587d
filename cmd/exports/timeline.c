/* See timeline.h. */
#include "cmd/exports/timeline.h"

#include "alloc/base/grow.h"

struct listing {
    struct tp_phase_list *out;
    const struct tp_program_facts *facts;
    struct tp_program *program;
    size_t most;
    uint64_t time, marks; /* up to the instruction that is looked at */
    bool full;            /* the next phase would be one too many */
};

static int add_phase(struct listing *s, const char *name, uint64_t event, struct tp_err *err)
{
    struct tp_phase_list *l = s->out;
    const uint64_t ns = s->facts->time_known ? s->time : event * TP_UNTIMED_NS;
    const bool open = l->count && l->at[l->count - 1].name;
    if (name && l->named == s->most) {
        l->end_ns = ns;
        s->full = true;
        return TP_OK;
    }
    if (!name && !open)
        return TP_OK;
    int status = TP_GROW(&l->at, &l->room, l->count + 1, err, .what = "phases");
    if (status)
        return status;
    l->at[l->count++] = (struct tp_phase_begin){event, ns, name};
    l->named += name != NULL;
    return TP_OK;
}

static int list_window(struct listing *s, const struct tp_window *w, struct tp_err *err)
{
    int status = TP_OK;
    s->time = w->first_time;
    for (uint32_t i = 0; !status && !s->full && i < w->count; i++) {
        s->time += w->insns[i].gap_ns;
        if (w->insns[i].op != TP_MARK)
            continue;
        s->marks++;
        status =
            add_phase(s, tp_mark_phase(s->program, w->insns[i].slot), tp_window_event(w, i), err);
    }
    return status;
}

int tp_phase_list_find(const struct tp_trace *t, size_t most, struct tp_phase_list *out,
                       struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    struct listing s = {.out = out, .facts = f, .program = t->program, .most = most};
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    int status = TP_OK, got = 1;
    out->end_ns = f->time_known ? f->duration_ns : f->events * TP_UNTIMED_NS;
    if (f->ops[TP_MARK])
        status = tp_cursor_open(t->program, &cursor, err);
    while (!status && !s.full && s.marks < f->ops[TP_MARK] &&
           (got = tp_cursor_next(cursor, &w, err)) == 1)
        status = w.initial_heap ? TP_OK : list_window(&s, &w, err);
    tp_cursor_close(cursor);
    return got < 0 ? -got : status;
}

void tp_phase_list_drop(struct tp_phase_list *l)
{
    TP_GROW_END(&l->at, &l->room, .what = "phases");
    *l = (struct tp_phase_list){0};
}
