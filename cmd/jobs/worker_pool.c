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
#include "cmd/jobs/answer.h"
#include "cmd/jobs/hearing.h"
#include "cmd/jobs/left_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
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
    struct task_board *shared; /* while it has a process */
    int socket;                /* this process's end */
    bool busy, used;           /* it does a task; it has been given one */
    bool dead;                 /* it has ended and was taken off */
    uint64_t since;            /* when the task began, on the wall clock, less all stops */
    struct tp_pool_task task;
};

struct pool_state {
    const struct tp_worker_pool *cfg;
    struct tp_hearing hearing;
    struct pool_worker *workers;
    pid_t *groups;         /* of each worker; 0: it has no process */
    struct pollfd *sleeps; /* the first is for the hearing; then one for each worker */
    struct task_board *copy;
    uint64_t given; /* tasks, where they are counted here */
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

static size_t shared_size(const struct pool_state *p)
{
    return sizeof(struct task_board) + p->cfg->room;
}

/* What it has of this process and must not use: the terminal's input, signals that are held back,
 * the ends of sockets, by which another worker would not notice that it is on its own, and the
 * answers of other workers, which code under test could write over. */
static void leave_parent(const struct pool_worker *w)
{
    const struct pool_state *p = w->pool;
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    tp_hearing_end(&p->hearing);
    for (unsigned i = 0; i < p->cfg->workers; i++) {
        if (&p->workers[i] == w || p->groups[i])
            close(p->workers[i].socket);
        if (&p->workers[i] != w && p->groups[i])
            munmap(p->workers[i].shared, shared_size(p));
    }
}

/* `socket` is the worker's end. It ends with this: what exit would write is not its own. */
static void serve(const struct pool_worker *w, int socket)
{
    struct task_order o;
    cpu_set_t at_first;
    leave_parent(w);
    sched_getaffinity(0, sizeof at_first, &at_first);
    while (recv(socket, &o, sizeof o, MSG_WAITALL) == (ssize_t)sizeof o) {
        pin(o.core, &at_first);
        answer(w->pool, &o, w->shared);
        if (send(socket, "", 1, MSG_NOSIGNAL) != 1)
            break;
    }
    _exit(0);
}

/* ---- the workers ---- */

static pid_t *group_of(const struct pool_worker *w)
{
    return &w->pool->groups[w - w->pool->workers];
}

static int fork_worker(const struct pool_worker *w, int socket, struct tp_err *err)
{
    fflush(NULL); /* code that calls exit there would write it a second time */
    tp_left_behind_adopt();
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(errno));
    if (!pid) {
        if (!tp_child_begin(parent))
            _exit(1);
        tp_stdout_aside();
        serve(w, socket);
    }
    tp_child_begun(pid);
    *group_of(w) = pid;
    return TP_OK;
}

static int start(struct pool_worker *w, struct tp_err *err)
{
    int ends[2];
    void *shared =
        mmap(NULL, shared_size(w->pool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return tp_fail(err, TP_EIO, "shared memory for a child process: %s", strerror(errno));
    int status = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                     ? tp_fail(err, TP_EIO, "a socket for a child process: %s", strerror(errno))
                     : TP_OK;
    if (!status) {
        w->shared = shared;
        w->socket = ends[0];
        w->used = w->busy = w->dead = false;
        status = fork_worker(w, ends[1], err);
        close(ends[1]);
        if (status)
            close(ends[0]);
    }
    if (status)
        munmap(shared, shared_size(w->pool));
    return status;
}

/* Ends a worker, if there is one, and gives back what belonged to it. */
static void end(struct pool_worker *w)
{
    if (!*group_of(w))
        return;
    if (!w->dead)
        tp_child_kill(*group_of(w));
    close(w->socket);
    munmap(w->shared, shared_size(w->pool));
    w->busy = false;
    *group_of(w) = 0;
}

/* Sees to it that the worker can take a task. */
static int prepare(struct pool_worker *w, bool fresh, struct tp_err *err)
{
    int how;
    w->dead = *group_of(w) && tp_child_has_ended(*group_of(w), &how);
    if (w->dead || (fresh && w->used))
        end(w);
    return *group_of(w) ? TP_OK : start(w, err);
}

static int give(struct pool_worker *w, const struct tp_pool_task *task, struct tp_err *err)
{
    const struct task_order o = {.number = task->number, .core = task->core};
    int status = prepare(w, task->fresh, err);
    if (status)
        return status;
    struct task_board *b = w->shared;
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
    const struct task_board *shared = w->shared;
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

/* Ends a worker that gives no answer. */
static void give_up(struct pool_worker *w, struct tp_pool_done *d)
{
    const struct task_board *shared = w->shared;
    memcpy(w->pool->copy->bytes, shared->bytes, w->pool->cfg->room);
    d->left = w->pool->copy->bytes;
    d->status = tp_child_fail(&d->end, "it", "", &d->err);
    end(w);
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

/* Whether the task has ended; how is written to `d`. A worker may die behind its answer: so the
 * answer is looked for last. */
static bool has_ended(struct pool_worker *w, struct tp_pool_done *d)
{
    bool died = tp_child_has_ended(*group_of(w), &d->end.how), done = says_done(w);
    if (!done && !died && !is_late(w))
        return false;
    w->busy = false;
    w->dead = died;
    d->end.torn = done && !take_answer(w, d);
    d->end.waited = done || died ? TP_OK : TP_ELATE;
    d->end.timeout_ns = w->task.timeout_ns;
    if (!d->answer)
        give_up(w, d);
    else if (died || w->task.fresh)
        end(w);
    return true;
}

/* ---- all of them ---- */

static bool is_interrupted(const struct pool_state *p)
{
    return p->cfg->interrupted && *p->cfg->interrupted;
}

static bool choose(struct pool_state *p, unsigned worker, struct tp_pool_task *task)
{
    const struct tp_worker_pool *cfg = p->cfg;
    *task = (struct tp_pool_task){
        .number = p->given, .timeout_ns = cfg->timeout_ns, .fresh = cfg->fresh, .core = -1};
    return cfg->next ? cfg->next(cfg->ctx, worker, task) : p->given++ < cfg->count;
}

/* Gives a task to each worker that has none, as long as there are tasks. */
static int feed(struct pool_state *p, struct tp_err *err)
{
    int status = TP_OK;
    for (unsigned i = 0; !status && i < p->cfg->workers; i++) {
        struct tp_pool_task task;
        if (!p->workers[i].busy && choose(p, i, &task))
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
