/* See conformance_run.h. */
#include "cmd/jobs/conformance_run.h"

#include "cmd/jobs/forked.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#define CHECK_NS UINT64_C(300000000000) /* a check takes seconds where every step is slow */

struct replayed_case {
    const struct tp_conformance_case *c;
    const struct tp_conformance_result *r;
};

static int replay(void *ctx, struct tp_err *err)
{
    const struct replayed_case *p = ctx;
    return p->r->check->run(p->c, p->r->on, err);
}

/* Fills in r->why; an error is one of tapool itself. */
static int judge(const struct tp_forked_end *v, struct tp_err *err, struct tp_conformance_result *r)
{
    r->why = (struct tp_err){.status = TP_OK};
    if (v->waited == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    if (v->waited == TP_ELATE)
        tp_fail(&r->why, TP_EBROKEN, "it had not ended after 5 min");
    else if (v->waited)
        return tp_fail(err, TP_EIO, "a child process is lost: %s", strerror(errno));
    else if (WIFSIGNALED(v->how))
        tp_fail(&r->why, TP_EBROKEN, "it died of signal %d (%s)", WTERMSIG(v->how),
                strsignal(WTERMSIG(v->how)));
    else if (v->torn)
        tp_fail(&r->why, TP_EBROKEN, "it wrote over memory of tapool");
    else if (!v->answer.given)
        tp_fail(&r->why, TP_EBROKEN, "it ended its process with code %d", WEXITSTATUS(v->how));
    else if (v->answer.status == TP_EBROKEN)
        r->why = v->answer.err;
    else if (v->answer.status && err)
        *err = v->answer.err;
    return r->why.status ? TP_OK : v->answer.status;
}

static int replay_one(const struct tp_conformance_case *c, const volatile sig_atomic_t *interrupted,
                      struct tp_conformance_result *r, struct tp_err *err)
{
    const struct tp_child_wait wait = {.interrupted = interrupted, .timeout_ns = CHECK_NS};
    struct tp_forked_end end;
    int status = tp_forked_run(replay, &(struct replayed_case){c, r}, &wait, &end, err);
    return status ? status : judge(&end, err, r);
}

int tp_conformance_run(const struct tp_conformance_case *c, tp_conformance_fn *each, void *ctx,
                       const volatile sig_atomic_t *interrupted, unsigned *replayed,
                       struct tp_err *err)
{
    int status = TP_OK;
    *replayed = 0;
    for (const struct tp_conformance_check *check = tp_conformance_checks; check->name; check++)
        for (const struct tp_conformance_place *on = tp_conformance_places; on->name; on++) {
            struct tp_conformance_result r = {.check = check, .on = on};
            if (status || !tp_conformance_replays(check, c, on))
                continue;
            status = replay_one(c, interrupted, &r, err);
            if (!status)
                each(ctx, &r);
            *replayed += !status;
        }
    return status;
}
