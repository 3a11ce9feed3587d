/* Checks of the files that a command exports beside its output. The options are in option_words.h.
 */
#ifndef TP_EXPORTS_H
#define TP_EXPORTS_H

#include "cmd/ui/option_words.h"

#include <stdio.h>

/* Checks before any work is done whether all exports can be written. TP_EUSAGE: a file exists and
 * must not be overwritten, two exports have the same name, or one is "-". TP_EIO: a folder is not
 * writable. `words` are the keywords of --format. */
int tp_exports_look(const struct tp_exports *e, const char *const *words, struct tp_err *err);

/* Whether an export was asked for, or a document on standard output. */
bool tp_exports_any(const struct tp_exports *e);

/* Whether a format was asked for, on standard output or in a file. */
bool tp_exports_asked(const struct tp_exports *e, uint32_t format);

/* Writes `of` in a format, 0 for the screen. */
typedef int tp_export_fn(const void *of, uint32_t format, FILE *out, struct tp_err *err);

/* Writes what was asked for: the files, and then to `out` in the format of --format, whose reader
 * may have gone and end the process. Errors are those of `write`, and of writing a file. */
int tp_exports_all(const struct tp_exports *e, const char *const *words, tp_export_fn *write,
                   const void *of, FILE *out, struct tp_err *err);

#endif
