/* The files that --export-NAME asks for: looked at before any work, written after it. */
#ifndef TP_EXPORT_FILES_H
#define TP_EXPORT_FILES_H

#include "cmd/measure/exporter.h"
#include "cmd/ui/exports.h"

/* Before anything is played, when traces and strategies are known (r->planned results): the same
 * for formats that write several files; TP_EUSAGE where such a one is to be printed. */
int tp_exports_check_parts(const struct tp_exports *o, const struct tp_report *r,
                           struct tp_err *err);

/* Writes all files, each whole or not at all; stops at the first that fails. */
int tp_exports_write(const struct tp_exports *o, const struct tp_report *r, struct tp_err *err);

/* What is to be printed; NULL: text. */
const struct tp_exporter *tp_exports_printed(const struct tp_exports *o);

#endif
