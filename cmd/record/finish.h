/* What is made of a recording when its program has ended. */
#ifndef TP_RECORD_FINISH_H
#define TP_RECORD_FINISH_H

#include "alloc/base/err.h"
#include "cmd/record/session.h"

#include <limits.h>

/* Makes the traces of the program and of the children that were followed, removes their recordings,
 * and says on stderr what they hold, in sentences or as JSON. A recording that cannot be made a
 * trace stays. TP_EINPUT: of the program nothing was recorded. `force`: files are overwritten. */
int tp_record_finish(const struct tp_record_cfg *cfg, const struct tp_record_session *s, bool force,
                     struct tp_err *err);

/* The program that is to be recorded: where it is, and whether a library can be preloaded into
 * it. */

/* Exit codes of a program that could not be started, those of env(1) and the shells. */
enum { TP_EXIT_CANNOT_RUN = 126, TP_EXIT_NOT_FOUND = 127 };

/* Finds `name` as execvp(3) does and looks into it: a script's interpreter is what counts. *code is
 * the exit code where it cannot be started. TP_EINPUT: it cannot be recorded, because the loader
 * would ignore the recorder; `err` says why. */
int tp_record_target(const char *name, char path[PATH_MAX], int *code, struct tp_err *err);

#endif
