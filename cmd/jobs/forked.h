/* A function that runs in a fork of this process and answers in memory that both share. What
 * crashes there, or never ends, takes nothing with it. The fork is waited for with tp_child_await.
 */
#ifndef TP_FORKED_H
#define TP_FORKED_H

#include "cmd/jobs/answer.h"
#include "cmd/jobs/process.h"

struct tp_forked {
    pid_t pid;
    void *shared;
    size_t size; /* bytes of `shared` */
};

/* Gets zeroed memory to share. TP_EIO: there is none, and nothing is to be closed. */
int tp_forked_open(struct tp_forked *f, size_t size, struct tp_err *err);

/* Runs `run` in a fork, which ends when it returns. TP_EIO: it could not be started. */
int tp_forked_start(struct tp_forked *f, void (*run)(void *ctx, void *shared), void *ctx,
                    struct tp_err *err);

void tp_forked_close(struct tp_forked *f);

/* How a fork ended, and what it answered before. */
struct tp_forked_end {
    int waited, how;         /* as tp_child_await returned and stored them */
    bool torn;               /* something wrote over the answer, which is not to be believed */
    struct tp_answer answer; /* given where `run` returned */
};

/* Runs `run` in a fork and waits for it. TP_EIO: it could not be started, and `end` is not set. */
int tp_forked_run(int (*run)(void *ctx, struct tp_err *err), void *ctx,
                  const struct tp_child_wait *wait, struct tp_forked_end *end, struct tp_err *err);

#endif
