/* Internal to the engine: the one thread that several are set against, in a process of its own.
 *
 *     this process    fork | cold replay by all | steady ... | order | steady ... | order | end
 *     the fork             | waits . . . . . . . . . . . . . | one thread replays   | ...   |
 * killed
 *
 * A program with one thread is another program than one with several that uses one of them: once a
 * process has had a second thread, malloc takes its locks for good. So the fork is made before any
 * thread starts, and stays without. It replays when it is told to, while nothing else here replays,
 * so that what slows the machine slows both. */
#ifndef TP_ALONE_H
#define TP_ALONE_H

#include "alloc/engine/passes.h"

#include <sys/types.h>

struct tp_alone_shared;

/* Replays for `time_ns`, at least once, and adds the values to `out`. */
typedef int tp_alone_fn(struct tp_replayer *p, double time_ns, struct tp_series *out,
                        struct tp_err *err);

struct tp_alone {
    const struct tp_replay_cfg *cfg;
    tp_alone_fn *replay;
    struct tp_alone_shared *shared;
    pid_t pid;
    int line; /* to the fork: orders there, a byte back */
};

/* Starts the fork; where the process has threads that are not tapool's none is started, and turns
 * do nothing. After a failure nothing is to be closed. */
int tp_alone_open(struct tp_alone *a, const struct tp_replay_cfg *cfg, tp_alone_fn *replay,
                  struct tp_err *err);
void tp_alone_close(struct tp_alone *a); /* a zeroed one is fine */

/* Lets the fork replay, on a fresh instance or on that of the last time. The values are added to
 * `out`; NULL: they are not kept. TP_EBROKEN: the fork has ended. */
int tp_alone_turn(struct tp_alone *a, double time_ns, bool fresh, struct tp_series *out,
                  struct tp_err *err);

#endif
