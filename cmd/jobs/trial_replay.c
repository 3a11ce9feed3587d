/* See trial.h. The settings are replayed ahead side by side (fork_replay.h), which keeps no errors:
 * one that gave no figures is replayed once more alone, for its error. */
#include "cmd/jobs/trial.h"

#include "cmd/jobs/fork_replay.h"
#include "cmd/jobs/machine.h"
#include "cmd/jobs/spec.h"

#include <stdlib.h>
#include <string.h>

/* The results of a batch, which are large, take about this many bytes. */
#define BATCH_BYTES (UINT64_C(64) << 20)

struct trial_job {
    struct tp_trial *trial;
    struct tp_strategy_spec spec;
    struct tp_replay_cfg cfg;
};

/* Trials that are replayed side by side, and what they share. */
struct batch {
    const struct tp_trial_cfg *cfg;
    struct tp_source_spec source;
    struct trial_job *replays; /* those whose text can be read */
    struct tp_ahead *ahead;    /* one for each replay */
    size_t replays_count;
    size_t count, most; /* trials of this batch, and of the largest */
    size_t done, total; /* trials of all batches */
};

static void show(void *ctx, const char *pass, double fraction)
{
    const struct batch *b = ctx;
    double done = (double)b->done + fraction * (double)b->count;
    b->cfg->progress(b->cfg->progress_ctx, pass, done / (double)b->total);
}

static int open_source(struct batch *b, struct tp_err *err)
{
    char text[TP_SPEC_TEXT];
    snprintf(text, sizeof text, b->cfg->capacity ? "virtual+limit:capacity=%llu" : "virtual",
             (unsigned long long)b->cfg->capacity);
    return tp_source_spec_parse(&b->source, text, err);
}

static const char *strategy_of(const struct batch *b)
{
    return b->cfg->strategy ? b->cfg->strategy : "torch";
}

/* The strategy with its text, in the braces that a comma needs. */
static int parse(const struct batch *b, struct tp_strategy_spec *spec, const char *conf,
                 struct tp_err *err)
{
    struct tp_str text = {0}, options = {0};
    if (!tp_opt_can_be_value(conf))
        return tp_fail(err, TP_EUSAGE, "the brackets of '%.200s' do not match", conf);
    tp_str_add(&text, "%s", strategy_of(b));
    if (b->cfg->allocator)
        tp_str_item(&options, ",", "allocator=%s", b->cfg->allocator);
    if (b->cfg->release)
        tp_str_item(&options, ",", "version=%s", b->cfg->release);
    if (*conf)
        tp_str_item(&options, ",", "conf={%s}", conf);
    if (*tp_str_text(&options))
        tp_str_add(&text, ":%s", tp_str_text(&options));
    int status = tp_str_status(&text, err);
    if (!status)
        status = tp_strategy_spec_parse(spec, tp_str_text(&text), err);
    tp_str_drop(&options);
    tp_str_drop(&text);
    return status;
}

static struct tp_replay_cfg configure(const struct batch *b, const struct trial_job *p)
{
    const struct tp_strategy_spec *spec = &p->spec;
    struct tp_replay_cfg cfg = {.program = b->cfg->program,
                                .strategy = spec->strategy,
                                .strategy_opts = spec->opts,
                                .passes = TP_PASS_USAGE | (p->trial->fits ? TP_PASS_FITS : 0),
                                .packed = p->trial->compacted,
                                .layer_count = b->source.count,
                                .timeout_ns = b->cfg->timeout_ns,
                                .interrupted = b->cfg->interrupted};
    memcpy(cfg.layers, b->source.layers, sizeof cfg.layers);
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

static int take_devices(struct tp_trial *t, const struct tp_run *run, struct tp_err *err)
{
    t->devices = calloc(run->device_count, sizeof *t->devices);
    if (!t->devices)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    t->device_count = run->device_count;
    t->aged = (run->flags & TP_RUN_AGED) != 0;
    for (uint32_t d = 0; d < run->device_count; d++)
        t->devices[d] = figures_of(&run->devices[d]);
    return TP_OK;
}

/* Takes the figures of one, replaying it where that has not been done. */
static int settle(const struct batch *b, size_t i, struct tp_err *err)
{
    struct tp_trial *t = b->replays[i].trial;
    const struct tp_ahead *a = &b->ahead[i];
    if (b->cfg->interrupted && *b->cfg->interrupted)
        t->status = TP_ESTOP;
    else if (!(a->run->passes & TP_PASS_USAGE))
        t->status = tp_fork_replay(a->cfg, strategy_of(b), a->run, &t->err);
    if (t->status == TP_ESTOP)
        return tp_fail(err, TP_ESTOP, "interrupted");
    return t->status ? TP_OK : take_devices(t, a->run, err);
}

/* ---- batches ---- */

static int add(struct batch *b, struct tp_trial *t, struct tp_err *err)
{
    struct trial_job *p = &b->replays[b->replays_count];
    *p = (struct trial_job){.trial = t};
    t->status = parse(b, &p->spec, t->conf, &t->err);
    if (t->status)
        return TP_OK;
    p->cfg = configure(b, p);
    struct tp_run *run = calloc(1, tp_run_size(tp_program_facts(b->cfg->program)->devices));
    b->ahead[b->replays_count++] = (struct tp_ahead){&p->cfg, run};
    return run ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static void clear(struct batch *b)
{
    for (size_t i = 0; i < b->replays_count; i++) {
        free(b->ahead[i].run);
        tp_strategy_spec_release(&b->replays[i].spec);
    }
    b->replays_count = 0;
}

static int replay_batch(struct batch *b, struct tp_trial *trials, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < b->count; i++)
        status = add(b, &trials[i], err);
    if (!status)
        tp_ahead_replay(b->ahead, b->replays_count, (unsigned)tp_machine_cores_to_use(),
                        b->cfg->memory, b->cfg->interrupted, b->cfg->progress ? show : NULL, b);
    for (size_t i = 0; !status && i < b->replays_count; i++)
        status = settle(b, i, err);
    clear(b);
    return status;
}

static size_t batch_size(const struct tp_program *program, size_t count)
{
    uint64_t fit = BATCH_BYTES / tp_run_size(tp_program_facts(program)->devices);
    uint64_t least = tp_machine_cores_to_use();
    fit = fit > least ? fit : least;
    return fit < count ? (size_t)fit : count;
}

static int open_batch(struct batch *b, struct tp_err *err)
{
    b->replays = calloc(b->most, sizeof *b->replays);
    b->ahead = calloc(b->most, sizeof *b->ahead);
    return b->replays && b->ahead ? open_source(b, err) : tp_fail(err, TP_ENOMEM, "out of memory");
}

int tp_trials_replay(const struct tp_trial_cfg *cfg, struct tp_trial *trials, size_t count,
                     struct tp_err *err)
{
    struct batch b = {.cfg = cfg, .total = count, .most = batch_size(cfg->program, count)};
    int status = count ? open_batch(&b, err) : TP_OK;
    for (; !status && b.done < count; b.done += b.count) {
        b.count = count - b.done < b.most ? count - b.done : b.most;
        status = replay_batch(&b, &trials[b.done], err);
    }
    tp_source_spec_release(&b.source);
    free(b.replays);
    free(b.ahead);
    return status;
}

void tp_trials_release(struct tp_trial *trials, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(trials[i].devices);
}
