/* How far the strategy `torch` agrees with a snapshot: the figures of `tapool verify`, for reports.
 */
#ifndef TP_FIDELITY_H
#define TP_FIDELITY_H

#include "cmd/jobs/open_trace.h"
#include "cmd/results/result.h"

/* Adds up all devices with events, or the one that was asked for, of a trace that was opened from
 * `path`. That reads the file again, so false of large ones unless `large`; and of what is no
 * snapshot, was not read whole, or holds what the rules do not know. */
bool tp_fidelity_of(const struct tp_trace *trace, const char *path, const struct tp_open_opts *o,
                    bool large, struct tp_fidelity *out);

#endif
