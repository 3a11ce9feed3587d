/* Resident workers: forks of this process that do one task after the other, side by side.
 *
 *     parent     next(0) next(1) ....... done(0) next(0) ... done(1) next(1)
 *     worker 0          [task 4          ]      [task 6 ...
 *     worker 1                 [task 5                     ]       [task 7 ...
 *
 * A worker has all that this process had when it was forked, and keeps what it makes from task to
 * task, such as a trace that it has opened. One that dies takes only its task with it: the next
 * task finds a new one. Each leads a process group, which ends with it, and ends with this process
 * (process.h). */
#ifndef TP_WORKER_POOL_H
#define TP_WORKER_POOL_H

#include "alloc/base/err.h"
#include "cmd/jobs/process.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_pool_task {
    uint64_t number;     /* of the caller's choice */
    uint64_t timeout_ns; /* the worker is ended after this; 0: never */
    bool fresh;          /* a worker that has done nothing else does it, and nothing after it */
    int core;            /* the worker is pinned to this core meanwhile; -1: not pinned */
};

/* How a task ended. `answer` is a copy that nothing else writes to, valid until `done` returns. */
struct tp_pool_done {
    struct tp_pool_task task;
    unsigned worker; /* from 0 */
    uint64_t ns;     /* that the task took */
    /* What `work` returned; TP_EBROKEN: the worker died or wrote over its answer; TP_ELATE: it took
     * too long. `err` has the sentence unless it is TP_OK; of the last two it begins with "it". */
    int status;
    struct tp_err err;
    const void *answer; /* as `work` wrote it, also where it failed; NULL: there is none */
    size_t size;        /* its bytes */
    /* Where there is none: how the worker ended, for another sentence, and the whole place of the
     * answer as it then was, of which nothing is to be believed. */
    struct tp_child_end end;
    const void *left;
};

/* In the worker: does a task and writes its answer, which may be as large as `room` bytes, and its
 * size, which is 0 before. `answer` is aligned as malloc's memory is, has what an earlier task
 * wrote there, and is shared with the parent alone. */
typedef int tp_pool_work(void *ctx, uint64_t number, void *answer, size_t *size,
                         struct tp_err *err);

struct tp_worker_pool {
    unsigned workers; /* at most; 1 or more */
    size_t room;      /* bytes of an answer, at most */
    tp_pool_work *work;
    /* The rest is called in this process, which takes no signal meanwhile: it is to be short. */
    /* Chooses the next task of a worker that has none; false: there is none for it now. It is asked
     * again after each task that has ended. A `core` of -1 is preset. NULL: there are `count` tasks
     * with numbers from 0, of that timeout, fresh or not, and not pinned. */
    bool (*next)(void *ctx, unsigned worker, struct tp_pool_task *task);
    uint64_t count, timeout_ns;
    bool fresh;
    /* A task has ended. Another status than TP_OK ends all workers and tp_pool_run with it. */
    int (*done)(void *ctx, const struct tp_pool_done *d, struct tp_err *err);
    /* Called ten times a second while tasks run, for a progress line; may be NULL. */
    void (*tick)(void *ctx);
    void *ctx;                                /* of all of them */
    const volatile sig_atomic_t *interrupted; /* not 0: all workers are ended; may be NULL */
};

/* Runs tasks until `next` has none for any worker and none runs. TP_ESTOP: interrupted. TP_EIO: a
 * worker could not be started. TP_ENOMEM. No worker is left in any case. */
int tp_pool_run(const struct tp_worker_pool *cfg, struct tp_err *err);

#endif
