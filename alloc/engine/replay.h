/* The replay engine: replays a program against a strategy on a source and measures.
 *
 *     usage       untimed, serial, deterministic: peaks, fragmentation, source calls
 * throughput one stamp a window: ns per operation, cold and steady, beside the empty strategy
 *     latency     one stamp an operation: histograms, the slowest events
 *     verify      on request: beside a shadow that finds what the strategy does wrong
 *     fits        on request: the smallest device on which no allocation fails, by bisection
 *     count       on request: the instructions of one replay
 *     mapped      calls of the kernel by a real allocator, and what is mapped
 *     resident    memory that the kernel says is written, each block written wholly
 *
 * Each pass replays a fresh instance and opens the program again.
 *
 * On a real device the engine repeats what the recorded program did there: work on the blocks,
 * order between streams, and the wait of a SYNC. It does so between the operations, outside their
 * time, because no strategy could avoid it. What the strategy does with the SYNC is timed. */
#ifndef TP_REPLAY_H
#define TP_REPLAY_H

#include "alloc/engine/replay_cfg.h"
#include "alloc/engine/run.h"

/* Replays and measures. `out` is zeroed memory of tp_run_size(devices of the program), or the
 * result of an earlier call for other passes of the same replay, to which the new passes are added.
 * TP_EBROKEN: the strategy broke its contract. TP_EDEVICE: the device or its driver failed. Both
 * sentences name the event. TP_ESTOP: interrupted. A full device is data, not an error. */
int tp_replay(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err);

#endif
