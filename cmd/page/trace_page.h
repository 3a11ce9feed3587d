/* The section "The trace" of a page: what the recorded program did, whoever serves it. */
#ifndef TP_TRACE_PAGE_H
#define TP_TRACE_PAGE_H

#include "cmd/info/info.h"

/* The row of the section: how it is written, and whether it is there. */
#define TP_TRACE_SECTION(writer, is_there)                                                         \
    {                                                                                              \
        .id = "trace", .title = "The trace",                                                       \
        .view = "Sizes, lifetimes, operations, threads, streams, devices and phases, as bars",     \
        .write = writer, .there = is_there                                                         \
    }

/* Writes the section as sentences and tables. The view "trace" draws the same from the data that
 * tp_info_parts writes. */
int tp_trace_section(const struct tp_info_report *r, FILE *out, struct tp_err *err);

#endif
