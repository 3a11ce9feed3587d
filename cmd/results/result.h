/* What a replay command measured, as the writers read it. A writer computes nothing that another
 * writer needs too: derived figures are in cmd/results/figures.h. */
#ifndef TP_RESULT_H
#define TP_RESULT_H

#include "alloc/engine/replay.h"
#include "cuda/cuda_device.h"
#include "traces/trace.h"

struct tp_captured;
struct tp_offline;
struct tp_source_spec;
struct tp_strategy_spec;

/* How a real device is used. */
struct tp_device_use {
    const struct tp_cuda_info *driver; /* NULL: no real device is used */
    uint32_t *ordinals;                /* CUDA device for each device of the trace */
    enum tp_occupy occupy;
    double scale;       /* --occupy-scale: factor for the work of --occupy */
    const char *unused; /* why an installed driver is not used; NULL: used, or not installed */
};

/* Where the rules reproduce a smaller share of the recorded addresses, no advice is given. */
#define TP_FAITHFUL 0.99

/* How many of a recording's addresses and segments a strategy reproduces. */
struct tp_fidelity {
    uint64_t addresses, good_addresses;
    uint64_t segments, good_segments; /* at the end, with all their blocks */
    uint64_t first_event;             /* of the first difference; TP_NONE: there is none */
    uint64_t switches;                /* changes of expandable_segments that the segments show */
    uint64_t pools_returned; /* segments of private pools that went back, which a replay keeps */
};

/* One strategy on one trace. */
struct tp_result {
    const struct tp_trace *trace;
    const struct tp_program_facts *facts;
    const struct tp_strategy_spec *spec;
    const struct tp_source_spec *source; /* tp_no_source for a foreign allocator */
    const struct tp_captured *captured;
    const struct tp_device_use *use; /* not used by a foreign allocator */
    const struct tp_offline *bounds; /* of each device; NULL: not looked for */
    enum tp_touch touch;
    uint32_t threads; /* that were asked for, as in struct tp_replay_cfg */
    uint32_t goal;    /* enum tp_goal */
    uint64_t min_time_ns;
    const struct tp_fidelity *fidelity; /* of the strategy, as it replays; NULL: not compared */
    struct tp_replay_cfg replayed;  /* for an export that replays once more; it shows no progress */
    struct tp_run *run;             /* owned by whoever made the report */
    const struct tp_frames *frames; /* of the heap; NULL: none were taken; owned, too */
};

/* A strategy that could not be measured, while others could: a library that dies, say. */
struct tp_failed_row {
    const struct tp_trace *trace;
    char label[64]; /* of the strategy; "" where the sentence names it */
    struct tp_err err;
};

struct tp_report {
    struct tp_result *results; /* grouped by trace */
    /* `planned` results were to be measured and `count` are. A result from index `count` on has
     * only trace, facts and spec. */
    size_t count, planned;
    struct tp_failed_row *failed; /* array of `failed_count`, owned by whoever made the report */
    size_t failed_count;
    struct tp_clock clock;
    const struct tp_opt *rows; /* rows of the command's options; NULL: no command line */
    const void *opts;          /* the options that `rows` describe */
    uint64_t seed;
    uint32_t devices; /* how many of each result are shown one by one; 0: all */
    uint32_t theme;   /* of a picture, enum tp_chart_theme */
    bool verbose;
    bool no_curves; /* the JSON leaves out memory over time */
    bool partial;   /* interrupted: some results are missing */
    bool lost;      /* so because a device failed, which is reported as the error */
};

#endif
