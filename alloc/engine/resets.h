/* Internal to the engine: which slots each RESET of a window lets go of.
 *
 *     window    ALLOC 3   ALLOC 1   RESET   ALLOC 2   RESET
 *     slots                         1 3               2
 *
 * Worked out before a window is played, from the program alone, so that a RESET costs what it lets
 * go of, in its own time nothing but that, and all of them together no more than the allocations.
 * A slot whose allocation failed is among them. */
#ifndef TP_RESETS_H
#define TP_RESETS_H

#include "alloc/program/program.h"

struct tp_resets;

/* *out stays NULL where a program has no RESET. TP_ENOMEM. */
int tp_resets_open(const struct tp_program_facts *facts, struct tp_resets **out,
                   struct tp_err *err);
void tp_resets_close(struct tp_resets *r); /* NULL is fine */

/* Back to the start of the program: nothing is live. */
void tp_resets_begin(struct tp_resets *r);

/* To be called once for each window, the prologue's as well, before it is played. TP_ENOMEM. */
int tp_resets_window(struct tp_resets *r, const struct tp_window *w, struct tp_err *err);

/* The slots of the next RESET of the window, rising. Valid until the next window. */
const uint32_t *tp_resets_next(struct tp_resets *r, uint32_t *count);

#endif
