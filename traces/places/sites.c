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
    uint16_t device;
    struct held_object *objects; /* by slot */
    size_t count;
    /* the number of the place of the next block of the initial heap; 0: not known */
    uint64_t initial;
    uint64_t event, time; /* of the last instruction */
    uint32_t mark;
};

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for live memory by site");
}

/* ---- what is live ---- */

static int replay(void *ctx, const struct tp_moment_step *step, struct tp_err *err)
{
    struct holding *h = ctx;
    const struct tp_insn *in = step->insn;
    uint64_t place = !step->event && h->initial ? h->initial++ : step->event;
    (void)err;
    h->event = step->event;
    h->time = step->time;
    if (in->op == TP_MARK)
        h->mark = in->slot;
    else if (in->device == h->device && (tp_op_is(in->op, TP_IS_NEW) || in->op == TP_REALLOC))
        h->objects[in->slot] = (struct held_object){in->size, h->event, h->time, place, h->mark};
    else if (in->device == h->device && in->op == TP_FREE)
        h->objects[in->slot].size = 0;
    else if (in->op == TP_RESET && (in->device == h->device || in->device == TP_ALL_DEVICES))
        memset(h->objects, 0, h->count * sizeof *h->objects);
    return TP_OK;
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
    bool known = initial && f->initial_heap && t->places.initial == f->initial_heap;
    struct holding h = {.device = device,
                        .count = f->slots,
                        .initial = known ? TP_PLACE_INITIAL : 0,
                        .mark = UINT32_MAX};
    *list = (struct tp_held_list){.timed = f->time_known,
                                  .places = &t->places,
                                  .phase = f->marks ? phase_of : NULL,
                                  .ctx = t->program};
    h.objects = calloc(h.count + 1, sizeof *h.objects);
    int rc = h.objects ? TP_OK : no_memory(err);
    if (rc == TP_OK)
        rc =
            tp_moment_walk(t->program, tp_moment_of(t->program, device, at), replay, &h, NULL, err);
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
