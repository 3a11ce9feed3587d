/* Signals that ask to stop, while something must be put in order before the process goes: a file
 * that is half written, handles of a device, results that are there already. */
#ifndef TP_STOP_H
#define TP_STOP_H

#include "alloc/base/err.h"

#include <signal.h>
#include <stdbool.h>

enum { TP_STOP_SIGNALS = 3 };

struct tp_stop {
    struct sigaction before[TP_STOP_SIGNALS];
    bool noted; /* one had come before */
};

/* From here on SIGINT, SIGTERM and SIGHUP are only noted; those that were ignored stay so. `once`:
 * a second one, a second or two later, ends the process, for what may hang (a device). */
void tp_stop_catch(struct tp_stop *s, bool once);

/* TP_EIO once one of them has come: asked from time to time by what takes long. */
int tp_stop_asked(struct tp_err *err);

/* The same for whoever only looks: not 0 once one has come. */
const volatile sig_atomic_t *tp_stop_flag(void);

/* Ends the process as the signal that was noted would have; returns where none has come. For the
 * very end, when everything is given back and said. */
void tp_stop_end(void);

/* As before; ends as the signal would have, had it not been caught. One that had come before
 * tp_stop_catch, and one that an outer tp_stop_catch is there for, are left to whoever catches it.
 */
void tp_stop_restore(const struct tp_stop *s);

#endif
