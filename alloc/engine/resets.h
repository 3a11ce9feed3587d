/* Internal to the engine: which slots each RESET of a window frees.
 *
 *     window    ALLOC 3   ALLOC 1   RESET   ALLOC 2   RESET
 *     slots                         1 3               2
 *
 * The slots are computed from the program alone before a window is played. So a timed RESET does
 * nothing but free its slots, and the work of all RESETs together is bounded by the number of
 * allocations. Slots whose allocation failed are listed too. */
#ifndef TP_RESETS_H
#define TP_RESETS_H

#include "alloc/program/program.h"

struct tp_resets;

/* *out stays NULL where a program has no RESET. TP_ENOMEM. */
int tp_resets_open(const struct tp_program_facts *facts, struct tp_resets **out,
                   struct tp_err *err);
void tp_resets_close(struct tp_resets *r); /* NULL is fine */

/* Goes back to the start of the program, where nothing is live. */
void tp_resets_begin(struct tp_resets *r);

/* To be called once for each window, prologue windows included, before it is played. TP_ENOMEM. */
int tp_resets_window(struct tp_resets *r, const struct tp_window *w, struct tp_err *err);

/* The slots of the next RESET of the window, in rising order; *count says how many. Valid until the
 * next window. */
const uint32_t *tp_resets_next(struct tp_resets *r, uint32_t *count);

#endif
