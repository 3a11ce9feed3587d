/* tapool's own JSON, one event a line. */
#include "traces/trace_writer.h"

static int write_trace(const struct tp_writing *w, FILE *out, struct tp_err *err)
{
    return tp_json_write_program(w, true, out, err);
}

const struct tp_trace_writer tp_writer_jsonl = {
    .name = "jsonl",
    .suffix = ".jsonl",
    .summary = "tapool's own JSON, a header line and one event a line: for pipes",
    .whole = true,
    .write = write_trace,
};
