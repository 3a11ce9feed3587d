/* What the exports say of a result in the same words. */
#ifndef TP_EXPORT_TEXT_H
#define TP_EXPORT_TEXT_H

#include "cmd/report/report.h"

/* "tapool 0.1.0 (release)" */
void tp_export_tool(FILE *out);

/* "arena:arena_size=64MiB,...", as -s reads it. */
void tp_export_strategy(const struct tp_result *r, FILE *out);

/* "virtual:lag=50us+limit:capacity=1GiB", as --source reads it; "host" of a real allocator. */
void tp_export_source(const struct tp_result *r, FILE *out);

/* The ids of the warnings that apply, each after a blank; returns how many. */
int tp_export_warnings(const struct tp_result *r, FILE *out);

/* What a report says that has not all results; NULL: it has. */
const char *tp_export_partial(const struct tp_report *r, char *text, size_t size);

#endif
