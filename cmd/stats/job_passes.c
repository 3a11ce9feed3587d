/* See job_replay.h. */
#include "cmd/stats/job_replay.h"

#include "cmd/jobs/machine.h"
#include "cmd/jobs/memory_passes.h"
#include "cmd/jobs/process.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/stop.h"

#include <string.h>

enum { MIN_REPLAYS = 5, LATENCY_OPERATIONS = 10000000 };

static enum tp_touch touch_of(const struct tp_replay_opts *o, const struct tp_job *job)
{
    if (!(tp_source_spec_flags(&job->source) & TP_SRC_HOST))
        return TP_TOUCH_NONE;
    return o->touch == TP_TOUCH_AUTO ? TP_TOUCH_FIRST : (enum tp_touch)(o->touch - 1);
}

/* The defaults are short, so that a first look takes a moment only; --min-time asks for sharper
 * times. */
static uint64_t min_time_of(const struct tp_replay_opts *o, const struct tp_job *job)
{
    uint32_t flags = tp_source_spec_flags(&job->source);
    if (o->min_time != TP_OPT_KEYWORD(0))
        return o->min_time;
    if (flags & TP_SRC_VIRTUAL)
        return 100000000u;
    return flags & TP_SRC_HOST ? 150000000u : 500000000u;
}

/* The passes to replay. The pass `fits` runs on a virtual device, which has no memory pools of a
 * driver, so strategies that need those go without it. */
static unsigned passes_of(const struct tp_replay_opts *o, const struct tp_program_facts *facts,
                          const struct tp_strategy *s)
{
    if (o->passes)
        return o->passes & ~(s->caps & TP_CAP_ASYNC ? TP_PASS_FITS : 0u);
    bool few = tp_fits_by_default(facts->kind, facts->events);
    bool fits = (o->fits || (few && !o->no_fits)) && !(s->caps & TP_CAP_ASYNC);
    return TP_PASS_ALL | TP_MEMORY_PASSES | (fits ? TP_PASS_FITS : 0u) |
           (o->verify ? TP_PASS_VERIFY : 0u);
}

struct tp_replay_cfg tp_job_configure(const struct tp_job *job, const struct tp_strategy_spec *spec,
                                      const struct tp_replay_opts *o, const struct tp_clock *clock)
{
    const struct tp_program_facts *facts = tp_program_facts(job->trace.program);
    const struct tp_source_spec *source = tp_source_spec_of(spec->strategy, &job->source);
    struct tp_replay_cfg cfg = {
        .program = job->trace.program,
        .strategy = spec->strategy,
        .strategy_opts = spec->opts,
        .layer_count = source->count,
        .clock = clock,
        .touch = touch_of(o, job),
        .touched = &job->touched,
        .passes = passes_of(o, facts, spec->strategy),
        .min_time_ns = min_time_of(o, job),
        .min_replays = MIN_REPLAYS,
        .latency_operations = LATENCY_OPERATIONS,
        .repeat = (uint32_t)o->repeat,
        .stop_on_oom = o->on_oom == TP_OOM_STOP,
        .huge_pages = o->thp,
        .guard = o->capacity == TP_OPT_KEYWORD(0),
        .seed = o->seed,
        .threads = tp_replay_threads(o->threads, job),
        .threads_if_possible = o->threads == TP_OPT_KEYWORD(TP_THREADS_AUTO),
        .cores = (uint32_t)tp_machine_cores_to_use(),
        .nth = (uint32_t)(spec - job->specs),
        .occupy = job->use.occupy,
        .occupy_scale = job->use.scale,
        .timeout_ns = tp_timeout_of(o->timeout, facts->events, min_time_of(o, job)),
        .interrupted = tp_stop_flag()};
    memcpy(cfg.layers, source->layers, sizeof cfg.layers);
    cfg.passes = tp_memory_passes_of(&cfg);
    return cfg;
}

/* Whether the strategy is replayed in a process of its own: a real allocator needs a heap that is
 * fresh, and a plug-in may crash. A plug-in is not on a real device, and not where instructions are
 * counted, which are those of this process. */
static bool is_apart(const struct tp_job *job, const struct tp_strategy_spec *spec, unsigned passes)
{
    bool forked = spec->plugin && !tp_job_on_device(job) && !(passes & TP_PASS_COUNT);
    return forked || !tp_strategy_takes_source(spec->strategy);
}

/* Replays in this process. What a plug-in prints meanwhile is no part of the output. */
static int replay_in_place(const struct tp_replay_cfg *cfg, const struct tp_strategy_spec *spec,
                           struct tp_run *out, struct tp_err *err)
{
    int aside = spec->plugin ? tp_stdout_aside() : -1;
    int status = tp_replay(cfg, out, err);
    if (spec->plugin)
        tp_stdout_back(aside);
    return status;
}

int tp_job_replay(const struct tp_job *job, const struct tp_strategy_spec *spec,
                  const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    struct tp_replay_cfg part = *cfg;
    int status = TP_OK;
    bool apart = is_apart(job, spec, cfg->passes);
    part.passes = cfg->passes & ~(unsigned)TP_MEMORY_PASSES;
    if (part.passes)
        status =
            apart ? tp_replay_apart(&part, spec, out, err) : replay_in_place(&part, spec, out, err);
    part.passes = cfg->passes & TP_MEMORY_PASSES;
    return status || !part.passes ? status : tp_memory_passes(&part, spec, out, err);
}

struct tp_result tp_job_result(const struct tp_job *job, const struct tp_strategy_spec *spec,
                               const struct tp_replay_opts *o, const struct tp_replay_cfg *cfg,
                               struct tp_run *run)
{
    return (struct tp_result){.trace = &job->trace,
                              .facts = tp_program_facts(job->trace.program),
                              .spec = spec,
                              .source = tp_source_spec_of(spec->strategy, &job->source),
                              .captured = &job->captured,
                              .use = &job->use,
                              .bounds = job->bounds,
                              .touch = cfg->touch,
                              .threads = cfg->threads,
                              .goal = o->goal,
                              .min_time_ns = cfg->min_time_ns,
                              .replayed = *cfg,
                              .run = run};
}
