/* The output of tapool replay after everything is played: first the exported files, then the screen
 * or another format. */
#ifndef TP_REPLAY_OUTPUT_H
#define TP_REPLAY_OUTPUT_H

#include "cmd/results/replay_job.h"

struct tp_replay_output {
    const struct tp_replay_opts *opts;
    const struct tp_report *report; /* with at least one result */
    bool lost; /* the caller reports the error that made the report incomplete */
};

/* Writes the exports, then prints to `out`. TP_ESTOP: the report was interrupted, and the printed
 * format has no place to say so. */
int tp_replay_print(const struct tp_replay_output *o, FILE *out, struct tp_err *err);

#endif
