/* Instructions per operation inside the replay loop, a metric of class D.
 *
 * `tapool replay --passes count` replays the program once. Each window is replayed inside
 * tp_replay_counted, which is never inlined, so that valgrind's callgrind can count from its entry
 * to its exit (--toggle-collect); that number is the same in every run. If the processor's counters
 * can be read (perf_event, user mode), the pass counts without valgrind. */
#ifndef TP_INSTRUCTIONS_H
#define TP_INSTRUCTIONS_H

#include "cmd/stats/measure.h"

enum tp_counter { TP_COUNTER_NONE, TP_COUNTER_CALLGRIND, TP_COUNTER_PERF };

struct tp_counting {
    enum tp_counter counter;
    char version[64]; /* "valgrind-3.19.0", "perf_event" */
    char reason[200]; /* why no counter works: "valgrind is not installed (apt ...)" */
    double allowed;   /* default tolerance as a share: 0.01 for callgrind, 0.02 for perf */
};

/* Finds the counter of this machine; callgrind is preferred to perf. TAPOOL_VALGRIND names another
 * valgrind, and an empty value means none. */
void tp_counting_find(struct tp_counting *out);

/* Counts the instructions per operation of one replay; NAN with an error. TP_EIO: there is no
 * counter, the counter counted nothing or was taken away, the trace has no operations (marks only),
 * or the replay failed. TP_EUSAGE and TP_EINPUT: passed on from the replay. TP_ENOMEM. TP_ELATE:
 * the replay did not end in time. TP_ESTOP: interrupted. */
int tp_instructions_count(const struct tp_counting *c, const struct tp_measure *m,
                          double *per_operation, struct tp_err *err);

/* Writes what the number depends on beside the source code of `binary` (NULL: this tapool):
 * architecture, compiler, flags (without those that only name source folders), libc and counter.
 * Two counts are comparable only if their fingerprints are equal. */
int tp_instructions_fingerprint(const struct tp_counting *c, const char *binary, char *text,
                                size_t size, struct tp_err *err);

#endif
