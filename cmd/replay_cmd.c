/* tapool replay: opens the traces, replays every strategy on each of them and reports. */
#include "alloc/base/grow.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"
#include "cmd/jobs/bound.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/fork_replay.h"
#include "cmd/jobs/machine.h"
#include "cmd/page/frame_events.h"
#include "cmd/report/report.h"
#include "cmd/report/report_sites.h"
#include "cmd/results/condition.h"
#include "cmd/results/figures.h"
#include "cmd/results/metrics.h"
#include "cmd/results/recorded_strategy.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/replay_job.h"
#include "cmd/results/site_curve.h"
#include "cmd/stats/job_replay.h"
#include "cmd/stats/measure.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/output.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/stop.h"
#include "cmd/verify/certifier.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- replay output ---- */

static void print_text(const void *of, struct tp_page *page)
{
    const struct tp_report *r = of;
    for (size_t first = 0, planned; first < r->count; first += planned) {
        planned = tp_results_of_trace(&r->results[first], r->planned - first);
        size_t count = planned < r->count - first ? planned : r->count - first;
        if (first)
            tp_page_line(page);
        if (planned == 1)
            tp_report_detail(r, &r->results[first], page);
        if (planned == 1)
            tp_report_missing(r, r->results[first].trace, page);
        else
            tp_report_table(r, first, count, page);
    }
    if (!r->partial)
        return;
    tp_page_line(page);
    tp_page_styled(page, 0, TP_RED, r->lost ? "stopped" : "interrupted");
    tp_page_more(page, 0,
                 ": %zu of %zu replays are done; what stands above is complete as far as it goes.",
                 r->count, r->planned);
    tp_page_line(page);
}

const struct tp_exporter tp_replay_text = {.name = "text", .print = print_text};

/* Writes all that was selected. TP_ESTOP: the report was interrupted, and the printed format has
 * no place to say so. */
static int write_report(const struct tp_exports *e, const struct tp_report *r, FILE *out,
                        struct tp_err *err)
{
    int status = tp_exports_write(e, &tp_replay_exporters, r, out, err);
    if (status || !r->partial)
        return status;
    status = tp_finish_output(out, "standard output", err);
    /* the screen says it, and the caller reports a lost device */
    if (status || r->lost || !e->format)
        return status;
    return tp_fail(err, TP_ESTOP, "interrupted: %zu of %zu replays are done", r->count, r->planned);
}

static const char *const tp_replay_words[] = {TP_EXPORT_WORDS(TP_REPLAY_EXPORTS)};

