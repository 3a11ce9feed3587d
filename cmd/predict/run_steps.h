/* The steps of a program that repeats itself, such as a training, told from its live memory:
 *
 *     live   |    /\    /\    /\        weights and optimizer stay, what a step needs comes
 *            |  _/  \__/  \__/  \_      and goes
 *     starts |      2     8     14
 *
 * A recording may begin in the middle of a step, where its oldest events were overwritten. */
#ifndef TP_RUN_STEPS_H
#define TP_RUN_STEPS_H

#include "cmd/predict/sample_run.h"

struct tp_steps {
    uint64_t
        *after; /* owned: events behind which a step begins, or the last one ended; ascending */
    size_t count, room;
    bool midway; /* the recording begins inside a step */
};

/* Finds the steps of a recording whose requests are listed. `out` is to be released in every case.
 */
int tp_steps_find(const struct tp_sample_run *r, struct tp_steps *out, struct tp_err *err);
void tp_steps_release(struct tp_steps *s); /* a zeroed one is fine */

#endif
