/* tapool strategies: lists the strategies, where they run and what they resemble; with a name,
 * shows the options of one. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/child.h"
#include "cmd/jobs/conformance_run.h"
#include "cmd/jobs/gpus.h"
#include "cmd/jobs/libraries.h"
#include "cmd/jobs/spec.h"
#include "cmd/ui/option_words.h"
#include "cmd/ui/stop.h"
#include "cmd/ui/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- conformance text ---- */

/* The conformance suite on a screen: a line for each check. */

enum { VERDICT = 2, CHECK = 10, PLACE = 47 };

struct printing {
    struct tp_page page;
    unsigned failed;
};

static void print_result(void *ctx, const struct tp_conformance_result *r)
{
    struct printing *p = ctx;
    bool passed = r->why.status == TP_OK;
    p->failed += !passed;
    tp_page_at(&p->page, VERDICT, "%s", passed ? "ok" : "FAILED");
    tp_page_at(&p->page, CHECK, "%s", r->check->name);
    tp_page_at(&p->page, PLACE, "%s", r->on->name);
    tp_page_line(&p->page);
    if (!passed)
        tp_page_put(&p->page, CHECK, "%s", r->why.text);
}

/* Replays while signals are only noted, so that a child does not outlive its line. */
static int replay(const struct tp_strategy_spec *spec, const char *options, struct printing *p,
                  unsigned *replayed, struct tp_err *err)
{
    const struct tp_conformance_case one = {spec->strategy, options};
    struct tp_stop signals;
    tp_stop_catch(&signals, false);
    int status = tp_conformance_run(&one, print_result, p, tp_stop_flag(), replayed, err);
    tp_stop_restore(&signals);
    return status;
}

/* Replays the suite on the strategy and prints what comes of each check. TP_EBROKEN: a check
 * failed.
 */
static int conformance_print(const struct tp_strategy_spec *spec, FILE *out, struct tp_err *err)
{
    struct printing p = {.failed = 0};
    char options[TP_SPEC_TEXT];
    unsigned replayed = 0;
    if (!tp_opts_text(spec->strategy->options, spec->opts, options, sizeof options))
        return tp_fail(err, TP_EUSAGE, "the options of '%s' are too long", spec->label);
    tp_page_init(&p.page, out, 0);
    tp_page_put(&p.page, 0, "%s: random operations, checked against a model", spec->strategy->name);
    tp_page_line(&p.page);
    int status = replay(spec, options, &p, &replayed, err);
    if (status)
        return status;
    tp_page_line(&p.page);
    if (spec->strategy->caps & TP_CAP_ASYNC)
        tp_page_put(&p.page, 0, "Driver pools run only on a GPU, not here.");
    tp_page_put(&p.page, 0, "%u of %s passed.", replayed - p.failed,
                tp_plural(replayed, "check").s);
    if (!p.failed)
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EBROKEN, "strategy '%s' fails %u of %s", spec->strategy->name,
                           p.failed, tp_plural(replayed, "check").s),
                   "run it again: seeds are fixed, so a check fails at the same step, except with "
                   "several threads");
}

enum { NAME = 2, SUMMARY = 19, RUNS = 37, GAP = 2, DEFAULT = 24, HELP = 34, WHY = 700 };

struct strategies_opts {
    uint32_t color;
    bool conformance;
};

static const char *const group_names[] = {[TP_GROUP_STRATEGY] = "strategies of tapool",
                                          [TP_GROUP_REAL] = "real allocators",
                                          [TP_GROUP_YARDSTICK] = "reference"};

/* Whether the strategy needs the memory pools of a GPU driver. */
static bool needs_gpu(const struct tp_strategy *s)
{
    return (s->caps & TP_CAP_ASYNC) != 0;
}