static const char *const occupy_words[] = {"none", "memset", "spin", NULL};
#define ROW(member) offsetof(struct tp_replay_opts, member)
static const struct tp_opt rows[] = {
    TP_STRATEGY_ROW(ROW(strategies),
                    "strategy to replay; repeatable (default: the usual ones)\n"
                    "With options as NAME:a=1,b=2, under a label as LABEL=NAME:..."),
    TP_ALLOC_ROW(ROW(alloc)),
    TP_SOURCE_ROW(ROW(source),
                  "memory source: host, virtual or cuda\n"
                  "Source wrappers follow with '+': host+shuffle, virtual+limit:capacity=1GiB. "
                  "(default: host for host traces; for device traces cuda with a driver and a GPU, "
                  "else virtual)"),
    TP_LIST_AT("map-device", ROW(map_device), .arg = "A=B", TP_LAST(DEVICE),
               .help = "replay device A of the trace on CUDA device B; repeatable"),
    TP_CHOICE_AT("occupy", ROW(occupy), .def = "none", .choices = occupy_words, .arg = "HOW",
                 TP_LAST(DEVICE),
                 .help = "simulated GPU work per allocation on cuda\n"
                         "memset writes the block once; spin keeps the stream busy until its next "
                         "recorded event, so that frees are pending as they were"),
    TP_REAL_AT("occupy-scale", ROW(occupy_scale), .def = "1", .arg = "X", .needs = "occupy spin",
               TP_LAST(DEVICE), .help = "factor on the recorded time of --occupy spin"),
    TP_CAPACITY_ROW(ROW(capacity),
                    "memory of each device; 0: no limit\n"
                    "A strategy that needs more runs out of memory, which is a result. recorded: "
                    "the recorded device's memory, where an OOM in the trace tells it; on the "
                    "host a strategy is stopped at 16 times the requested memory and 1 GiB."),
    TP_FLAG_AT("fits", ROW(fits), .excludes = "no-fits", TP_FIRST(DEVICE),
               .help = "find the min capacity: the smallest device without OOM\n"
                       "This is the default for device traces under 1,000,000 events."),
    TP_FLAG_AT("no-fits", ROW(no_fits), TP_LAST(DEVICE), .help = "skip the min capacity"),
    TP_BOUND_ROW(ROW(bound_time), "auto", .choices = tp_auto_words,
                 .help = TP_BOUND_HELP " auto: 100ms for device traces under 1,000,000 events, "
                                       "else 0, no search"),
    TP_SET_AT("passes", ROW(passes), .choices = tp_pass_words, .excludes = "fits no-fits verify",
              TP_LAST(MEASURING),
              .help = "passes to run, separated by commas, with --json or --format csv\n"
                      "The JSON and the CSV leave out what was not measured, and so does benchfmt; "
                      "hgrm needs latency, pictures and perfetto need usage, the screen, markdown "
                      "and html need all. "
                      "usage (memory and counts), fits (needs usage), throughput, latency, verify, "
                      "count (instructions), resident (on host), mapped (of a real allocator) "
                      "(default: usage,throughput,latency,resident,mapped and those of --fits and "
                      "--verify)"),
    TP_TOUCH_ROW(ROW(touch), "\nauto: first on host, none on virtual and cuda"),
    TP_THREADS_ROW(ROW(threads)),
    TP_TIME_AT("min-time", ROW(min_time), .def = "auto", .min = 0, .max = UINT64_C(86400000000000),
               .choices = tp_auto_words, TP_FIRST(MEASURING),
               .help = "repeat a trace until its timed calls add up to TIME\n"
                       "Once for speed and once for latencies, and at most for TIME and a half. "
                       "auto: 100ms on virtual, where a time is only the strategy's bookkeeping, "
                       "150ms on host, 500ms on cuda."),
    TP_UINT_AT("repeat", ROW(repeat), .def = "1", .min = 1, .max = 1000, TP_IN(MEASURING),
               .help = "replays of a trace that is longer than --min-time"),
    TP_CHOICE_AT("on-oom", ROW(on_oom), .def = "continue", .choices = tp_oom_words, .arg = "WHAT",
                 TP_IN(DEVICE), .help = "after a failed allocation"),
    TP_FAIL_ON_ROW(ROW(fail_on), IN,
                   "exit with 1 if EXPR holds for a strategy: oom, 'peak_reserved>8GiB'\n"
                   "Metrics compare as in 'unused_reserved>=20%'; repeatable."),
    TP_THP_ROW(ROW(thp)),
    TP_GOAL_ROW(ROW(goal)),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_FLAG_AT("verify", ROW(verify), TP_FIRST(MEASURING),
               .help = "check every block first: overlap, alignment, contents, leaks\n"
                       "Repeated frees are tried too; with --threads it runs once more by those. "
                       "A violation is named by event and exits with 4."),
    TP_OPEN_ROWS(struct tp_replay_opts),
    TP_SEED_ROW(ROW(seed), "seed of the source wrapper shuffle"),
    TP_SITES_ROWS(struct tp_replay_opts, IN),
    TP_FORMAT_ROW(tp_replay, "print the result as FORMAT; --export-FORMAT FILE writes it"),
    TP_JSON_ROW(tp_replay),
    TP_REPLAY_EXPORTS(TP_EXPORT_ROW, tp_replay) TP_THEME_ROW(tp_replay),
    TP_FORCE_ROW(ROW(exports.force)),
    TP_UINT_AT("frames", ROW(frames), .def = "64", .max = TP_FRAMES_MOST, TP_LAST(OUTPUT),
               .help = "moments per device at which an export draws the heap\n"
                       "0: none; 1 to 4 count as 5: begin, end, both peaks, first failure"),
    TP_FLAG_AT("no-curves", ROW(no_curves), TP_LAST(OUTPUT),
               .help = "omit memory over time from the JSON, which is most of it"),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_COLOR_ROW(ROW(exports.color)),
    TP_VERBOSE_ROW(ROW(verbose), "print all: options, memory over time, latencies by size, ..."),
    {.name = NULL}};

