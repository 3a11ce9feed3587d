/* Internal to the engine: what a real device does between two operations of the program.
 *
 *     ALLOC A, stream 0          work(0, A)                 busy until the next event of stream 0
 *     USE A, stream 1            follow(1, 0), work(1, A)
 *     FREE A, stream 1           follow(1, 0) before it, where the block belongs to stream 0
 *     SYNC 1                     the host waits for stream 1, before the strategy hears of it
 *
 * All of it stands outside the time of the operations: it is the recorded program's, and no policy
 * could spare it. A work lasts for the recorded time to the next event of its stream, so that what
 * was pending in the recorded program when a block came back is pending here as well.
 *
 * Weakness: the time that the host itself spent is not played, so a queue grows longer than it was
 * where a program's kernels were shorter than the gaps between its events. */
#ifndef TP_OCCUPIER_H
#define TP_OCCUPIER_H

#include "alloc/engine/player.h"

enum { TP_OCCUPY_UNTIMED_NS = 1000 }; /* where the trace has no times */

/* Opens p->occupier where the device is to be kept busy; else it stays NULL. TP_ENOMEM. */
int tp_occupy_open(struct tp_player *p, struct tp_err *err);
void tp_occupy_close(struct tp_player *p);

/* To be called once for each window before it is played: how long each of its works lasts. */
void tp_occupy_window(struct tp_player *p, const struct tp_window *w);

/* Between two instructions of a window, either of which may be NULL: work for the block that `done`
 * handed out, and the order before `next` that the recorded program had. Adds the time that this
 * takes to p->aside_ticks and returns the stamp at its end. */
uint64_t tp_occupy_between(struct tp_player *p, const struct tp_window *w,
                           const struct tp_insn *done, const struct tp_insn *next);

#endif
