/* See lives.h. Live objects form a list through their slots, so what a reset costs depends only on
 * what it ends. Known weakness: a slot takes 40 bytes, also where another device uses it. */
#include "alloc/program/lives.h"

#include <stdlib.h>

#define NONE     UINT32_MAX
#define NOT_LIVE UINT64_MAX

struct open_life {
    uint64_t begin; /* NOT_LIVE: the slot is empty */
    uint64_t event;
    uint64_t size;
    uint32_t next, prev; /* neighbours in the list of live slots */
    uint16_t stream;
    uint8_t align_log2;
    bool pooled;
};

struct lives_walk {
    tp_take_life *take;
    void *ctx;
    struct open_life *open;
    uint32_t slots, first; /* `first`: head of the list of live slots */
    uint16_t device;
    bool pooled;
    uint64_t insn; /* index of the next instruction */
};

static void begin(struct lives_walk *w, const struct tp_insn *in, uint64_t event)
{
    w->open[in->slot] = (struct open_life){.begin = w->insn,
                                           .event = event,
                                           .size = in->size,
                                           .next = w->first,
                                           .prev = NONE,
                                           .stream = in->stream,
                                           .pooled = w->pooled,
                                           .align_log2 = in->align_log2};
    if (w->first != NONE)
        w->open[w->first].prev = in->slot;
    w->first = in->slot;
    w->pooled = false;
}

static int end(struct lives_walk *w, uint32_t slot, uint64_t event, struct tp_err *err)
{
    struct open_life *o = &w->open[slot];
    struct tp_life life = {.begin = o->begin,
                           .end = w->insn,
                           .begin_event = o->event,
                           .end_event = event,
                           .size = o->size,
                           .stream = o->stream,
                           .pooled = o->pooled,
                           .align_log2 = o->align_log2};
    if (o->next != NONE)
        w->open[o->next].prev = o->prev;
    if (o->prev != NONE)
        w->open[o->prev].next = o->next;
    else
        w->first = o->next;
    o->begin = NOT_LIVE;
    return w->take(w->ctx, &life, err);
}

static int end_all(struct lives_walk *w, uint64_t event, struct tp_err *err)
{
    int rc = TP_OK;
    while (rc == TP_OK && w->first != NONE)
        rc = end(w, w->first, event, err);
    return rc;
}

static int see_insn(struct lives_walk *w, const struct tp_insn *in, uint64_t event,
                    struct tp_err *err)
{
    bool begins = tp_op_is(in->op, TP_ASKS);
    bool ends = in->op == TP_FREE || (begins && tp_op_is(in->op, TP_IS_LIVE));
    int rc = TP_OK;
    if (in->device != w->device && in->device != TP_ALL_DEVICES)
        return TP_OK;
    w->pooled |= in->op == TP_POOL;
    if (in->op == TP_RESET)
        rc = end_all(w, event, err);
    if (rc != TP_OK || (!begins && !ends))
        return rc;
    assert(in->slot < w->slots && (w->open[in->slot].begin != NOT_LIVE) == ends);
    if (ends)
        rc = end(w, in->slot, event, err);
    if (rc == TP_OK && begins)
        begin(w, in, event);
    return rc;
}

static int see_window(void *ctx, const struct tp_window *window, struct tp_err *err)
{
    struct lives_walk *w = ctx;
    int rc = TP_OK;
    for (uint32_t i = 0; rc == TP_OK && i < window->count; i++, w->insn++)
        rc = see_insn(w, &window->insns[i], tp_window_event(window, i), err);
    return rc;
}

int tp_program_lives(struct tp_program *p, uint16_t device, tp_take_life *take, void *ctx,
                     struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(p);
    struct lives_walk w = {
        .take = take, .ctx = ctx, .slots = f->slots, .first = NONE, .device = device};
    w.open = calloc(w.slots + UINT64_C(1), sizeof *w.open);
    if (!w.open)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < w.slots; i++)
        w.open[i].begin = NOT_LIVE;
    int rc = tp_program_walk(p, see_window, &w, err);
    if (rc == TP_OK)
        rc = end_all(&w, f->events + 1, err);
    free(w.open);
    return rc;
}
