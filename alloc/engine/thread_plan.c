/* See thread_plan.h. A part is gone through twice: first each object's threads are found and the
 * instructions of each thread counted, then the instructions are handed out, with cells and turns.
 */
#include "alloc/engine/thread_plan.h"

#include "alloc/base/own.h"

#include <string.h>

enum { LINE = 4 }; /* cells of a cache line */
#define NO_OBJECT UINT32_MAX
#define NO_STEP   UINT32_MAX
static_assert(LINE * sizeof(struct tp_slot) == 64, "the cache line of most processors");
static_assert(TP_WINDOW_MAX <= TP_TURN_NUMBER, "an object has fewer turns than a window has steps");

/* An object, from its first to its last instruction in the part. */
struct tp_plan_object {
    uint32_t slot;
    uint32_t cell;   /* valid if `placed` */
    uint32_t step;   /* its last step so far */
    uint32_t turn;   /* how often it was handed on */
    uint32_t spare;  /* the next object in the worker's list of free cells */
    uint16_t worker; /* who replayed that step */
    bool born;       /* in this part */
    bool ended;      /* in this part */
    bool shared;     /* by several workers */
    bool placed;
};

struct tp_plan_slot {
    uint32_t part; /* `object` is of this part */
    uint32_t object;
};

/* ---- memory ---- */

/* Takes `count` elements off the memory; without one, only counts bytes. */
static void *take_elements(struct tp_thread_plan *plan, size_t count, size_t size)
{
    void *at = plan->memory ? (char *)plan->memory + plan->bytes : NULL;
    plan->bytes += (count * size + 63) & ~(size_t)63;
    return at;
}

static void lay_out(struct tp_thread_plan *plan, const struct tp_program_facts *facts)
{
    plan->bytes = 0;
    plan->cells = take_elements(plan, plan->cell_room, sizeof *plan->cells);
    plan->steps = take_elements(plan, TP_WINDOW_MAX, sizeof *plan->steps);
    plan->workers = take_elements(plan, plan->worker_count, sizeof *plan->workers);
    plan->origin = take_elements(plan, TP_WINDOW_MAX, sizeof *plan->origin);
    plan->ticks = take_elements(plan, TP_WINDOW_MAX, sizeof *plan->ticks);
    plan->objects = take_elements(plan, TP_WINDOW_MAX, sizeof *plan->objects);
    plan->object_of = take_elements(plan, TP_WINDOW_MAX, sizeof *plan->object_of);
    plan->slots = take_elements(plan, facts->slots, sizeof *plan->slots);
}

int tp_plan_open(struct tp_thread_plan *plan, const struct tp_program_facts *facts,
                 uint32_t workers, struct tp_err *err)
{
    /* A cell for each step of a worker, a line between two workers, and a line for each object of
     * several workers, which has at least two steps. */
    *plan = (struct tp_thread_plan){.worker_count = workers,
                                    .cell_room = TP_WINDOW_MAX + LINE * ((size_t)workers + 1) +
                                                 (size_t)LINE * TP_WINDOW_MAX / 2};
    lay_out(plan, facts);
    void *memory = tp_own_zeroed(1, plan->bytes);
    if (!memory)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    plan->memory = memory;
    lay_out(plan, facts);
    /* written, so that its pages are present before any timing */
    memset(plan->ticks, 0xff, TP_WINDOW_MAX * sizeof *plan->ticks);
    return TP_OK;
}

void tp_plan_close(struct tp_thread_plan *plan)
{
    tp_own_free(plan->memory);
    *plan = (struct tp_thread_plan){0};
}

/* ---- finding objects ---- */

static uint32_t worker_of(const struct tp_thread_plan *plan, const struct tp_insn *insn)
{
    return insn->thread % plan->worker_count;
}

/* The object that an instruction touches. */
static uint32_t find_object(struct tp_thread_plan *plan, const struct tp_insn *insn)
{
    struct tp_plan_slot *slot = &plan->slots[insn->slot];
    bool born = tp_op_is(insn->op, TP_IS_NEW);
    uint16_t worker = (uint16_t)worker_of(plan, insn);
    if (born || slot->part != plan->part) {
        *slot = (struct tp_plan_slot){plan->part, plan->object_count};
        plan->objects[plan->object_count++] =
            (struct tp_plan_object){.slot = insn->slot, .worker = worker, .born = born};
    }
    struct tp_plan_object *o = &plan->objects[slot->object];
    o->shared |= o->worker != worker;
    o->worker = worker;
    if (insn->op == TP_FREE) {
        o->ended = true;
        slot->part = 0;
    }
    return slot->object;
}

