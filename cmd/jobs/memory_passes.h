/* The passes that measure the memory of a whole process, each of them in a process of its own. */
#ifndef TP_MEMORY_PASSES_H
#define TP_MEMORY_PASSES_H

#include "cmd/jobs/spec.h"

/* Does what tp_replay does, in a process of its own: a fork of this one, or for a real allocator
 * one that is started afresh. Errors are those of tp_fork_replay or tp_child_replay. */
int tp_replay_apart(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err);

/* enum tp_pass, or-ed: those of cfg->passes that tp_memory_passes replays. Where memory is not the
 * host's, or there are several devices, they measure nothing. What is mapped is measured for real
 * allocators alone, because for strategies `reserved` is exact. */
enum { TP_MEMORY_PASSES = TP_PASS_RESIDENT | TP_PASS_MAPPED };

/* The passes of cfg that have a meaning: without those above where there is nothing to measure. */
unsigned tp_memory_passes_of(const struct tp_replay_cfg *cfg);

/* Replays those of TP_MEMORY_PASSES that cfg names, and adds what they measured to `out`. */
int tp_memory_passes(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                     struct tp_run *out, struct tp_err *err);

/* What a library that is preloaded adds to a process before the first event, in bytes: the RSS of
 * one that it serves less that of one under the C library, each the median of three; 0: nothing is
 * preloaded. TP_NONE: the kernel does not say. */
int tp_memory_start(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    uint64_t *out, struct tp_err *err);

#endif
