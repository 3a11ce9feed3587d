/* tapool strategies: lists the strategies, where they run and what they resemble; with a name,
 * shows the options of one. With --json both are the document tapool.strategies/2
 * (cmd/jobs/strategies.schema.json). */
#include "cmd/cli/commands.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/child.h"
#include "cmd/jobs/conformance_run.h"
#include "cmd/jobs/gpus.h"
#include "cmd/jobs/libraries.h"
#include "cmd/jobs/spec.h"
#include "cmd/ui/json_out.h"
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
    bool conformance, json;
};

static const char *const group_names[] = {[TP_GROUP_STRATEGY] = "strategies of tapool",
                                          [TP_GROUP_REAL] = "real allocators",
                                          [TP_GROUP_REFERENCE] = "reference"};

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

/* Writes why the strategy cannot run here, "libcuda.so.1 was not found", or "". */
static void not_here(const struct tp_strategy *s, const struct tp_gpu *gpu, char *out, size_t size)
{
    out[0] = '\0';
    if (!needs_gpu(s) || tp_gpu_has_pools(gpu))
        return;
    snprintf(out, size, "%s%s", gpu->cuda ? "no memory pools: " : "",
             gpu->cuda ? tp_gpu_info(gpu)->devices[0].no_pools : tp_gpu_why(gpu));
}

/* What the list says of a strategy, or of a library of this machine. */
struct listed {
    const struct tp_strategy *strategy;
    const struct tp_loaded_plugin *plugin; /* NULL: it is none */
    char name[TP_LABEL_MAX];               /* as for -s */
    char library[TP_RUN_LIBRARY];          /* what serves the calls: "glibc 2.36"; "": no library */
    char file[TP_LIBRARY_PATH];            /* of a library that is found; "" */
    char where[64], why[WHY];
};

typedef void listed_fn(void *ctx, const struct listed *l);

/* `spec` is NULL for a strategy that is named without options. */
static void list_one(const struct tp_strategy *s, const struct tp_strategy_spec *spec,
                     const struct tp_gpu *gpu, listed_fn *fn, void *ctx)
{
    struct listed l = {.strategy = s, .plugin = spec ? spec->plugin : NULL};
    bool preloaded = (s->caps & TP_CAP_PRELOAD) != 0;
    if (spec && spec->preload)
        snprintf(l.name, sizeof l.name, "%s", spec->label);
    else
        snprintf(l.name, sizeof l.name, "%s%s", s->name, preloaded ? ":PATH" : "");
    if (!preloaded)
        tp_strategy_library(s, l.library, sizeof l.library);
    runs_on(s, gpu, l.where, sizeof l.where);
    not_here(s, gpu, l.why, sizeof l.why);
    fn(ctx, &l);
}

/* Lists a library of this machine, or why it cannot be replayed. TP_ESTOP: interrupted. */
static int list_library(const struct tp_strategy *s, const char *name, listed_fn *fn, void *ctx)
{
    struct listed l = {.strategy = s, .where = "host"};
    struct tp_strategy_spec spec;
    struct tp_err err = {0};
    snprintf(l.name, sizeof l.name, "%s:%s", s->name, name);
    if (tp_strategy_spec_parse(&spec, l.name, &err) || tp_library_find(name, l.file, &err))
        return TP_OK;
    int status = tp_child_library(&spec, tp_stop_flag(), l.library, sizeof l.library, &err);
    tp_strategy_spec_release(&spec);
    if (status == TP_ESTOP)
        return status;
    if (status) {
        snprintf(l.where, sizeof l.where, "-");
        snprintf(l.why, sizeof l.why, "%s", err.text);
    }
    fn(ctx, &l);
    return TP_OK;
}

/* Lists all in the order of their groups. A library that does not answer would outlive a tapool
 * that just ends, so signals are noted and end what is asked. */
static int list_all(const struct tp_gpu *gpu, listed_fn *fn, void *ctx, struct tp_err *err)
{
    struct tp_stop stop; /* never restored, because the process ends after this */
    const struct tp_library *here[TP_LIBRARIES_MAX];
    size_t count = tp_libraries_here(here);
    int status = TP_OK;
    tp_stop_catch(&stop, true);
    for (size_t group = 0; group < sizeof group_names / sizeof *group_names; group++)
        for (size_t i = 0; tp_strategies[i]; i++) {
            const struct tp_strategy *s = tp_strategies[i];
            if (s->group != group)
                continue;
            list_one(s, NULL, gpu, fn, ctx);
            for (size_t n = 0; s->caps & TP_CAP_PRELOAD && n < count && !status; n++)
                status = list_library(s, here[n]->name, fn, ctx);
        }
    return status ? tp_fail(err, TP_ESTOP, "interrupted") : TP_OK;
}

/* ---- the list on a screen ---- */

/* Writes what the strategy is; for a malloc, the library that answers, and for one that was found
 * its version. */
static void summary_of(const struct listed *l, char *out, size_t size)
{
    const char *version = l->file[0] ? tp_library_version(l->library) : l->library;
    const char *none = l->file[0] ? "-" : l->strategy->summary;
    snprintf(out, size, "%s", *version ? version : none);
}

struct strategies_list {
    struct tp_page *page;
    const char *group; /* of the line above; NULL: there is none */
    int resembles;     /* the last column, after the longest list of sources */
};

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

static void print_group(struct strategies_list *s, const char *name)
{
    tp_page_at(s->page, 0, "%s", name);
    if (!s->group) {
        tp_page_at(s->page, RUNS, "runs here");
        tp_page_at(s->page, s->resembles, "resembles");
    }
    tp_page_line(s->page);
    s->group = name;
}

