/* See why_try.h. The file is read a second time, as a trace. */
#include "cmd/why/why_try.h"

#include "cmd/measure/measure.h"
#include "cmd/measure/open_trace.h"
#include "cmd/measure/trial.h"
#include "cmd/ui/stop.h"

#include <string.h>

static const char *const settings[] = {"expandable_segments:True", "max_split_size_mb:128",
                                       "roundup_power2_divisions:4"};

static void take(const struct tp_trial *t, bool recorded, struct tp_why_tries *out)
{
    if (t->status == TP_OK && t->device_count == 1)
        out->rows[out->count++] = (struct tp_why_try){.conf = recorded ? "" : t->conf,
                                                      .peak_reserved = t->devices[0].peak_reserved,
                                                      .failed = t->devices[0].failed};
}

int tp_why_try(const struct tp_why_try_cfg *cfg, struct tp_why_tries *out, struct tp_err *err)
{
    const struct tp_open_opts open = {.device = cfg->device, .max_memory = cfg->max_memory};
    struct tp_trial trials[TP_WHY_TRIES] = {{.conf = cfg->conf ? cfg->conf : ""}};
    struct tp_trace trace;
    struct tp_err ignored = {0};
    size_t count = 1;
    *out = (struct tp_why_tries){.count = 0};
    if (strcmp(cfg->path, "-") == 0 ||
        tp_open_trace(cfg->path, &open, false, &trace, &ignored) != TP_OK)
        return TP_OK;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strstr(trials[0].conf, settings[i]))
            trials[count++].conf = settings[i];
    uint64_t events = tp_program_facts(trace.program)->events;
    const struct tp_trial_cfg trial = {
        .program = trace.program,
        .capacity = cfg->capacity,
        .memory = cfg->max_memory,
        .timeout_ns = tp_timeout_of(TP_OPT_KEYWORD(TP_TIMEOUT_AUTO), events, 0),
        .interrupted = tp_stop_flag()};
    int rc = tp_trials_play(&trial, trials, count, err);
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        if (i == 0 || out->count)
            take(&trials[i], i == 0, out);
    tp_trials_release(trials, count);
    tp_trace_close(&trace);
    return rc;
}
