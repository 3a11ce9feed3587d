/* See replay_job.h. The source is the first of these that applies:
 *
 *     --source    given by the user
 *     cuda        a strategy can run on nothing else
 *     virtual     what a strategy of its own was recorded for is memory of the host (pinned)
 *     host        the trace is another host trace
 *     cuda        the machine has a driver and a device
 *     virtual     otherwise */
#include "cmd/results/replay_job.h"

#include "alloc/engine/crew.h"
#include "cmd/jobs/bound.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/child.h"
#include "cmd/jobs/libraries.h"
#include "cmd/results/figures.h"
#include "cmd/results/recorded_strategy.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/stop.h"
#include "cuda/cuda_options.h"
#include "cuda/device_map.h"

#include <stdlib.h>
#include <string.h>

enum { FITS_EVENTS = 1000000 };

static bool is_device_trace(const struct tp_job *job)
{
    return tp_program_facts(job->trace.program)->kind == TP_KIND_DEVICE;
}

/* Whether a strategy does what the recorded allocator did: it is replayed on simulated memory. */
static const struct tp_recorded_strategy *recorded_strategy(const struct tp_job *job)
{
    return tp_find_recorded_strategy(job->trace.recorded.by);
}

bool tp_job_on_device(const struct tp_job *job)
{
    return tp_source_spec_flags(&job->source) & TP_SRC_DEVICE;
}

/* Whether the recorded threads can replay: several of them, of host memory. */
static bool has_threads(const struct tp_job *job)
{
    const struct tp_program_facts *f = tp_program_facts(job->trace.program);
    bool host = tp_source_spec_flags(&job->source) & TP_SRC_HOST;
    return host && f->kind == TP_KIND_HOST && f->devices == 1 && f->threads > 1 &&
           f->threads <= TP_CREW_MAX;
}

uint32_t tp_replay_threads(uint64_t option, const struct tp_job *job)
{
    if (option == TP_OPT_KEYWORD(TP_THREADS_AUTO))
        return has_threads(job) ? TP_THREADS_AS_RECORDED : 1;
    return option == TP_OPT_KEYWORD(TP_THREADS_RECORDED) ? TP_THREADS_AS_RECORDED
                                                         : (uint32_t)option;
}

bool tp_fits_by_default(enum tp_kind kind, uint64_t events)
{
    return kind == TP_KIND_DEVICE && events < FITS_EVENTS;
}

uint64_t tp_bound_time_by_default(const struct tp_program *p)
{
    enum { BOUND_TIME = 100000000 };
    const struct tp_program_facts *f = tp_program_facts(p);
    return tp_fits_by_default((enum tp_kind)f->kind, f->events) ? BOUND_TIME : 0;
}

/* The first strategy that needs a pool of the driver; NULL: none. */
static const struct tp_strategy_spec *needs_pool(const struct tp_job *job)
{
    for (size_t i = 0; i < job->spec_count; i++)
        if (job->specs[i].strategy->caps & TP_CAP_ASYNC)
            return &job->specs[i];
    return NULL;
}

/* ---- strategies ---- */

typedef int parse_spec(struct tp_strategy_spec *spec, const char *text, struct tp_err *err);

static int add_parsed(struct tp_job *job, parse_spec *parse, const char *text, struct tp_err *err)
{
    int status = parse(&job->specs[job->spec_count], text, err);
    job->spec_count += status == TP_OK;
    if (status != TP_EINPUT || !job->leaves_out)
        return status;
    if (!job->refused.status)
        job->refused = *err;
    return TP_OK;
}

static int add_strategy(struct tp_job *job, const char *text, struct tp_err *err)
{
    return add_parsed(job, tp_strategy_spec_parse, text, err);
}

static int parse_allocs(struct tp_job *job, const char *list, struct tp_err *err)
{
    int status = list && !*list ? tp_fail(err, TP_EUSAGE, "--alloc names no allocator") : TP_OK;
    while (!status && list && *list) {
        char name[256];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        status = length && length < sizeof name
                     ? add_parsed(job, tp_strategy_spec_named, name, err)
                     : tp_fail(err, TP_EUSAGE, "--alloc has a name that is none: '%.40s'", list);
        list += length + (list[length] == ',');
    }
    return status;
}

