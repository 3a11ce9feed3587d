/* The strategy that does what a recorded allocator did takes its settings from the recording. */
#ifndef TP_RECORDED_STRATEGY_H
#define TP_RECORDED_STRATEGY_H

#include "cmd/jobs/spec.h"
#include "traces/trace.h"

struct tp_captured;

/* Whether `spec` is that strategy, without settings given, and does not simulate the recorded ones.
 * `why`: which. */
bool tp_recorded_unapplied(const struct tp_trace *trace, const struct tp_strategy_spec *spec,
                           struct tp_err *why);

/* What `spec`, if it is that strategy, sets otherwise than the recording and does not simulate: a
 * key; NULL: nothing. */
const char *tp_recorded_unplayed(const struct tp_trace *trace, const struct tp_strategy_spec *spec);

/* Gives that strategy the recorded settings, where none are given and it simulates them. `limited`:
 * the device has a size, so that a share of it that the program had set can be set too. */
int tp_apply_recorded(const struct tp_trace *trace, const struct tp_captured *captured,
                      bool limited, struct tp_strategy_spec *spec, struct tp_err *err);

/* Whether `spec` is that strategy with the recorded settings. */
bool tp_replays_as_recorded(const struct tp_trace *trace, const struct tp_captured *captured,
                            const struct tp_strategy_spec *spec);

#endif
