/* What a cell is, and how a worker computes it; see sweep_run.h. */
#include "cmd/sweep/sweep_run.h"

#include "alloc/base/malloc_variables.h"
#include "alloc/base/str.h"
#include "cmd/jobs/bound.h"
#include "cmd/jobs/machine.h"
#include "cmd/jobs/process.h"
#include "cmd/results/captured.h"
#include "cmd/results/figures.h"
#include "cmd/results/record.h"
#include "cmd/stats/job_replay.h"
#include "cmd/sweep/file_hash.h"
#include "cmd/sweep/store_lines.h"
#include "cmd/ui/text.h"
#include "traces/lower/recorded.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Exact figures do not depend on what is written to a block, which takes most of the time of a
 * replay in this machine's memory. */
enum { TOUCH_NONE = TP_TOUCH_NONE + 1 }; /* of the option */

extern char **environ;

/* ---- what all cells share ---- */

/* Files that differ from the commit make another program. */
static int find_tool(struct tp_cells *cells, struct tp_err *err)
{
    char path[4096], hash[TP_FILE_HASH + 1];
    bool built_from_commit = *tp_commit && !strstr(tp_commit, "dirty");
    int status = built_from_commit
                     ? TP_OK
                     : tp_file_hash(tp_child_own_executable(path, sizeof path), hash, err);
    const char *name = *tp_commit ? tp_commit : TAPOOL_VERSION;
    if (!status && built_from_commit)
        snprintf(cells->tool, sizeof cells->tool, "%.120s", name);
    else if (!status)
        snprintf(cells->tool, sizeof cells->tool, "%.100s+%.12s", name, hash);
    return status;
}

static void describe_machine(char *out, size_t size)
{
    struct tp_machine m;
    tp_machine_read(&m);
    snprintf(out, size, "%s, %s, %s, %s, %" PRIu64 " cores, %s %s", m.cpu, m.arch, m.os, m.libc,
             tp_machine_cores_to_use(), TAPOOL_COMPILER, TAPOOL_BUILD);
}

static void describe_options(struct tp_cells *cells)
{
    const struct tp_sweep_opts *o = cells->plan->opts;
    const struct tp_open_opts *open = &o->open;
    struct tp_str reading = TP_STR_IN(cells->reading), options = TP_STR_IN(cells->options);
    struct tp_str measured = TP_STR_IN(cells->measured);
    tp_str_add(&reading, "%s,%s,%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%d,%d,%" PRIu64,
               open->input_format ? open->input_format : "", open->space ? open->space : "",
               open->initial_heap, open->limit, open->device, open->strict, open->repair,
               o->bound_time);
    tp_str_add(&options, "%.200s,%" PRIu32 ",%" PRIu64, o->source ? o->source : "", o->on_oom,
               o->seed);
    tp_str_add(&measured, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%s", o->touch,
               o->threads, o->min_time, o->repeat, o->thp, cells->machine);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool sets_malloc(const char *variable)
{
    return tp_is_malloc_variable(variable) || !strncmp(variable, "LD_PRELOAD=", 11);
}

/* The order of variables makes no difference. */
static int describe_environment(struct tp_cells *cells, struct tp_err *err)
{
    struct tp_str text = TP_STR_IN(cells->environment);
    size_t count = 0, all = 0;
    while (environ && environ[all])
        all++;
    const char **list = calloc(all + 1, sizeof *list);
    if (!list)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < all; i++)
        if (sets_malloc(environ[i]))
            list[count++] = environ[i];
    qsort(list, count, sizeof *list, by_text);
    for (size_t i = 0; i < count; i++)
        tp_str_item(&text, " ", "%s", list[i]);
    int status = tp_texts_hash(list, cells->environment_hash, err);
    free(list);
    return status;
}

int tp_cells_open(struct tp_cells *cells, const struct tp_sweep_plan *plan, struct tp_err *err)
{
    bool timed = false; /* exact figures need no clock, which takes 10 ms to measure */
    *cells = (struct tp_cells){.plan = plan};
    int status = find_tool(cells, err);
    describe_machine(cells->machine, sizeof cells->machine);
    describe_options(cells);
    if (!status)
        status = describe_environment(cells, err);
    for (size_t g = 0; !status && !timed && g < plan->group_count; g++)
        timed = plan->groups[g].of_machine;
    return status || !timed ? status : tp_clock_calibrate(&cells->clock, err);
}

