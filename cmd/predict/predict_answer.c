/* See predict_answer.h. */
#include "cmd/predict/predict_answer.h"

#include "alloc/strategies/torch/torch_rules.h"
#include "cmd/measure/measure.h"
#include "cmd/measure/trial.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory for the prediction");
}

static const struct tp_sample_run *base_of(const struct tp_predict_answer *a)
{
    return a->prediction.recordings[a->prediction.base];
}

void tp_predict_sources(const struct tp_predict_asking *q, struct tp_str *out)
{
    for (size_t i = 0; i < q->count; i++)
        tp_str_item(out, ", ", "%s at %s", q->recordings[i]->trace.file,
                    tp_count(q->recordings[i]->n).s);
}

/* ---- settings ---- */

/* Settings that are tried beside the recorded one. */
static const char *const settings[] = {"expandable_segments:True", "max_split_size_mb:128"};

static bool is_pytorch(const struct tp_sample_run *r)
{
    return r->trace.recorded.by && !strcmp(r->trace.recorded.by, "PyTorch") &&
           tp_program_facts(r->trace.program)->kind == TP_KIND_DEVICE;
}

static int find_conf(struct tp_predict_answer *a, struct tp_err *err)
{
    const char *said = tp_torch_recorded(base_of(a)->trace.meta.settings);
    size_t room = said ? strlen(said) + 1 : 1;
    a->conf = calloc(room, 1);
    if (a->conf && said)
        tp_torch_plain(said, a->conf, room);
    return a->conf ? TP_OK : no_memory(err);
}

static struct tp_trial_cfg trials_of(const struct tp_predict_answer *a, struct tp_program *program,
                                     uint64_t memory, uint64_t capacity)
{
    const struct tp_meta *m = &base_of(a)->trace.meta;
    return (struct tp_trial_cfg){.program = program,
                                 .allocator = m->allocator_device,
                                 .release = m->allocator_release,
                                 .capacity = capacity,
                                 .memory = memory,
                                 .timeout_ns = tp_timeout_of(TP_OPT_KEYWORD(TP_TIMEOUT_AUTO),
                                                             tp_program_facts(program)->events, 0),
                                 .interrupted = tp_stop_flag()};
}

static void take_try(const struct tp_trial *t, const char *conf, bool recorded,
                     struct tp_predict_answer *a)
{
    struct tp_predict_try *to = &a->tries[a->try_count++];
    *to = (struct tp_predict_try){.conf = conf, .recorded = recorded, .status = t->status};
    for (uint32_t i = 0; t->devices && i < t->device_count; i++) {
        to->peak_reserved += t->devices[i].peak_reserved;
        to->failed += t->devices[i].failed;
        to->first_failed_event = t->devices[i].first_failed_event;
    }
}

static int try_settings(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                        struct tp_err *err)
{
    struct tp_trial trials[TP_PREDICT_TRIES] = {{.conf = a->conf}};
    size_t count = 1;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strstr(a->conf, settings[i]))
            trials[count++] = (struct tp_trial){.conf = settings[i]};
    const struct tp_trial_cfg cfg = trials_of(a, a->program, q->memory, 0);
    int rc = tp_trials_play(&cfg, trials, count, err);
    for (size_t i = 0; rc == TP_OK && i < count; i++)
        take_try(&trials[i], trials[i].conf, i == 0, a);
    tp_trials_release(trials, count);
    return rc;
}

/* ---- the recordings, predicted from one another ---- */

static int check_one(const struct tp_predict_asking *q, size_t left_out,
                     struct tp_predict_check *to, struct tp_err *err)
{
    const struct tp_sample_run **others = calloc(q->count, sizeof *others);
    const struct tp_sample_run *of = q->recordings[left_out];
    struct tp_prediction p = {.count = 0};
    struct tp_predict_peak peak = {.bytes = 0};
    size_t count = 0;
    *to = (struct tp_predict_check){.recording = left_out,
                                    .was = tp_program_demand(of->trace.program, 0)->bytes};
    for (size_t i = 0; others && i < q->count; i++)
        if (i != left_out)
            others[count++] = q->recordings[i];
    int rc = others ? tp_predict_make(others, count, of->n, &p, err) : no_memory(err);
    to->sound = rc == TP_OK && tp_predict_is_sound(&p);
    uint64_t *sizes = NULL;
    if (to->sound)
        rc = tp_predict_sizes(&p, of->n, &sizes, err);
    if (to->sound && rc == TP_OK)
        rc = tp_predict_peak(&p, sizes, &peak, err);
    to->sound &= rc == TP_OK;
    to->predicted = peak.bytes;
    tp_predict_peak_release(&peak);
    tp_predict_release(&p);
    free(sizes);
    free(others);
    return rc == TP_EUNSUP || rc == TP_EINPUT ? TP_OK : rc; /* of that recording alone */
}

static int check_all(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                     struct tp_err *err)
{
    int rc = TP_OK;
    if (q->count < 3)
        return TP_OK;
    a->checks = calloc(q->count, sizeof *a->checks);
    if (!a->checks)
        return no_memory(err);
    for (size_t i = 0; rc == TP_OK && i < q->count; i++)
        rc = check_one(q, i, &a->checks[a->check_count++], err);
    return rc;
}

