/* What resident pages hold, on the screen of one result. */
#ifndef TP_REPORT_PAGES_H
#define TP_REPORT_PAGES_H

#include "cmd/results/figures.h"
#include "cmd/ui/text.h"

/* Writes nothing where it is not known. */
void tp_pages_print(const struct tp_result *r, struct tp_page *page);

#endif
