/* Internal to the engine: what a real device reports is kept as ranges over the passes. On other
 * sources these functions do nothing.
 *
 *     usage         one replay     |  peaks of the whole pass; failures of its first replay
 *     throughput    many           |
 *     latency       many           |  not where it stops after latency_operations */
#ifndef TP_MEASURED_H
#define TP_MEASURED_H

#include "alloc/engine/replayer.h"

/* Sets every measured value of every device of the run to not known. */
void tp_measured_clear(struct tp_run *out);

/* Adds the peaks since the replayer was opened. To be called at the end of a pass, before the
 * replayer is closed. */
void tp_measured_peaks(struct tp_replayer *p, struct tp_run *out);

/* Adds the number of failed allocations. To be called after the first replay of a replayer. */
void tp_measured_failures(const struct tp_replayer *p, struct tp_run *out);

#endif
