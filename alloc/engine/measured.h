/* Internal to the engine: what a real device answers is kept as ranges over the passes. Nothing
 * here does anything on another source.
 *
 *     usage         one replay     |  peaks of the whole pass; failures of its first replay
 *     throughput    many           |
 *     latency       many           |  not where it stops after latency_operations
 */
#ifndef TP_MEASURED_H
#define TP_MEASURED_H

#include "alloc/engine/player.h"

/* Nothing is known of any device of the run. */
void tp_measured_clear(struct tp_run *out);

/* At the end of a pass, before its player is closed: the peaks since that was opened. */
void tp_measured_peaks(struct tp_player *p, struct tp_run *out);

/* After the first replay of a player: what failed in it. */
void tp_measured_failures(const struct tp_player *p, struct tp_run *out);

#endif
