/* See fork_replay.h. The child writes its run into memory that it shares with the parent. */
#include "cmd/measure/fork_replay.h"

#include "cmd/measure/replay_answer.h"

#include <string.h>

/* The shared memory begins with the answer; the run follows at RUN_OFFSET. */
#define RUN_OFFSET ((sizeof(struct tp_replay_answer) + 63) & ~(size_t)63)

static struct tp_run *run_in(void *shared)
{
    return (struct tp_run *)(void *)((char *)shared + RUN_OFFSET);
}

static void play(void *ctx, void *shared)
{
    const struct tp_fork *f = ctx;
    struct tp_replay_cfg cfg = *f->cfg;
    struct tp_replay_answer *answer = shared;
    cfg.position = &answer->position;
    answer->status = tp_replay(&cfg, run_in(shared), &answer->err);
    answer->given = true;
}

int tp_fork_start(struct tp_fork *f, const struct tp_replay_cfg *cfg, struct tp_run *run,
                  struct tp_err *err)
{
    uint16_t devices = tp_program_facts(cfg->program)->devices;
    *f = (struct tp_fork){.cfg = cfg, .run = run, .run_size = tp_run_size(devices)};
    int status = tp_forked_open(&f->child, RUN_OFFSET + f->run_size, err);
    if (status)
        return status;
    memcpy(run_in(f->child.shared), run, f->run_size); /* what other passes have found */
    status = tp_forked_start(&f->child, play, f, err);
    if (status)
        tp_forked_close(&f->child);
    return status;
}

int tp_fork_finish(struct tp_fork *f, const char *label, struct tp_err *err)
{
    const struct tp_child_wait wait = {.interrupted = f->cfg->interrupted,
                                       .timeout_ns = f->cfg->timeout_ns};
    int how = 0, waited = tp_child_await(f->child.pid, &wait, &how);
    int status = tp_replay_answer_judge(f->child.shared, waited, how, wait.timeout_ns, label, err);
    if (!status)
        memcpy(f->run, run_in(f->child.shared), f->run_size);
    tp_forked_close(&f->child);
    return status;
}

int tp_fork_replay(const struct tp_replay_cfg *cfg, const char *label, struct tp_run *run,
                   struct tp_err *err)
{
    struct tp_fork f;
    int status = tp_fork_start(&f, cfg, run, err);
    return status ? status : tp_fork_finish(&f, label, err);
}
