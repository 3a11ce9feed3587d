/* The setting backend:cudaMallocAsync hands all requests to the driver's pool. Nobody knows its
 * rules, so it is not tried but measured, on a GPU, where this machine has one. */
#ifndef TP_TUNE_POOL_H
#define TP_TUNE_POOL_H

#include "cmd/pytorch/tune/tune.h"

struct tp_open_opts;

/* Plays all files on the GPU and fills in t->pool; a file that cannot be played is no error,
 * t->pool says why. `how` is as for tp_tune_play. TP_ESTOP, TP_ENOMEM. */
int tp_tune_measure_pool(struct tp_tune *t, const struct tp_open_opts *o,
                         const struct tp_trial_cfg *how, struct tp_err *err);

#endif
