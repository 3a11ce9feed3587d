/* See open_trace.h. */
#include "cmd/open_trace.h"

#include "cmd/registry.h"

const char *const tp_initial_heap_words[] = {"place", "drop", NULL};
const char *const tp_device_words[] = {"all", NULL};

int tp_open_trace(const char *path, const struct tp_open_opts *o, bool empty, struct tp_trace *out,
                  struct tp_err *err)
{
    struct tp_sample_dirs dirs;
    if (o->strict && o->repair)
        return tp_fail(err, TP_EUSAGE, "--strict and --repair exclude each other");
    tp_sample_dirs(&dirs);
    const struct tp_trace_cfg cfg = {
        .path = path,
        .input_format = o->input_format,
        .strictness = o->strict   ? TP_STRICT
                      : o->repair ? TP_REPAIR
                                  : TP_BY_ORIGIN,
        .formats = tp_formats,
        .sample_dirs = dirs.list,
        .profiles = tp_profiles,
        .event_limit = o->limit,
        .read = {.space = o->space,
                 .device = o->device == TP_OPT_KEYWORD(0) ? -1 : (int64_t)o->device,
                 .max_memory = o->max_memory},
        .drop_initial = o->initial_heap == TP_INITIAL_DROP,
        .allow_empty = empty};
    return tp_trace_open(&cfg, out, err);
}
