/* The figures of a trace by which `tapool info` compares two: what the program did, not how a
 * strategy answered. They are exact. */
#ifndef TP_TRACE_FIGURES_H
#define TP_TRACE_FIGURES_H

#include "cmd/info/info_scan.h"
#include "cmd/results/metrics.h"

struct tp_trace_figure {
    /* Of a metric, what conditions and texts need: its name, unit and meaning. First, so that one
     * found by name leads to its figure. */
    struct tp_metric metric;
    uint64_t (*value)(const struct tp_program *p, const struct tp_info *info,
                      const struct tp_trace_figure *figure);
    size_t at;        /* offset of a uint64_t in `info`; used by some values */
    const char *name; /* for people: "peak requested" */
};

extern const struct tp_trace_figure tp_trace_figures[];
extern const size_t tp_trace_figure_count;

/* The figure of a trace, whose program was scanned. */
uint64_t tp_trace_figure_value(const struct tp_trace_figure *f, const struct tp_program *p,
                               const struct tp_info *info);

/* Finds a figure by its name in any case, as a metric that is the first member of the figure. NULL:
 * unknown; err is TP_EUSAGE with the nearest name as hint. */
const struct tp_metric *tp_trace_figure_find(const char *name, struct tp_err *err);

#endif
