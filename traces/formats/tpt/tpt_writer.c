/* tapool's own binary form. */
#include "traces/formats/tpt/tpt_write.h"
#include "traces/trace_writer.h"

static int write_trace(const struct tp_writing *w, FILE *out, struct tp_err *err)
{
    const struct tp_tpt_write_cfg cfg = {.out = out, .path = w->path, .compress = w->compress};
    const struct tp_tpt_write_end end = {.program = w->program,
                                         .meta = w->meta,
                                         .recorded = w->recorded,
                                         .repairs = w->repairs,
                                         .places = w->places};
    return tp_tpt_write_program(&cfg, w->program, &end, w->stop, err);
}

const struct tp_trace_writer tp_writer_tpt = {
    .name = "tpt",
    .suffix = ".tpt",
    .summary = "tapool's own binary form: small, checked, played in place",
    .whole = true,
    .write = write_trace,
};
