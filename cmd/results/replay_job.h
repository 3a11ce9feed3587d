/* The options of tapool replay, and what is decided about one trace before anything is replayed:
 * the source, the strategies and the devices. */
#ifndef TP_REPLAY_JOB_H
#define TP_REPLAY_JOB_H

#include "cmd/jobs/gpus.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/jobs/spec.h"
#include "cmd/results/captured.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/result.h"
#include "cmd/ui/exporter.h"

enum { TP_OOM_CONTINUE, TP_OOM_STOP };
enum { TP_TOUCH_AUTO }; /* the values after it are those of enum tp_touch plus 1 */

struct tp_replay_opts {
    struct tp_opt_list strategies, fail_on, map_device;
    struct tp_open_opts open;
    struct tp_exports exports;
    struct tp_sites_opts sites;
    char *source, *alloc;
    uint32_t touch, on_oom, occupy, goal;
    uint32_t passes; /* bits of enum tp_pass; 0: not given */
    uint64_t min_time, repeat, seed, capacity, threads, timeout, bound_time, frames;
    bool verbose, fits, no_fits, verify, thp, no_curves;
    double occupy_scale;
};

/* A trace and all that is needed to replay it. It must live as long as its results. */
struct tp_job {
    /* A strategy that cannot be replayed is left out, unless it is the only one, and `refused` is
     * the error of the first; otherwise it is an error of tp_job_prepare. */
    bool leaves_out;
    struct tp_err refused; /* its status is TP_OK where all can be replayed */
    struct tp_trace trace;
    struct tp_captured captured;
    struct tp_touched touched; /* what the program wrote of its large blocks */
    struct tp_strategy_spec *specs;
    size_t spec_count;
    struct tp_source_spec source;
    struct tp_device_use use;  /* how a real device is used */
    struct tp_offline *bounds; /* of each device; NULL: not asked for */
};

/* Opens the trace and checks all that can be wrong now, because replaying may take long. The caller
 * releases the job in every case. */
int tp_job_prepare(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                   const char *path, struct tp_err *err);
void tp_job_release(struct tp_job *job); /* a zeroed one is fine */

/* The parts of it, for a trace that several calls replay: the trace alone, the strategies and the
 * source for it, and the way back to the trace alone. */
int tp_job_open(struct tp_job *job, const struct tp_open_opts *o, const char *path,
                struct tp_err *err);
int tp_job_choose(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                  struct tp_err *err);
void tp_job_forget_choice(struct tp_job *job);

/* Whether the smallest device that a trace fits in is looked for by default: only for device traces
 * under a million events, because each try is a replay. */
bool tp_fits_by_default(enum tp_kind kind, uint64_t events);

/* How long the best packing is looked for by default, in ns: not long, and of the same traces; 0:
 * not at all. */
uint64_t tp_bound_time_by_default(const struct tp_program *p);

/* The threads of a replay configuration for the value of --threads. */
uint32_t tp_replay_threads(uint64_t option, const struct tp_job *job);

/* Whether the job is replayed on a real device. */
bool tp_job_on_device(const struct tp_job *job);

#endif
