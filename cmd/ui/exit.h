/* Exit codes of the process. */
#ifndef TP_EXIT_H
#define TP_EXIT_H

#include "alloc/base/err.h"
#include "cmd/ui/environment.h"

/* Documented in `tapool help`. A signal ends as 128+n by itself. */
enum tp_exit {
    TP_EXIT_OK = 0,
    TP_EXIT_FOUND = 1, /* a regression, or a --fail-on condition */
    TP_EXIT_USAGE = 2,
    TP_EXIT_INPUT = 3,
    TP_EXIT_FAILED = 4,       /* replay failed, device missing, output could not be written */
    TP_EXIT_INCONCLUSIVE = 5, /* check --inconclusive=fail */
};

/* What the exit codes mean; ends with a NULL name. */
extern const struct tp_fact tp_exit_codes[];

/* The code that the process ends with, from a status. */
int tp_exit_code(int status);

#endif
