/* tapool replay: opens the traces, plays every strategy on each, reports. */
#include "cmd/child.h"
#include "cmd/cli.h"
#include "cmd/figures.h"
#include "cmd/open_trace.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/registry.h"
#include "cmd/report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_REPLAYS = 5, FITS_EVENTS = 1000000, LATENCY_OPERATIONS = 10000000 };
enum { FORMAT_TEXT, FORMAT_JSON };
enum { TOUCH_AUTO };
enum { OOM_CONTINUE, OOM_STOP };

struct replay_opts {
    struct tp_opt_list strategies, fail_on;
    struct tp_open_opts open;
    char *source, *export_json;
    uint32_t touch, on_oom, format, color;
    uint64_t min_time, repeat, seed, capacity;
    bool json, force, verbose, bytes, fits, no_fits, verify;
};

static const char *const touch_words[] = {"auto", "none", "first", "all", NULL};
static const char *const oom_words[] = {"continue", "stop", NULL};
static const char *const format_words[] = {"text", "json", NULL};
static const char *const capacity_words[] = {"recorded", NULL};
static const char *const color_words[] = {"never", "always", "auto", NULL};

#define ROW(member) offsetof(struct replay_opts, member)
static const struct tp_opt rows[] = {
    {.name = "strategy",
     .letter = 's',
     .type = TP_OPT_LIST,
     .offset = ROW(strategies),
     .arg = "NAME[:OPTS]",
     .help = "a strategy, with options as name:a=1,b=2, under a label as "
             "label=name:...; may be repeated; without it the usual set is played"},
    {.name = "source",
     .type = TP_OPT_TEXT,
     .offset = ROW(source),
     .arg = "NAME",
     .help =
         "where memory comes from: host or virtual; decorators follow with '+', such as "
         "host+shuffle or virtual+limit:capacity=1GiB (default: host for host traces, virtual for "
         "device traces)"},
    {.name = "capacity",
     .type = TP_OPT_SIZE,
     .offset = ROW(capacity),
     .def = "recorded",
     .max = UINT64_C(1) << 60,
     .choices = capacity_words,
     .arg = "SIZE",
     .help = "what the device has, each of them; 0 is no limit. Out of memory is then an answer. "
             "recorded: what the recorded device had, where an out of memory in the trace tells"},
    {.name = "fits",
     .type = TP_OPT_FLAG,
     .offset = ROW(fits),
     .help =
         "find the smallest device on which no allocation fails (done without asking for device "
         "traces under 1,000,000 events)"},
    {.name = "no-fits", .type = TP_OPT_FLAG, .offset = ROW(no_fits), .help = "do not look for it"},
    {.name = "touch",
     .type = TP_OPT_CHOICE,
     .offset = ROW(touch),
     .def = "auto",
     .choices = touch_words,
     .arg = "HOW",
     .help = "what is written into a new block inside the timed "
             "call; auto is first on host and none on virtual"},
    {.name = "min-time",
     .type = TP_OPT_DURATION,
     .offset = ROW(min_time),
     .def = "500ms",
     .min = 0,
     .max = UINT64_C(86400000000000),
     .arg = "TIME",
     .help = "a shorter trace is repeated for so long, once for speed and once for latencies"},
    {.name = "repeat",
     .type = TP_OPT_UINT,
     .offset = ROW(repeat),
     .def = "1",
     .min = 1,
     .max = 1000,
     .arg = "N",
     .help = "how often a trace longer than --min-time is played"},
    {.name = "on-oom",
     .type = TP_OPT_CHOICE,
     .offset = ROW(on_oom),
     .def = "continue",
     .choices = oom_words,
     .arg = "WHAT",
     .help = "after a failed allocation"},
    {.name = "fail-on",
     .type = TP_OPT_LIST,
     .offset = ROW(fail_on),
     .arg = "WHAT",
     .help = "exit with 1 when it happens: oom (an allocation failed)"},
    {.name = "verify",
     .type = TP_OPT_FLAG,
     .offset = ROW(verify),
     .help = "first play once beside a shadow that checks every block: overlap, alignment, "
             "contents, repeated frees, leaks; what it finds is named by event (exit 4)"},
    TP_OPEN_ROWS(struct replay_opts),
    {.name = "seed",
     .type = TP_OPT_UINT,
     .offset = ROW(seed),
     .def = "1",
     .max = UINT64_MAX - 1,
     .arg = "N",
     .help = "of everything random (the shuffle decorator)"},
    {.name = "format",
     .type = TP_OPT_CHOICE,
     .offset = ROW(format),
     .def = "text",
     .choices = format_words,
     .arg = "FORMAT",
     .help = "what is printed"},
    {.name = "json", .type = TP_OPT_FLAG, .offset = ROW(json), .help = "the same as --format json"},
    {.name = "export-json",
     .type = TP_OPT_TEXT,
     .offset = ROW(export_json),
     .arg = "FILE",
     .help = "write the JSON result to FILE as well"},
    {.name = "force",
     .letter = 'f',
     .type = TP_OPT_FLAG,
     .offset = ROW(force),
     .help = "overwrite FILE"},
    {.name = "bytes", .type = TP_OPT_FLAG, .offset = ROW(bytes), .help = "sizes in full"},
    {.name = "color",
     .type = TP_OPT_CHOICE,
     .offset = ROW(color),
     .def = "auto",
     .choices = color_words,
     .arg = "WHEN",
     .help = "colour"},
    {.name = "verbose",
     .letter = 'v',
     .type = TP_OPT_FLAG,
     .offset = ROW(verbose),
     .help = "everything: options, exact bytes, hashes, latencies by size, the slowest calls"},
    {.name = NULL}};

