/* The state of the strategy `planned`: a plan, the place in it, its pool, and an instance of
 * `torch`. */
#ifndef TP_PLANNED_CORE_H
#define TP_PLANNED_CORE_H

#include "alloc/base/opt.h"
#include "alloc/source.h"
#include "alloc/strategies/planned/planned_match.h"
#include "alloc/strategies/planned/planned_pool.h"
#include "alloc/strategies/torch/torch_core.h"

struct planned {
    const struct tp_env *env;
    struct planned_plan plan;
    struct planned_match match;
    struct planned_pool pool;
    uint8_t *begins; /* for each phase of the program: does it begin a step? */
    uint32_t phases;
    uint64_t skip, requests; /* before the first step; of the program so far */
    uint64_t peak_carved;
    uint64_t deviated;  /* requests so far, when the last step began */
    bool in_first_step; /* a step has begun since the pool was taken */
    bool settled;       /* and a whole one has followed the plan */
    struct torch torch;
};

int tp_planned_walk(void *state, tp_walk_fn *fn, void *ctx);
int tp_planned_check(void *state, struct tp_err *err);

#endif
