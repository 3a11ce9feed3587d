/* The table of several strategies, in pieces: the screen and the Markdown export say the same.
 * Every function is about the results of one trace. */
#ifndef TP_REPORT_TABLE_H
#define TP_REPORT_TABLE_H

#include "cmd/report/report.h"
#include "cmd/ui/table.h"

/* t->rows has room for count + 2: what the program needs and what the file says was, then the
 * strategies. */
void tp_table_fill(const struct tp_report *rep, const struct tp_result *results, size_t count,
                   bool exact, struct tp_table *t);

/* What the marks in its cells mean. hidden: columns that did not fit. */
void tp_table_notes(const struct tp_result *results, size_t count, int hidden,
                    struct tp_page *page);

/* "Peak: event 1,844 of 6,486 (+25.4 ms), ..."; nothing where a trace has several devices or none.
 */
void tp_table_demand(const struct tp_result *r, struct tp_page *page);

#endif