/* What one trace needs beside itself; lives as long as its results. */
struct job {
    struct tp_trace trace;
    struct tp_captured captured;
    struct tp_strategy_spec *specs;
    size_t spec_count;
    struct tp_source_spec source;
};

struct replay {
    const struct replay_opts *o;
    struct job *jobs;
    size_t job_count;
    struct tp_report report;
};

/* ---- preparing ---- */

static int add_strategy(struct job *job, const char *text, struct tp_err *err)
{
    int status = tp_strategy_spec_parse(&job->specs[job->spec_count], text, err);
    job->spec_count += status == TP_OK;
    return status;
}

static bool is_limited(const struct tp_source_spec *source)
{
    for (uint32_t i = 1; i < source->count; i++)
        if (source->layers[i].ops == &tp_source_limit)
            return true;
    return false;
}

/* Those named, or the usual set; a real allocator has its own memory, which nothing can limit, and
 * one heap, whatever devices there are. */
static size_t list_strategies(const struct job *job, const struct replay_opts *o,
                              const char **names, size_t max)
{
    bool device = tp_program_facts(job->trace.program)->kind == TP_KIND_DEVICE;
    const struct tp_strategy *const *usual = device ? tp_default_device : tp_default_host;
    bool own = job->source.layers[0].ops->flags & TP_SRC_HOST && !is_limited(&job->source) &&
               tp_program_facts(job->trace.program)->devices == 1;
    size_t count = 0;
    for (size_t i = 0; i < o->strategies.count; i++)
        names[count++] = o->strategies.items[i];
    for (size_t i = 0; !o->strategies.count && usual[i] && count < max; i++)
        if (own || !(usual[i]->caps & TP_CAP_FOREIGN))
            names[count++] = usual[i]->name;
    return count;
}

