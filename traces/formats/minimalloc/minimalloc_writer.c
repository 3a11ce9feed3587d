/* Lifetimes for offline packing, as minimalloc reads them. */
#include "traces/formats/minimalloc/minimalloc_write.h"
#include "traces/trace_writer.h"

static int write_trace(const struct tp_writing *w, FILE *out, struct tp_err *err)
{
    const struct tp_minimalloc_cfg cfg = {.device = w->device, .path = w->path};
    return tp_minimalloc_write(w->program, &cfg, out, err);
}

const struct tp_trace_writer tp_writer_minimalloc = {
    .name = "minimalloc",
    .suffix = ".csv",
    .summary = "a list of lifetimes (minimalloc CSV) for offline packing: sizes and order, no more",
    .one_device = true,
    .write = write_trace,
};
