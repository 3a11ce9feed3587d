/* What a command exports is checked before any work and written at the end. `all` are the exporters
 * of the command, `of` is what it found. */
#ifndef TP_EXPORTS_H
#define TP_EXPORTS_H

#include "cmd/ui/exporter.h"

/* Checks before any work whether the files can be written. TP_EUSAGE: one exists and must not be
 * overwritten, two exports have the same name, or one is "-". TP_EIO: a folder is not writable. */
int tp_exports_look(const struct tp_exports *e, const struct tp_exporters *all, struct tp_err *err);

/* The same, and whether the exporters can hold what will be found. */
int tp_exports_check(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     struct tp_err *err);

/* Writes all files, each completely or not at all, also after an error. Returns the first error.
 */
int tp_exports_files(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     struct tp_err *err);

/* Writes to `out` in the format of --format; the first file of one that has several. */
int tp_exports_print(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     FILE *out, struct tp_err *err);

/* Writes the files and then, unless one failed, to `out`, whose reader may have gone and end the
 * process. */
int tp_exports_write(const struct tp_exports *e, const struct tp_exporters *all, const void *of,
                     FILE *out, struct tp_err *err);

/* Whether an export was asked for, or a document on standard output. */
bool tp_exports_any(const struct tp_exports *e);

/* Whether a format was asked for, on standard output or in a file. */
bool tp_exports_asked(const struct tp_exports *e, size_t index);

/* The formats that were asked for: whether one needs the call stacks of who holds the memory, and
 * how many frames of the heap one draws at most; 0: none does. */
bool tp_exports_need_stacks(const struct tp_exports *e, const struct tp_exporters *all);
uint32_t tp_exports_frames(const struct tp_exports *e, const struct tp_exporters *all);

#endif