/* Figures of a real allocator depend on the machine, those of the kernel and times always do. */
static bool is_of_machine(const struct tp_sweep_setting *setting,
                          const struct tp_sweep_group *group)
{
    return group->of_machine || setting->own_memory;
}

int tp_cell_name(const struct tp_cells *cells, const char *identity,
                 const struct tp_sweep_setting *setting, const struct tp_sweep_group *group,
                 char name[TP_STORE_NAME + 1], struct tp_err *err)
{
    const char *const texts[] = {identity,
                                 setting->whole,
                                 cells->options,
                                 group->name,
                                 cells->tool,
                                 is_of_machine(setting, group) ? cells->measured : "exact",
                                 setting->own_memory ? cells->environment_hash : "",
                                 NULL};
    return tp_texts_hash(texts, name, err);
}

struct tp_store_file tp_cell_file(const struct tp_cells *cells, const struct tp_sweep_trace *t)
{
    return (struct tp_store_file){t->label, cells->reading, t->bytes, t->modified_ns};
}

/* ---- the trace that is open ---- */

/* Of this process, which is a worker. */
static struct open_job {
    struct tp_job job;
    bool open;
    size_t trace; /* its index in the plan */
    char identity[TP_STORE_NAME + 1];
} worker_job;

/* All of a trace that decides on figures: its program, and what a strategy takes from the
 * recording. */
