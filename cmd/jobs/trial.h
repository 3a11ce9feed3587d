/* What other settings of a recorded allocator would do to a program: each is a usage pass of the
 * strategy that does what that allocator did, on a simulated device, in a process beside this one,
 * several at once. */
#ifndef TP_TRIAL_H
#define TP_TRIAL_H

#include "alloc/program/program.h"

#include <signal.h>

/* What a setting did on one device, in bytes and counts. */
struct tp_trial_device {
    uint64_t peak_reserved, peak_reserved_event; /* event 0: before the first one */
    uint64_t gets, puts; /* segments taken and given back after the first event */
    uint64_t retries;    /* times that all unused segments went back and it asked once more */
    uint64_t failed;     /* requests that were refused for good */
    uint64_t first_failed_event; /* TP_NONE: none failed */
    bool too_big;                /* at the first one the program itself needed more than there is */
    uint64_t
        min_capacity; /* smallest capacity without a failure; TP_NONE: not asked, or not found */
};

struct tp_trial {
    /* "key:value,key:value", borrowed; "": the allocator's defaults. It is the value of the
     * strategy's `option`, or its options (tp_setting_add_options) */
    const char *conf;
    bool fits;      /* the smallest device that it fits in is to be searched for */
    bool compacted; /* it is to start with a compacted heap, also where the recorded one is known */
    bool aged;      /* it started with the recorded heap: false also where it cannot */
    /* TP_OK; TP_EUSAGE: the strategy refuses the text; TP_ESTOP: interrupted; else what happened to
     * the process that replayed it. `err` has the sentence. */
    int status;
    struct tp_err err;
    uint32_t device_count;
    struct tp_trial_device *devices; /* owned; NULL unless TP_OK */
};

struct tp_recorded_strategy;
struct tp_trial_cfg {
    struct tp_program *program; /* of a device trace, or of pinned memory of the host */
    /* whose strategy replays it, by its members `strategy` and `..._option` alone; NULL: that of
     * traces of which nothing says whose they are (tp_recorded_strategy_or_first) */
    const struct tp_recorded_strategy *by;
    const char *allocator; /* for its `device_option`, if it has one; NULL: the default */
    const char *release;   /* for its `release_option`; NULL: the newest */
    uint64_t capacity;     /* bytes of each device; 0: no limit */
    uint64_t memory;       /* bytes that the bookkeeping of all processes may take */
    uint64_t timeout_ns;   /* of each; 0: never */
    const volatile sig_atomic_t *interrupted;                       /* may be NULL */
    void (*progress)(void *ctx, const char *pass, double fraction); /* may be NULL */
    void *progress_ctx;
};

/* Replays all trials, whose `conf`, `fits` and `compacted` the caller has set. One that fails
 * leaves the others as they are: its status says so. TP_ENOMEM, TP_EIO, TP_ESTOP. The caller
 * releases the trials in every case. */
int tp_trials_replay(const struct tp_trial_cfg *cfg, struct tp_trial *trials, size_t count,
                     struct tp_err *err);
void tp_trials_release(struct tp_trial *trials, size_t count); /* zeroed ones are fine */

#endif
