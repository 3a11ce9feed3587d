/* Internal to the engine: how a part of a window is replayed by several OS threads.
 *
 *     window    A1 A2 f1 B3 b2 f3          letters: who replays; small: a free
 *
 *     of A      A1 A2> f1 f3               2> : A2 is done, the next may go on
 *     of B      B3> >b2                    >b2: not before
 *
 * Each thread gets its instructions in their order, as an array of its own. An object that several
 * threads touch is handed on from one to the next in the order of the trace, and nothing else is
 * ordered. Who hands on and who waits, and for which turn, is computed here, before anything is
 * timed.
 *
 * No order can be impossible: a thread waits only for an instruction that the program has earlier,
 * so the earliest instruction that has not been replayed can always be replayed.
 *
 * Slots are recycled by the program, between threads too, which would order what no object orders.
 * So each object of the part has a cell of its own, a struct tp_slot. Objects of one thread share
 * the cells of that thread, one after the other. An object of several threads has a cache line: the
 * cell, and in the next cell the number of its turn. */
#ifndef TP_THREAD_PLAN_H
#define TP_THREAD_PLAN_H

#include "alloc/engine/replayer.h"

/* What gap_ns of a planned instruction says; 0: no other thread has to do with it. */
#define TP_TURN_WAIT   0x80000000u /* wait until the object's turn is this one's */
#define TP_TURN_PASS   0x40000000u /* then it is the next turn */
#define TP_TURN_NUMBER 0x0001ffffu

/* Is the instruction replayed alone, between two parts of a window? */
static inline bool tp_plan_alone(const struct tp_insn *insn)
{
    return tp_op_is_operation(insn->op) &&
           !tp_op_is(insn->op, TP_IS_NEW | TP_IS_LIVE | TP_OF_THREAD);
}

/* What one OS thread replays. */
struct tp_worker {
    uint32_t first, count; /* in `steps` */
    uint32_t cells;        /* where its cells begin */
    uint32_t used;         /* cells in use */
    uint32_t spare;        /* an object whose cell is free again, plus 1; 0: none */
};

struct tp_plan_object;
struct tp_plan_slot;

struct tp_thread_plan {
    uint32_t worker_count;
    struct tp_worker *workers;
    struct tp_insn *steps; /* worker by worker; `slot` is a cell */
    uint32_t *origin;      /* by step: the instruction of the window */
    uint32_t *ticks;       /* by step: readings, as in struct tp_replayer */
    struct tp_slot *cells; /* all without a block while nothing is planned */
    size_t cell_room;
    struct tp_plan_object *objects; /* of the part */
    uint32_t object_count;
    uint32_t *object_of;        /* by instruction of the part */
    struct tp_plan_slot *slots; /* by slot of the program */
    uint32_t part;              /* number of the part, which marks entries of `slots` */
    void *memory;               /* all of it */
    size_t bytes;
};

/* Gets all memory that planning will ever need. */
int tp_plan_open(struct tp_thread_plan *plan, const struct tp_program_facts *facts,
                 uint32_t workers, struct tp_err *err);
void tp_plan_close(struct tp_thread_plan *plan); /* a zeroed one is fine */

/* Plans the instructions from `from` up to, but not including, `to`, none of which is alone.
 * Instructions that are no operations are left out. */
void tp_plan_part(struct tp_thread_plan *plan, const struct tp_window *w, uint32_t from,
                  uint32_t to);

/* Moves the blocks of the part's objects from the program's slots into the cells, and back. */
void tp_plan_load(struct tp_thread_plan *plan, struct tp_slot *slots);
void tp_plan_store(struct tp_thread_plan *plan, struct tp_slot *slots);

#endif
