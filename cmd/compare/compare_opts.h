/* The options of `tapool compare`. */
#ifndef TP_COMPARE_OPTS_H
#define TP_COMPARE_OPTS_H

#include "cmd/jobs/open_trace.h"
#include "cmd/ui/exporter.h"

#include <stdbool.h>

struct tp_compare_opts {
    struct tp_opt_list strategies, metrics, fail_on;
    struct tp_open_opts open;
    char *source, *alloc, *base, *sort;
    struct tp_exports exports;
    uint32_t touch, goal;
    uint64_t rounds, min_time, seed, capacity, timeout, threads;
    bool verbose, thp;
};

#endif
