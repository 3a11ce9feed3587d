/* What a replay is asked for. */
#ifndef TP_REPLAY_CFG_H
#define TP_REPLAY_CFG_H

#include "alloc/base/clock.h"
#include "alloc/strategy.h"

#include <signal.h>

enum { TP_OCCUPY_MAX_NS = 2000000 }; /* one work at most */

enum tp_touch {
    TP_TOUCH_NONE,
    TP_TOUCH_FIRST, /* 8 bytes at the start of each block, inside the timed operation */
    TP_TOUCH_ALL    /* a byte in every page of it */
};

enum tp_pass {
    TP_PASS_USAGE = 1,
    TP_PASS_THROUGHPUT = 2,
    TP_PASS_LATENCY = 4,
    TP_PASS_ALL = 7, /* the three above; the others are asked for one by one */
    TP_PASS_VERIFY = 8,
    TP_PASS_FITS = 16, /* needs the usage pass as well */
    TP_PASS_COUNT = 32
};

enum { TP_SOURCE_LAYERS = 8, TP_GUARD_TIMES = 16 };
#define TP_GUARD_LEAST (UINT64_C(1) << 30) /* bytes */

/* The sources from the base up; the engine puts the meter on top. `opts` were parsed from the rows.
 */
struct tp_source_layer {
    const struct tp_source_ops *ops;
    const void *opts;
};

/* What the passes of one tp_replay share; the engine's own. */
struct tp_replay_shared {
    void **current;    /* for the sources */
    bool time_calls;   /* likewise */
    bool keeps_ranges; /* likewise */
};

/* Called between replays and between windows, never in a timed region. */
typedef void tp_progress_fn(void *ctx, const char *pass, double fraction);

struct tp_replay_cfg {
    struct tp_program *program;
    const struct tp_strategy *strategy;
    const void *strategy_opts;
    struct tp_source_layer layers[TP_SOURCE_LAYERS];
    uint32_t layer_count; /* 0 for TP_CAP_FOREIGN */
    const struct tp_clock *clock;
    enum tp_touch touch;
    unsigned passes;      /* enum tp_pass, or-ed */
    uint64_t min_time_ns; /* of the throughput and of the latency pass, each */
    uint32_t min_replays; /* at least so many steady ones */
    uint32_t repeat;      /* of programs longer than min_time_ns */
    uint64_t
        latency_operations; /* the latency pass stops after the window with so many; 0: never */
    bool stop_on_oom;       /* else go on */
    /* On the host's memory a strategy that reserves over TP_GUARD_TIMES of what the program needs
     * at once, and over TP_GUARD_LEAST, is refused more, and the replay ends there: nothing else
     * keeps it from taking the machine's. Not where a limit is among the layers. */
    bool guard;
    bool drop_prologue;
    uint64_t seed;
    uint32_t nth;          /* strategy of a command, from 0: which copy of the loop plays it */
    enum tp_occupy occupy; /* what a real device does with each block after its allocation ... */
    double occupy_scale;   /* ... for the recorded time to its stream's next event, times this */
    const volatile sig_atomic_t *interrupted; /* not 0: stop, TP_ESTOP; may be NULL */
    tp_progress_fn *progress;                 /* may be NULL */
    void *progress_ctx;
    struct tp_replay_shared shared; /* zeros */
};

/* enum tp_source_flags of the source at the bottom; 0: there is none. */
static inline uint32_t tp_replay_source_flags(const struct tp_replay_cfg *cfg)
{
    return cfg->layer_count ? cfg->layers[0].ops->flags : 0;
}

/* What the engine's own loop costs: the strategy that does nothing. */
extern const struct tp_strategy tp_strategy_empty;
extern const struct tp_source_ops tp_source_meter, tp_source_virtual, tp_source_limit;

#endif
