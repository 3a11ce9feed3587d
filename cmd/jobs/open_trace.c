/* See open_trace.h. */
#include "cmd/jobs/open_trace.h"

#include "cmd/jobs/catalog.h"
#include "cmd/ui/stop.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *const tp_initial_heap_words[] = {"place", "drop", NULL};
const char *const tp_device_words[] = {"all", NULL};

/* Refuses a --space or --device that the trace's format does not have. */
static int check_choice(const struct tp_open_opts *o, const struct tp_trace *t, struct tp_err *err)
{
    const struct tp_format *format = NULL;
    for (size_t i = 0; tp_formats[i]; i++)
        if (!strcmp(tp_formats[i]->name, t->format))
            format = tp_formats[i];
    if (o->space && strcasecmp(o->space, "all") != 0 && !(format && format->has_spaces))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "%s: a trace in format '%s' has one memory space only", t->file,
                               t->format),
                       "leave out --space");
    if (o->device != TP_OPT_KEYWORD(0) && !o->any_device && !(format && format->has_devices))
        return tp_hint(
            err,
            tp_fail(err, TP_EUSAGE, "%s: no device can be chosen from a trace in format '%s'",
                    t->file, t->format),
            "%s",
            format && format->has_spaces ? "--space NAME chooses among those of such a file"
                                         : "leave out --device to replay all of them");
    return TP_OK;
}

/* Any text may stand in a file: what is no release is none, and one is X.Y. */
static void check_release(const struct tp_recorded_strategy *by, struct tp_meta *meta)
{
    char *release = meta->allocator_release;
    if (!release)
        return;
    if (by->knows_release && by->knows_release(release)) {
        size_t major = strspn(release, "0123456789") + 1;
        release[major + strspn(release + major, "0123456789")] = '\0';
    } else {
        free(release);
        meta->allocator_release = NULL;
    }
}

/* What the strategy of the recorded allocator knows of it. */
static void ask_strategy(struct tp_trace *t)
{
    const struct tp_recorded_strategy *by = tp_find_recorded_strategy(t->recorded.by);
    check_release(tp_recorded_strategy_or_first(t->recorded.by), &t->meta);
    if (by && by->limits)
        t->limits = by->limits(t->meta.settings, t->meta.allocator_device);
}

int tp_open_trace(const char *path, const struct tp_open_opts *o, bool empty, struct tp_trace *out,
                  struct tp_err *err)
{
    struct tp_sample_dirs dirs;
    if (o->strict && o->repair)
        return tp_fail(err, TP_EUSAGE, "--strict and --repair exclude each other");
    tp_sample_dirs(&dirs);
    enum tp_strictness otherwise = o->repair ? TP_REPAIR : TP_BY_ORIGIN;
    const struct tp_trace_cfg cfg = {
        .path = path,
        .input_format = o->input_format,
        .strictness = o->strict ? TP_STRICT : otherwise,
        .formats = tp_formats,
        .sample_dirs = dirs.list,
        .profiles = tp_profiles,
        .event_limit = o->limit,
        .read = {.space = o->space,
                 .device = o->device == TP_OPT_KEYWORD(0) ? -1 : (int64_t)o->device,
                 .max_memory = o->max_memory,
                 .stop = tp_stop_asked},
        .drop_initial = o->initial_heap == TP_INITIAL_DROP,
        .allow_empty = empty};
    int rc = tp_trace_open(&cfg, out, err);
    if (rc == TP_OK && (rc = check_choice(o, out, err)) != TP_OK)
        tp_trace_close(out);
    if (rc == TP_OK)
        ask_strategy(out);
    return rc;
}
