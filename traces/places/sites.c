/* See sites.h. One pass over the program up to the event finds what is live, site_groups.c who
 * holds it. */
#include "traces/places/sites.h"

#include <stdlib.h>
#include <string.h>

/* The object of a slot. */
struct held_object {
    uint64_t size; /* 0: the slot has none */
    uint64_t event, time;
    uint64_t place; /* of struct tp_held_block */
    uint32_t mark;  /* the last one before it; UINT32_MAX: none */
};

struct holding {
    const struct tp_trace *trace;
    uint16_t device;
    struct held_object *objects; /* by slot */
    size_t count;
    uint64_t last_event, last_insn; /* that are replayed */
    uint64_t insn;                  /* the next one */
    uint64_t
        initial; /* the number of the place of the next block of the initial heap; 0: not known */
    uint64_t event, time; /* of the last one */
    uint64_t place;       /* of a block that it makes */
    uint32_t mark;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for live memory by site");
}

/* ---- what is live ---- */

static void replay(struct holding *h, const struct tp_insn *in)
{
    if (in->op == TP_MARK)
        h->mark = in->slot;
    else if (in->device == h->device && (tp_op_is(in->op, TP_IS_NEW) || in->op == TP_REALLOC))
        h->objects[in->slot] = (struct held_object){in->size, h->event, h->time, h->place, h->mark};
    else if (in->device == h->device && in->op == TP_FREE)
        h->objects[in->slot].size = 0;
    else if (in->op == TP_RESET && (in->device == h->device || in->device == TP_ALL_DEVICES))
        memset(h->objects, 0, h->count * sizeof *h->objects);
}

/* False: the instruction is behind the moment. */
static bool replay_next(struct holding *h, const struct tp_window *w, uint32_t i)
{
    uint64_t event = w->initial_heap ? 0 : tp_window_event(w, i);
    if (!w->initial_heap && (h->insn > h->last_insn || event > h->last_event))
        return false;
    h->event = event;
    h->place = w->initial_heap && h->initial ? h->initial++ : event;
    h->time += w->insns[i].gap_ns;
    replay(h, &w->insns[i]);
    h->insn += !w->initial_heap;
    return true;
}

static int replay_to_moment(struct holding *h, struct tp_err *err)
{
    struct tp_cursor *cursor = NULL;
    struct tp_window w;
    bool more = true;
    int got = 0, rc = tp_cursor_open(h->trace->program, &cursor, err);
    while (!rc && more && (got = tp_cursor_next(cursor, &w, err)) == 1)
        for (uint32_t i = 0; more && i < w.count; i++)
            more = replay_next(h, &w, i);
    tp_cursor_close(cursor);
    return !rc && got < 0 ? -got : rc;
}

static int by_place(const void *a, const void *b)
{
    const struct tp_held_block *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

static const char *phase_of(const void *ctx, uint32_t mark)
{
    return tp_mark_phase(ctx, mark);
}

static int find_labels(const struct tp_trace *t, struct tp_held_list *list, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < list->count; i++)
        if (list->blocks[i].place)
            rc = t->places.label(t->places.ctx, list->blocks[i].place + t->places.before,
                                 &list->blocks[i].label, err);
    return rc;
}

/* What is live, by event. */
static int list_live(const struct holding *h, bool timed, struct tp_held_list *list,
                     struct tp_err *err)
{
    list->blocks = calloc(h->count + 1, sizeof *list->blocks);
    if (!list->blocks)
        return no_memory(err);
    for (size_t i = 0; i < h->count; i++) {
        const struct held_object *o = &h->objects[i];
        if (!o->size)
            continue;
        list->blocks[list->count++] =
            (struct tp_held_block){.size = o->size,
                                   .place = o->place,
                                   .age = timed ? h->time - o->time : h->event - o->event,
                                   .phase = o->mark,
                                   .slot = (uint32_t)i,
                                   .from_start = !o->event};
    }
    qsort(list->blocks, list->count, sizeof *list->blocks, by_place);
    return TP_OK;
}

/* `initial`: the places of the initial heap are wanted. */
static int list_at(const struct tp_trace *t, uint16_t device, uint64_t at, bool initial,
                   struct tp_held_list *list, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    const struct tp_demand *peak = tp_program_demand(t->program, device);
    bool known = initial && f->initial_heap && t->places.initial == f->initial_heap;
    struct holding h = {.trace = t,
                        .device = device,
                        .count = f->slots,
                        .last_event = at == TP_AT_PEAK && !peak->event ? 0 : at,
                        .last_insn = at == TP_AT_PEAK ? peak->insn : UINT64_MAX,
                        .initial = known ? TP_PLACE_INITIAL : 0,
                        .mark = UINT32_MAX};
    *list = (struct tp_held_list){.timed = f->time_known,
                                  .places = &t->places,
                                  .phase = f->marks ? phase_of : NULL,
                                  .ctx = t->program};
    h.objects = calloc(h.count + 1, sizeof *h.objects);
    int rc = h.objects ? replay_to_moment(&h, err) : no_memory(err);
    if (rc == TP_OK)
        rc = list_live(&h, list->timed, list, err);
    free(h.objects);
    return rc;
}

int tp_sites_list(const struct tp_trace *t, uint16_t device, uint64_t at, struct tp_held_list *out,
                  struct tp_err *err)
{
    return list_at(t, device, at, true, out, err);
}

int tp_sites_find(const struct tp_trace *t, uint16_t device, const struct tp_sites_cfg *cfg,
                  int (*stop)(struct tp_err *err), struct tp_sites **out, struct tp_err *err)
{
    const struct tp_demand *peak = tp_program_demand(t->program, device);
    struct tp_held_list list;
    *out = NULL;
    if ((cfg->by == TP_BY_PLACE && !t->places.find) ||
        (cfg->by == TP_BY_METADATA && !t->places.label) || (cfg->at == TP_AT_PEAK && !peak->event))
        return TP_OK;
    int rc = list_at(t, device, cfg->at, false, &list, err);
    if (rc == TP_OK && cfg->by == TP_BY_METADATA)
        rc = find_labels(t, &list, err);
    if (rc == TP_OK)
        rc = tp_sites_of(&list, cfg, stop, out, err);
    free(list.blocks);
    return rc;
}
