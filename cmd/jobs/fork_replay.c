/* See fork_replay.h. Each replay is a task of its own worker (worker_pool.h), which replays into
 * its own copy of the run and answers with that. Threads are not used, because once a process has
 * had a second thread malloc takes locks, which would show in the times that are measured later.
 *
 *     parent   fork fork ...... take fork .... take ..... take  |  timed passes
 *     child 1       [usage fits]
 *     child 2            [usage .................. fits]
 *     child 3                        [usage fits]               */
#include "cmd/jobs/fork_replay.h"

#include "cmd/jobs/replay_answer.h"
#include "cmd/jobs/worker_pool.h"

#include <string.h>

enum { UNTIMED = TP_PASS_VERIFY | TP_PASS_USAGE | TP_PASS_FITS };

/* Estimated bookkeeping of a replay: bytes for each object live at once, and for all the rest. */
#define OBJECT_BYTES UINT64_C(256)
#define OTHER_BYTES  (UINT64_C(8) << 20)

/* An answer begins with the position, which is written all the time. */
#define RUN_AT TP_REPLAY_RUN_AT(sizeof(struct tp_position))

struct fork_tasks {
    const struct tp_ahead *list;
    size_t count, done;
    bool ahead; /* they are replayed ahead, and one that fails leaves the others */
    const char *label;
    tp_progress_fn *progress; /* may be NULL */
    void *ctx;
};

static size_t run_size(const struct tp_ahead *item)
{
    return tp_run_size(tp_program_facts(item->cfg->program)->devices);
}

/* In the worker, whose run is its own. */
static int replay(void *ctx, uint64_t number, void *answer, size_t *size, struct tp_err *err)
{
    const struct fork_tasks *t = ctx;
    const struct tp_ahead *item = &t->list[number];
    struct tp_replay_cfg cfg = *item->cfg;
    cfg.position = answer;
    memset(answer, 0, RUN_AT); /* else this page would count as memory of the strategy */
    if (t->ahead) {
        cfg.passes = tp_ahead_passes(&cfg);
        cfg.progress = NULL;
    }
    int status = tp_replay(&cfg, item->run, err);
    memcpy((char *)answer + RUN_AT, item->run, run_size(item));
    *size = RUN_AT + run_size(item);
    return status;
}

static int take_replay(const struct fork_tasks *t, const struct tp_pool_done *d, struct tp_err *err)
{
    const struct tp_ahead *item = &t->list[d->task.number];
    if (!d->answer)
        return tp_replay_fail_ended(&d->end, t->label, d->left, err);
    const void *run = (const char *)d->answer + RUN_AT;
    if (d->status && err)
        *err = d->err;
    if (d->status)
        return d->status;
    if (d->size != RUN_AT + run_size(item) ||
        !tp_replay_run_holds(run, tp_program_facts(item->cfg->program)))
        return tp_replay_fail_written(t->label, err);
    memcpy(item->run, run, run_size(item));
    return TP_OK;
}

static int done(void *ctx, const struct tp_pool_done *d, struct tp_err *err)
{
    struct fork_tasks *t = ctx;
    int status = take_replay(t, d, err);
    if (t->progress)
        t->progress(t->ctx, "memory", (double)++t->done / (double)t->count);
    return t->ahead ? TP_OK : status;
}

static int replay_all(struct fork_tasks *t, unsigned workers,
                      const volatile sig_atomic_t *interrupted, struct tp_err *err)
{
    const struct tp_worker_pool pool = {.workers = workers,
                                        .room = RUN_AT + run_size(t->list),
                                        .work = replay,
                                        .done = done,
                                        .count = t->count,
                                        .timeout_ns = t->list->cfg->timeout_ns,
                                        .fresh = true, /* a plug-in may break the next one */
                                        .ctx = t,
                                        .interrupted = interrupted};
    return tp_pool_run(&pool, err);
}

int tp_fork_replay(const struct tp_replay_cfg *cfg, const char *label, struct tp_run *run,
                   struct tp_err *err)
{
    const struct tp_ahead item = {cfg, run};
    struct fork_tasks t = {.list = &item, .count = 1, .label = label};
    return replay_all(&t, 1, cfg->interrupted, err);
}

/* ---- ahead ---- */

unsigned tp_ahead_passes(const struct tp_replay_cfg *cfg)
{
    return tp_replay_source_flags(cfg) & TP_SRC_VIRTUAL ? cfg->passes & UNTIMED : 0;
}

unsigned tp_ahead_workers(const struct tp_program *program, size_t count, uint64_t workers,
                          uint64_t memory)
{
    uint64_t fit = memory / (tp_program_facts(program)->slots * OBJECT_BYTES + OTHER_BYTES);
    fit = fit < count ? fit : count;
    return (unsigned)(fit < workers ? fit : workers);
}

void tp_ahead_replay(const struct tp_ahead *list, size_t count, unsigned workers, uint64_t memory,
                     const volatile sig_atomic_t *interrupted, tp_progress_fn *progress, void *ctx)
{
    struct fork_tasks t = {
        .list = list, .count = count, .ahead = true, .label = "", .progress = progress, .ctx = ctx};
    unsigned fit = count ? tp_ahead_workers(list->cfg->program, count, workers, memory) : 0;
    if (fit > 1)
        replay_all(&t, fit, interrupted, NULL);
}