static int parse_named(struct tp_job *job, const struct tp_replay_opts *o, struct tp_err *err)
{
    size_t max = o->strategies.count + strlen(o->alloc ? o->alloc : "");
    max = max ? max : 2 * TP_DEFAULT_MAX + TP_LIBRARIES_MAX;
    job->specs = calloc(max, sizeof *job->specs);
    int status = job->specs ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; !status && i < o->strategies.count; i++)
        status = add_strategy(job, o->strategies.items[i], err);
    if (!status)
        status = parse_allocs(job, o->alloc, err);
    if (!status && (o->strategies.count || o->alloc) && !job->spec_count) {
        *err = job->refused;
        status = (int)err->status;
    }
    return status;
}

/* Adds the malloc libraries of this machine. */
static int add_libraries(struct tp_job *job, const struct tp_strategy *s, struct tp_err *err)
{
    const struct tp_library *here[TP_LIBRARIES_MAX];
    size_t count = tp_libraries_here(here);
    int status = TP_OK;
    for (size_t i = 0; !status && i < count; i++) {
        char text[TP_SPEC_TEXT];
        snprintf(text, sizeof text, "%s:%s", s->name, here[i]->name);
        status = add_strategy(job, text, err);
    }
    return status;
}

/* Adds the strategies that use the driver's pools, if all devices have pools. A device's default
 * pool cannot be limited, because the process shares it, so a limited source gets a pool of its
 * own. */
static int add_pools(struct tp_job *job, const struct tp_gpu *gpu, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(job->trace.program);
    char text[TP_SPEC_TEXT];
    int status = TP_OK;
    if (!tp_job_on_device(job) || tp_gpu_check(gpu, job->use.ordinals, f->devices, "", NULL))
        return TP_OK;
    for (size_t i = 0; !status && tp_strategies[i]; i++) {
        snprintf(text, sizeof text, "%s%s", tp_strategies[i]->name,
                 tp_source_spec_is_limited(&job->source) ? ":pool=own" : "");
        if (tp_strategies[i]->caps & TP_CAP_ASYNC)
            status = add_strategy(job, text, err);
    }
    return status;
}

/* Adds the default strategies. Real allocators are left out if the source is limited or there are
 * several devices: their memory cannot be limited, and they have one heap for all devices. */
static int add_usual(struct tp_job *job, const struct tp_gpu *gpu, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(job->trace.program);
    const struct tp_recorded_strategy *was = recorded_strategy(job);
    const struct tp_strategy *const *usual =
        was || is_device_trace(job) ? tp_default_device : tp_default_host;
    bool own = tp_source_spec_flags(&job->source) & TP_SRC_HOST &&
               !tp_source_spec_is_limited(&job->source) && f->devices == 1;
    bool pools = !is_device_trace(job);
    int status = was ? add_strategy(job, was->strategy->name, err) : TP_OK;
    for (size_t i = 0; !status && usual[i] && i < TP_DEFAULT_MAX; i++) {
        if (usual[i]->group == TP_GROUP_REFERENCE && !pools) {
            status = add_pools(job, gpu, err);
            pools = true;
        }
        if (status || (!own && !tp_strategy_takes_source(usual[i])))
            continue;
        if (usual[i]->caps & TP_CAP_PRELOAD)
            status = add_libraries(job, usual[i], err);
        else
            status = add_strategy(job, usual[i]->name, err);
    }
    return status;
}

/* ---- the source ---- */

