/* What `tapool info` knows about one trace, as its two writers read it. */
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

/* Prints the part of the screen about objects: sizes and lifetimes. */
void tp_info_objects(const struct tp_info_report *r, struct tp_page *page);

/* Writes tapool.info/1, in which names never change and are only added. */
int tp_info_json(const struct tp_info_report *r, FILE *out, struct tp_err *err);

#endif
