/* The configuration of a replay. */
#ifndef TP_REPLAY_CFG_H
#define TP_REPLAY_CFG_H

#include "alloc/base/clock.h"
#include "alloc/base/touched.h"
#include "alloc/source.h"
#include "alloc/strategy.h"

#include <signal.h>

enum { TP_OCCUPY_MAX_NS = 2000000 }; /* longest time of one work, ns */

enum tp_touch {
    TP_TOUCH_NONE,
    TP_TOUCH_FIRST, /* writes 8 bytes at the start of each block, inside the timed operation */
    TP_TOUCH_ALL    /* writes a byte in every page of each block */
};

enum tp_pass {
    TP_PASS_USAGE = 1,
    TP_PASS_THROUGHPUT = 2,
    TP_PASS_LATENCY = 4,
    TP_PASS_ALL = 7, /* usage, throughput and latency; other passes must be named */
    TP_PASS_VERIFY = 8,
    TP_PASS_FITS = 16, /* needs the usage pass as well */
    TP_PASS_COUNT = 32,
    /* on host memory, in a process that does nothing else (see pass_resident.c) */
    TP_PASS_RESIDENT = 64,
    /* of a real allocator, in a process that another one follows (see pass_mapped.c) */
    TP_PASS_MAPPED = 128
};

enum { TP_SOURCE_LAYERS = 8, TP_GUARD_TIMES = 16 };
#define TP_GUARD_LEAST (UINT64_C(1) << 30) /* bytes */

/* One source of the stack. Layers are listed from the base up; the engine puts the meter on top.
 * `opts` were parsed from the rows of `ops`. */
struct tp_source_layer {
    const struct tp_source_ops *ops;
    const void *opts;
};

struct tp_frames;
struct tp_replayer;
struct tp_mapped;
struct tp_page_asked;
/* Where a replay is, for a process that watches it and may have to end it: the events of the window
 * that is being replayed, or in the untimed passes the event itself. Both 0: before the first
 * event; both TP_NONE: after the last. */
struct tp_position {
    volatile uint64_t first, last;
};

/* State that the passes of one tp_replay share; private to the engine. */
struct tp_replay_shared {
    /* called when a replayer has what the engine itself needs, before its sources and its strategy
     * are opened; NULL: not called */
    int (*opened)(void *ctx, struct tp_replayer *p, struct tp_err *err);
    void *opened_ctx;
    void **current;                   /* passed to the sources as `current` */
    bool time_calls;                  /* passed to the sources as `time_calls` */
    bool keeps_ranges;                /* the replayer has tables of the ranges that are held */
    const struct tp_touched *touched; /* what TP_TOUCH_ALL writes of large blocks; NULL: all */
    struct tp_cover *cover;           /* of the blocks that TP_TOUCH_ALL writes; NULL: not asked */
    bool lifetimes; /* OS threads begin and end where the recorded ones do; see crew.h */
};

/* Called between replays and between windows, never in a timed region. */
typedef void tp_progress_fn(void *ctx, const char *pass, double fraction);

enum { TP_THREADS_AS_RECORDED = UINT16_MAX }; /* no program has more threads */

struct tp_replay_cfg {
    struct tp_program *program;
    const struct tp_strategy *strategy;
    const void *strategy_opts;
    struct tp_source_layer layers[TP_SOURCE_LAYERS];
    uint32_t layer_count; /* 0 for a strategy that takes no source */
    const struct tp_clock *clock;
    enum tp_touch touch;
    const struct tp_touched *touched; /* what the resident pass writes of large blocks; NULL: all */
    unsigned passes;                  /* enum tp_pass, or-ed */
    uint64_t min_time_ns; /* shortest time of the throughput pass, and of the latency pass */
    uint32_t min_replays; /* least number of steady replays */
    uint32_t repeat;      /* replays of a program that takes longer than min_time_ns */
    uint64_t
        /* the latency pass stops after the window that reaches this number of operations; 0: no
         * limit */
        latency_operations;
    bool stop_on_oom; /* a failed allocation ends the replay; false: the replay goes on */
    /* Protects the machine's memory: on host memory, a strategy that reserves more than
     * TP_GUARD_TIMES the program's the trace peak, and more than TP_GUARD_LEAST, is refused further
     * memory, and the replay ends. Without effect where a limit is among the layers. */
    bool guard;
    bool drop_initial_heap;
    bool packed; /* strategies begin without the heap that was recorded, even those that know one */
    /* TP_PASS_MAPPED: shared with the parent of this process, which follows it; NULL: nobody does
     */
    struct tp_mapped *follower;
    /* TP_PASS_USAGE: opened by tp_frames_open for the devices of the program; the pass begins anew
     * and fills it. NULL: no frames are taken. A strategy whose ranges are not known has none */
    struct tp_frames *frames;
    /* TP_PASS_RESIDENT: lists of pages that are wanted as well (page_list.h); NULL: none */
    const struct tp_page_asked *page_lists;
    bool huge_pages; /* TP_PASS_RESIDENT: transparent huge pages stay as the machine has them */
    uint64_t seed;
    /* OS threads that replay the timed passes, recorded thread i by thread i mod `threads`; at most
     * as many as the program has threads. 0 and 1: one thread replays everything. More need a host
     * program on host memory */
    uint32_t threads;
    /* Puts the monotonic clock of this process ahead by so many ns, more each time, that of
     * tp_wall_ns too: a pass without times goes on at once where the program waited. NULL: nobody
     */
    void (*clock_ahead)(uint64_t ns);
    bool threads_if_possible; /* where so many cannot run, one thread replays */
    uint32_t cores;           /* that this process may use; 0 is taken as 1. Read if threads > 1 */
    /* number of the strategy in its command, from 0; selects the copy of the loop that replays it
     */
    uint32_t nth;
    enum tp_occupy occupy; /* what a real device does with each block after its allocation */
    /* the work lasts for the recorded time to its stream's next event, times this factor */
    double occupy_scale;
    /* a value other than 0 stops the replay with TP_ESTOP; may be NULL */
    const volatile sig_atomic_t *interrupted;
    /* of a replay in a process of its own, which is ended when it takes longer; 0: never. tp_replay
     * does not look at it */
    uint64_t timeout_ns;
    struct tp_position *position; /* kept up to date; may be NULL */
    tp_progress_fn *progress;     /* may be NULL */
    void *progress_ctx;
    struct tp_replay_shared shared; /* set to zeros by the caller */
};

/* enum tp_source_flags of the source at the base. Where there is none, the allocator takes memory
 * of this machine itself. */
static inline uint32_t tp_replay_source_flags(const struct tp_replay_cfg *cfg)
{
    return cfg->layer_count ? cfg->layers[0].ops->flags : TP_SRC_HOST;
}

/* These do nothing; replaying one measures what is tapool's own in the figures of a strategy: the
 * engine's loop and, for a real allocator, the functions that call its malloc. The sources are
 * those that the engine itself opens. */
extern const struct tp_strategy tp_strategy_empty, tp_strategy_empty_malloc;
static inline const struct tp_strategy *tp_replay_empty(const struct tp_replay_cfg *cfg)
{
    return tp_strategy_takes_source(cfg->strategy) ? &tp_strategy_empty : &tp_strategy_empty_malloc;
}
extern const struct tp_source_ops tp_source_meter, tp_source_virtual, tp_source_limit;

#endif
