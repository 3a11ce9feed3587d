/* Replays in a separate process, because a libc heap cannot be made fresh in a process that has
 * used it. */
#ifndef TP_CHILD_H
#define TP_CHILD_H

#include "cmd/measure/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Does what tp_replay does, in a freshly started tapool. The child inherits the program as a file
 * descriptor and returns the result in shared memory. */
int tp_child_replay(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err);

/* The child's part of tp_child_replay. TP_EUSAGE: this process was not started by tp_child_replay.
 * All other errors go to the parent, which reports them. */
int tp_child_serve(struct tp_err *err);

#endif
