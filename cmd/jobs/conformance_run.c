/* See conformance_run.h. */
#include "cmd/jobs/conformance_run.h"

#include "cmd/jobs/worker_pool.h"

#define CHECK_NS UINT64_C(300000000000) /* a check takes seconds where every step is slow */

struct replayed_case {
    const struct tp_conformance_case *c;
    struct tp_conformance_result *r;
};

static int replay(void *ctx, uint64_t number, void *answer, size_t *size, struct tp_err *err)
{
    const struct replayed_case *p = ctx;
    (void)number;
    (void)answer;
    (void)size;
    return p->r->check->run(p->c, p->r->on, err);
}

/* Fills in r->why; an error is one of tapool itself. */
static int judge(void *ctx, const struct tp_pool_done *d, struct tp_err *err)
{
    const struct replayed_case *p = ctx;
    p->r->why = d->status ? d->err : (struct tp_err){.status = TP_OK};
    if (!d->answer)
        p->r->why.status = TP_EBROKEN; /* also where it took too long */
    if (!d->status || p->r->why.status == TP_EBROKEN)
        return TP_OK;
    if (err)
        *err = d->err;
    return d->status;
}

static int replay_one(const struct tp_conformance_case *c, const volatile sig_atomic_t *interrupted,
                      struct tp_conformance_result *r, struct tp_err *err)
{
    const struct tp_worker_pool pool = {.workers = 1,
                                        .work = replay,
                                        .done = judge,
                                        .count = 1,
                                        .timeout_ns = CHECK_NS,
                                        .ctx = &(struct replayed_case){c, r},
                                        .interrupted = interrupted};
    return tp_pool_run(&pool, err);
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
