/* See why.h. The file is read a second time, as a trace. */
#include "cmd/why/why.h"

#include "cmd/jobs/open_trace.h"
#include "cmd/report/recorded_text.h"
#include "cmd/results/site_curve.h"
#include "cmd/ui/stop.h"

#include <string.h>

int tp_why_trace_open(struct tp_why_trace *t, const char *path, uint32_t device,
                      uint64_t max_memory, struct tp_err *err)
{
    const struct tp_open_opts open = {.device = device, .max_memory = max_memory};
    struct tp_err ignored = {0};
    *t = (struct tp_why_trace){.open = false};
    if (strcmp(path, "-") == 0 || tp_open_trace(path, &open, false, &t->trace, &ignored) != TP_OK)
        return TP_OK;
    t->open = true;
    return tp_captured_scan(&t->trace, &t->captured, err);
}

void tp_why_trace_close(struct tp_why_trace *t)
{
    if (!t->open)
        return;
    tp_captured_release(&t->captured);
    tp_trace_close(&t->trace);
    t->open = false;
}

struct tp_why_recording tp_why_recording_of(const struct tp_why_trace *t, bool exact)
{
    struct tp_why_recording r = {.capacity = 0};
    if (!t->open)
        return r;
    const struct tp_captured_retries retries = tp_captured_retries(&t->captured);
    r.retries = retries.count;
    r.first_retry = retries.first_event;
    r.capacity = tp_captured_capacity(&t->captured);
    r.limit = retries.by_limit ? tp_captured_capacity_most(&t->captured) : 0;
    r.ran_out = retries.ooms > 0;
    r.peak = t->captured.known && t->captured.devices ? t->captured.devices[0].peak_reserved : 0;
    tp_retries_text(&retries, t->trace.meta.settings, exact, r.retries_text, sizeof r.retries_text);
    return r;
}

void tp_why_find_site_curve(struct tp_why_trace *t, struct tp_why *out)
{
    const struct tp_sites_opts by_line = {.at = TP_AT_PEAK};
    tp_captured_find(&t->captured, &t->trace, &by_line, false, tp_stop_asked);
    tp_site_curve_find(&t->captured, &t->trace, NULL, tp_stop_asked);
    out->site_curve = t->captured.site_curve;
    out->curve_sites = t->captured.sites;
    out->curve_timed = tp_program_facts(t->trace.program)->time_known;
    t->captured.site_curve = NULL;
    t->captured.sites = NULL;
}
