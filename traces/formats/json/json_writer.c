/* tapool's own JSON, as one document. */
#include "traces/trace_writer.h"

static int write_trace(const struct tp_writing *w, FILE *out, struct tp_err *err)
{
    return tp_json_write_program(w, false, out, err);
}

const struct tp_trace_writer tp_writer_json = {
    .name = "json",
    .suffix = ".json",
    .summary = "tapool's own JSON, one document: for people and scripts",
    .whole = true,
    .write = write_trace,
};
