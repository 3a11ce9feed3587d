/* Two traces of one program, beside each other, and the conditions that are set on the second. */
#ifndef TP_TRACE_PAIR_H
#define TP_TRACE_PAIR_H

#include "cmd/info/trace_figures.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/results/captured.h"
#include "cmd/results/condition.h"

struct tp_trace_side {
    struct tp_trace trace;
    struct tp_info *info;
    struct tp_captured captured;
    bool open;
};

/* A condition on a figure of the second trace, with the first as its base. */
struct tp_trace_check {
    struct tp_condition condition;
    bool met;
};

struct tp_trace_pair {
    struct tp_trace_side side[2];
    struct tp_trace_check *checks;
    size_t check_count, check_room;
};

/* Reads both traces and decides each condition of `fail_on`, whose texts must outlive the pair.
 * What is wrong in a condition is said before traces are read (TP_EUSAGE). The pair, zeroed before,
 * is to be released after errors too. */
int tp_trace_pair_open(struct tp_trace_pair *pair, char *const paths[2],
                       const struct tp_open_opts *open, const struct tp_opt_list *fail_on,
                       struct tp_err *err);
void tp_trace_pair_release(struct tp_trace_pair *pair);

/* The figure of both traces. */
void tp_trace_pair_values(const struct tp_trace_pair *pair, const struct tp_trace_figure *figure,
                          uint64_t value[2]);

/* Whether the rows of sizes are the same: those of hosts differ from those of devices. */
bool tp_trace_pair_same_sizes(const struct tp_trace_pair *pair);

/* TP_EFOUND names the first condition that is met. */
int tp_trace_pair_verdict(const struct tp_trace_pair *pair, struct tp_err *err);

#endif