static int find_identity(struct open_job *o, struct tp_err *err)
{
    const struct tp_trace *t = &o->job.trace;
    const struct tp_hash_text program = tp_hash_text(tp_program_facts(t->program));
    cJSON *recorded = tp_recorded_to_json(&t->recorded);
    char *text = recorded ? cJSON_PrintUnformatted(recorded) : NULL;
    const char *const known[] = {t->meta.settings, t->meta.allocator_device,
                                 t->meta.allocator_release, t->meta.written};
    const char *texts[8] = {program.s, text};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        texts[2 + i] = known[i] ? known[i] : "";
    int status =
        text ? tp_texts_hash(texts, o->identity, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    cJSON_free(text);
    cJSON_Delete(recorded);
    return status;
}

static int need_trace(const struct tp_cells *cells, size_t trace, struct tp_err *err)
{
    struct open_job *o = &worker_job;
    if (o->open && o->trace == trace)
        return TP_OK;
    if (o->open)
        tp_job_release(&o->job);
    *o = (struct open_job){.trace = trace, .open = true};
    int status =
        tp_job_open(&o->job, &cells->plan->opts->open, cells->plan->traces[trace].path, err);
    if (!status)
        status = find_identity(o, err);
    if (status) {
        tp_job_release(&o->job);
        o->open = false;
    }
    return status;
}

/* ---- lines ---- */

/* The least memory that each device needs, and the best packing; both TP_NONE where they would take
 * long and were not asked for. */
static int find_bounds(const struct tp_cells *cells, struct tp_line_trace *line, struct tp_err *err)
{
    struct tp_program *program = worker_job.job.trace.program;
    const uint64_t asked = cells->plan->opts->bound_time;
    uint64_t ns = asked == TP_OPT_KEYWORD(0) ? tp_bound_time_by_default(program) : asked;
    struct tp_offline *bounds = NULL;
    line->lower_bound = line->best_packing = TP_NONE;
    int status = ns ? tp_bound(program, ns, &bounds, err) : TP_OK;
    if (status || !bounds)
        return status;
    line->lower_bound = line->best_packing = 0;
    for (uint16_t d = 0; d < tp_program_facts(program)->devices; d++) {
        line->lower_bound += bounds[d].least;
        line->best_packing += bounds[d].best;
    }
    free(bounds);
    return TP_OK;
}

int tp_cell_open_trace(const struct tp_cells *cells, size_t trace, struct tp_cell_answer *out,
                       struct tp_err *err)
{
    int status = need_trace(cells, trace, err);
    if (status)
        return status;
    struct tp_program *program = worker_job.job.trace.program;
    const struct tp_program_facts *f = tp_program_facts(program);
    struct tp_line_trace t = {.file = tp_cell_file(cells, &cells->plan->traces[trace]),
                              .kind = f->kind == TP_KIND_DEVICE ? "device" : "host",
                              .events = f->events,
                              .operations = f->operations,
                              .devices = f->devices,
                              .threads = f->threads};
    memcpy(t.identity, worker_job.identity, sizeof t.identity);
    for (uint16_t d = 0; d < f->devices; d++)
        t.trace_peak += tp_program_demand(program, d)->bytes;
    status = find_bounds(cells, &t, err);
    out->events = f->events;
    memcpy(out->name, t.identity, sizeof out->name);
    return status ? status : tp_line_trace(&t, out->line, sizeof out->line, err);
}

/* A sweep replays on no GPU: the driver is not looked for. */
static struct tp_gpu no_gpu(void)
{
    struct tp_gpu gpu = {.asked = true};
    tp_fail(&gpu.why, TP_EDEVICE, "a sweep does not look for it");
    return gpu;
}

static struct tp_replay_opts options_of_replay(const struct tp_sweep_opts *o)
{
    return (struct tp_replay_opts){.open = o->open,
                                   .source = o->source,
                                   .touch = o->touch,
                                   .on_oom = o->on_oom,
                                   .occupy_scale = 1,
                                   .min_time = o->min_time,
                                   .repeat = o->repeat,
                                   .seed = o->seed,
                                   .threads = o->threads,
                                   .timeout = o->timeout,
                                   .thp = o->thp};
}

static int replay_cell(const struct tp_cells *cells, const struct tp_cell_of *of,
                       struct tp_record *out, struct tp_err *err)
{
    const struct tp_sweep_plan *plan = cells->plan;
    const struct tp_sweep_setting *setting = &plan->settings.items[of->setting];
    struct tp_job *job = &worker_job.job;
    struct tp_gpu gpu = no_gpu();
    char *strategies[] = {setting->spec};
    struct tp_replay_opts o = options_of_replay(plan->opts);
    o.strategies = (struct tp_opt_list){strategies, 1};
    o.capacity = setting->capacity;
    o.passes = plan->groups[of->group].passes;
    if (!is_of_machine(setting, &plan->groups[of->group]))
        o.touch = TOUCH_NONE;
    int status = tp_job_choose(job, &o, &gpu, err);
    if (status)
        return status;
    const struct tp_strategy_spec *spec = &job->specs[0];
    const struct tp_replay_cfg cfg = tp_job_configure(job, spec, &o, &cells->clock);
    struct tp_run *run = calloc(1, tp_run_size(tp_program_facts(job->trace.program)->devices));
    status =
        run ? tp_job_replay(job, spec, &cfg, run, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status) {
        const struct tp_result result = tp_job_result(job, spec, &o, &cfg, run);
        status = tp_record_of(&result, out, err);
    }
    free(run);
    return status;
}

int tp_cell_compute(const struct tp_cells *cells, uint64_t cell, struct tp_cell_answer *out,
                    struct tp_err *err)
{
    const struct tp_cell_of of = tp_cell_of(cells->plan, cell);
    const struct tp_sweep_setting *setting = &cells->plan->settings.items[of.setting];
    const struct tp_sweep_group *group = &cells->plan->groups[of.group];
    struct tp_record record = {0};
    int status = need_trace(cells, of.trace, err);
    if (status)
        return status;
    uint64_t began = tp_wall_ns();
    status = replay_cell(cells, &of, &record, err);
    tp_job_forget_choice(&worker_job.job);
    if (!status)
        status = tp_setting_files_same(&cells->plan->settings.files, &setting->files, err);
    struct tp_line_cell c = {.setting = setting->text,
                             .passes = group->name,
                             .tool = cells->tool,
                             .machine = is_of_machine(setting, group) ? cells->machine : "",
                             .seconds = (double)(tp_wall_ns() - began) / 1e9,
                             .record = &record};
    memcpy(c.identity, worker_job.identity, sizeof c.identity);
    if (!status)
        status = tp_cell_name(cells, c.identity, setting, group, c.name, err);
    if (!status)
        status = tp_line_cell(&c, out->line, sizeof out->line, err);
    memcpy(out->name, c.name, sizeof out->name);
    tp_record_release(&record);
    return status;
}
