/* Opening a trace with what every command has: all formats, samples and profiles, and the options
 * that commands share. */
#ifndef TP_OPEN_TRACE_H
#define TP_OPEN_TRACE_H

#include "traces/trace.h"

struct tp_open_opts {
    const char *input_format; /* NULL: detect */
    bool strict, repair;      /* exclude each other; neither: as the format says */
    uint64_t limit;           /* events to read; 0: all */
};

/* As tp_trace_open; TP_EUSAGE for strict and repair together. */
int tp_open_trace(const char *path, const struct tp_open_opts *o, struct tp_trace *out,
                  struct tp_err *err);

#endif
