/* Replays in forks of this process, which have the program, the options and the sources already. A
 * strategy that crashes, or never ends, takes nothing with it. Not for a real device, whose driver
 * does not live through a fork, and not for real allocators, whose heap would be this process's
 * (child.h). */
#ifndef TP_FORK_REPLAY_H
#define TP_FORK_REPLAY_H

#include "alloc/engine/replay.h"

#include <stddef.h>

/* Replays in a fork. `cfg` and `run` are as for tp_replay, `label` names the strategy in sentences.
 * An error leaves the run as it was; it is one of tp_replay, or TP_EBROKEN where the process did
 * not end by itself or wrote over its answer, or TP_ELATE. TP_EIO: it could not be started. */
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

/* How many of `count` replays of a program may run side by side: `workers`, or fewer if their
 * bookkeeping would take more than `memory` bytes. */
unsigned tp_ahead_workers(const struct tp_program *program, size_t count, uint64_t workers,
                          uint64_t memory);

/* Replays the passes of `list`, which are of one program and timeout, with at most so many
 * processes at once, as tp_ahead_workers has it. Nothing is replayed ahead if that leaves fewer
 * than two. If a process fails, its replay has no passes ahead; whoever replays them later gets the
 * error. */
void tp_ahead_replay(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                     const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx);

#endif
