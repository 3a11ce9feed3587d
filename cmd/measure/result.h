/* What a replay command measured, as the writers read it. Writers compute nothing that another
 * writer would compute too: derived figures live in cmd/measure/figures.h. */
#ifndef TP_RESULT_H
#define TP_RESULT_H

#include "alloc/engine/replay.h"
#include "cuda/cuda_device.h"
#include "traces/trace.h"

struct tp_captured;
struct tp_source_spec;
struct tp_strategy_spec;

/* How a real device is used. */
struct tp_device_use {
    const struct tp_cuda_info *driver; /* NULL: no real device */
    uint32_t *ordinals;                /* by device of the trace: the CUDA device that plays it */
    enum tp_occupy occupy;
    double scale;
    const char *unused; /* why a driver that is here is not used; NULL: it is, or there is none */
};

/* One strategy on one trace. */
struct tp_result {
    const struct tp_trace *trace;
    const struct tp_program_facts *facts;
    const struct tp_strategy_spec *spec;
    const struct tp_source_spec *source; /* not of a foreign allocator */
    const struct tp_captured *captured;
    const struct tp_device_use *use; /* not of a foreign allocator */
    enum tp_touch touch;
    uint64_t min_time_ns;
    struct tp_run *run; /* owned by whoever made the report */
};

struct tp_report {
    struct tp_result *results; /* grouped by trace */
    size_t count, planned;     /* planned: as many as there were to be; those from `count` on have
                                  trace, facts and spec alone */
    struct tp_clock clock;
    const struct tp_opt *rows; /* what was asked for, as the command line's options; NULL */
    const void *opts;
    uint64_t seed;
    bool verbose;
    bool partial; /* interrupted: some results are missing */
};

#endif