static int parse_strategies(struct job *job, const struct replay_opts *o, struct tp_err *err)
{
    size_t max = o->strategies.count ? o->strategies.count : TP_DEFAULT_MAX;
    const char **names = calloc(max, sizeof *names);
    job->specs = calloc(max, sizeof *job->specs);
    if (!job->specs || !names) {
        free(names);
        return tp_fail(err, TP_ENOMEM, "out of memory");
    }
    int status = TP_OK;
    for (size_t count = list_strategies(job, o, names, max); !status && job->spec_count < count;)
        status = add_strategy(job, names[job->spec_count], err);
    free(names);
    if (!status)
        tp_strategy_specs_label(job->specs, job->spec_count);
    return status;
}
/* Everything that can be wrong is found before the first replay, which may take long. */
static int check_strategies(const struct job *job, struct tp_err *err)
{
    const struct tp_source_ops *base = job->source.layers[0].ops;
    for (size_t i = 0; i < job->spec_count; i++) {
        const struct tp_strategy *s = job->specs[i].strategy;
        if (s->caps & TP_CAP_FOREIGN && !(base->flags & TP_SRC_HOST))
            return tp_hint(err,
                           tp_fail(err, TP_EUSAGE,
                                   "'%s' is an allocator of this machine's memory: it "
                                   "cannot run on source '%s'",
                                   s->name, job->source.name),
                           "--source host plays the trace in this machine's memory");
        if (s->caps & TP_CAP_FOREIGN && is_limited(&job->source))
            return tp_fail(err, TP_EUSAGE,
                           "'%s' takes its memory from the system itself: no capacity can limit it",
                           s->name);
        if (s->caps & TP_CAP_FOREIGN && tp_program_facts(job->trace.program)->devices > 1)
            return tp_fail(err, TP_EUSAGE,
                           "'%s' has one heap for the whole process: it cannot play the devices of "
                           "this trace apart",
                           s->name);
        int status = s->caps & TP_CAP_FOREIGN ? TP_OK : tp_strategy_fits(s, base, err);
        if (status)
            return status;
    }
    return TP_OK;
}

static int prepare(struct job *job, const struct replay_opts *o, const char *path,
                   struct tp_err *err)
{
    int status = tp_open_trace(path, &o->open, false, &job->trace, err);
    if (status)
        return status;
    status = tp_captured_scan(&job->trace, &job->captured, err);
    if (status)
        return status;
    bool device = tp_program_facts(job->trace.program)->kind == TP_KIND_DEVICE;
    const char *source = o->source ? o->source : device ? "virtual" : "host";
    uint64_t capacity = o->capacity;
    if (capacity == TP_OPT_KEYWORD(0)) /* as recorded */
        capacity = device && !o->source ? tp_captured_capacity(&job->captured) : 0;
    char limited[TP_SPEC_TEXT];
    snprintf(limited, sizeof limited, capacity ? "%s+limit:capacity=%llu" : "%s", source,
             (unsigned long long)capacity);
    status = tp_source_spec_parse(&job->source, limited, err);
    if (!status)
        status = parse_strategies(job, o, err);
    return status ? status : check_strategies(job, err);
}

static void release_job(struct job *job)
{
    for (size_t i = 0; i < job->spec_count; i++)
        tp_strategy_spec_release(&job->specs[i]);
    free(job->specs);
    tp_source_spec_release(&job->source);
    tp_captured_release(&job->captured);
    tp_trace_close(&job->trace);
}

/* ---- playing ---- */

static enum tp_touch touch_of(const struct replay_opts *o, const struct job *job,
                              const struct tp_strategy *s)
{
    bool host = s->caps & TP_CAP_FOREIGN || job->source.layers[0].ops->flags & TP_SRC_HOST;
    if (!host)
        return TP_TOUCH_NONE;
    return o->touch == TOUCH_AUTO ? TP_TOUCH_FIRST : (enum tp_touch)(o->touch - 1);
}

static unsigned passes_of(const struct replay_opts *o, const struct tp_program_facts *facts)
{
    bool few = facts->kind == TP_KIND_DEVICE && facts->events < FITS_EVENTS;
    bool fits = o->fits || (few && !o->no_fits);
    return TP_PASS_ALL | (fits ? TP_PASS_FITS : 0u) | (o->verify ? TP_PASS_VERIFY : 0u);
}

