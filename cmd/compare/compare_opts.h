/* What `tapool compare` is asked for. */
#ifndef TP_COMPARE_OPTS_H
#define TP_COMPARE_OPTS_H

#include "cmd/measure/open_trace.h"

#include <stdbool.h>

struct tp_compare_opts {
    struct tp_opt_list strategies, metrics, fail_on;
    struct tp_open_opts open;
    char *source, *base, *sort, *export_json;
    uint32_t touch, format, color;
    uint64_t rounds, min_time, seed, capacity, timeout;
    bool json, force, verbose, bytes;
};

#endif
