/* Replays a strategy on the trace of a job, as the options of tapool replay say. */
#ifndef TP_JOB_REPLAY_H
#define TP_JOB_REPLAY_H

#include "cmd/results/replay_job.h"

/* Which passes are replayed, and how. Without a progress line, which the caller sets. Pointers are
 * those of the job, the options and the clock. */
struct tp_replay_cfg tp_job_configure(const struct tp_job *job, const struct tp_strategy_spec *spec,
                                      const struct tp_replay_opts *o, const struct tp_clock *clock);

/* Replays the passes of `cfg`: a real allocator and a plug-in in a process of its own, others in
 * this one. Errors are those of tp_replay and tp_replay_apart. */
int tp_job_replay(const struct tp_job *job, const struct tp_strategy_spec *spec,
                  const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);

/* The result of such a replay, around a run that belongs to the caller. */
struct tp_result tp_job_result(const struct tp_job *job, const struct tp_strategy_spec *spec,
                               const struct tp_replay_opts *o, const struct tp_replay_cfg *cfg,
                               struct tp_run *run);

#endif
