/* A progress line on stderr. On a terminal it appears after half a second within one replay, and at
 * once with counted steps. Elsewhere counted steps print a line per minute, and the first where
 * they will take that long: a log that is silent for long looks like a process that hangs. */
#ifndef TP_PROGRESS_H
#define TP_PROGRESS_H

#include "cmd/ui/text.h"

#include <stdbool.h>
#include <stdint.h>

struct tp_progress_line {
    const char *label;             /* what is measured, first on the line; borrowed */
    uint64_t started_ns, shown_ns; /* time of the start; time of the last output */
    bool enabled, visible;         /* stderr is a terminal; a line is on the screen */
    bool logs;                     /* stderr is no terminal */
    char what[48];                 /* what the current step is about */
    uint64_t done, total;          /* steps */
};

void tp_progress_start(struct tp_progress_line *p, const char *label);
void tp_progress_show(void *line, const char *pass, double fraction); /* a tp_progress_fn */
void tp_progress_clear(struct tp_progress_line *p);

/* Shows `total` equal steps: "LABEL: 3 of 12 (WHAT), about 40 s left". If `p` is NULL, nothing is
 * shown. */
void tp_progress_begin(struct tp_progress_line *p, const char *label, uint64_t total);
/* Begins a step; `done` steps are complete. */
void tp_progress_at(struct tp_progress_line *p, const char *what, uint64_t done);
void tp_progress_did(struct tp_progress_line *p); /* ends a step */

/* ", about 40 s left", estimated from the time that `done` steps took; "" before the first step is
 * done and after the last. */
struct tp_text tp_progress_left(uint64_t elapsed_ns, uint64_t done, uint64_t total);

#endif