/* Passes --map-device on as the option `map` of the source. */
static int set_map(struct tp_job *job, const struct tp_replay_opts *o, struct tp_err *err)
{
    struct tp_source_layer *base = &job->source.layers[0];
    struct tp_str text = {0};
    if (!o->map_device.count)
        return TP_OK;
    if (((const struct cuda_opts *)base->opts)->map)
        return tp_fail(err, TP_EUSAGE,
                       "--map-device and the option 'map' of the source exclude "
                       "each other");
    for (size_t i = 0; i < o->map_device.count; i++)
        tp_str_item(&text, ",", "%s", o->map_device.items[i]);
    int status = tp_str_status(&text, err);
    if (!status)
        status = tp_opt_set(tp_opt_find(base->ops->options, "map"), (void *)(uintptr_t)base->opts,
                            tp_str_text(&text), err);
    tp_str_drop(&text);
    return status;
}

/* Checks that the real devices are there and support the options. */
static int check_device(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                        struct tp_err *err)
{
    uint16_t devices = tp_program_facts(job->trace.program)->devices;
    const struct tp_strategy_spec *pool = needs_pool(job);
    if (!tp_gpu_open(gpu))
        return tp_gpu_fail(gpu, "the source cuda",
                           "'--source virtual' replays the same strategy without a GPU", err);
    int status = set_map(job, o, err);
    if (status)
        return status;
    job->use = (struct tp_device_use){.driver = tp_gpu_info(gpu),
                                      .ordinals = calloc(devices, sizeof *job->use.ordinals),
                                      .occupy = (enum tp_occupy)o->occupy,
                                      .scale = o->occupy_scale};
    if (!job->use.ordinals)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    status = tp_cuda_map_all(((const struct cuda_opts *)job->source.layers[0].opts)->map, devices,
                             job->use.ordinals, err);
    if (status)
        return status;
    return tp_gpu_check(gpu, job->use.ordinals, devices, pool ? pool->strategy->name : NULL, err);
}

/* Refuses options that only a real device supports. */
static int check_no_device(const struct tp_job *job, const struct tp_replay_opts *o,
                           struct tp_err *err)
{
    const char *option = o->occupy != TP_OCCUPY_NONE ? "--occupy" : NULL;
    if (o->map_device.count)
        option = "--map-device";
    if (!option)
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE, "%s is about a real device: '%s' is none", option,
                           job->source.layers[0].ops->name),
                   "'--source cuda' replays the trace on a GPU");
}

static int choose_source(const struct tp_job *job, const struct tp_replay_opts *o,
                         struct tp_gpu *gpu, const char **out, struct tp_err *err)
{
    const struct tp_strategy_spec *pool = needs_pool(job);
    *out = o->source;
    if (*out)
        return TP_OK;
    if (pool && !tp_gpu_open(gpu))
        return tp_gpu_fail(gpu, pool->strategy->name,
                           "without a GPU, '-s stream-pool' replays a software pool with the same "
                           "interface",
                           err);
    if (pool)
        *out = "cuda";
    else if (is_device_trace(job))
        *out = o->occupy != TP_OCCUPY_NONE || o->map_device.count || tp_gpu_open(gpu) ? "cuda"
                                                                                      : "virtual";
    else
        *out = recorded_strategy(job) ? "virtual" : "host";
    return TP_OK;
}

static int parse_source(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                        struct tp_err *err)
{
    char limited[TP_SPEC_TEXT];
    const char *source;
    int status = choose_source(job, o, gpu, &source, err);
    if (status)
        return status;
    if (!o->source && is_device_trace(job) && !strcmp(source, "virtual") && tp_gpu_is_unusable(gpu))
        job->use.unused = tp_gpu_why(gpu);
    uint64_t capacity = o->capacity;
    if (capacity == TP_OPT_KEYWORD(0)) /* the recorded capacity, but not on a real device */
        capacity =
            !o->source && !strcmp(source, "virtual") ? tp_captured_capacity(&job->captured) : 0;
    snprintf(limited, sizeof limited, capacity ? "%s+limit:capacity=%llu" : "%s", source,
             (unsigned long long)capacity);
    status = tp_source_spec_parse(&job->source, limited, err);
    if (status)
        return status;
    return tp_job_on_device(job) ? check_device(job, o, gpu, err) : check_no_device(job, o, err);
}

/* ---- strategies and source together ---- */