struct replay {
    const struct tp_replay_opts *o;
    struct tp_gpu gpu;
    struct tp_job *jobs;
    size_t job_count;
    const char *const *paths;       /* of the traces, one for each job */
    struct tp_fidelity *fidelities; /* one for each job */
    struct tp_report report;
    /* The first strategy that failed while others were replayed, TP_OK: none did. */
    struct tp_err failed;
};

/* ---- replaying ---- */

/* Puts the path of the trace in front of an error, unless the error begins also: a damaged file
 * that is replayed in place names itself. */
static int name_trace(const struct tp_trace *trace, int status, struct tp_err *err)
{
    const char *name = strcmp(trace->path, "-") ? trace->path : "stdin";
    size_t length = strlen(name);
    if (strncmp(err->text, name, length) == 0 && err->text[length] == ':')
        return status;
    return tp_prefix(err, status, "%s", trace->path);
}

static struct tp_replay_cfg configure(const struct replay *r, const struct tp_job *job,
                                      const struct tp_strategy_spec *spec)
{
    return tp_job_configure(job, spec, r->o, &r->report.clock);
}

/* Frames of the heap to be taken for each device. */
static uint64_t frames_of(const struct replay *r)
{
    uint64_t most = tp_exports_frames(&r->o->exports, &tp_replay_exporters);
    return r->o->frames < most ? r->o->frames : most;
}

/* Prepares the result of one strategy before it is replayed. */
static int begin(const struct replay *r, const struct tp_job *job,
                 const struct tp_strategy_spec *spec, struct tp_result *out, struct tp_err *err)
{
    const struct tp_program_facts *facts = tp_program_facts(job->trace.program);
    struct tp_replay_cfg cfg = configure(r, job, spec);
    int status = tp_replay_frames_open(spec->strategy, facts, frames_of(r), &cfg.frames, err);
    *out = tp_job_result(job, spec, r->o, &cfg, calloc(1, tp_run_size(facts->devices)));
    if (!status && !out->run)
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    return status;
}

/* Gives back what begin() got. */
static void end_result(const struct replay *r, struct tp_result *result)
{
    tp_replay_frames_close(result->replayed.frames, result->facts, frames_of(r));
    free(result->run);
}

/* Replays the passes of one strategy, except those that replay_ahead() has replayed. */
static int replay(struct replay *r, const struct tp_job *job, const struct tp_strategy_spec *spec,
                  const struct tp_result *out, struct tp_err *err)
{
    struct tp_progress_line line;
    struct tp_replay_cfg cfg = configure(r, job, spec);
    cfg.frames = out->replayed.frames;
    cfg.passes &= ~out->run->passes;
    tp_progress_start(&line, spec->label);
    cfg.progress = tp_progress_show;
    cfg.progress_ctx = &line;
    int status = tp_job_replay(job, spec, &cfg, out->run, err);
    tp_progress_clear(&line);
    return status;
}

/* Replays in parallel the passes of a trace that are not timed; `results` has one element for each
 * strategy. */
static void replay_ahead(const struct replay *r, const struct tp_job *job,
                         const struct tp_result *results)
{
    struct tp_replay_cfg *cfgs = calloc(job->spec_count, sizeof *cfgs);
    struct tp_ahead *list = calloc(job->spec_count, sizeof *list);
    struct tp_progress_line line;
    size_t count = 0;
    for (size_t s = 0; cfgs && list && s < job->spec_count; s++) {
        cfgs[s] = configure(r, job, &job->specs[s]);
        cfgs[s].frames = results[s].replayed.frames;
        if (tp_ahead_passes(&cfgs[s]))
            list[count++] = (struct tp_ahead){&cfgs[s], results[s].run};
    }
    tp_progress_start(&line, job->trace.meta.name);
    tp_ahead_replay(list, count, (unsigned)tp_machine_cores_to_use(), r->o->open.max_memory,
                    tp_stop_flag(), tp_progress_show, &line);
    tp_progress_clear(&line);
    free(list);
    free(cfgs);
}

/* Opens a context on each device that is used, which stays until the end of the command. */
static int hold_devices(struct replay *r, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; i < r->job_count; i++) {
        const struct tp_job *job = &r->jobs[i];
        uint16_t devices = tp_program_facts(job->trace.program)->devices;
        for (uint16_t d = 0; !status && job->use.ordinals && d < devices; d++) {
            status = tp_cuda_hold(r->gpu.cuda, (int)job->use.ordinals[d], err);
            if (status)
                status = tp_prefix(err, status, "CUDA device %u", job->use.ordinals[d]);
        }
    }
    return status;
}

