/* A replay in a fork of this process, which has the program, the options and the sources already. A
 * strategy that crashes, or never ends, takes nothing with it. Not for a real device, whose driver
 * does not live through a fork, and not for real allocators, whose heap would be this process's
 * (child.h). */
#ifndef TP_FORK_REPLAY_H
#define TP_FORK_REPLAY_H

#include "alloc/engine/replay.h"
#include "cmd/jobs/forked.h"

#include <stddef.h>

struct tp_fork {
    struct tp_forked child;
    const struct tp_replay_cfg *cfg;
    const char *label;
    struct tp_run *run;
    size_t run_size;
    /* Children that the caller has beside this one, as of tp_child_wait; he sets them, if any,
     * before it is finished. */
    const pid_t *beside;
    size_t beside_count;
};

/* Starts the replay. `cfg` and `run` are as for tp_replay, `label` names the strategy in sentences;
 * all are borrowed until it is finished. TP_EIO: it could not be started, and nothing is to be
 * finished. */
int tp_fork_start(struct tp_fork *f, const struct tp_replay_cfg *cfg, const char *label,
                  struct tp_run *run, struct tp_err *err);

/* Waits for the replay and fills in the run, which an error leaves as it was. Errors are those of
 * tp_replay, or TP_EBROKEN where the process did not end by itself or wrote over its answer. */
int tp_fork_finish(struct tp_fork *f, struct tp_err *err);

/* Both, one after the other. */
int tp_fork_replay(const struct tp_replay_cfg *cfg, const char *label, struct tp_run *run,
                   struct tp_err *err);

/* Replays the passes that take no times ahead, several replays side by side on the cores of this
 * machine. Memory, counts and the smallest fitting device do not depend on what else runs. Times
 * do, so they are taken afterwards, one replay after the other. */

struct tp_ahead {
    const struct tp_replay_cfg *cfg;
    struct tp_run *run; /* as for tp_replay; its `passes` name what was replayed ahead */
};

/* The passes of `cfg` that can be replayed ahead. 0 for real memory, because several replays would
 * take several times as much, and for a real device. */
unsigned tp_ahead_passes(const struct tp_replay_cfg *cfg);

/* Replays the passes of `list` with at most `workers` processes at once. There are fewer if their
 * bookkeeping would take more than `memory` bytes, and nothing is replayed ahead if that leaves
 * fewer than two. If a process fails, its replay has no passes ahead; whoever replays them later
 * gets the error. */
void tp_ahead_replay(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                     const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx);

#endif
