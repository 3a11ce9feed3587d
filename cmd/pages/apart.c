/* See apart.h. One walk over the whole program. A new slot of a strict builder is the lowest that
 * was never used, so each slot has a number of its own in each part that it was in. */
#include "cmd/pages/apart.h"

#include "cmd/ui/stop.h"
#include "traces/format.h"

#include <stdlib.h>

enum { PARTS = 2, REST = 0, REGION = 1 };

/* The block of a slot. */
struct apart_slot {
    uint64_t size;
    uint32_t number[PARTS]; /* + 1; 0: it was never in this part */
    uint32_t references;    /* beyond the first */
    uint8_t part, align_log2;
};

struct apart_part {
    struct tp_builder *builder;
    uint32_t slots;
    uint64_t event, time; /* of the last instruction; ns since the trace began */
};

struct parting {
    struct apart_part parts[PARTS];
    struct apart_slot *slots;
    const uint64_t *places;
    size_t count, next; /* of `places`; the first that is not behind the last event */
    uint64_t moment, event, time;
    uint64_t initial; /* blocks of the initial heap so far */
    uint16_t devices;
};

/* Whether a place that is not before the last one asked about is of the region. */
static int part_of(struct parting *p, uint64_t place)
{
    while (p->next < p->count && p->places[p->next] < place)
        p->next++;
    return p->next < p->count && p->places[p->next] == place ? REGION : REST;
}

/* ---- what a part is given ---- */

/* Adds an instruction that has its slot, with the time since the part's last one. */
static int add_timed(struct parting *p, int to, struct tp_insn insn, struct tp_err *err)
{
    struct apart_part *part = &p->parts[to];
    const struct tp_insn idle = {.op = TP_IDLE, .gap_ns = UINT32_MAX};
    uint64_t gap = p->time - part->time, before = part->event ? part->event : 1;
    int status = TP_OK;
    for (; !status && gap > UINT32_MAX; gap -= UINT32_MAX)
        status = tp_builder_add(part->builder, &idle, before, err);
    insn.gap_ns = (uint32_t)gap;
    part->time = p->time;
    part->event = p->event;
    return status ? status : tp_builder_add(part->builder, &insn, p->event, err);
}

static uint32_t slot_in(struct parting *p, int part, uint32_t slot)
{
    uint32_t *number = &p->slots[slot].number[part];
    if (!*number)
        *number = ++p->parts[part].slots;
    return *number - 1;
}

static int add_of_block(struct parting *p, int to, struct tp_insn insn, struct tp_err *err)
{
    insn.slot = slot_in(p, to, insn.slot);
    return add_timed(p, to, insn, err);
}

static int add_to_both(struct parting *p, const struct tp_insn *insn, struct tp_err *err)
{
    int status = add_timed(p, REST, *insn, err);
    return status ? status : add_timed(p, REGION, *insn, err);
}

/* ---- instructions ---- */

static void note_block(struct parting *p, const struct tp_insn *in, int part)
{
    struct apart_slot *s = &p->slots[in->slot];
    s->size = in->size;
    s->align_log2 = in->align_log2;
    s->part = (uint8_t)part;
}

static int add_new(struct parting *p, const struct tp_insn *in, struct tp_err *err)
{
    p->slots[in->slot].references = 0;
    note_block(p, in, part_of(p, p->event));
    return add_of_block(p, p->slots[in->slot].part, *in, err);
}

static int add_realloc(struct parting *p, const struct tp_insn *in, struct tp_err *err)
{
    struct apart_slot *s = &p->slots[in->slot], before = *s;
    int to = s->references ? s->part : part_of(p, p->event);
    struct tp_insn taken = *in, left = *in;
    note_block(p, in, to);
    if (to == before.part)
        return add_of_block(p, to, *in, err);
    taken.op = TP_ALLOC;
    left.op = TP_FREE;
    left.size = before.size;
    left.align_log2 = before.align_log2;
    int status = add_of_block(p, to, taken, err);
    return status ? status : add_of_block(p, before.part, left, err);
}

static int add_live(struct parting *p, const struct tp_insn *in, struct tp_err *err)
{
    struct apart_slot *s = &p->slots[in->slot];
    s->references += in->op == TP_RETAIN;
    s->references -= in->op == TP_RELEASE;
    return add_of_block(p, s->part, *in, err);
}