/* ---- what fits ---- */

static uint64_t step_of(const struct tp_predict_asking *q)
{
    uint64_t common = 0;
    for (size_t i = 0; i < q->count; i++)
        for (uint64_t a = q->recordings[i]->n, b = common; a;) {
            uint64_t rest = b % a;
            common = b = a;
            a = rest;
        }
    return q->step ? q->step : common / 8 ? common / 8 : 1;
}

/* What became of a value on the device. */
struct tried {
    bool fits;
    uint64_t event; /* of the first request that failed */
};

static int play_value(const struct tp_predict_asking *q, const struct tp_predict_answer *a,
                      uint64_t n, struct tried *out, struct tp_err *err)
{
    struct tp_program *program = NULL;
    struct tp_trial trial = {.conf = a->conf};
    uint64_t *sizes = NULL;
    *out = (struct tried){.event = 0};
    int rc = tp_predict_sizes(&a->prediction, n, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_program(&a->prediction, sizes, &program, err);
    free(sizes);
    if (rc == TP_EINPUT)
        return TP_OK; /* larger than any device */
    if (rc == TP_OK) {
        const struct tp_trial_cfg cfg = trials_of(a, program, q->memory, q->capacity);
        rc = tp_trials_play(&cfg, &trial, 1, err);
    }
    if (rc == TP_OK && trial.status) {
        *err = trial.err;
        rc = trial.status;
    }
    out->fits = rc == TP_OK && trial.device_count && !trial.devices[0].failed;
    if (rc == TP_OK && trial.device_count && !out->fits)
        out->event = trial.devices[0].first_failed_event;
    tp_trials_release(&trial, 1);
    tp_program_release(program);
    return rc;
}

static void name_failed(struct tp_predict_answer *a)
{
    const struct tp_sample_run *base = base_of(a);
    const struct tp_request *q = tp_request_at(base, a->fit.event);
    if (!q)
        return;
    a->fit.place = tp_request_place(base, q);
    tp_law_at(&a->prediction.requests[q - base->requests].law, a->fit.fails, &a->fit.size);
}

/* Memory is taken to grow with the value, as it does where all laws do. */
static int find_fit(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                    struct tp_err *err)
{
    uint64_t step = step_of(q), low = 0, high = 0, at = q->recordings[0]->n / step;
    struct tried tried;
    int rc = TP_OK;
    a->fit = (struct tp_predict_fit){.capacity = q->capacity, .step = step};
    for (at += !at; rc == TP_OK && !high && at * step <= TP_LAW_N_MOST; at *= 2) {
        rc = play_value(q, a, at * step, &tried, err);
        low = tried.fits ? at : low;
        high = tried.fits ? 0 : at;
        a->fit.event = tried.event;
    }
    while (rc == TP_OK && high - low > 1 && high) {
        uint64_t middle = low + (high - low) / 2;
        rc = play_value(q, a, middle * step, &tried, err);
        low = tried.fits ? middle : low;
        high = tried.fits ? high : middle;
        a->fit.event = tried.fits ? a->fit.event : tried.event;
    }
    a->fit.fits = low * step;
    a->fit.fails = high * step;
    name_failed(a);
    return rc;
}

/* ---- the whole ---- */

static int predict_memory(const struct tp_predict_asking *q, struct tp_predict_answer *a,
                          struct tp_err *err)
{
    uint64_t *sizes = NULL;
    int rc = tp_predict_sizes(&a->prediction, q->n, &sizes, err);
    if (rc == TP_OK)
        rc = tp_predict_program(&a->prediction, sizes, &a->program, err);
    if (rc == TP_OK)
        rc = tp_predict_peak(&a->prediction, sizes, &a->peak, err);
    free(sizes);
    return rc == TP_OK && is_pytorch(base_of(a)) ? try_settings(q, a, err) : rc;
}

/* Without a value to predict the base is the largest recording, which is nearest to most. */
int tp_predict_ask(const struct tp_predict_asking *q, struct tp_predict_answer *out,
                   struct tp_err *err)
{
    *out = (struct tp_predict_answer){.sound = false};
    uint64_t n = q->n ? q->n : q->recordings[q->count - 1]->n;
    int rc = tp_predict_make(q->recordings, q->count, n, &out->prediction, err);
    if (rc == TP_OK)
        rc = find_conf(out, err);
    if (rc == TP_OK)
        rc = check_all(q, out, err);
    out->sound = rc == TP_OK && tp_predict_is_sound(&out->prediction);
    if (out->sound && q->n)
        rc = predict_memory(q, out, err);
    if (rc == TP_OK && out->sound && q->capacity)
        rc = find_fit(q, out, err);
    return rc;
}

void tp_predict_answer_release(struct tp_predict_answer *a)
{
    tp_predict_release(&a->prediction);
    tp_predict_peak_release(&a->peak);
    tp_program_release(a->program);
    free(a->conf);
    free(a->checks);
}
