/* Plays the passes that take no times ahead, several replays side by side on the cores of this
 * machine. Memory, counts and the smallest fitting device do not depend on what else runs. Times
 * do, so they are taken afterwards, one replay after the other. */
#ifndef TP_REPLAY_AHEAD_H
#define TP_REPLAY_AHEAD_H

#include "alloc/engine/replay.h"

#include <stddef.h>

struct tp_ahead {
    const struct tp_replay_cfg *cfg;
    struct tp_run *run; /* as for tp_replay; its `passes` name what was played ahead */
};

/* The passes of `cfg` that can be played ahead. 0 for real memory, because several replays would
 * take several times as much, and for a real device. */
unsigned tp_ahead_passes(const struct tp_replay_cfg *cfg);

/* Plays the passes of `list` with at most `workers` processes at once. There are fewer if their
 * bookkeeping would take more than `memory` bytes, and nothing is played ahead if that leaves fewer
 * than two. If a process fails, its replay has no passes ahead; whoever plays them later gets the
 * error. */
void tp_ahead_play(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                   const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx);

#endif
