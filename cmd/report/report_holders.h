/* Who holds the memory at the peak, on screens. */
#ifndef TP_REPORT_HOLDERS_H
#define TP_REPORT_HOLDERS_H

#include "cmd/ui/text.h"
#include "traces/holders.h"

/* Both print nothing where `h` is NULL: a part of the screen of `tapool info`, and one line. */
void tp_holders_print(const struct tp_holders *h, struct tp_page *page);
void tp_holders_line(const struct tp_holders *h, int column, struct tp_page *page);

#endif
