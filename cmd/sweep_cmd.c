/* tapool sweep: traces times settings, computed once each, and the answers from all of them. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/bound.h"
#include "cmd/stats/measure.h"
#include "cmd/sweep/store.h"
#include "cmd/sweep/sweep_call.h"
#include "cmd/ui/exports.h"

#include <stdlib.h>
#include <string.h>

enum { TP_EXPORT_INDEXES(tp_sweep, TP_SWEEP_EXPORTS) };
static const char *const tp_sweep_words[] = {TP_EXPORT_WORDS(TP_SWEEP_EXPORTS)};

extern const struct tp_command tp_command_sweep;

#define ROW(member) offsetof(struct tp_sweep_opts, member)
static const struct tp_opt rows[] = {
    TP_LIST_AT("trace", ROW(traces), .from = TP_OPT_USER, .arg = "GLOB", TP_FIRST(TRACES),
               .help = "traces: files, globs, sample:NAME; repeatable\n"
                       "The same as the words of the command line. In a plan a relative name "
                       "begins at the plan's folder."),
    TP_LIST_AT("exclude", ROW(exclude), .from = TP_OPT_USER, .arg = "GLOB", TP_IN(TRACES),
               .help = "leave out traces whose path or name matches; repeatable"),
    TP_STRATEGY_ROW(ROW(strategies),
                    "strategy with its grid; repeatable\n"
                    "NAME:option=value|value,... tries every combination; default leaves an option "
                    "out. torch:conf=tune and malloc:tune have the settings of 'tapool tune'."),
    TP_LIST_AT("capacity", ROW(capacities), .arg = "SIZE", TP_FIRST(DEVICE),
               .help = "memory of each device; repeatable, each is a setting of its own\n"
                       "0: no limit. (default: as recorded)"),
    TP_SOURCE_ROW(ROW(source), "memory source (default: as for tapool replay)"),
    TP_SET_AT("passes", ROW(passes), .choices = tp_pass_words, .def = "usage", TP_FIRST(MEASURING),
              .help = "passes to run, separated by commas\n"
                      "throughput and latency run after all others, one replay at a time, pinned "
                      "to a core."),
    TP_TEXT_AT("store", ROW(store), .letter = 'o', .from = TP_OPT_USER, .arg = "FILE",
               TP_FIRST(OUTPUT),
               .help = "store of the results (default: PLAN.sqlite, or sweep.sqlite)"),
    TP_UINT_AT("jobs", ROW(jobs), .letter = 'j', .def = "auto", .min = 1, .max = 1024,
               .choices = tp_auto_words, TP_FIRST(MEASURING),
               .help = "cells to compute side by side (auto: one per core)"),
    TP_TEXT_AT("shard", ROW(shard), .from = TP_OPT_CALL, .arg = "I/N", TP_FIRST(OTHER),
               .help = "compute share I of N, from 1, into PLAN.shard-I-of-N.sqlite\n"
                       "The shares depend only on the traces and the plan."),
    TP_TEXT_AT("costs", ROW(costs), .from = TP_OPT_USER, .arg = "STORE", TP_LAST(OTHER),
               .help = "balance shards by the times of an earlier store"),
    TP_FLAG_AT("merge", ROW(merge), .from = TP_OPT_CALL, TP_FIRST(OTHER), .excludes = "shard",
               .help = "join the stores of all shards, or those that are named"),
    TP_FLAG_AT("partial", ROW(partial), .from = TP_OPT_CALL, .needs = "merge", TP_LAST(OTHER),
               .help = "join the shards that are there"),
    TP_FLAG_AT("dry-run", ROW(dry_run), .from = TP_OPT_CALL, .letter = 'n', TP_FIRST(OTHER),
               .excludes = "merge",
               .help = "print cells, time and disk to expect, and compute nothing"),
    TP_FLAG_AT("report", ROW(report), .from = TP_OPT_CALL, TP_FIRST(OUTPUT),
               .excludes = "merge shard dry-run", .help = "print the answers from the store"),
    TP_FLAG_AT("cite", ROW(cite), .from = TP_OPT_CALL, TP_IN(OUTPUT),
               .excludes = "report merge shard dry-run",
               .help = "print a BibTeX entry and a line for an appendix"),
    TP_LIST_AT("metric", ROW(metrics), .arg = "NAME", TP_FIRST(OUTPUT),
               .help = "metric of the answers; repeatable (default: peak_reserved)\n"
                       "'tapool help metrics compared' lists all."),
    TP_BOUND_ROW(ROW(bound_time), "auto", .choices = tp_auto_words,
                 .help = TP_BOUND_HELP " auto: 100ms for device traces under 1,000,000 events, "
                                       "else 0, no search"),
    TP_TOUCH_ROW(ROW(touch), "\nauto: first on host, none on virtual and cuda"),
    TP_THREADS_ROW(ROW(threads)),
    TP_TIME_AT("min-time", ROW(min_time), .def = "auto", .min = 0, .max = UINT64_C(86400000000000),
               .choices = tp_auto_words, TP_IN(MEASURING),
               .help = "repeat a trace until its timed calls add up to TIME"),
    TP_UINT_AT("repeat", ROW(repeat), .def = "1", .min = 1, .max = 1000, TP_IN(MEASURING),
               .help = "replays of a trace that is longer than --min-time"),
    TP_CHOICE_AT("on-oom", ROW(on_oom), .def = "continue", .choices = tp_oom_words, .arg = "WHAT",
                 TP_IN(DEVICE), .help = "after a failed allocation"),
    TP_THP_ROW(ROW(thp)),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_OPEN_ROWS(struct tp_sweep_opts),
    TP_SEED_ROW(ROW(seed), "seed of the source wrapper shuffle"),
    TP_EXPORT_ROWS(tp_sweep, TP_SWEEP_EXPORTS),
    TP_THEME_ROW(tp_sweep),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_COLOR_ROW(ROW(exports.color)),
    {.name = NULL}};

static int report(const struct tp_sweep_call *c, FILE *out, struct tp_err *err)
{
    struct tp_sweep_asking asking = {.opts = c->o, .rows = rows, .path = c->path};
    int status = tp_store_open(c->path, &asking.store, err);
    if (!status)
        status = c->o->cite ? tp_sweep_print_cite(asking.store, out, err)
                            : tp_sweep_report(&asking, out, err);
    tp_store_drop(asking.store);
    return status;
}

static int report_stored(struct tp_sweep_call *c, FILE *out, struct tp_err *err)
{
    int status = tp_sweep_call_find(c, err);
    return status ? status : report(c, out, err);
}

/* The error of a failed cell is the last thing that is said. */
static int compute(struct tp_sweep_call *c, FILE *out, struct tp_err *err)
{
    struct tp_err failed;
    bool exports = tp_exports_any(&c->o->exports);
    int status = exports ? tp_exports_look(&c->o->exports, &tp_sweep_exporters, err) : TP_OK;
    if (!status)
        status = tp_sweep_call_compute(c, exports ? NULL : out, &failed, err);
    if (!status && exports)
        status = report(c, out, err);
    if (!status && failed.status) {
        *err = failed;
        status = (int)failed.status;
    }
    return status;
}

static int run_sweep(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct tp_sweep_opts *o = args->opts;
    struct tp_sweep_call call = {.o = o, .command = &tp_command_sweep, .args = args};
    int (*run)(struct tp_sweep_call *, FILE *, struct tp_err *) = compute;
    if (!args->count && !o->traces.count && !o->report && !o->cite)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "sweep needs a plan or traces"),
                       "tapool sweep 'traces/*.json' -s 'arena:arena_size=1MiB|4MiB' -s lru");
    if (o->report || o->cite)
        run = report_stored;
    else if (o->merge)
        run = tp_sweep_call_merge;
    else if (o->dry_run)
        run = tp_sweep_call_estimate;
    int status = run(&call, out, err);
    free(call.path);
    return status;
}

const struct tp_command tp_command_sweep = {
    .name = "sweep",
    .usage = "sweep PLAN|TRACE... [OPTION]...",
    .summary = "replay many traces under many settings, and say which are best",
    .about =
        "Replay each trace under each setting of a plan and keep every result in a store. A "
        "sweep that was interrupted goes on where it was. A plan is a file .ini with a section "
        "[sweep]: 'tapool help sweeps'.",
    .opts_size = sizeof(struct tp_sweep_opts),
    .options = rows,
    .run = run_sweep,
};