/* Whether the failure of one strategy leaves the others as they are. A real allocator is replayed
 * in a process of its own, so that all its errors are its own. */
static bool is_its_own(int status, const struct tp_strategy *s)
{
    return status == TP_EBROKEN || status == TP_ELATE ||
           (!tp_strategy_takes_source(s) && status && status != TP_ESTOP && status != TP_ENOMEM);
}

/* Notes that a strategy could not be replayed, while others are. The error of the first ends the
 * command; what is said of others is printed now. `label` is NULL where the strategy has none. */
static int note_failure(struct replay *r, const struct tp_job *job, const char *label,
                        struct tp_err *err)
{
    struct tp_report *rep = &r->report;
    struct tp_failed_row row = {.trace = &job->trace, .err = *err};
    snprintf(row.label, sizeof row.label, "%s", label ? label : "");
    int status = TP_ONE_MORE(&rep->failed, rep->failed_count, err, .what = "failed replays");
    if (status)
        return status;
    rep->failed[rep->failed_count++] = row;
    if (label && job->spec_count > 1 && !strstr(err->text, label))
        tp_prefix(err, (int)err->status, "%s", label); /* "strategy 'lib'" may be several */
    if (label)
        name_trace(&job->trace, (int)err->status, err);
    if (rep->failed_count == 1)
        r->failed = *err;
    else
        tp_error_print(err);
    return TP_OK;
}

/* Takes the result that would be the next one out of the report. */
static void leave_out(const struct replay *r, struct tp_report *report)
{
    struct tp_result *next = &report->results[report->count];
    end_result(r, next);
    report->planned--;
    memmove(next, next + 1, (report->planned - report->count) * sizeof *next);
}

/* Replays all strategies on one trace. After an error the results that are complete are kept. */
static int replay_one_job(struct replay *r, const struct tp_job *job, struct tp_err *err)
{
    struct tp_result *next = &r->report.results[r->report.count];
    int status = TP_OK;
    if (job->refused.status) {
        struct tp_err refused = job->refused;
        status = note_failure(r, job, NULL, &refused);
    }
    for (size_t s = 0; !status && s < job->spec_count; s++)
        status = begin(r, job, &job->specs[s], &next[s], err);
    if (!status)
        replay_ahead(r, job, next);
    for (size_t s = 0; !status && s < job->spec_count; s++) {
        next = &r->report.results[r->report.count];
        status = *tp_stop_flag() ? TP_ESTOP : replay(r, job, &job->specs[s], next, err);
        r->report.count += !status;
        if (!status)
            next->frames = tp_replay_frames_of(next->replayed.frames, next->facts, frames_of(r));
        if (is_its_own(status, job->specs[s].strategy)) {
            status = note_failure(r, job, job->specs[s].label, err);
            leave_out(r, &r->report);
        } else if (status && status != TP_ESTOP) {
            status = name_trace(&job->trace, status, err);
        }
    }
    return status;
}

static int replay_jobs(struct replay *r, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < r->job_count; i++)
        status = replay_one_job(r, &r->jobs[i], err);
    return status;
}

/* A format of several files can only print one result. */
static int check_exports(const struct replay *r, struct tp_err *err)
{
    const struct tp_exporter *printed = tp_replay_exporters.list[r->o->exports.format];
    if (printed->part && r->report.planned > 1)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE, "--format %s prints one result, and these are %zu",
                               printed->name, r->report.planned),
                       "one trace with one -s, or --export-%s FILE, which writes a file for each",
                       printed->name);
    return tp_exports_check(&r->o->exports, &tp_replay_exporters, &r->report, err);
}

/* Lists what will be replayed. With that the names of all files that will be written are known, and
 * are checked before any work. */
static int plan(struct replay *r, struct tp_err *err)
{
    size_t total = 0;
    for (size_t i = 0; i < r->job_count; i++)
        total += r->jobs[i].spec_count;
    r->report.results = calloc(total ? total : 1, sizeof *r->report.results);
    if (!r->report.results)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->job_count; i++)
        for (size_t s = 0; s < r->jobs[i].spec_count; s++)
            r->report.results[r->report.planned++] =
                (struct tp_result){.trace = &r->jobs[i].trace,
                                   .facts = tp_program_facts(r->jobs[i].trace.program),
                                   .spec = &r->jobs[i].specs[s]};
    return check_exports(r, err);
}

