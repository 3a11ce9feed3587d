/* The last line: which strategy? The rule is printed in `tapool help report`. */
#ifndef TP_PICK_H
#define TP_PICK_H

#include "cmd/figures.h"

void tp_pick_print(const struct tp_result *results, size_t count, struct tp_page *page);

#endif
