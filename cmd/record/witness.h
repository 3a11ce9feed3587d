/* Tells a signal to tapool from one to its process group. The group's program has that one already,
 * and would get it twice if tapool passed it on; the kernel does not say which of the two a signal
 * is. So a process of the group does nothing but take the same signals, and tell of them. */
#ifndef TP_RECORD_WITNESS_H
#define TP_RECORD_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the witness tells. */
struct tp_witness_told {
    int signal;
    pid_t from;
    uint64_t at; /* wall time, ns */
};

struct tp_witness {
    pid_t pid; /* 0: there is none, and every signal of a process is taken for tapool's own */
    int told;  /* end of a pipe */
    struct tp_witness_told last; /* that was asked for */
};

/* Starts it. The signals are blocked in this process. */
void tp_witness_start(struct tp_witness *w, const sigset_t *signals);

/* Whether it got the signal, too. Waits a moment for its word. */
bool tp_witness_saw(struct tp_witness *w, const siginfo_t *info);

/* Ends it. It does so by itself when this process ends. */
void tp_witness_stop(struct tp_witness *w);

#endif
