/* What resident pages hold, on the screen of one result. */
#ifndef TP_REPORT_PAGES_H
#define TP_REPORT_PAGES_H

#include "cmd/results/figures.h"
#include "cmd/ui/text.h"

/* Writes nothing where it is not known. */
void tp_pages_print(const struct tp_result *r, struct tp_page *page);

/* How the pages were found, and what is special about those of a moment, as sentences; nothing
 * where there is nothing to say. `end`: those of the end; NULL: not told. */
void tp_page_notes_print(const struct tp_resident *r, const struct tp_page_parts *at,
                         const struct tp_page_parts *end, int column, struct tp_page *page);

#endif