static void find_objects(struct tp_thread_plan *plan, const struct tp_window *w, uint32_t from,
                         uint32_t to)
{
    plan->object_count = 0;
    plan->part++;
    for (uint32_t l = 0; l < plan->worker_count; l++)
        plan->workers[l] = (struct tp_worker){0};
    for (uint32_t i = from; i < to; i++) {
        const struct tp_insn *insn = &w->insns[i];
        bool on_object = tp_op_is(insn->op, TP_IS_NEW | TP_IS_LIVE);
        plan->object_of[i - from] = on_object ? find_object(plan, insn) : NO_OBJECT;
        if (tp_op_is_operation(insn->op))
            plan->workers[worker_of(plan, insn)].count++;
    }
}

/* ---- handing out ---- */

static uint32_t to_line(uint32_t cell)
{
    return (cell + LINE - 1) / LINE * LINE;
}

/* Gives each worker its steps and cells; returns the first cell for objects of several workers. */
static uint32_t place_workers(struct tp_thread_plan *plan)
{
    uint32_t steps = 0;
    for (uint32_t l = 0; l < plan->worker_count; l++) {
        struct tp_worker *worker = &plan->workers[l];
        worker->first = steps;
        worker->cells = to_line(steps) + LINE * l;
        steps += worker->count;
        worker->count = 0; /* counted again while steps are handed out */
    }
    return to_line(steps) + LINE * plan->worker_count;
}

/* A block that was live before is in its cell from the start, so it gets one that nobody had. */
static void place_object(struct tp_thread_plan *plan, struct tp_plan_object *o,
                         struct tp_worker *worker, uint32_t *next_line)
{
    o->placed = true;
    o->step = NO_STEP;
    if (o->shared) {
        o->cell = *next_line;
        *next_line += LINE;
    } else if (o->born && worker->spare) {
        struct tp_plan_object *spare = &plan->objects[worker->spare - 1];
        o->cell = spare->cell;
        worker->spare = spare->spare;
    } else {
        o->cell = worker->cells + worker->used++;
    }
}

/* Notes what the step of an object of several workers waits for, and who passes the turn on to it.
 */
static uint32_t take_turn(struct tp_thread_plan *plan, struct tp_plan_object *o, uint16_t worker)
{
    bool handed_on = o->step != NO_STEP && o->worker != worker;
    if (!handed_on)
        return o->turn;
    plan->steps[o->step].gap_ns |= TP_TURN_PASS;
    return TP_TURN_WAIT | ++o->turn;
}

static void hand_out(struct tp_thread_plan *plan, const struct tp_insn *insn, uint32_t origin,
                     uint32_t object, uint32_t *next_line)
{
    uint16_t number = (uint16_t)worker_of(plan, insn);
    struct tp_worker *worker = &plan->workers[number];
    uint32_t at = worker->first + worker->count++;
    struct tp_insn *step = &plan->steps[at];
    *step = *insn;
    step->gap_ns = 0;
    plan->origin[at] = origin;
    if (object == NO_OBJECT)
        return;
    struct tp_plan_object *o = &plan->objects[object];
    if (!o->placed)
        place_object(plan, o, worker, next_line);
    step->slot = o->cell;
    if (o->shared)
        step->gap_ns = take_turn(plan, o, number);
    o->step = at;
    o->worker = number;
    if (insn->op == TP_FREE && !o->shared) {
        o->spare = worker->spare;
        worker->spare = object + 1;
    }
}

void tp_plan_part(struct tp_thread_plan *plan, const struct tp_window *w, uint32_t from,
                  uint32_t to)
{
    find_objects(plan, w, from, to);
    uint32_t next_line = place_workers(plan);
    for (uint32_t i = from; i < to; i++)
        if (tp_op_is_operation(w->insns[i].op))
            hand_out(plan, &w->insns[i], i, plan->object_of[i - from], &next_line);
}

/* ---- moving blocks ---- */

void tp_plan_load(struct tp_thread_plan *plan, struct tp_slot *slots)
{
    for (uint32_t i = 0; i < plan->object_count; i++) {
        const struct tp_plan_object *o = &plan->objects[i];
        if (o->shared)
            plan->cells[o->cell + 1].packed = 0; /* its first turn */
        if (o->born)
            continue;
        plan->cells[o->cell] = slots[o->slot];
        slots[o->slot].addr = 0;
    }
}

void tp_plan_store(struct tp_thread_plan *plan, struct tp_slot *slots)
{
    for (uint32_t i = 0; i < plan->object_count; i++) {
        const struct tp_plan_object *o = &plan->objects[i];
        if (o->ended)
            continue;
        slots[o->slot] = plan->cells[o->cell];
        plan->cells[o->cell].addr = 0;
    }
}
