/* What is not timed of several replays, played ahead, side by side on the cores that there are:
 * memory, counts and what fits are the same whoever else runs. Times are not: they are taken
 * afterwards, one replay after the other, with nothing beside them. */
#ifndef TP_REPLAY_AHEAD_H
#define TP_REPLAY_AHEAD_H

#include "alloc/engine/replay.h"

#include <stddef.h>

struct tp_ahead {
    const struct tp_replay_cfg *cfg;
    struct tp_run *run; /* as for tp_replay; what was played ahead stands in its `passes` */
};

/* The passes of these that are played ahead: 0 where memory is real, for then two replays would
 * take twice of it, and where a device is. */
unsigned tp_ahead_passes(const struct tp_replay_cfg *cfg);

/* At most `workers` processes at once; fewer where their books would take more than `memory` bytes,
 * and none where that leaves less than two. What goes wrong in one of them is nobody's loss: that
 * replay has nothing ahead, and whoever plays it then is told what is wrong. */
void tp_ahead_play(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                   const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx);

#endif