/* Writes the sources on which the strategy can run on this machine; "-" if there are none. */
static void runs_on(const struct tp_strategy *s, const struct tp_gpu *gpu, char *out, size_t size)
{
    struct tp_str list = tp_str_in(out, size);
    for (size_t i = 0; tp_sources[i]; i++)
        if (!(tp_sources[i]->flags & TP_SRC_WRAPPER) &&
            (gpu->cuda || !(tp_sources[i]->flags & TP_SRC_DEVICE)) &&
            tp_strategy_fits(s, tp_sources[i], NULL) == TP_OK)
            tp_str_item(&list, " ", "%s", tp_sources[i]->name);
    if (!list.length || (needs_gpu(s) && !tp_gpu_has_pools(gpu)))
        snprintf(out, size, "-");
}

/* Writes "not here: libcuda.so.1 was not found", or "" if the strategy can run here. */
static void not_here(const struct tp_strategy *s, const struct tp_gpu *gpu, char *out, size_t size)
{
    out[0] = '\0';
    if (!needs_gpu(s) || tp_gpu_has_pools(gpu))
        return;
    snprintf(out, size, "not here: %s%s", gpu->cuda ? "no memory pools: " : "",
             gpu->cuda ? tp_gpu_info(gpu)->devices[0].no_pools : tp_gpu_why(gpu));
}

/* The start of the last column, after the longest list of sources. */
static int resembles_column(const struct tp_gpu *gpu)
{
    int widest = 0;
    for (size_t i = 0; tp_strategies[i]; i++) {
        char where[64];
        runs_on(tp_strategies[i], gpu, where, sizeof where);
        widest = tp_text_width(where) > widest ? tp_text_width(where) : widest;
    }
    return RUNS + widest + GAP;
}

/* Writes the summary. For a malloc it is the name of the library that answers in this process. */
static void summary_of(const struct tp_strategy *s, char *out, size_t size)
{
    if (s->caps & TP_CAP_PRELOAD || !tp_strategy_library(s, out, size))
        snprintf(out, size, "%s", s->summary);
}

/* Prints a library of this machine, or why it cannot be replayed. TP_ESTOP: interrupted. */
static int print_library(struct tp_page *page, const struct tp_strategy *s, const char *name,
                         int resembles)
{
    char text[64], library[TP_RUN_LIBRARY] = "", path[TP_LIBRARY_PATH];
    struct tp_strategy_spec spec;
    struct tp_err err = {0};
    snprintf(text, sizeof text, "%s:%s", s->name, name);
    if (tp_strategy_spec_parse(&spec, text, &err) || tp_library_find(name, path, &err))
        return TP_OK;
    int status = tp_child_library(&spec, tp_stop_flag(), library, sizeof library, &err);
    tp_strategy_spec_release(&spec);
    if (status == TP_ESTOP)
        return status;
    const char *file = strrchr(path, '/');
    const char *version = tp_library_version(library);
    tp_page_at(page, NAME, "%s", text);
    tp_page_at(page, SUMMARY, "%s", *version ? version : "-");
    tp_page_row(page, RUNS, status ? "-" : "host", resembles, "%s%s", status ? "not here: " : "",
                status ? err.text : file + 1);
    return TP_OK;
}

static int print_libraries(struct tp_page *page, const struct tp_strategy *s, int resembles)
{
    int status = TP_OK;
    const struct tp_library *here[TP_LIBRARIES_MAX];
    size_t count = tp_libraries_here(here);
    tp_page_at(page, NAME, "%s:PATH", s->name);
    tp_page_at(page, SUMMARY, "%s", s->summary);
    tp_page_row(page, RUNS, "host", resembles, "%s", s->resembles);
    for (size_t i = 0; !status && i < count; i++)
        status = print_library(page, s, here[i]->name, resembles);
    return status;
}

