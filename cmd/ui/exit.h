/* Exit codes of the process. */
#ifndef TP_EXIT_H
#define TP_EXIT_H

#include "alloc/base/err.h"
#include "cmd/ui/environment.h"

/* The exit codes, which `tapool help` documents. A process that signal n ended has 128+n. */
enum tp_exit {
    TP_EXIT_OK = 0,
    TP_EXIT_FOUND = 1, /* a regression, or a --fail-on condition */
    TP_EXIT_USAGE = 2,
    TP_EXIT_INPUT = 3,
    TP_EXIT_FAILED = 4,       /* replay failed, device missing, output could not be written */
    TP_EXIT_INCONCLUSIVE = 5, /* check --inconclusive=fail */
};

/* The meaning of each exit code; the last name is NULL. */
extern const struct tp_fact tp_exit_codes[];

/* The exit code for a status. */
int tp_exit_code(int status);

/* Prints an error on stderr, as tapool does before it ends. */
void tp_error_print(const struct tp_err *err);

#endif
