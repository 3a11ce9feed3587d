/* Texts about a result that several exports share. */
#ifndef TP_EXPORT_TEXT_H
#define TP_EXPORT_TEXT_H

#include "cmd/report/report.h"

/* Writes the strategy with its options, "arena:arena_size=64MiB,...", as -s accepts it. */
void tp_export_strategy(const struct tp_result *r, FILE *out);

/* Writes the source with its options, "virtual:lag=50us+limit:capacity=1GiB", as --source accepts
 * it; "host" for a real allocator. */
void tp_export_source(const struct tp_result *r, FILE *out);

/* Writes the ids of the warnings that apply, each after a blank, and returns their number. */
int tp_export_warnings(const struct tp_result *r, FILE *out);

/* The part of a file's name that says which result is in it: "arena", or "web-arena" if there are
 * several traces. Results with the same name get their number in front; a single result has "". */
enum { TP_EXPORT_PART = 128 };
void tp_export_part(const struct tp_report *r, size_t index, char out[TP_EXPORT_PART]);

/* How many results have files: before anything is replayed all that are planned, and then those
 * that are there, which an interrupt may have left fewer. */
static inline size_t tp_export_results(const struct tp_report *r)
{
    return r->count ? r->count : r->planned;
}

/* Writes to `text` the sentence for a report in which results are missing, and returns it; NULL:
 * the report is complete. */
const char *tp_export_partial(const struct tp_report *r, char *text, size_t size);

#endif
