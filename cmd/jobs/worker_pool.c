/* See worker_pool.h. A worker and this process share memory for one answer, and are the two ends of
 * a socket: the order to do a task goes one way, a byte that it is done comes back.
 *
 *     parent --- order --->  worker: work() writes the answer, then its checksum
 *            <--- done ----
 *
 * A worker that dies is seen by the signal of its end, not by the socket's: a fork of code under
 * test may hold that open. Known weakness: the processes of a worker that made groups of their own
 * are ended only if they asked the kernel for it (tp_child_begin). */
#include "cmd/jobs/worker_pool.h"

#include "alloc/base/clock.h"
#include "cmd/jobs/forked.h"
#include "cmd/jobs/hearing.h"
#include "cmd/ui/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TICK_NS UINT64_C(100000000)

/* What is sent to a worker. */
struct task_order {
    uint64_t number;
    int core;
};

/* What is shared with a worker, and the copy of it. */
struct task_board {
    struct tp_answer answer; /* its checksum is also of what follows */
    size_t size;
    _Alignas(max_align_t) char bytes[];
};
#define FOLLOWS(size)                                                                              \
    (offsetof(struct task_board, bytes) - offsetof(struct task_board, size) + (size))

struct pool_worker {
    const struct pool_state *pool;
    struct tp_forked process; /* valid where `group` is not 0 */
    int socket, its_socket;   /* this process's end, and the other one while it starts */
    bool busy, used;          /* it does a task; it has been given one */
    uint64_t since;           /* when the task began, on the wall clock, less all stops */
    struct tp_pool_task task;
};

struct pool_state {
    const struct tp_worker_pool *cfg;
    struct tp_hearing hearing;
    struct pool_worker *workers;
    pid_t *groups;         /* of each worker; 0: it has no process */
    struct pollfd *sleeps; /* the first is for the hearing; then one for each worker */
    struct task_board *copy;
    uint64_t next_tick;
};

/* ---- the worker's side ---- */

/* Runs on the core, or where the worker was allowed to run at first. */
static void pin(int core, const cpu_set_t *at_first)
{
    sched_setaffinity(0, sizeof *at_first, at_first);
    if (core >= 0)
        tp_child_pin(core);
}

static void answer(const struct pool_state *p, const struct task_order *o, struct task_board *b)
{
    struct tp_err err = {.status = TP_OK};
    size_t size = 0;
    int status = p->cfg->work(p->cfg->ctx, o->number, b->bytes, &size, &err);
    b->size = size;
    tp_answer_give(&b->answer, status, &err, &b->size, FOLLOWS(size));
}

/* What it has of this process and must not use: the terminal's input, signals that are held back,
 * and the ends of sockets, by which another worker would not notice that it is on its own. */
static void leave_parent(const struct pool_worker *w)
{
    const struct pool_state *p = w->pool;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    tp_hearing_end(&p->hearing);
    for (unsigned i = 0; i < p->cfg->workers; i++)
        if (&p->workers[i] == w || p->groups[i])
            close(p->workers[i].socket);
}

static void serve(void *ctx, void *shared)
{
    const struct pool_worker *w = ctx;
    struct task_order o;
    cpu_set_t at_first;
    leave_parent(w);
    sched_getaffinity(0, sizeof at_first, &at_first);
    while (recv(w->its_socket, &o, sizeof o, MSG_WAITALL) == (ssize_t)sizeof o) {
        pin(o.core, &at_first);
        answer(w->pool, &o, shared);
        if (send(w->its_socket, "", 1, MSG_NOSIGNAL) != 1)
            break;
    }
}

/* ---- the workers ---- */

static pid_t *group_of(const struct pool_worker *w)
{
    return &w->pool->groups[w - w->pool->workers];
}

static int start(struct pool_worker *w, struct tp_err *err)
{
    int ends[2];
    int status = tp_forked_open(&w->process, sizeof(struct task_board) + w->pool->cfg->room, err);
    if (status)
        return status;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        status = tp_fail(err, TP_EIO, "a socket for a child process: %s", strerror(errno));
        tp_forked_close(&w->process);
        return status;
    }
    w->socket = ends[0];
    w->its_socket = ends[1];
    w->used = w->busy = false;
    status = tp_forked_start(&w->process, serve, w, err);
    close(ends[1]);
    if (status) {
        close(ends[0]);
        tp_forked_close(&w->process);
        return status;
    }
    *group_of(w) = w->process.pid;
    return TP_OK;
}

