/* Replays in a separate process, because a libc heap cannot be made fresh in a process that has
 * used it. */
#ifndef TP_CHILD_H
#define TP_CHILD_H

#include "cmd/jobs/spec.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Does what tp_replay does, in a freshly started tapool. The child inherits the program as a file
 * descriptor and returns the result in shared memory. */
int tp_child_replay(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                    struct tp_run *out, struct tp_err *err);

/* Asks a fresh process in which the strategy is replayed for the library that serves it, as
 * "libjemalloc.so.2 5.3.0". Errors are those of a replay: it does not load, has no malloc, ...
 * TP_ESTOP: `interrupted` was not 0. */
int tp_child_library(const struct tp_strategy_spec *spec, const volatile sig_atomic_t *interrupted,
                     char *out, size_t size, struct tp_err *err);

/* The RSS in bytes of a fresh process in which the strategy is to be replayed, after its first
 * malloc and before anything else; TP_NONE: the kernel does not say. Errors as above. */
int tp_child_rss(const struct tp_strategy_spec *spec, const volatile sig_atomic_t *interrupted,
                 uint64_t *out, struct tp_err *err);

/* Whether the library of a strategy takes the variables of its option `env`: TP_EUSAGE where it
 * says on standard error that it does not, as jemalloc and mimalloc do. Errors as above. */
int tp_child_settings(const struct tp_strategy_spec *spec, const volatile sig_atomic_t *interrupted,
                      struct tp_err *err);

/* The child's part of all. Calls nothing that allocates before the job is mapped, so that a
 * library's heap begins with what is replayed. TP_EUSAGE: this process was not started by them.
 * All other errors go to the parent, which reports them. */
int tp_child_serve(struct tp_err *err);

/* The monotonic clocks of the C library, as a malloc library that is replayed sees them.
 *
 * A replay takes a fraction of the program's time. Libraries that give memory back after so many
 * milliseconds (mimalloc, jemalloc) would give back none of it. So their clock goes as the recorded
 * one does: library_clock.c has the process's clock_gettime. */

/* clock_gettime of the system. */
int tp_unmoved_time(clockid_t id, struct timespec *out);

/* Stops the clock: each reading is the same, in each process. What a library does by the clock it
 * then does the same way each time. */
void tp_library_clock_stop(void);

/* Puts the clock ahead of the system's by so many ns. It never goes back: a smaller number than
 * before changes nothing. */
void tp_library_clock_ahead(uint64_t ns);

#endif
