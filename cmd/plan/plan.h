/* Makes the plan of a step for the strategy `planned` (alloc/strategies/planned/planned_plan.h):
 * what is requested in the step and freed before its end gets a place, found by the packer of best
 * packing for each stream. So does what is freed in the next step before its request comes again.
 * All else is kept and has no place. Of the next step nothing is read but these ends. */
#ifndef TP_PLAN_H
#define TP_PLAN_H

#include "alloc/packing/offline.h"
#include "cmd/plan/step_finder.h"

#include <stdio.h>

struct tp_step_plan {
    const struct tp_step *step, *next; /* next: the one behind it; NULL: there is none */
    const char *mark;
    struct tp_offline_object *objects; /* of each request; size 0: it is kept */
    uint32_t *until;                   /* as of struct planned_row */
    struct tp_plan_part {
        uint16_t stream;
        uint64_t bytes;
    } * parts;
    size_t part_count;
    const struct tp_life *requests; /* of the step */
    size_t count, kept;
    uint64_t kept_bytes, pool, least; /* bytes; least: the lower bound of the pool */
};

/* Plans a step, within so many steps of the packer. TP_EINPUT: it has too many requests or streams
 * for a plan. To be released in every case. */
int tp_step_plan(const struct tp_program_steps *s, const struct tp_step *step, uint64_t work,
                 struct tp_step_plan *out, struct tp_err *err);
void tp_step_plan_release(struct tp_step_plan *plan);

/* Writes the file; `from` is a comment about where it is from. */
void tp_step_plan_write(const struct tp_step_plan *plan, const char *from, FILE *out);

#endif
