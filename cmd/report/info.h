/* What `tapool info` knows about one trace, as its two writers read it. */
#ifndef TP_INFO_H
#define TP_INFO_H

#include "cmd/measure/captured.h"
#include "cmd/measure/info_scan.h"
#include "cmd/ui/json_out.h"
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

/* How many rows of r->info->threads, and of streams, say something; 0: the format of the trace does
 * not record them. */
uint64_t tp_info_thread_rows(const struct tp_info_report *r);
uint64_t tp_info_stream_rows(const struct tp_info_report *r);

/* Writes tapool.info/1, in which names never change and are only added. */
int tp_info_json(const struct tp_info_report *r, FILE *out, struct tp_err *err);

/* The same as a tree, which the caller deletes; it is incomplete if `j` has failed. */
cJSON *tp_info_tree(struct tp_json *j, const struct tp_info_report *r);

/* Adds a member with the parts of the document that tell operations, sizes, lifetimes, threads,
 * streams, devices and phases, without curves and with long names cut. */
void tp_info_parts(struct tp_json *j, cJSON *in, const char *name, const struct tp_info_report *r);

#endif
