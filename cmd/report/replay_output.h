/* What tapool replay says when everything is played: files, then the screen or another format. */
#ifndef TP_REPLAY_OUTPUT_H
#define TP_REPLAY_OUTPUT_H

#include "cmd/measure/replay_job.h"

struct tp_replay_output {
    const struct tp_replay_opts *opts;
    const struct tp_report *report; /* of one result at least */
    bool lost;                      /* a device was, after the results that are there */
};

/* Writes the exports, then to `out`. TP_ESTOP where the report is partial and what is printed
 * cannot say so to a reader. */
int tp_replay_print(const struct tp_replay_output *o, FILE *out, struct tp_err *err);

#endif
