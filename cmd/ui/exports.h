/* What is checked of the files that a command writes beside what it prints (option_words.h has the
 * options). */
#ifndef TP_EXPORTS_H
#define TP_EXPORTS_H

#include "cmd/ui/option_words.h"

/* Before any work: TP_EUSAGE where a file exists and must not be overwritten, two exports have one
 * name or one has that of standard output; TP_EIO where a folder cannot be written. `words` are
 * those of --format. */
int tp_exports_look(const struct tp_exports *e, const char *const *words, struct tp_err *err);

/* Whether a file was asked for, or a document on standard output. */
bool tp_exports_any(const struct tp_exports *e);

#endif
