/* Two programs of one: the blocks of some allocation sites, and all the rest.
 *
 *     whole     alloc A | alloc B | thread 1 ends | realloc A | free B | moment
 *     region    alloc A |         | thread 1 ends | realloc A |        | moment      A is of the
 * site rest              | alloc B | thread 1 ends |           | free B | moment
 *
 * Each block is in one of them, with the thread, event and time of each of its operations. What
 * concerns no single block, such as the end of a thread, is in both. Slots are numbered anew; marks
 * and notes, which no strategy sees, are in neither.
 *
 * A block belongs to the call that gave it its size, as in tp_held_block. A realloc that takes a
 * block from one program to the other is an allocation there and a free here. Where several
 * references to it are held, it stays. */
#ifndef TP_APART_H
#define TP_APART_H

#include "alloc/program/program.h"

struct tp_apart {
    struct tp_program *region, *rest; /* owned */
};

/* `places`: of the blocks of the region, ascending; events, and TP_PLACE_INITIAL + i for block i of
 * the initial heap. Both programs have an instruction of the event `moment`, if it is not 0: what a
 * list says of a moment (page_list.h) is then of the same one in both.
 * TP_EIO, as of tp_stop_asked too; TP_ENOMEM. */
int tp_apart(struct tp_program *whole, const uint64_t *places, size_t count, uint64_t moment,
             struct tp_apart *out, struct tp_err *err);
void tp_apart_release(struct tp_apart *a); /* a zeroed one is fine */

#endif
