/* Signals that ask to stop, while a file is half written: it must go before the process does. */
#ifndef TP_STOP_H
#define TP_STOP_H

#include "alloc/err.h"

#include <signal.h>

enum { TP_STOP_SIGNALS = 3 };

struct tp_stop {
    struct sigaction before[TP_STOP_SIGNALS];
};

/* From here on SIGINT, SIGTERM and SIGHUP are only noted; those that were ignored stay so. */
void tp_stop_catch(struct tp_stop *s);

/* TP_EIO once one of them has come: asked from time to time by what takes long. */
int tp_stop_asked(struct tp_err *err);

/* As before; ends as the signal would have, had it not been caught. */
void tp_stop_restore(const struct tp_stop *s);

#endif
