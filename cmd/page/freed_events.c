/* See asked.h. */
#include "cmd/page/asked.h"

#include <stdlib.h>

#define UNSEEN UINT64_MAX

struct freed_scan {
    const uint64_t *events;
    uint64_t *born; /* of each event; UNSEEN: it has freed none so far */
    size_t count, at;
    uint64_t *slots; /* the event that gave the object of a slot its size */
};

/* Where the answer for an event goes; NULL: nobody asks for it. */
static uint64_t *answer_of(struct freed_scan *s, uint64_t event)
{
    while (s->at < s->count && s->events[s->at] < event)
        s->at++;
    return s->at < s->count && s->events[s->at] == event ? &s->born[s->at] : NULL;
}

static void replay(struct freed_scan *s, const struct tp_insn *in, uint64_t event)
{
    uint64_t *answer = event ? answer_of(s, event) : NULL;
    if (tp_op_is(in->op, TP_IS_NEW) || in->op == TP_REALLOC) {
        s->slots[in->slot] = event;
        if (answer)
            *answer = 0;
    } else if (in->op == TP_FREE && answer) {
        uint64_t born = s->slots[in->slot];
        *answer = *answer == UNSEEN || *answer == born ? born : 0;
    }
}

static int replay_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    (void)err;
    for (uint32_t i = 0; i < w->count; i++)
        replay(ctx, &w->insns[i], w->initial_heap ? 0 : tp_window_event(w, i));
    return TP_OK;
}

int tp_freed_events(struct tp_program *p, const uint64_t *events, size_t count, uint64_t *born,
                    struct tp_err *err)
{
    struct freed_scan s = {.events = events, .born = born, .count = count};
    s.slots = calloc(tp_program_facts(p)->slots + (size_t)1, sizeof *s.slots);
    if (!s.slots)
        return tp_fail(err, TP_ENOMEM, "out of memory for the events that free");
    for (size_t i = 0; i < count; i++)
        born[i] = UNSEEN;
    int rc = tp_program_walk(p, replay_window, &s, err);
    for (size_t i = 0; i < count; i++)
        born[i] = born[i] == UNSEEN ? 0 : born[i];
    free(s.slots);
    return rc;
}
