/* Replays the conformance suite on a strategy, each check in a fork of this process: a strategy
 * that crashes fails one check and not the others. */
#ifndef TP_CONFORMANCE_RUN_H
#define TP_CONFORMANCE_RUN_H

#include "alloc/conformance/conformance_suite.h"

#include <signal.h>

/* What came of a check. `why` is TP_OK where it passed; TP_EBROKEN where the strategy failed it,
 * died in it or did not come back from it. */
struct tp_conformance_result {
    const struct tp_conformance_check *check;
    const struct tp_conformance_place *on;
    struct tp_err why;
};

/* Called after each check. */
typedef void tp_conformance_fn(void *ctx, const struct tp_conformance_result *result);

/* Replays all checks that make sense for the strategy, and counts them in `replayed`. Errors are
 * those of tapool itself. */
int tp_conformance_run(const struct tp_conformance_case *c, tp_conformance_fn *each, void *ctx,
                       const volatile sig_atomic_t *interrupted, unsigned *replayed,
                       struct tp_err *err);

#endif
