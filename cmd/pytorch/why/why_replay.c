/* See why.h. The file is read a second time, as a trace. */
#include "cmd/pytorch/why/why.h"

#include "alloc/strategies/torch/torch_rules.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/jobs/trial.h"
#include "cmd/report/recorded_text.h"
#include "cmd/results/site_curve.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/stop.h"

#include <stdlib.h>
#include <string.h>

enum { CONF_TEXT = 1024 };

static const char *const settings[] = {"expandable_segments:True", "max_split_size_mb:128",
                                       "roundup_power2_divisions:4"};

int tp_why_trace_open(struct tp_why_trace *t, const char *path, uint32_t device, const char *given,
                      uint64_t max_memory, struct tp_err *err)
{
    const struct tp_open_opts open = {.device = device, .max_memory = max_memory};
    struct tp_err ignored = {0};
    struct tp_str conf = {0};
    *t = (struct tp_why_trace){.given = given != NULL};
    if (strcmp(path, "-") == 0 || tp_open_trace(path, &open, false, &t->trace, &ignored) != TP_OK)
        return TP_OK;
    t->open = true;
    int rc = tp_captured_scan(&t->trace, &t->captured, err);
    if (rc != TP_OK)
        return rc;
    const char *said = given ? given : tp_torch_recorded(t->trace.meta.settings);
    char plain[CONF_TEXT] = "";
    if (said && !tp_torch_plain(said, plain, sizeof plain))
        plain[0] = '\0';
    bool shared =
        tp_captured_collects(&t->captured) && !strstr(plain, "per_process_memory_fraction");
    tp_str_add(&conf, "%s%s", plain, shared ? TP_TORCH_WHOLE_SHARE : "");
    t->conf = strdup(plain);
    t->shared = strdup(tp_str_text(&conf));
    tp_str_drop(&conf);
    return t->conf && t->shared ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

void tp_why_trace_close(struct tp_why_trace *t)
{
    free(t->conf);
    free(t->shared);
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

/* ---- settings ---- */

/* Whether a setting without blanks has a part. */
static bool has_item(const char *conf, const char *part)
{
    size_t length = strlen(part);
    for (const char *at = strstr(conf, part); at; at = strstr(at + 1, part))
        if ((at == conf || at[-1] == ',') && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* With other kinds of segments or blocks a program would not have made the recorded heap. The
 * recorded setting from a compacted start is for comparison. */
static size_t list_trials(const struct tp_why_trace *t, const char *own,
                          struct tp_trial trials[TP_WHY_TRIES])
{
    bool heap = tp_program_heap(t->trace.program) != NULL;
    size_t count = 0;
    trials[count++] = (struct tp_trial){.conf = own};
    if (heap)
        trials[count++] = (struct tp_trial){.conf = own, .compacted = true};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!has_item(t->conf, settings[i]))
            trials[count++] = (struct tp_trial){
                .conf = settings[i],
                .compacted = heap && !tp_torch_makes_alike(t->trace.meta.allocator_device,
                                                           t->trace.meta.allocator_release,
                                                           settings[i], t->conf)};
    return count;
}

static void take_trial(const struct tp_trial *t, bool recorded, bool compacted,
                       struct tp_why_tries *out)
{
    if (t->status == TP_OK && t->device_count == 1)
        out->rows[out->count++] = (struct tp_why_try){.conf = recorded ? "" : t->conf,
                                                      .peak_reserved = t->devices[0].peak_reserved,
                                                      .failed = t->devices[0].failed,
                                                      .recorded = recorded,
                                                      .compacted = compacted};
}

/* The compacted row of what is recorded stands only beside others that start so. */
static void take_all(const struct tp_trial *trials, size_t count, bool heap,
                     struct tp_why_tries *out)
{
    bool wanted = false;
    for (size_t i = 1 + heap; i < count; i++)
        wanted |= heap && trials[i].status == TP_OK && !trials[i].aged;
    for (size_t i = 0; i < count; i++) {
        bool recorded = i < 1u + heap;
        if ((i == 0 || out->count) && (i != 1 || !heap || (wanted && trials[0].aged)))
            take_trial(&trials[i], recorded, heap && !trials[i].aged, out);
    }
}

int tp_why_try(const struct tp_why_trace *t, uint64_t capacity, uint64_t memory,
               struct tp_why_tries *out, struct tp_err *err)
{
    struct tp_trial trials[TP_WHY_TRIES] = {{.conf = NULL}};
    uint64_t events = tp_program_facts(t->trace.program)->events;
    const struct tp_trial_cfg cfg = {.program = t->trace.program,
                                     .allocator = t->trace.meta.allocator_device,
                                     .release = t->trace.meta.allocator_release,
                                     .capacity = capacity,
                                     .memory = memory,
                                     .timeout_ns =
                                         tp_timeout_of(TP_OPT_KEYWORD(TP_TIMEOUT_AUTO), events, 0),
                                     .interrupted = tp_stop_flag()};
    bool own = capacity && capacity == tp_captured_capacity(&t->captured);
    size_t count = list_trials(t, own ? t->shared : t->conf, trials);
    *out = (struct tp_why_tries){.capacity = capacity, .given = t->given};
    int rc = tp_trials_replay(&cfg, trials, count, err);
    if (rc == TP_OK)
        take_all(trials, count, tp_program_heap(t->trace.program) != NULL, out);
    tp_trials_release(trials, count);
    return rc;
}