static void print_listed(void *ctx, const struct listed *l)
{
    struct strategies_list *s = ctx;
    const char *group = group_names[l->strategy->group];
    const char *file = strrchr(l->file, '/'), *text = l->strategy->resembles;
    char summary[64];
    if (s->group != group)
        print_group(s, group);
    summary_of(l, summary, sizeof summary);
    if (file)
        text = file + 1;
    tp_page_at(s->page, NAME, "%s", l->name);
    tp_page_at(s->page, SUMMARY, "%s", summary);
    tp_page_row(s->page, RUNS, l->where, s->resembles, "%s%s", l->why[0] ? "not here: " : "",
                l->why[0] ? l->why : text);
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

static void print_plugins(struct strategies_list *s, const struct tp_gpu *gpu)
{
    static const struct tp_strategy any = {.caps = 0};
    char where[64];
    runs_on(&any, gpu, where, sizeof where);
    print_group(s, "plug-ins");
    tp_page_at(s->page, NAME, TP_PLUGIN_WORD ":PATH");
    tp_page_at(s->page, SUMMARY, "a shared library");
    tp_page_row(s->page, RUNS, where, s->resembles, "tapool help plugin");
}

static int print_all(struct tp_page *page, const struct tp_gpu *gpu, struct tp_err *err)
{
    struct strategies_list list = {page, NULL, resembles_column(gpu)};
    int status = list_all(gpu, print_listed, &list, err);
    if (status)
        return status;
    print_plugins(&list, gpu);
    tp_page_line(page);
    print_how(page, gpu);
    tp_page_put(page, 0, "Options and defaults: tapool strategies arena");
    return TP_OK;
}

/* ---- one strategy on a screen ---- */

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

static void print_one(void *ctx, const struct listed *l)
{
    struct tp_page *page = ctx;
    const struct tp_strategy *s = l->strategy;
    const struct tp_loaded_plugin *plugin = l->plugin;
    char summary[64];
    summary_of(l, summary, sizeof summary);
    tp_page_put(page, 0, "%s: %s", s->name, summary);
    if (plugin)
        print_plugin(page, plugin);
    if (s->resembles[0])
        tp_page_row(page, NAME, "resembles", DEFAULT, "%s", s->resembles);
    tp_page_row(page, NAME, "runs here on", DEFAULT, "%s%s", l->why[0] ? "not here: " : "",
                l->why[0] ? l->why : l->where);
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

/* ---- JSON ---- */

struct strategies_json {
    struct tp_json json;
    cJSON *strategies;
};

static const char *text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static void write_listed(void *ctx, const struct listed *l)
{
    static const char *const groups[] = {[TP_GROUP_STRATEGY] = "strategy",
                                         [TP_GROUP_REAL] = "real",
                                         [TP_GROUP_REFERENCE] = "reference"};
    struct strategies_json *t = ctx;
    struct tp_json *j = &t->json;
    const struct tp_strategy *s = l->strategy;
    cJSON *o = tp_json_item(j, t->strategies);
    tp_json_text(j, o, "name", l->name);
    tp_json_text(j, o, "kind", l->plugin ? "plugin" : groups[s->group]);
    tp_json_text(j, o, "summary", s->summary);
    tp_json_text(j, o, "resembles", text_or_null(s->resembles));
    tp_json_text(j, o, "to_use", text_or_null(s->to_use));
    cJSON *sources = tp_json_array(j, o, "runs_on");
    tp_json_words(j, sources, l->why[0] ? NULL : l->where, " ", NULL);
    tp_json_text(j, o, "not_here", text_or_null(l->why));
    tp_json_text(j, o, "library", text_or_null(l->library));
    tp_json_text(j, o, "file", l->plugin ? l->plugin->path : text_or_null(l->file));
    cJSON *options = tp_json_array(j, o, "options");
    for (const struct tp_opt *row = s->options; row && row->name; row++)
        tp_json_option(j, options, row);
}

/* ---- the command ---- */

/* Shows a strategy that is named as for -s; a name without options needs no values. */
static int show_one(const char *name, const struct tp_gpu *gpu, listed_fn *fn, void *ctx,
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
    list_one(s ? s : spec.strategy, s ? NULL : &spec, gpu, fn, ctx);
    if (!s)
        tp_strategy_spec_release(&spec);
    return TP_OK;
}

static int write_tree(const char *name, const struct tp_gpu *gpu, FILE *out, struct tp_err *err)
{
    struct strategies_json t = {.json = {false}};
    cJSON *root = tp_json_object(&t.json, NULL, NULL);
    tp_json_text(&t.json, root, "schema", "tapool.strategies/2");
    tp_json_tool(&t.json, root);
    t.strategies = tp_json_array(&t.json, root, "strategies");
    int status =
        name ? show_one(name, gpu, write_listed, &t, err) : list_all(gpu, write_listed, &t, err);
    if (status == TP_OK)
        return tp_json_print(&t.json, root, out, err);
    cJSON_Delete(root);
    return status;
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
    if (o->json)
        status = write_tree(args->count ? args->words[0] : NULL, &gpu, out, err);
    else if (args->count)
        status = show_one(args->words[0], &gpu, print_one, &page, err);
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
    TP_FLAG_ROW(struct strategies_opts, json, .excludes = "conformance", .help = "print JSON",
                TP_FIRST(OUTPUT)),
    TP_COLOR_ROW(offsetof(struct strategies_opts, color)),
    {.name = NULL}};

const struct tp_command tp_command_strategies = {
    .name = "strategies",
    .usage = "strategies [NAME] [--json] | strategies --conformance NAME[:OPTS]",
    .summary = "list the strategies and where they run; with NAME, show its options",
    .about = "",
    .opts_size = sizeof(struct strategies_opts),
    .options = rows,
    .run = run_strategies,
};