/* Gives back what belonged to a worker that has ended. */
static void forget(struct pool_worker *w)
{
    close(w->socket);
    tp_forked_close(&w->process);
    w->busy = false;
    *group_of(w) = 0;
}

static void end(struct pool_worker *w)
{
    if (!*group_of(w))
        return;
    tp_child_end(w->process.pid);
    forget(w);
}

/* Sees to it that the worker can take a task. */
static int prepare(struct pool_worker *w, bool fresh, struct tp_err *err)
{
    int how;
    if (*group_of(w) && tp_child_has_ended(w->process.pid, &how))
        forget(w);
    if (fresh && w->used)
        end(w);
    return *group_of(w) ? TP_OK : start(w, err);
}

static int give(struct pool_worker *w, const struct tp_pool_task *task, struct tp_err *err)
{
    const struct task_order o = {.number = task->number, .core = task->core};
    int status = prepare(w, task->fresh, err);
    if (status)
        return status;
    struct task_board *b = w->process.shared;
    memset(&b->answer, 0, sizeof b->answer);
    w->task = *task;
    w->used = w->busy = true;
    w->since = tp_wall_ns();
    /* if it has died since, this is found when it is looked at */
    (void)!send(w->socket, &o, sizeof o, MSG_NOSIGNAL | MSG_DONTWAIT);
    return TP_OK;
}

/* ---- answers ---- */

/* Copies the answer; false: something else wrote there. */
static bool take_answer(const struct pool_worker *w, struct tp_pool_done *d)
{
    const struct task_board *shared = w->process.shared;
    struct task_board *copy = w->pool->copy;
    struct tp_answer a;
    const size_t size = *(const volatile size_t *)&shared->size;
    if (size > w->pool->cfg->room)
        return false;
    memcpy(&copy->size, &shared->size, FOLLOWS(size));
    if (!tp_answer_take(&shared->answer, &copy->size, FOLLOWS(size), &a) || !a.given ||
        copy->size != size)
        return false;
    d->status = a.status;
    d->err = a.err;
    d->answer = copy->bytes;
    d->size = size;
    return true;
}

/* Why there is no answer of a worker that has ended. */
static void explain(struct tp_pool_done *d, int how)
{
    if (WIFSIGNALED(how))
        d->status = tp_fail(&d->err, TP_EBROKEN, "it died of signal %d (%s) in its process",
                            WTERMSIG(how), strsignal(WTERMSIG(how)));
    else
        d->status =
            tp_fail(&d->err, TP_EBROKEN, "it ended its process with code %d", WEXITSTATUS(how));
}

static bool is_late(const struct pool_worker *w)
{
    return w->task.timeout_ns && tp_wall_ns() - w->since >= w->task.timeout_ns;
}

static bool says_done(const struct pool_worker *w)
{
    char byte;
    return recv(w->socket, &byte, 1, MSG_DONTWAIT) == 1;
}

/* Whether the task has ended; how is written to `d`. */
static bool has_ended(struct pool_worker *w, struct tp_pool_done *d)
{
    int how = 0;
    if (says_done(w)) {
        if (!take_answer(w, d)) {
            d->status =
                tp_fail(&d->err, TP_EBROKEN, "it wrote over memory of tapool in its process");
            end(w);
        } else if (w->task.fresh) {
            end(w);
        }
    } else if (tp_child_has_ended(w->process.pid, &how)) {
        explain(d, how);
        forget(w);
    } else if (is_late(w)) {
        d->status = tp_fail(&d->err, TP_ELATE, "it had not ended after %s",
                            tp_duration(w->task.timeout_ns).s);
        end(w);
    } else {
        return false;
    }
    w->busy = false;
    return true;
}

/* ---- all of them ---- */

