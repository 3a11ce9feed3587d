/* See trial.h. Each trial is a task of a resident worker (worker_pool.h), which answers with its
 * figures alone: a whole run is large. */
#include "cmd/jobs/trial.h"

#include "cmd/jobs/catalog.h"
#include "cmd/jobs/fork_replay.h"
#include "cmd/jobs/machine.h"
#include "cmd/jobs/replay_answer.h"
#include "cmd/jobs/spec.h"
#include "cmd/jobs/worker_pool.h"

#include <stdlib.h>
#include <string.h>

struct trial_tasks {
    const struct tp_trial_cfg *cfg;
    const struct tp_recorded_strategy *by;
    struct tp_source_spec source;
    struct tp_trial *trials;
    size_t count, done;
};

/* What a worker answers. */
struct trial_figures {
    struct tp_position position; /* written all the time */
    uint32_t device_count;
    bool aged;
    struct tp_trial_device devices[];
};

static int open_source(struct trial_tasks *t, struct tp_err *err)
{
    char text[TP_SPEC_TEXT];
    snprintf(text, sizeof text, t->cfg->capacity ? "virtual+limit:capacity=%llu" : "virtual",
             (unsigned long long)t->cfg->capacity);
    return tp_source_spec_parse(&t->source, text, err);
}

/* The strategy with its setting. */
static int parse(const struct trial_tasks *t, struct tp_strategy_spec *spec, const char *conf,
                 struct tp_err *err)
{
    struct tp_str text = {0}, options = {0};
    if (!tp_opt_can_be_value(conf))
        return tp_fail(err, TP_EUSAGE, "the brackets of '%.200s' do not match", conf);
    if (t->by->device_option && t->cfg->allocator)
        tp_str_item(&options, ",", "%s=%s", t->by->device_option, t->cfg->allocator);
    if (t->by->release_option && t->cfg->release)
        tp_str_item(&options, ",", "%s=%s", t->by->release_option, t->cfg->release);
    tp_setting_add_options(&options, t->by->option, conf);
    tp_str_add(&text, options.length ? "%s:%s" : "%s", t->by->strategy->name,
               tp_str_text(&options));
    int status = tp_str_status(&text, err);
    if (!status)
        status = tp_strategy_spec_parse(spec, tp_str_text(&text), err);
    tp_str_drop(&options);
    tp_str_drop(&text);
    return status;
}

static struct tp_replay_cfg configure(const struct trial_tasks *t, const struct tp_trial *trial,
                                      const struct tp_strategy_spec *spec)
{
    struct tp_replay_cfg cfg = {.program = t->cfg->program,
                                .strategy = spec->strategy,
                                .strategy_opts = spec->opts,
                                .passes = TP_PASS_USAGE | (trial->fits ? TP_PASS_FITS : 0),
                                .packed = trial->compacted,
                                .layer_count = t->source.count,
                                .interrupted = t->cfg->interrupted};
    memcpy(cfg.layers, t->source.layers, sizeof cfg.layers);
    return cfg;
}

/* ---- figures ---- */

static struct tp_trial_device figures_of(const struct tp_device_run *d)
{
    bool failed = d->first_failed_event != TP_NONE;
    return (struct tp_trial_device){.peak_reserved = d->peak_reserved,
                                    .peak_reserved_event = d->peak_reserved_event,
                                    .gets = d->gets,
                                    .puts = d->puts,
                                    .retries = d->retries,
                                    .failed = d->failed_allocations,
                                    .first_failed_event = d->first_failed_event,
                                    .too_big =
                                        failed && d->first_failure.oom_class == TP_OOM_DEMAND,
                                    .min_capacity = d->min_capacity};
}

static size_t size_of(uint32_t devices)
{
    return sizeof(struct trial_figures) + devices * sizeof(struct tp_trial_device);
}

static int replay(const struct tp_replay_cfg *cfg, struct trial_figures *out, size_t *size,
                  struct tp_err *err)
{
    struct tp_run *run = calloc(1, tp_run_size(tp_program_facts(cfg->program)->devices));
    int status = run ? tp_replay(cfg, run, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status) {
        out->aged = (run->flags & TP_RUN_AGED) != 0;
        out->device_count = run->device_count;
        *size = size_of(run->device_count);
        for (uint32_t d = 0; d < run->device_count; d++)
            out->devices[d] = figures_of(&run->devices[d]);
    }
    free(run);
    return status;
}

/* In the worker. */
static int try_one(void *ctx, uint64_t number, void *answer, size_t *size, struct tp_err *err)
{
    const struct trial_tasks *t = ctx;
    const struct tp_trial *trial = &t->trials[number];
    struct trial_figures *out = answer;
    struct tp_strategy_spec spec;
    memset(out, 0, sizeof *out);
    int status = parse(t, &spec, trial->conf, err);
    if (status)
        return status;
    struct tp_replay_cfg cfg = configure(t, trial, &spec);
    cfg.position = &out->position;
    status = replay(&cfg, out, size, err);
    tp_strategy_spec_release(&spec);
    return status;
}

static int take_figures(const struct trial_tasks *t, const struct tp_pool_done *d,
                        struct tp_trial *trial, struct tp_err *err)
{
    const struct trial_figures *f = d->answer;
    if (f->device_count > tp_program_facts(t->cfg->program)->devices ||
        d->size != size_of(f->device_count)) {
        trial->status = tp_replay_fail_written(t->by->strategy->name, &trial->err);
        return TP_OK;
    }
    trial->devices = calloc(f->device_count, sizeof *trial->devices);
    if (!trial->devices)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    memcpy(trial->devices, f->devices, f->device_count * sizeof *trial->devices);
    trial->device_count = f->device_count;
    trial->aged = f->aged;
    return TP_OK;
}

static int done(void *ctx, const struct tp_pool_done *d, struct tp_err *err)
{
    struct trial_tasks *t = ctx;
    struct tp_trial *trial = &t->trials[d->task.number];
    trial->status = d->status;
    trial->err = d->err;
    if (!d->answer)
        tp_replay_fail_ended(&d->end, t->by->strategy->name, d->left, &trial->err);
    if (t->cfg->progress)
        t->cfg->progress(t->cfg->progress_ctx, "memory", (double)++t->done / (double)t->count);
    if (trial->status == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    return trial->status ? TP_OK : take_figures(t, d, trial, err);
}

int tp_trials_replay(const struct tp_trial_cfg *cfg, struct tp_trial *trials, size_t count,
                     struct tp_err *err)
{
    struct trial_tasks t = {.cfg = cfg,
                            .by = cfg->by ? cfg->by : tp_recorded_strategy_or_first(NULL),
                            .trials = trials,
                            .count = count};
    unsigned fit = tp_ahead_workers(cfg->program, count, tp_machine_cores_to_use(), cfg->memory);
    int status = open_source(&t, err);
    if (!status)
        status = tp_pool_run(
            &(struct tp_worker_pool){.workers = fit ? fit : 1,
                                     .room = size_of(tp_program_facts(cfg->program)->devices),
                                     .work = try_one,
                                     .done = done,
                                     .count = count,
                                     .timeout_ns = cfg->timeout_ns,
                                     .ctx = &t,
                                     .interrupted = cfg->interrupted},
            err);
    tp_source_spec_release(&t.source);
    return status;
}

void tp_trials_release(struct tp_trial *trials, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(trials[i].devices);
}
