/* The files of --export-NAME. They are checked before anything is played and written at the end. */
#ifndef TP_EXPORT_FILES_H
#define TP_EXPORT_FILES_H

#include "cmd/results/exporter.h"
#include "cmd/ui/exports.h"

/* Checks whether the formats can hold the results, and the file names of those that write several
 * files. To be called before anything is
 * played, as soon as traces and strategies of the r->planned results are known. TP_EUSAGE also for
 * a format that is to be printed but would need several files. */
int tp_exports_check_parts(const struct tp_exports *o, const struct tp_report *r,
                           struct tp_err *err);

/* Writes all files and stops at the first that fails. A file is written completely or not at all.
 */
int tp_exports_write(const struct tp_exports *o, const struct tp_report *r, struct tp_err *err);

/* The format of standard output; NULL: text. */
const struct tp_exporter *tp_exports_printed(const struct tp_exports *o);

/* Whether one of the formats needs the call stacks of who holds the memory. */
bool tp_exports_need_stacks(const struct tp_exports *o);

/* How many frames of the heap of a device one of the formats draws at most; 0: none does. */
uint32_t tp_exports_frames(const struct tp_exports *o);

#endif