static bool is_interrupted(const struct pool_state *p)
{
    return p->cfg->interrupted && *p->cfg->interrupted;
}

/* Gives a task to each worker that has none, as long as there are tasks. */
static int feed(struct pool_state *p, struct tp_err *err)
{
    int status = TP_OK;
    for (unsigned i = 0; !status && i < p->cfg->workers; i++) {
        struct tp_pool_task task = {.core = -1};
        if (!p->workers[i].busy && p->cfg->next(p->cfg->ctx, i, &task))
            status = give(&p->workers[i], &task, err);
    }
    return status;
}

/* When to look again at the latest, and the sockets that wake it before; 0: no task runs. */
static uint64_t find_sleep(struct pool_state *p)
{
    uint64_t until = 0;
    for (unsigned i = 0; i < p->cfg->workers; i++) {
        const struct pool_worker *w = &p->workers[i];
        p->sleeps[1 + i] = (struct pollfd){.fd = w->busy ? w->socket : -1, .events = POLLIN};
        if (!w->busy)
            continue;
        until = until ? until : UINT64_MAX;
        if (w->task.timeout_ns && w->since + w->task.timeout_ns < until)
            until = w->since + w->task.timeout_ns;
    }
    return until && p->cfg->tick && p->next_tick < until ? p->next_tick : until;
}

static void look_up(struct pool_state *p)
{
    uint64_t stopped = tp_hearing_stop(&p->hearing, p->groups, p->cfg->workers, SIGTSTP);
    for (unsigned i = 0; i < p->cfg->workers; i++)
        p->workers[i].since += stopped;
    if (p->cfg->tick && tp_wall_ns() >= p->next_tick) {
        p->cfg->tick(p->cfg->ctx);
        p->next_tick = tp_wall_ns() + TICK_NS;
    }
}

/* Tells of the tasks that have ended; *any: there were some. */
static int collect(struct pool_state *p, bool *any, struct tp_err *err)
{
    int status = TP_OK;
    for (unsigned i = 0; !status && i < p->cfg->workers; i++) {
        struct pool_worker *w = &p->workers[i];
        struct tp_pool_done d = {.task = w->task, .worker = i, .ns = tp_wall_ns() - w->since};
        if (!w->busy || !has_ended(w, &d))
            continue;
        *any = true;
        status = p->cfg->done(p->cfg->ctx, &d, err);
    }
    return status;
}

static int run(struct pool_state *p, struct tp_err *err)
{
    bool any = true; /* a task has ended since they were given out */
    p->next_tick = tp_wall_ns() + TICK_NS;
    for (;;) {
        int status = is_interrupted(p) ? tp_fail(err, TP_ESTOP, "interrupted") : TP_OK;
        if (!status && any)
            status = feed(p, err);
        uint64_t until = find_sleep(p);
        if (status || !until)
            return status;
        tp_hearing_sleep(&p->hearing, until == UINT64_MAX ? 0 : until, p->sleeps,
                         1 + (size_t)p->cfg->workers);
        look_up(p);
        any = false;
        status = is_interrupted(p) ? TP_OK : collect(p, &any, err);
        if (status)
            return status;
    }
}

int tp_pool_run(const struct tp_worker_pool *cfg, struct tp_err *err)
{
    struct pool_state p = {.cfg = cfg,
                           .workers = calloc(cfg->workers, sizeof *p.workers),
                           .groups = calloc(cfg->workers, sizeof *p.groups),
                           .sleeps = calloc(1 + (size_t)cfg->workers, sizeof *p.sleeps),
                           .copy = malloc(sizeof *p.copy + cfg->room)};
    int status = TP_OK;
    if (!p.workers || !p.groups || !p.sleeps || !p.copy)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    for (unsigned i = 0; !status && i < cfg->workers; i++)
        p.workers[i].pool = &p;
    if (!status) {
        tp_hearing_begin(&p.hearing);
        status = run(&p, err);
        for (unsigned i = 0; i < cfg->workers; i++)
            end(&p.workers[i]);
        tp_hearing_end(&p.hearing);
    }
    free(p.workers);
    free(p.groups);
    free(p.sleeps);
    free(p.copy);
    return status;
}