/* A file that is played in place names itself when it turns out to be damaged. */
static int name_trace(const struct job *job, int status, struct tp_err *err)
{
    const char *name = strcmp(job->trace.path, "-") ? job->trace.path : "stdin";
    size_t length = strlen(name);
    if (strncmp(err->text, name, length) == 0 && err->text[length] == ':')
        return status;
    return tp_prefix(err, status, "%s", job->trace.path);
}

static int play(struct replay *r, const struct job *job, const struct tp_strategy_spec *spec,
                struct tp_result *out, struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(job->trace.program);
    struct tp_progress_line line;
    struct tp_replay_cfg cfg = {.program = job->trace.program,
                                .strategy = spec->strategy,
                                .strategy_opts = spec->opts,
                                .clock = &r->report.clock,
                                .touch = touch_of(r->o, job, spec->strategy),
                                .passes = passes_of(r->o, facts),
                                .min_time_ns = r->o->min_time,
                                .min_replays = MIN_REPLAYS,
                                .latency_operations = LATENCY_OPERATIONS,
                                .repeat = (uint32_t)r->o->repeat,
                                .stop_on_oom = r->o->on_oom == OOM_STOP,
                                .seed = r->o->seed,
                                .nth = (uint32_t)(spec - job->specs),
                                .progress = tp_progress_show,
                                .progress_ctx = &line};
    *out = (struct tp_result){.trace = &job->trace,
                              .facts = facts,
                              .spec = spec,
                              .source = &job->source,
                              .captured = &job->captured,
                              .touch = cfg.touch,
                              .run = calloc(1, tp_run_size(facts->devices))};
    if (!out->run)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    tp_progress_start(&line, spec->label);
    int status;
    if (spec->strategy->caps & TP_CAP_FOREIGN) {
        status = tp_child_replay(&cfg, spec, out->run, err);
    } else {
        cfg.layer_count = job->source.count;
        memcpy(cfg.layers, job->source.layers, sizeof cfg.layers);
        status = tp_replay(&cfg, out->run, err);
    }
    tp_progress_clear(&line);
    return status ? name_trace(job, status, err) : TP_OK;
}

static int play_all(struct replay *r, struct tp_err *err)
{
    size_t total = 0;
    for (size_t i = 0; i < r->job_count; i++)
        total += r->jobs[i].spec_count;
    r->report.results = calloc(total ? total : 1, sizeof *r->report.results);
    if (!r->report.results)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->job_count; i++) {
        for (size_t s = 0; s < r->jobs[i].spec_count; s++) {
            struct tp_result *out = &r->report.results[r->report.count++];
            int status = play(r, &r->jobs[i], &r->jobs[i].specs[s], out, err);
            if (status)
                return status;
        }
    }
    return TP_OK;
}

/* Where in the recorded program the events happened that the reports name. */
static void find_places(struct replay *r)
{
    size_t first = 0;
    for (size_t i = 0; i < r->job_count; i++) {
        struct job *job = &r->jobs[i];
        const struct tp_program_facts *f = tp_program_facts(job->trace.program);
        for (uint16_t d = 0; d < f->devices; d++)
            tp_captured_want(&job->captured, tp_program_demand(job->trace.program, d)->event);
        for (size_t s = first; s < first + job->spec_count; s++)
            tp_captured_want(&job->captured, tp_run_first_failure(r->report.results[s].run));
        for (size_t s = first; r->o->verbose && s < first + job->spec_count; s++)
            for (uint32_t k = 0; k < r->report.results[s].run->latency.slowest_count; k++)
                tp_captured_want(&job->captured,
                                 r->report.results[s].run->latency.slowest[k].event);
        tp_captured_find(&job->captured, &job->trace);
        first += job->spec_count;
    }
}

/* ---- reporting ---- */

static void print_text(const struct replay *r, FILE *out)
{
    struct tp_page page;
    tp_page_init(&page, out, r->o->color);
    page.exact = r->o->bytes;
    size_t first = 0;
    for (size_t i = 0; i < r->job_count; i++) {
        size_t count = r->jobs[i].spec_count;
        if (i)
            tp_page_line(&page);
        if (count == 1)
            tp_report_detail(&r->report, &r->report.results[first], &page);
        else
            tp_report_table(&r->report, first, count, &page);
        first += count;
    }
}

