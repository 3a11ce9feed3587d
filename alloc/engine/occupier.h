/* Internal to the engine: the work that a real device is given between two operations of the
 * program.
 *
 *     ALLOC A, stream 0          work(0, A)                 busy until the next event of stream 0
 *     USE A, stream 1            follow(1, 0), work(1, A)
 *     FREE A, stream 1           follow(1, 0) before it, where the block belongs to stream 0
 *     SYNC 1                     drained(1) before it: its wait is over when its time begins
 *
 * This work is not part of the time of operations: it belongs to the recorded program, and no
 * strategy could avoid it. Each work lasts for the recorded time to the next event of its stream,
 * so that work that was pending when a block was freed is pending in the replay as well.
 *
 * Known weakness: the time that the host spent is not replayed, so queues grow longer than in the
 * recorded program where its kernels were shorter than the gaps between its events. */
#ifndef TP_OCCUPIER_H
#define TP_OCCUPIER_H

#include "alloc/engine/replayer.h"

enum { TP_OCCUPY_UNTIMED_NS = 1000 }; /* ns; length of a work where the trace has no times */

/* Opens p->occupier where the device is to be kept busy; else p->occupier stays NULL. TP_ENOMEM. */
int tp_occupy_open(struct tp_replayer *p, struct tp_err *err);
void tp_occupy_close(struct tp_replayer *p);

/* Computes how long each work of a window lasts. To be called once for each window before it is
 * replayed. */
void tp_occupy_window(struct tp_replayer *p, const struct tp_window *w);

/* Queues work for the block that `done` allocated, and the stream order that the recorded program
 * had before `next`. Called between two instructions of a window; either may be NULL. Adds the time
 * that it takes to p->aside_ticks. */
void tp_occupy_between(struct tp_replayer *p, const struct tp_window *w, const struct tp_insn *done,
                       const struct tp_insn *next);

#endif
