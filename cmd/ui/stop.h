/* Signals that ask to stop while something must be finished before the process ends: a file that is
 * half written, handles of a device, results that are already complete. */
#ifndef TP_STOP_H
#define TP_STOP_H

#include "alloc/base/err.h"

#include <signal.h>
#include <stdbool.h>

enum { TP_STOP_SIGNALS = 3 };

struct tp_stop {
    struct sigaction before[TP_STOP_SIGNALS];
    bool noted; /* a signal had arrived before tp_stop_catch */
};

/* How two signals were treated when tapool was started. A program that it starts finds them so. */
struct tp_signals_found {
    struct sigaction pipe, file_size;
};

/* Treats them as tapool needs it: a closed pipe ends it without a message, as it ends cat, and a
 * write beyond ulimit -f fails. */
void tp_signals_set(struct tp_signals_found *before);
void tp_signals_restore(const struct tp_signals_found *before);

/* From this call on SIGINT, SIGTERM and SIGHUP are only noted; ignored ones stay ignored. `once`: a
 * second signal that comes one or two seconds later ends the process, because a device may hang;
 * that holds in an inner tp_stop_catch, too. */
void tp_stop_catch(struct tp_stop *s, bool once);

/* Returns TP_EIO once a signal has arrived. Long operations call this from time to time. */
int tp_stop_asked(struct tp_err *err);

/* The number of the last signal, 0 before the first: for code that polls a flag. */
const volatile sig_atomic_t *tp_stop_flag(void);

/* Ends the process by the signal that was noted; returns if there was none. This is called last,
 * when everything is released and reported. */
void tp_stop_end(void);

/* Restores the handlers from before tp_stop_catch. If a signal has arrived since, it is raised
 * again and ends the process, unless an outer tp_stop_catch is active, which handles it. */
void tp_stop_restore(const struct tp_stop *s);

#endif
