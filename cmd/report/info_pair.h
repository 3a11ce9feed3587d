/* Two traces of one program, beside each other. */
#ifndef TP_INFO_PAIR_H
#define TP_INFO_PAIR_H

#include "cmd/measure/info_scan.h"
#include "cmd/ui/text.h"
#include "traces/trace.h"

struct tp_info_side {
    struct tp_trace trace;
    struct tp_info *info;
};

/* Prints the figures of both and by how much the second differs. */
void tp_info_pair_text(const struct tp_info_side side[2], struct tp_page *page);

#endif