static int print_group(struct tp_page *page, enum tp_group group, const struct tp_gpu *gpu)
{
    int status = TP_OK;
    bool heads = group == TP_GROUP_STRATEGY;
    int resembles = resembles_column(gpu);
    tp_page_at(page, 0, "%s", group_names[group]);
    if (heads)
        tp_page_at(page, RUNS, "runs here");
    if (heads)
        tp_page_at(page, resembles, "resembles");
    tp_page_line(page);
    for (size_t i = 0; !status && tp_strategies[i]; i++) {
        const struct tp_strategy *s = tp_strategies[i];
        char where[64], summary[64], why[WHY];
        if (s->group != group)
            continue;
        if (s->caps & TP_CAP_PRELOAD) {
            status = print_libraries(page, s, resembles);
            continue;
        }
        runs_on(s, gpu, where, sizeof where);
        not_here(s, gpu, why, sizeof why);
        summary_of(s, summary, sizeof summary);
        tp_page_at(page, NAME, "%s", s->name);
        tp_page_at(page, SUMMARY, "%s", summary);
        tp_page_row(page, RUNS, where, resembles, "%s", why[0] ? why : s->resembles);
    }
    return status;
}

/* Prints what to do to make a GPU usable; nothing if one is usable. */
static void print_how(struct tp_page *page, const struct tp_gpu *gpu)
{
    if (gpu->cuda)
        return;
    if (!tp_cuda_built())
        tp_page_at(page, 0,
                   "To replay on a GPU: install the CUDA Toolkit (12.0 or newer) and build tapool "
                   "again.");
    else
        tp_page_at(page, 0, "To replay on a GPU: install its driver (see tapool doctor).");
    tp_page_line(page);
}

static void print_own(struct tp_page *page, const struct tp_gpu *gpu)
{
    static const struct tp_strategy any = {.caps = 0};
    char where[64];
    runs_on(&any, gpu, where, sizeof where);
    tp_page_at(page, 0, "plug-ins");
    tp_page_line(page);
    tp_page_at(page, NAME, TP_PLUGIN_WORD ":PATH");
    tp_page_at(page, SUMMARY, "a shared library");
    tp_page_row(page, RUNS, where, resembles_column(gpu), "tapool help plugin");
}

/* Prints the list. A library that does not answer would outlive a tapool that just ends, so signals
 * are noted and end what is asked. */
static int print_all(struct tp_page *page, const struct tp_gpu *gpu, struct tp_err *err)
{
    static const enum tp_group groups[] = {TP_GROUP_STRATEGY, TP_GROUP_REAL, TP_GROUP_YARDSTICK};
    struct tp_stop stop; /* never restored, because the process ends after this */
    tp_stop_catch(&stop, true);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (print_group(page, groups[i], gpu))
            return tp_fail(err, TP_ESTOP, "interrupted");
    print_own(page, gpu);
    tp_page_line(page);
    print_how(page, gpu);
    tp_page_put(page, 0, "Options and defaults: tapool strategies arena");
    return TP_OK;
}

/* Prints an option. A help text of several lines explains the choices itself, so they are not
 * listed again. */
static void print_option_row(struct tp_page *page, const struct tp_opt *row)
{
    struct tp_str help = {0};
    tp_str_add(&help, "%s", row->help);
    if (!strchr(row->help, '\n'))
        tp_str_choices(&help, row);
    tp_page_at(page, NAME, "%s", row->name);
    tp_page_at(page, DEFAULT, "%s", row->def ? row->def : "-");
    tp_page_lines(page, HELP, tp_str_text(&help));
    tp_str_drop(&help);
}

/* Prints the first lines of a strategy that is somebody else's. */
static void print_plugin(struct tp_page *page, const struct tp_loaded_plugin *p)
{
    tp_page_row(page, NAME, "plug-in", DEFAULT, "%s%s%s", p->file,
                p->version[0] ? ", version " : "", p->version);
}

