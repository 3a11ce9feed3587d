/* A page that is one file, for people who would rather look than read.
 *
 *     <main>     the answer, tables and every setting: readable without JavaScript
 *     <script>   the data, the library of charts, and a script for each view, which draws into the
 *                figure of its name
 *
 * Nothing is loaded from elsewhere, and the page's own policy forbids it. */
#ifndef TP_PAGE_DOCUMENT_H
#define TP_PAGE_DOCUMENT_H

#include "cmd/measure/result.h"

/* Writes everything up to the end of the last section, within <main>. `lacks` stands above all:
 * what is missing; NULL: nothing. */
int tp_page_begin(const struct tp_report *r, const char *lacks, FILE *out, struct tp_err *err);

/* Writes the scripts and the end of the page, behind </main> and the element with the id `data`. */
void tp_page_end(FILE *out);

#endif
