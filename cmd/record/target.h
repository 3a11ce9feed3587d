/* The program that is to be recorded: where it is, and whether a library can be preloaded into
 * it. */
#ifndef TP_RECORD_TARGET_H
#define TP_RECORD_TARGET_H

#include "alloc/base/err.h"

#include <limits.h>

/* Exit codes of a program that could not be started, those of env(1) and the shells. */
enum { TP_EXIT_CANNOT_RUN = 126, TP_EXIT_NOT_FOUND = 127 };

/* Finds `name` as execvp(3) does and looks into it: a script's interpreter is what counts. *code is
 * the exit code where it cannot be started. TP_EINPUT: it cannot be recorded, because the loader
 * would ignore the recorder; `err` says why. */
int tp_record_target(const char *name, char path[PATH_MAX], int *code, struct tp_err *err);

#endif
