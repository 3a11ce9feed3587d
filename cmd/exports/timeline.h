/* When what is drawn over time took place: points of curves, and phases. */
#ifndef TP_TIMELINE_H
#define TP_TIMELINE_H

#include "cmd/results/result.h"

/* Without recorded times an event takes a microsecond. */
enum { TP_UNTIMED_NS = 1000 };

/* The time of a curve's point, ns since the trace began. */
static inline uint64_t tp_point_ns(const struct tp_program_facts *f, const struct tp_curve_point *p)
{
    return f->time_known ? p->clock : p->event * TP_UNTIMED_NS;
}

/* A mark: a phase begins, which lasts until the next one. */
struct tp_phase_begin {
    uint64_t event, ns; /* since the trace began */
    const char *name;   /* of the program; NULL: a phase ends here, and none begins */
};

/* Zeroed memory is an empty list. */
struct tp_phase_list {
    struct tp_phase_begin *at;
    size_t count, room;
    size_t named;    /* of these, phases that begin */
    uint64_t end_ns; /* where the last one ends: at the end of the trace, or at the mark that was
                      * too many */
};

/* Lists the first `most` phases of a trace in one pass over its program, which ends at the last
 * mark. A mark that only ends a phase is listed where one lasted. TP_ENOMEM, or what the program
 * cannot be read for; tp_phase_list_drop is to be called in every case. */
int tp_phase_list_find(const struct tp_trace *t, size_t most, struct tp_phase_list *out,
                       struct tp_err *err);
void tp_phase_list_drop(struct tp_phase_list *l);

#endif
