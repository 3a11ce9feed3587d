/* Playing in a process of its own: a libc heap cannot be fresh in a process that has used it. */
#ifndef TP_CHILD_H
#define TP_CHILD_H

#include "cmd/spec.h"

/* As tp_replay, in a fresh tapool. The program travels by descriptor, the result by shared memory.
 */
int tp_child_replay(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err);

#endif