static void print_one(struct tp_page *page, const struct tp_strategy *s,
                      const struct tp_loaded_plugin *plugin, const struct tp_gpu *gpu)
{
    char where[64], summary[64], why[WHY];
    runs_on(s, gpu, where, sizeof where);
    not_here(s, gpu, why, sizeof why);
    summary_of(s, summary, sizeof summary);
    tp_page_put(page, 0, "%s: %s", s->name, summary);
    if (plugin)
        print_plugin(page, plugin);
    if (s->resembles[0])
        tp_page_row(page, NAME, "resembles", DEFAULT, "%s", s->resembles);
    tp_page_row(page, NAME, "runs here on", DEFAULT, "%s", why[0] ? why : where);
    tp_page_line(page);
    if (!s->options) {
        tp_page_put(page, 0, "It has no options.");
    } else {
        tp_page_row(page, 0, "options", DEFAULT, "default");
        for (const struct tp_opt *row = s->options; row->name; row++)
            print_option_row(page, row);
        tp_page_line(page);
        const struct tp_opt *first = s->options;
        if (plugin)
            tp_page_put(page, 0, "Set them as -s " TP_PLUGIN_WORD ":%s,%s=%s", plugin->path,
                        first->name, first->def ? first->def : "VALUE");
        else if (first->bare)
            tp_page_put(page, 0, "Set them as -s %s:%s%s", s->name, first->arg,
                        first[1].name ? ",OPTION=VALUE" : "");
        else
            tp_page_put(page, 0, "Set them as -s %s:%s=%s", s->name, first->name,
                        first->def ? first->def : "VALUE");
    }
    if (!s->to_use[0])
        return;
    tp_page_line(page);
    tp_page_put(page, 0, "To use it:");
    tp_page_lines(page, NAME, s->to_use);
}

static int check_conformance(const char *name, FILE *out, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    int status = tp_strategy_spec_parse(&spec, name, err);
    if (status)
        return status;
    struct tp_str named = {0};
    tp_strategy_spec_add_name(&named, &spec);
    if (spec.preload)
        status = tp_hint(
            err, tp_fail(err, TP_EUSAGE, "'%s' runs only in its own process", spec.label),
            "'tapool replay TRACE%s --verify' checks every block of a trace", tp_str_text(&named));
    else
        status = conformance_print(&spec, out, err);
    tp_str_drop(&named);
    tp_strategy_spec_release(&spec);
    return status;
}

/* Prints the page of a strategy that is named as for -s; a name alone needs no options. */
static int show_one(const char *name, struct tp_page *page, const struct tp_gpu *gpu,
                    struct tp_err *err)
{
    struct tp_strategy_spec spec;
    const bool bare = !strchr(name, ':') && strcasecmp(name, TP_PLUGIN_WORD) != 0;
    const struct tp_strategy *s = bare ? tp_find_strategy(name, err) : NULL;
    int status = s ? TP_OK : TP_EUSAGE;
    if (!bare)
        status = tp_strategy_spec_parse(&spec, name, err);
    if (status)
        return status;
    print_one(page, s ? s : spec.strategy, s ? NULL : spec.plugin, gpu);
    if (!s)
        tp_strategy_spec_release(&spec);
    return TP_OK;
}

static int run_strategies(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct strategies_opts *o = args->opts;
    struct tp_page page;
    struct tp_gpu gpu = {0};
    int status = TP_OK;
    tp_page_init(&page, out, o->color);
    if (args->count > 1)
        return tp_fail(err, TP_EUSAGE, "strategies takes one name at most");
    if (o->conformance && !args->count)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "--conformance needs a strategy"),
                       "tapool strategies --conformance plugin:./mine.so");
    if (o->conformance)
        return check_conformance(args->words[0], out, err);
    tp_gpu_open(&gpu);
    if (args->count)
        status = show_one(args->words[0], &page, &gpu, err);
    else
        status = print_all(&page, &gpu, err);
    tp_gpu_close(&gpu);
    return status;
}

static const struct tp_opt rows[] = {
    TP_FLAG_ROW(struct strategies_opts, conformance, TP_FIRST(STRATEGIES),
                .help = "test NAME on every memory source; exit with 4 if a check fails\n"
                        "Random operations are checked against a model. NAME "
                        "takes options as in -s."),
    TP_COLOR_ROW(offsetof(struct strategies_opts, color)),
    {.name = NULL}};

const struct tp_command tp_command_strategies = {
    .name = "strategies",
    .usage = "strategies [NAME | --conformance NAME[:OPTS]]",
    .summary = "list the strategies and where they run; with NAME, show its options",
    .about = "",
    .opts_size = sizeof(struct strategies_opts),
    .options = rows,
    .run = run_strategies,
};
