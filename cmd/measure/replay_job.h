/* What tapool replay is asked for, and what it makes of one trace before anything is played: which
 * source, which strategies, on which devices. */
#ifndef TP_REPLAY_JOB_H
#define TP_REPLAY_JOB_H

#include "cmd/measure/captured.h"
#include "cmd/measure/exporter.h"
#include "cmd/measure/gpus.h"
#include "cmd/measure/open_trace.h"
#include "cmd/measure/result.h"
#include "cmd/measure/spec.h"
#include "cmd/ui/exports.h"

enum { TP_OOM_CONTINUE, TP_OOM_STOP };
enum { TP_TOUCH_AUTO }; /* then enum tp_touch, one higher */

struct tp_replay_opts {
    struct tp_opt_list strategies, fail_on, map_device;
    struct tp_open_opts open;
    struct tp_exports exports;
    char *source;
    uint32_t touch, on_oom, color, occupy;
    uint32_t passes; /* enum tp_pass, or-ed; 0: not given */
    uint64_t min_time, repeat, seed, capacity;
    bool verbose, bytes, fits, no_fits, verify;
    double occupy_scale;
};

/* What one trace needs beside itself; lives as long as its results. */
struct tp_job {
    struct tp_trace trace;
    struct tp_captured captured;
    struct tp_strategy_spec *specs;
    size_t spec_count;
    struct tp_source_spec source;
    struct tp_device_use use; /* of a real device */
};

/* Opens the trace and checks everything that can be wrong: playing may take long. The caller
 * releases the job in every case. */
int tp_job_prepare(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                   const char *path, struct tp_err *err);
void tp_job_release(struct tp_job *job); /* a zeroed one is fine */

/* Whether the smallest device that a trace fits in is looked for without being asked for: of device
 * traces under a million events, for each try is a replay. */
bool tp_fits_by_default(enum tp_kind kind, uint64_t events);

/* Played on a real device. */
bool tp_job_on_device(const struct tp_job *job);

#endif
