/* See replay_ahead.h. Each replay is a fork of this process, which already has the program, the
 * options and the sources. The child writes its run into shared memory. Threads are not used,
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
#include "cmd/measure/replay_ahead.h"

#include "cmd/measure/child.h"
#include "cmd/measure/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
    pid_t pid; /* 0: no child */
    const struct tp_ahead *item;
    bool *whole; /* start of the shared memory: the run, at RUN_OFFSET, is complete */
    size_t run_size;
};

enum { RUN_OFFSET = 64 };

static struct tp_run *run_of(const struct worker *w)
{
    return (struct tp_run *)(void *)((char *)w->whole + RUN_OFFSET);
}

static void play_in_child(const struct worker *w, pid_t parent)
{
    struct tp_err err;
    struct tp_replay_cfg cfg = *w->item->cfg;
    cfg.passes = tp_ahead_passes(&cfg);
    cfg.progress = NULL;
    *w->whole = tp_child_begin(parent) && tp_replay(&cfg, run_of(w), &err) == TP_OK;
    _exit(0); /* exit would write the parent's buffered output a second time */
}

static void start(struct worker *w, const struct tp_ahead *item)
{
    uint16_t devices = tp_program_facts(item->cfg->program)->devices;
    *w = (struct worker){.item = item, .run_size = tp_run_size(devices)};
    void *shared = mmap(NULL, RUN_OFFSET + w->run_size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return;
    w->whole = shared;
    pid_t parent = getpid();
    w->pid = fork();
    if (!w->pid)
        play_in_child(w, parent);
    if (w->pid < 0)
        w->pid = 0;
}

static void finish(struct worker *w, const volatile sig_atomic_t *interrupted)
{
    const struct tp_child_wait wait = {.interrupted = interrupted};
    int how = 0;
    bool ended = w->pid && tp_child_await(w->pid, &wait, &how) == TP_OK;
    if (ended && WIFEXITED(how) && *w->whole)
        memcpy(w->item->run, run_of(w), w->run_size);
    if (w->whole)
        munmap(w->whole, RUN_OFFSET + w->run_size);
    *w = (struct worker){0};
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

void tp_ahead_play(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                   const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx)
{
    workers = affordable(list, count, workers, memory);
    struct worker *running = workers > 1 ? calloc(workers, sizeof *running) : NULL;
    if (!running)
        return;
    for (size_t i = 0; i < count + workers; i++) {
        struct worker *w = &running[i % workers];
        if (i >= workers)
            finish(w, interrupted);
        if (i < count && !(interrupted && *interrupted))
            start(w, &list[i]);
        if (progress && i >= workers)
            progress(ctx, "memory", (double)(i - workers + 1) / (double)count);
    }
    free(running);
}
