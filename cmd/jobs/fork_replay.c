/* See fork_replay.h. The process replays into its own copy of the run, and answers with that. */
#include "cmd/jobs/fork_replay.h"

#include "cmd/jobs/replay_answer.h"

#define RUN_AT TP_REPLAY_RUN_AT(sizeof(struct tp_replay_answer))

static void replay(void *ctx, void *shared)
{
    const struct tp_fork *f = ctx;
    struct tp_replay_cfg cfg = *f->cfg;
    struct tp_replay_board board;
    struct tp_err err = {0};
    tp_replay_board_open(&board, shared, RUN_AT, f->run_size);
    cfg.position = &board.shared->position;
    int status = tp_replay(&cfg, f->run, &err);
    tp_replay_board_give(&board, f->run, status, &err, f->label);
}

int tp_fork_start(struct tp_fork *f, const struct tp_replay_cfg *cfg, const char *label,
                  struct tp_run *run, struct tp_err *err)
{
    uint16_t devices = tp_program_facts(cfg->program)->devices;
    *f = (struct tp_fork){.cfg = cfg, .label = label, .run = run, .run_size = tp_run_size(devices)};
    int status = tp_forked_open(&f->child, RUN_AT + f->run_size, err);
    if (status)
        return status;
    status = tp_forked_start(&f->child, replay, f, err);
    if (status)
        tp_forked_close(&f->child);
    return status;
}

int tp_fork_finish(struct tp_fork *f, struct tp_err *err)
{
    const struct tp_child_wait wait = {.interrupted = f->cfg->interrupted,
                                       .timeout_ns = f->cfg->timeout_ns,
                                       .beside = f->beside,
                                       .beside_count = f->beside_count};
    struct tp_replay_end end = {.shared = f->child.shared,
                                .run_at = RUN_AT,
                                .facts = tp_program_facts(f->cfg->program),
                                .timeout_ns = wait.timeout_ns,
                                .label = f->label};
    end.waited = tp_child_await(f->child.pid, &wait, &end.how);
    int status = tp_replay_answer_take(&end, f->run, err);
    tp_forked_close(&f->child);
    return status;
}

int tp_fork_replay(const struct tp_replay_cfg *cfg, const char *label, struct tp_run *run,
                   struct tp_err *err)
{
    struct tp_fork f;
    int status = tp_fork_start(&f, cfg, label, run, err);
    return status ? status : tp_fork_finish(&f, err);
}
