/* Playing in a process of its own: a libc heap cannot be fresh in a process that has used it. */
#ifndef TP_CHILD_H
#define TP_CHILD_H

#include "cmd/measure/spec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As tp_replay, in a fresh tapool. The program travels by descriptor, the result by shared memory.
 */
int tp_child_replay(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err);

/* The other side of it, in the fresh tapool. TP_EUSAGE: nobody has started it for that; all else is
 * said to the parent, which reports it. */
int tp_child_serve(struct tp_err *err);

#endif