static int divide_insn(struct parting *p, const struct tp_insn *in, struct tp_err *err)
{
    if (tp_op_is(in->op, TP_IS_NEW))
        return add_new(p, in, err);
    if (in->op == TP_REALLOC)
        return add_realloc(p, in, err);
    if (tp_op_is(in->op, TP_IS_LIVE))
        return add_live(p, in, err);
    if (tp_op_is(in->op, TP_OF_NEXT))
        return add_timed(p, part_of(p, p->event), *in, err);
    return tp_op_is_operation(in->op) ? add_to_both(p, in, err) : TP_OK;
}

/* A part that the event of the moment is not in gets a note of it. */
static int mark_moment(struct parting *p, struct tp_err *err)
{
    const struct tp_insn note = {.op = TP_NOTE, .align_log2 = TP_NOTE_OTHER};
    uint64_t event = p->event;
    int status = TP_OK;
    p->event = p->moment;
    for (int i = 0; !status && i < PARTS; i++)
        if (p->parts[i].event < p->moment)
            status = add_timed(p, i, note, err);
    p->event = event;
    p->moment = 0;
    return status;
}

static int divide_initial(struct parting *p, const struct tp_insn *in, struct tp_err *err)
{
    struct tp_insn insn = *in;
    int to = part_of(p, TP_PLACE_INITIAL + p->initial++);
    note_block(p, in, to);
    insn.slot = slot_in(p, to, in->slot);
    return tp_builder_initial_heap(p->parts[to].builder, &insn, err);
}

static int divide_window(void *ctx, const struct tp_window *w, struct tp_err *err)
{
    struct parting *p = ctx;
    int status = tp_stop_asked(err);
    if (!w->initial_heap && !p->event)
        p->next = 0;
    for (uint32_t i = 0; !status && i < w->count; i++) {
        if (w->initial_heap) {
            status = divide_initial(p, &w->insns[i], err);
            continue;
        }
        uint64_t event = tp_window_event(w, i);
        if (p->moment && event > p->moment)
            status = mark_moment(p, err);
        p->event = event;
        p->time += w->insns[i].gap_ns;
        if (!status)
            status = divide_insn(p, &w->insns[i], err);
    }
    return status;
}

/* ---- all of it ---- */

static int open_parts(struct parting *p, const struct tp_program_facts *facts, struct tp_err *err)
{
    const struct tp_builder_cfg cfg = {.kind = (enum tp_kind)facts->kind};
    p->slots = calloc((size_t)facts->slots + 1, sizeof *p->slots);
    int status = p->slots ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (int i = 0; !status && i < PARTS; i++)
        status = tp_builder_new(&cfg, &p->parts[i].builder, err);
    return status;
}

static int finish_part(struct apart_part *part, const struct tp_program_facts *facts,
                       struct tp_program **out, struct tp_err *err)
{
    const struct tp_builder_end end = {.events = facts->events,
                                       .time_known = facts->time_known,
                                       .recorded_threads = facts->recorded_threads,
                                       .streams = facts->streams,
                                       .devices = facts->devices};
    struct tp_builder *builder = part->builder;
    part->builder = NULL;
    return tp_builder_finish(builder, &end, out, err);
}

int tp_apart(struct tp_program *whole, const uint64_t *places, size_t count, uint64_t moment,
             struct tp_apart *out, struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(whole);
    struct parting p = {.places = places, .count = count, .moment = moment};
    *out = (struct tp_apart){NULL, NULL};
    int status = open_parts(&p, facts, err);
    if (!status)
        status = tp_program_walk(whole, divide_window, &p, err);
    if (!status && p.moment)
        status = mark_moment(&p, err);
    if (!status)
        status = finish_part(&p.parts[REGION], facts, &out->region, err);
    if (!status)
        status = finish_part(&p.parts[REST], facts, &out->rest, err);
    for (int i = 0; i < PARTS; i++)
        tp_builder_free(p.parts[i].builder);
    free(p.slots);
    return status;
}

void tp_apart_release(struct tp_apart *a)
{
    tp_program_release(a->region);
    tp_program_release(a->rest);
    *a = (struct tp_apart){NULL, NULL};
}
