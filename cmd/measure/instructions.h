/* Instructions per operation inside the replay loop: class D.
 *
 * `tapool replay --passes count` plays the program once, each window inside tp_play_counted, which
 * nothing inlines: what valgrind's callgrind collects between its entry and its exit
 * (--toggle-collect) is the same number in every run. Where the processor's counters can be read
 * (perf_event, user mode), the pass counts by itself. */
#ifndef TP_INSTRUCTIONS_H
#define TP_INSTRUCTIONS_H

#include "cmd/measure/measure.h"

enum tp_counter { TP_COUNTER_NONE, TP_COUNTER_CALLGRIND, TP_COUNTER_PERF };

struct tp_counting {
    enum tp_counter counter;
    char version[64]; /* "valgrind-3.19.0", "perf_event" */
    char reason[200]; /* why there is none: "valgrind is not installed (apt install valgrind)" */
    double allowed;   /* default tolerance: 0.01 callgrind, 0.02 perf */
};

/* What this machine has; callgrind goes before perf. TAPOOL_VALGRIND=PATH names another valgrind,
 * empty: none. */
void tp_counting_find(struct tp_counting *out);

/* Instructions per operation of one replay: a number, or NAN and an error. TP_EIO: there is no
 * counter, it counted nothing or was taken away, the trace has no operations (marks only), or the
 * replay failed; TP_EUSAGE and TP_EINPUT as the replay itself says; TP_ENOMEM; TP_ELATE: it did not
 * end in time; TP_ESTOP: interrupted. */
int tp_instructions_count(const struct tp_counting *c, const struct tp_measure *m,
                          double *per_operation, struct tp_err *err);

/* What the number depends on beside the source text: architecture, compiler, flags (but those that
 * only say where the sources lay), libc, counter.
 * Two counts compare only where it is the same. Of `binary` (NULL: this one). */
int tp_instructions_fingerprint(const struct tp_counting *c, const char *binary, char *text,
                                size_t size, struct tp_err *err);

#endif