static int check_foreign(const struct tp_job *job, const struct tp_strategy_spec *s,
                         struct tp_err *err)
{
    if (!(tp_source_spec_flags(&job->source) & TP_SRC_HOST))
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "'%s' is an allocator of this machine's memory: it "
                               "cannot run on source '%s'",
                               s->label, job->source.name),
                       "--source host replays the trace in this machine's memory");
    if (tp_source_spec_is_limited(&job->source))
        return tp_fail(err, TP_EUSAGE,
                       "'%s' takes its memory from the system itself: no capacity can limit it",
                       s->label);
    if (tp_program_facts(job->trace.program)->devices > 1)
        return tp_fail(err, TP_EUSAGE,
                       "'%s' has one heap for the whole process: it cannot replay the devices of "
                       "this trace apart",
                       s->label);
    return tp_child_settings(s, tp_stop_flag(), err);
}

static int check_strategies(const struct tp_job *job, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < job->spec_count; i++) {
        const struct tp_strategy_spec *spec = &job->specs[i];
        if (!tp_strategy_takes_source(spec->strategy)) {
            status = check_foreign(job, spec, err);
            continue;
        }
        status = tp_strategy_fits(spec->strategy, job->source.layers[0].ops, err);
        if (!status && spec->strategy->caps & TP_CAP_ASYNC &&
            tp_source_spec_is_limited(&job->source) &&
            tp_strategy_spec_says(spec, "pool", "default"))
            status = tp_hint(err,
                             tp_fail(err, TP_EUSAGE,
                                     "'%s': the default pool of a device takes no capacity, only a "
                                     "pool of its own does",
                                     spec->label),
                             "-s %s:pool=own", spec->strategy->name);
    }
    return status;
}

static uint64_t bound_time_of(const struct tp_job *job, const struct tp_replay_opts *o)
{
    if (o->bound_time != TP_OPT_KEYWORD(0))
        return o->bound_time;
    return o->passes ? 0 : tp_bound_time_by_default(job->trace.program);
}

int tp_job_open(struct tp_job *job, const struct tp_open_opts *o, const char *path,
                struct tp_err *err)
{
    int status = tp_open_trace(path, o, false, &job->trace, err);
    if (!status)
        status = tp_captured_scan(&job->trace, &job->captured, err);
    tp_meta_touched(&job->trace.meta, &job->touched);
    return status;
}

int tp_job_choose(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                  struct tp_err *err)
{
    int status = parse_named(job, o, err);
    if (!status)
        status = parse_source(job, o, gpu, err);
    if (!status && !job->spec_count)
        status = add_usual(job, gpu, err);
    for (size_t i = 0; !status && i < job->spec_count; i++)
        status = tp_apply_recorded(&job->trace, &job->captured,
                                   o->capacity == TP_OPT_KEYWORD(0) &&
                                       tp_source_spec_is_limited(&job->source),
                                   &job->specs[i], err);
    if (status)
        return status;
    tp_strategy_specs_label(job->specs, job->spec_count);
    return check_strategies(job, err);
}

int tp_job_prepare(struct tp_job *job, const struct tp_replay_opts *o, struct tp_gpu *gpu,
                   const char *path, struct tp_err *err)
{
    int status = tp_job_open(job, &o->open, path, err);
    if (!status)
        status = tp_job_choose(job, o, gpu, err);
    uint64_t bound_time = status ? 0 : bound_time_of(job, o);
    if (!status && bound_time)
        status = tp_bound(job->trace.program, bound_time, &job->bounds, err);
    return status;
}

void tp_job_forget_choice(struct tp_job *job)
{
    for (size_t i = 0; i < job->spec_count; i++)
        tp_strategy_spec_release(&job->specs[i]);
    free(job->specs);
    free(job->use.ordinals);
    tp_source_spec_release(&job->source);
    job->specs = NULL;
    job->spec_count = 0;
    job->use = (struct tp_device_use){0};
    job->source = (struct tp_source_spec){0};
}

void tp_job_release(struct tp_job *job)
{
    tp_job_forget_choice(job);
    free(job->bounds);
    tp_captured_release(&job->captured);
    tp_trace_close(&job->trace);
}