static int replay_all(struct replay *r, struct tp_err *err)
{
    int status = hold_devices(r, err);
    if (!status)
        status = replay_jobs(r, err);
    r->report.lost = status == TP_EDEVICE && r->report.count;
    r->report.partial = status == TP_ESTOP || r->report.lost;
    return status;
}

/* Looks up where in the recorded program the events happened that the reports name. */
static void find_places(struct replay *r)
{
    size_t first = 0;
    for (size_t i = 0; i < r->job_count; i++) {
        struct tp_job *job = &r->jobs[i];
        size_t end = first; /* fewer than planned where the report is partial, or some failed */
        while (end < r->report.count && r->report.results[end].trace == &job->trace)
            end++;
        const struct tp_program_facts *f = tp_program_facts(job->trace.program);
        for (uint16_t d = 0; d < f->devices; d++)
            tp_captured_want(&job->captured, tp_program_demand(job->trace.program, d)->event);
        for (size_t s = first; s < end; s++)
            tp_captured_want(&job->captured, tp_run_first_failure(r->report.results[s].run));
        for (size_t s = first; r->o->verbose && s < end; s++)
            for (uint32_t k = 0; k < r->report.results[s].run->latency.slowest_count; k++)
                tp_captured_want(&job->captured,
                                 r->report.results[s].run->latency.slowest[k].event);
        tp_captured_find(&job->captured, &job->trace, &r->o->sites,
                         tp_exports_need_stacks(&r->o->exports, &tp_replay_exporters),
                         tp_stop_asked);
        if (tp_exports_any(&r->o->exports))
            tp_site_curve_find(&job->captured, &job->trace,
                               tp_requested_curve(&r->report.results[first], end - first),
                               tp_stop_asked);
        if (tp_exports_frames(&r->o->exports, &tp_replay_exporters))
            tp_captured_find_sizes(&job->captured, &job->trace, tp_stop_asked);
        tp_frame_places_find(&job->captured, &job->trace, &r->report.results[first], end - first,
                             tp_stop_asked);
        first = end;
    }
}

/* Compares the strategy of the recorded allocator with the recording, where it replays with the
 * recorded settings. */
static void find_fidelity(struct replay *r, size_t job)
{
    const struct tp_trace *trace = &r->jobs[job].trace;
    const struct tp_recorded_strategy *by = tp_find_recorded_strategy(trace->recorded.by);
    struct tp_result *own = NULL;
    for (size_t i = 0; by && by->fidelity && !own && i < r->report.count; i++)
        if (r->report.results[i].trace == trace &&
            tp_replays_as_recorded(trace, &r->jobs[job].captured, r->report.results[i].spec))
            own = &r->report.results[i];
    if (own && by->fidelity(trace, r->paths[job], &r->o->open, false, &r->fidelities[job]))
        own->fidelity = &r->fidelities[job];
}

/* ---- reporting ---- */

/* Reports the results. After an interrupt the places of events are left out, because that would
 * read the trace again and the user wants to leave. */
static int report(struct replay *r, FILE *out, struct tp_err *err)
{
    if (r->report.partial && !r->report.count)
        return tp_fail(err, TP_ESTOP, "interrupted before the first of %zu replays was done",
                       r->report.planned);
    if (!r->report.partial)
        find_places(r);
    for (size_t i = 0; !r->report.partial && i < r->job_count; i++)
        find_fidelity(r, i);
    int status = write_report(&r->o->exports, &r->report, out, err);
    return status || r->report.partial ? status : tp_fail_on_check(&r->o->fail_on, &r->report, err);
}

/* Signals are only noted from here on, before the first handle of a device is opened. After one the
 * complete results are reported and handles are released; then the process ends by that signal. */
static int replay_and_report(struct replay *r, FILE *out, struct tp_err *err)
{
    struct tp_stop stop; /* never restored, because the process ends after this */
    tp_stop_catch(&stop, true);
    int status = replay_all(r, err);
    if (status && !r->report.partial)
        return status;
    const struct tp_err why = r->report.lost ? *err : r->failed;
    if (r->failed.status && !r->report.count && !r->report.partial) {
        *err = r->failed;
        return (int)why.status;
    }
    int reported = report(r, out, err);
    if (!why.status || reported)
        return reported;
    *err = why; /* the results are printed, now the error that ended the command is returned */
    return (int)why.status;
}

