/* See snapshot_explainer.h. */
#include "cmd/pytorch/why/snapshot_explainer.h"

#include "alloc/strategies/torch/torch_rules.h"
#include "cmd/jobs/trial.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/stop.h"
#include "cmd/why/why.h"

#include <stdlib.h>
#include <string.h>

enum { CONF_TEXT = 1024 };

static const char *const settings[] = {"expandable_segments:True", "max_split_size_mb:128",
                                       "roundup_power2_divisions:4"};

/* What the recording is replayed with as recorded. */
struct recorded_conf {
    char plain[CONF_TEXT];
    char shared[CONF_TEXT + sizeof TP_TORCH_WHOLE_SHARE]; /* with the share that was set */
};

static void read_conf(const struct tp_why_trace *t, const char *given, struct recorded_conf *out)
{
    const char *said = given ? given : tp_torch_recorded(t->trace.meta.settings);
    *out = (struct recorded_conf){.plain = ""};
    if (said && !tp_torch_plain(said, out->plain, sizeof out->plain))
        out->plain[0] = '\0';
    bool shared =
        tp_captured_collects(&t->captured) && !strstr(out->plain, "per_process_memory_fraction");
    snprintf(out->shared, sizeof out->shared, "%s%s", out->plain,
             shared ? TP_TORCH_WHOLE_SHARE : "");
}

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
static size_t list_trials(const struct tp_why_trace *t, const char *own, const char *conf,
                          struct tp_trial trials[TP_WHY_TRIES])
{
    bool heap = tp_program_heap(t->trace.program) != NULL;
    size_t count = 0;
    trials[count++] = (struct tp_trial){.conf = own};
    if (heap)
        trials[count++] = (struct tp_trial){.conf = own, .compacted = true};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!has_item(conf, settings[i]))
            trials[count++] = (struct tp_trial){
                .conf = settings[i],
                .compacted = heap && !tp_torch_makes_alike(t->trace.meta.allocator_device,
                                                           t->trace.meta.allocator_release,
                                                           settings[i], conf)};
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

int tp_snapshot_try(const struct tp_why_trace *t, const char *given, uint64_t capacity,
                    uint64_t memory, struct tp_why_tries *out, struct tp_err *err)
{
    struct recorded_conf conf;
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
    read_conf(t, given, &conf);
    size_t count = list_trials(t, own ? conf.shared : conf.plain, conf.plain, trials);
    *out = (struct tp_why_tries){.capacity = capacity, .given = given != NULL};
    int rc = tp_trials_replay(&cfg, trials, count, err);
    if (rc == TP_OK)
        take_all(trials, count, tp_program_heap(t->trace.program) != NULL, out);
    tp_trials_release(trials, count);
    return rc;
}
