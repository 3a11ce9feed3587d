/* See conformance_run.h. */
#include "cmd/measure/conformance_run.h"

#include "cmd/measure/process.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_NS UINT64_C(300000000000) /* a check takes seconds where every step is slow */

/* What the child writes, in memory that it shares. */
struct conformance_answer {
    bool done;
    int status;
    struct tp_err err;
};

static void play(const struct tp_conformance_case *c, const struct tp_conformance_result *r,
                 struct conformance_answer *v, pid_t parent)
{
    if (!tp_child_begin(parent))
        _exit(1);
    v->status = r->check->run(c, r->on, &v->err);
    v->done = true;
    _exit(0);
}

/* Fills in r->why; an error is one of tapool itself. */
static int judge(const struct conformance_answer *v, int waited, int how, struct tp_err *err,
                 struct tp_conformance_result *r)
{
    r->why = (struct tp_err){.status = TP_OK};
    if (waited == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (waited == TP_ELATE)
        tp_fail(&r->why, TP_EBROKEN, "it had not ended after 5 min");
    else if (waited)
        return tp_fail(err, TP_EIO, "a child process is lost: %s", strerror(errno));
    else if (WIFSIGNALED(how))
        tp_fail(&r->why, TP_EBROKEN, "it died of signal %d (%s)", WTERMSIG(how),
                strsignal(WTERMSIG(how)));
    else if (!v->done)
        tp_fail(&r->why, TP_EBROKEN, "it ended its process with code %d", WEXITSTATUS(how));
    else if (v->status == TP_EBROKEN)
        r->why = v->err;
    else if (v->status && err)
        *err = v->err;
    return v->done && v->status != TP_EBROKEN ? v->status : TP_OK;
}

static int play_one(const struct tp_conformance_case *c, const volatile sig_atomic_t *interrupted,
                    struct tp_conformance_result *r, struct tp_err *err)
{
    const struct tp_child_wait wait = {.interrupted = interrupted, .timeout_ns = CHECK_NS};
    struct conformance_answer *v =
        mmap(NULL, sizeof *v, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int how = 0;
    fflush(NULL); /* a strategy that calls exit would write it a second time */
    pid_t parent = getpid(), pid = v == MAP_FAILED ? -1 : fork();
    if (!pid)
        play(c, r, v, parent);
    int waited = pid < 0 ? TP_OK : tp_child_await(pid, &wait, &how);
    int status = pid < 0 ? tp_fail(err, TP_EIO, "a child process cannot start: %s", strerror(errno))
                         : judge(v, waited, how, err, r);
    if (v != MAP_FAILED)
        munmap(v, sizeof *v);
    return status;
}

int tp_conformance_run(const struct tp_conformance_case *c, tp_conformance_fn *each, void *ctx,
                       const volatile sig_atomic_t *interrupted, unsigned *played,
                       struct tp_err *err)
{
    int status = TP_OK;
    *played = 0;
    for (const struct tp_conformance_check *check = tp_conformance_checks; check->name; check++)
        for (const struct tp_conformance_place *on = tp_conformance_places; on->name; on++) {
            struct tp_conformance_result r = {.check = check, .on = on};
            if (status || !tp_conformance_plays(check, c, on))
                continue;
            status = play_one(c, interrupted, &r, err);
            if (!status)
                each(ctx, &r);
            *played += !status;
        }
    return status;
}