static int prepare(struct replay *r, const char *path, struct tp_err *err)
{
    struct tp_job *job = &r->jobs[r->job_count++];
    job->leaves_out = true;
    return tp_job_prepare(job, r->o, &r->gpu, path, err);
}

static int run_replay_with(struct replay *r, const struct tp_args *args, FILE *out,
                           struct tp_err *err)
{
    int status = TP_OK;
    for (int i = 0; !status && i < args->count; i++)
        status = prepare(r, args->words[i], err);
    for (size_t i = 0; !status && i < r->job_count; i++)
        status = tp_sites_check(&r->o->sites, &r->jobs[i].trace, err);
    if (!status)
        status = plan(r, err);
    if (!status)
        status = tp_clock_calibrate(&r->report.clock, err);
    return status ? status : replay_and_report(r, out, err);
}

/* Refuses contradictory options before any work is done. */
static int check_options(const struct tp_replay_opts *o, struct tp_err *err)
{
    if (o->passes & TP_PASS_FITS && !(o->passes & TP_PASS_USAGE))
        return tp_fail(err, TP_EUSAGE, "the pass 'fits' needs the pass 'usage'");
    int status = tp_fail_on_parse(&o->fail_on, err);
    if (!status && tp_exports_need_stacks(&o->exports, &tp_replay_exporters))
        status = tp_sites_have_stacks(o->sites.by, err);
    return status ? status : tp_exports_look(&o->exports, &tp_replay_exporters, err);
}

/* Passes that the command line names count, and an export that another level asks for does without
 * its file. Passes of another level are for calls that they fit. */
static int settle_passes(const struct tp_args *args, struct tp_replay_opts *o, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; o->passes && !status && i < tp_replay_index_end; i++) {
        char option[48];
        if (!tp_exports_asked(&o->exports, i) || tp_replay_export_serves(i, o->passes))
            continue;
        snprintf(option, sizeof option, "export-%s", tp_replay_exporters.list[i]->name);
        if (!tp_config_typed(args, rows, "passes"))
            o->passes = 0;
        else if (i != o->exports.format && !tp_config_typed(args, rows, option))
            o->exports.files[i] = NULL;
        else
            status = tp_replay_export_lacks(&o->exports, i, err);
    }
    return status;
}

static void release(struct replay *r)
{
    for (size_t i = 0; i < r->report.planned; i++)
        end_result(r, &r->report.results[i]);
    free(r->report.results);
    free(r->report.failed);
    for (size_t i = 0; i < r->job_count; i++)
        tp_job_release(&r->jobs[i]);
    free(r->jobs);
    free(r->fidelities);
    tp_gpu_close(&r->gpu);
}

static int run_replay(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    struct tp_replay_opts settled = *(const struct tp_replay_opts *)args->opts, *o = &settled;
    struct replay r = {.o = o,
                       .report = {.rows = rows,
                                  .opts = o,
                                  .seed = o->seed,
                                  .theme = o->exports.theme,
                                  .verbose = o->verbose,
                                  .no_curves = o->no_curves}};
    if (!args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "replay needs a trace"),
                       "tapool replay sample:sqlite replays a shipped one");
    int status = settle_passes(args, o, err);
    if (!status)
        status = check_options(o, err);
    if (status)
        return status;
    r.jobs = calloc((size_t)args->count, sizeof *r.jobs);
    r.fidelities = calloc((size_t)args->count, sizeof *r.fidelities);
    r.paths = (const char *const *)args->words;
    status = r.jobs && r.fidelities ? run_replay_with(&r, args, out, err)
                                    : tp_fail(err, TP_ENOMEM, "out of memory");
    release(&r);
    return status;
}

const struct tp_command tp_command_replay = {
    .name = "replay",
    .usage = "replay TRACE... [-s STRATEGY]... [OPTION]...",
    .summary = "replay a trace through strategies: time, memory, fragmentation",
    .about =
        "Replay a trace through allocator strategies and report time, memory and fragmentation. "
        "One strategy gives a detailed screen; several, or none named, give one table. TRACE is a "
        "file, '-' for standard input, or sample:NAME for a shipped one.",
    .opts_size = sizeof(struct tp_replay_opts),
    .options = rows,
    .run = run_replay,
};
