/* See fork_replay.h. The child writes its run into memory that it shares with the parent. */
#include "cmd/measure/fork_replay.h"

#include "cmd/measure/process.h"
#include "cmd/measure/replay_answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The head of the shared memory; the run follows at RUN_OFFSET. */
struct tp_fork_job {
    struct tp_replay_answer answer;
};
#define RUN_OFFSET ((sizeof(struct tp_fork_job) + 63) & ~(size_t)63)

static struct tp_run *run_of(const struct tp_fork *f)
{
    return (struct tp_run *)(void *)((char *)f->job + RUN_OFFSET);
}

static void play(const struct tp_fork *f, pid_t parent)
{
    if (!tp_child_begin(parent))
        _exit(1);
    struct tp_replay_cfg cfg = *f->cfg;
    struct tp_replay_answer *answer = &f->job->answer;
    cfg.position = &answer->position;
    answer->status = tp_replay(&cfg, run_of(f), &answer->err);
    answer->given = true;
    _exit(0); /* exit would write the parent's buffered output a second time */
}

static void release(struct tp_fork *f)
{
    munmap(f->job, RUN_OFFSET + f->run_size);
    *f = (struct tp_fork){0};
}

int tp_fork_start(struct tp_fork *f, const struct tp_replay_cfg *cfg, struct tp_run *run,
                  struct tp_err *err)
{
    uint16_t devices = tp_program_facts(cfg->program)->devices;
    *f = (struct tp_fork){.cfg = cfg, .run = run, .run_size = tp_run_size(devices)};
    void *shared = mmap(NULL, RUN_OFFSET + f->run_size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    f->job = shared;
    memcpy(run_of(f), run, f->run_size); /* what other passes have found */
    fflush(NULL); /* a strategy that calls exit would write it a second time */
    pid_t parent = getpid();
    f->pid = fork();
    if (!f->pid)
        play(f, parent);
    if (f->pid > 0)
        return TP_OK;
    int status = tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(errno));
    release(f);
    return status;
}

int tp_fork_finish(struct tp_fork *f, const char *label, struct tp_err *err)
{
    const struct tp_child_wait wait = {.interrupted = f->cfg->interrupted,
                                       .timeout_ns = f->cfg->timeout_ns};
    int how = 0, waited = tp_child_await(f->pid, &wait, &how);
    int status = tp_replay_answer_judge(&f->job->answer, waited, how, wait.timeout_ns, label, err);
    if (!status)
        memcpy(f->run, run_of(f), f->run_size);
    release(f);
    return status;
}

int tp_fork_replay(const struct tp_replay_cfg *cfg, const char *label, struct tp_run *run,
                   struct tp_err *err)
{
    struct tp_fork f;
    int status = tp_fork_start(&f, cfg, run, err);
    return status ? status : tp_fork_finish(&f, label, err);
}
