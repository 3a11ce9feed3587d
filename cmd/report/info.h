/* What `tapool info` found out about one trace, as its two writers read it. */
#ifndef TP_INFO_H
#define TP_INFO_H

#include "cmd/measure/captured.h"
#include "cmd/measure/info_scan.h"
#include "cmd/ui/text.h"
#include "traces/trace.h"

struct tp_info_report {
    const struct tp_trace *trace;
    const struct tp_info *info;
    const struct tp_captured *captured;
};

void tp_info_text(const struct tp_info_report *r, struct tp_page *page);

/* The part of it about what is allocated: sizes and lifetimes. */
void tp_info_objects(const struct tp_info_report *r, struct tp_page *page);

/* tapool.info/1: names are fixed, additions only. */
int tp_info_json(const struct tp_info_report *r, FILE *out, struct tp_err *err);

#endif
