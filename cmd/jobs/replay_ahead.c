/* See fork_replay.h. Each replay is a fork of this process (fork_replay.h). Threads are not used,
 * because once a process has had a second thread malloc takes locks, which would show in the times
 * that are measured later.
 *
 *     parent   fork fork wait ........ copy | fork wait ... copy |    timed passes
 *     child 1       [usage fits]            |
 *     child 2            [usage ... fits]   |
 *     child 3                               |      [usage fits]
 *
 * Known weakness: children are waited for in the order of their start, so a short replay behind a
 * long one leaves its core idle. */

#include "cmd/jobs/fork_replay.h"

#include <stdlib.h>

enum { UNTIMED = TP_PASS_VERIFY | TP_PASS_USAGE | TP_PASS_FITS };

/* Estimated bookkeeping of a replay: bytes for each object live at once, and for all the rest. */
#define OBJECT_BYTES UINT64_C(256)
#define OTHER_BYTES  (UINT64_C(8) << 20)

unsigned tp_ahead_passes(const struct tp_replay_cfg *cfg)
{
    return tp_replay_source_flags(cfg) & TP_SRC_VIRTUAL ? cfg->passes & UNTIMED : 0;
}

/* A replay in a child process. */
struct worker {
    struct tp_fork fork;
    struct tp_replay_cfg cfg;
};

/* Those that run, with the process of each; 0: it has none. */
struct workers {
    struct worker *workers;
    pid_t *pids;
    unsigned count;
};

static void start(struct workers *all, size_t i, const struct tp_ahead *item,
                  const volatile sig_atomic_t *interrupted)
{
    struct worker *w = &all->workers[i];
    w->cfg = *item->cfg;
    w->cfg.passes = tp_ahead_passes(&w->cfg);
    w->cfg.progress = NULL;
    w->cfg.interrupted = interrupted;
    bool started = tp_fork_start(&w->fork, &w->cfg, "", item->run, NULL) == TP_OK;
    w->fork.beside = all->pids;
    w->fork.beside_count = all->count;
    all->pids[i] = started ? w->fork.child.pid : 0;
}

static void finish(struct workers *all, size_t i)
{
    if (all->pids[i])
        tp_fork_finish(&all->workers[i].fork, NULL);
    all->pids[i] = 0;
}

/* The number of workers, limited so that their bookkeeping stays within `memory` bytes. */
static unsigned affordable(const struct tp_ahead *list, size_t count, unsigned workers,
                           uint64_t memory)
{
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = tp_program_facts(list[i].cfg->program)->slots * OBJECT_BYTES + OTHER_BYTES;
        most = bytes > most ? bytes : most;
    }
    uint64_t fit = memory / most;
    fit = fit < count ? fit : count;
    return fit < workers ? (unsigned)fit : workers;
}

void tp_ahead_replay(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                     const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx)
{
    workers = affordable(list, count, workers, memory);
    struct workers all = {.workers = calloc(workers, sizeof *all.workers),
                          .pids = calloc(workers, sizeof *all.pids),
                          .count = workers};
    bool replays = workers > 1 && all.workers && all.pids;
    for (size_t i = 0; replays && i < count + workers; i++) {
        if (i >= workers)
            finish(&all, i % workers);
        if (i < count && !(interrupted && *interrupted))
            start(&all, i % workers, &list[i], interrupted);
        if (progress && i >= workers)
            progress(ctx, "memory", (double)(i - workers + 1) / (double)count);
    }
    free(all.workers);
    free(all.pids);
}
