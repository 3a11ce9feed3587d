/* The section "Where the memory went" of a page. */
#ifndef TP_WHERE_PAGE_H
#define TP_WHERE_PAGE_H

#include "cmd/results/result.h"

/* Whether it is known of one of the results what its memory was taken by. */
bool tp_where_known(const struct tp_result *results, size_t count);

/* Writes what each result had reserved when the program needed most, part by part: a bar for the
 * eye, and a table of the same bytes. */
int tp_where_write(const struct tp_report *rep, const struct tp_result *results, size_t count,
                   FILE *out, struct tp_err *err);

#endif
