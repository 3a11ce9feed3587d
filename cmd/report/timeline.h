/* The times of events, found in one pass over the program. */
#ifndef TP_TIMELINE_H
#define TP_TIMELINE_H

#include "cmd/measure/result.h"

struct tp_timeline {
    struct tp_cursor *cursor;
    struct tp_window window;
    uint32_t index;    /* index of the next instruction in `window` */
    uint64_t time;     /* time of the last instruction in ns */
    bool timed, ended; /* the trace has times; the program is at its end */
};

/* tp_timeline_close is to be called in every case. */
int tp_timeline_open(struct tp_timeline *t, const struct tp_result *r, struct tp_err *err);
void tp_timeline_close(struct tp_timeline *t);

/* Loads the next window if needed. 1: window.insns[index] is the next instruction; 0: the end;
 * negative: a status. */
int tp_timeline_more(struct tp_timeline *t, struct tp_err *err);

/* Goes past the next instruction and returns its time in ns. Without recorded times an event takes
 * 1 us. */
uint64_t tp_timeline_step(struct tp_timeline *t);

/* The time of an event in ns. Events must be asked for in order. */
int tp_timeline_at(struct tp_timeline *t, uint64_t event, uint64_t *ns, struct tp_err *err);

#endif