static int export_json(const struct replay *r, struct tp_err *err)
{
    struct tp_output file;
    if (!r->o->export_json)
        return TP_OK;
    int status = tp_output_open(&file, r->o->export_json, r->o->force, err);
    if (status)
        return status;
    status = tp_report_json(&r->report, file.file, err);
    if (!status)
        return tp_output_commit(&file, err);
    tp_output_discard(&file);
    return status;
}

/* After the report: what the user asked to fail on. */
static int check_fail_on(const struct replay *r, struct tp_err *err)
{
    for (size_t i = 0; r->o->fail_on.count && i < r->report.count; i++) {
        const struct tp_result *result = &r->report.results[i];
        uint64_t failed = tp_run_failed(result->run);
        if (failed)
            return tp_fail(err, TP_EFOUND, "oom: '%s' failed %s of the allocations of %s",
                           result->spec->label, tp_count(failed).s, result->trace->file);
    }
    return TP_OK;
}

static int run_replay_with(struct replay *r, const struct tp_args *args, FILE *out,
                           struct tp_err *err)
{
    int status = TP_OK;
    for (int i = 0; !status && i < args->count; i++)
        status = prepare(&r->jobs[r->job_count++], r->o, args->words[i], err);
    if (!status)
        status = tp_clock_calibrate(&r->report.clock, err);
    if (!status)
        status = play_all(r, err);
    if (!status)
        find_places(r);
    if (!status)
        status = export_json(r, err);
    if (status)
        return status;
    if (r->o->json || r->o->format == FORMAT_JSON)
        status = tp_report_json(&r->report, out, err);
    else
        print_text(r, out);
    return status ? status : check_fail_on(r, err);
}

/* Contradictions, found before any work. */
static int check_options(const struct replay_opts *o, struct tp_err *err)
{
    for (size_t i = 0; i < o->fail_on.count; i++)
        if (strcmp(o->fail_on.items[i], "oom"))
            return tp_hint(err,
                           tp_fail(err, TP_EUSAGE, "'%s' is nothing that --fail-on knows",
                                   o->fail_on.items[i]),
                           "--fail-on oom: an allocation failed");
    if (o->fits && o->no_fits)
        return tp_fail(err, TP_EUSAGE, "--fits and --no-fits exclude each other");
    return o->export_json ? tp_output_check(o->export_json, o->force, err) : TP_OK;
}

static int run_replay(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct replay_opts *o = args->opts;
    struct replay r = {
        .o = o, .report = {.seed = o->seed, .min_time_ns = o->min_time, .verbose = o->verbose}};
    if (!args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "replay needs a trace"),
                       "tapool replay sample:sqlite plays a shipped one");
    int status = check_options(o, err);
    if (status)
        return status;
    r.jobs = calloc((size_t)args->count, sizeof *r.jobs);
    status =
        r.jobs ? run_replay_with(&r, args, out, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < r.report.count; i++)
        free(r.report.results[i].run);
    free(r.report.results);
    for (size_t i = 0; i < r.job_count; i++)
        release_job(&r.jobs[i]);
    free(r.jobs);
    return status;
}

const struct tp_command tp_command_replay = {
    .name = "replay",
    .usage = "replay TRACE... [-s STRATEGY]... [OPTION]...",
    .summary = "plays a trace against strategies and reports time, memory and fragmentation",
    .about =
        "Plays each trace against each strategy and says how long every call took, how much "
        "memory was held at the peak, and how much of it was wasted. With one strategy: a "
        "screen about it; with several, or none named: one table.\n\nTRACE is a file, '-' for "
        "standard input, or sample:NAME for a shipped one. A replay is one measurement: memory "
        "and counts are exact, times have their interval beside them.",
    .opts_size = sizeof(struct replay_opts),
    .options = rows,
    .run = run_replay,
};
