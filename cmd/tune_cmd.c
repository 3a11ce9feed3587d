/* tapool tune: which setting would need less? On recordings of a GPU of the recorded allocator, on
 * a host trace of the malloc libraries of this machine. */
#include "cmd/cli/commands.h"
#include "cmd/jobs/bound.h"
#include "cmd/jobs/open_trace.h"
#include "cmd/page/html_page.h"
#include "cmd/results/replay_job.h"
#include "cmd/results/site_curve.h"
#include "cmd/stats/measure.h"
#include "cmd/tune/grid.h"
#include "cmd/tune/malloc_replay.h"
#include "cmd/tune/tunable.h"
#include "cmd/tune/tune.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/progress.h"
#include "cmd/ui/stop.h"
#include "cmd/verify/certifier.h"

#include <stdlib.h>
#include <string.h>

struct tune_opts {
    struct tp_open_opts open;
    struct tp_exports exports;
    struct tp_opt_list grid;
    struct tp_opt_list without;
    uint64_t capacity, reserve, timeout, rounds, min_time, seed;
    uint32_t goal, use, allocator;
    bool all;
};

#define EXPORTS(X, of)                                                                             \
    TP_EXPORTS_OF_ALL(X, of, TP_JSON_HELP)                                                         \
    X(of, html, of, "html", TP_HTML_HELP, FIRST)
enum { TP_EXPORT_INDEXES(tune, EXPORTS) };
static const char *const tune_words[] = {TP_EXPORT_WORDS(EXPORTS)};

/* Where a setting cannot be used. */
static const char *const use_words[] = {"any", "windows", "vllm-sleep", NULL};

#define ROW(member) offsetof(struct tune_opts, member)
static const struct tp_opt rows[] = {
    TP_LIST_AT("grid", ROW(grid), .arg = "GRID", TP_FIRST(STRATEGIES),
               .help = "settings to try in place of the usual ones: key=value|value,...\n"
                       "Every combination is tried; the value default leaves the key out. For a "
                       "host trace the library stands first: jemalloc:narenas=1|2. Repeatable."),
    TP_CAPACITY_ROW(ROW(capacity),
                    "memory of each device; 0: no limit\n"
                    "Settings that run out of memory are reported as OOM. recorded: inferred from "
                    "failed allocations and cudaMallocs."),
    TP_RESERVE_ROW(ROW(reserve)),
    TP_LIST_AT("without", ROW(without), .arg = "KEY", TP_FIRST(STRATEGIES),
               .help = "skip settings with this key; repeatable"),
    TP_CHOICE_AT("for", ROW(use), .def = "any", .choices = use_words, .arg = "USE",
                 TP_IN(STRATEGIES),
                 .help = "skip settings that do not work there\nvllm-sleep: vLLM's sleep mode."),
    TP_CHOICE_AT("allocator", ROW(allocator), .def = "recorded", .choices = tp_tunable_words,
                 .arg = "NAME", TP_IN(STRATEGIES),
                 .help = "allocator whose settings to try, on a trace of any other too"),
    TP_FLAG_AT("all", ROW(all), TP_FIRST(OUTPUT),
               .help = "show all settings, not only those that no other beats\n"
                       "Settings that lay out the initial heap in another way "
                       "(expandable_segments, roundup_power2_divisions) are compared with the "
                       "recorded one on a compacted heap."),
    TP_UINT_AT("rounds", ROW(rounds), .def = "5", .min = 3, .max = 100, TP_FIRST(MEASURING),
               .help = "interleaved replays of the best settings of a host trace\n"
                       "They follow one replay of each setting."),
    TP_TIME_AT("min-time", ROW(min_time), .def = "150ms", .max = UINT64_C(86400000000000),
               TP_IN(MEASURING), .help = "repeat a shorter host trace for TIME in each replay"),
    TP_CHOICE_AT("goal", ROW(goal), .def = "both", .choices = tp_goal_words, .arg = "GOAL",
                 TP_FIRST(STRATEGIES), .help = "goal of the advice for a host trace"),
    TP_SEED_ROW(ROW(seed), "seed of the order of replays of a host trace"),
    TP_EXPORT_ROWS(tune, EXPORTS),
    TP_COLOR_ROW(offsetof(struct tune_opts, exports.color)),
    TP_BYTES_ROW(ROW(exports.bytes)),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_OPEN_ROWS(struct tune_opts),
    {.name = NULL}};

/* The defaults are always among the settings. */
static int read_grids(const struct tune_opts *o, struct tp_tune *t, struct tp_err *err)
{
    struct tp_tune_whose whose = {t->target, t->files[0].trace.meta.allocator_device, false};
    const char *const *usual = t->target->usual;
    int status = tp_tunable_add(&t->texts, "", whose, err);
    for (size_t i = 0; !status && i < o->grid.count; i++)
        status = tp_tunable_add(&t->texts, o->grid.items[i], whose, err);
    whose.usual = true;
    for (size_t i = 0; !status && !o->grid.count && usual[i]; i++)
        status = tp_tunable_add(&t->texts, usual[i], whose, err);
    return status;
}

static int replay(const struct tune_opts *o, struct tp_tune *t, struct tp_err *err)
{
    struct tp_progress_line line;
    struct tp_stop stop;
    uint64_t events = 0;
    for (size_t i = 0; i < t->file_count; i++)
        events += tp_program_facts(t->files[i].trace.program)->events;
    const struct tp_trial_cfg how = {.memory = o->open.max_memory,
                                     .timeout_ns = tp_timeout_of(o->timeout, events, 0),
                                     .interrupted = tp_stop_flag(),
                                     .progress = tp_progress_show,
                                     .progress_ctx = &line};
    tp_stop_catch(&stop, true);
    tp_progress_start(&line, "settings");
    int status = tp_tune_replay(t, &how, err);
    t->pool_status = TP_EUNSUP;
    if (!status && t->target->pool)
        status = tp_tune_measure_pool(t, &o->open, &how, err);
    tp_progress_clear(&line);
    tp_stop_restore(&stop);
    return status;
}

/* What a prediction is held against: the best packing, and what the rules did of the recording.
 * Both are left out where they would take long. */
static int find_bounds(const struct tune_opts *o, struct tp_tune *t, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < t->file_count; i++) {
        struct tp_tune_file *f = &t->files[i];
        uint64_t ns = tp_bound_time_by_default(f->trace.program);
        struct tp_offline *bounds = NULL;
        const struct tp_recorded_strategy *by = t->target->of;
        f->compared = tp_tune_is_own(t, f) && by->fidelity && !strcmp(f->trace.format, by->format);
        if (f->compared && !by->fidelity(&f->trace, f->path, &o->open, true, &f->fidelity))
            f->fidelity = (struct tp_fidelity){0};
        if (ns)
            status = tp_bound(f->trace.program, ns, &bounds, err);
        for (uint16_t d = 0; ns && !status && d < tp_program_facts(f->trace.program)->devices; d++)
            f->packed = bounds[d].best > f->packed ? bounds[d].best : f->packed;
        free(bounds);
    }
    return status;
}

static void print_text(const void *of, struct tp_page *page)
{
    const struct tp_tune_page *p = of;
    tp_tune_text(p->t, p->answers, ((const struct tune_opts *)p->opts)->all, page);
}

static const struct tp_exporter tune_text = {.name = "text", .print = print_text};
static const struct tp_exporter tune_html = {
    .name = "html", .write = tp_tune_page, .check = tp_html_check};
static const struct tp_exporters tune_exporters = TP_EXPORT_TABLE(tune, EXPORTS, tp_tune_tree);

static int report(const struct tune_opts *o, const struct tp_tune *t, FILE *out, struct tp_err *err)
{
    struct tp_tune_case of = tp_tune_case(t);
    struct tp_tune_answers answers;
    const struct tp_tune_page page = {
        .t = t, .answers = &answers, .exact = o->exports.bytes, .rows = rows, .opts = o};
    answers.any = tp_tune_answer(t->settings, t->setting_count, of);
    of.older = true;
    answers.older = tp_tune_answer(t->settings, t->setting_count, of);
    if (answers.any.verdict == TP_TUNE_UNKNOWN) {
        *err = t->settings[0].err;
        return t->settings[0].status;
    }
    return tp_exports_write(&o->exports, &tune_exporters, &page, out, err);
}

/* The part of a setting that does not work for the use; NULL: any does. */
static const char *part_of_use(const struct tp_tunable *t, const char *use)
{
    for (const struct tp_tune_use *u = t->uses; u && u->use; u++)
        if (!strcmp(u->use, use))
            return u->part;
    return NULL;
}

/* A key that nothing is tried of was probably meant to be another one. */
static int check_without(const struct tp_tune *t, const char *key, struct tp_err *err)
{
    struct tp_text start = tp_text_of("%s:", key);
    bool some = false;
    for (uint32_t i = 0; i < t->texts.count; i++)
        some |= tp_grid_has(tp_texts_get(&t->texts, i), start.s);
    for (size_t i = 0; i < t->file_count; i++)
        some |= t->files[i].recorded && tp_grid_has(t->files[i].recorded, start.s);
    if (some)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "'--without %s': no setting that is tried has this key", key);
}

static int make_settings(const struct tune_opts *o, struct tp_tune *t, struct tp_err *err)
{
    const char **without = calloc(o->without.count + 2, sizeof *without);
    if (!without)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = TP_OK;
    for (size_t i = 0; !status && i < o->without.count; i++) {
        without[i] = o->without.items[i];
        status = check_without(t, without[i], err);
    }
    without[o->without.count] = part_of_use(t->target, use_words[o->use]);
    if (!status)
        status = tp_tune_settings(t, without, err);
    free(without);
    return status;
}

/* Live memory by allocation site over time, which the page of one recording shows. */
static void find_site_curve(struct tp_tune_file *f)
{
    const struct tp_sites_opts by_line = {.at = TP_AT_PEAK};
    tp_captured_find(&f->captured, &f->trace, &by_line, false, tp_stop_asked);
    tp_site_curve_find(&f->captured, &f->trace, NULL, tp_stop_asked);
}

static int tune_device(const struct tune_opts *o, struct tp_tune *t, FILE *out, struct tp_err *err)
{
    int status = read_grids(o, t, err);
    if (!status)
        status = make_settings(o, t, err);
    if (!status)
        status = replay(o, t, err);
    if (!status)
        status = find_bounds(o, t, err);
    if (status)
        return status;
    tp_tune_front(t->settings, t->setting_count, tp_tune_case(t).older);
    if (tp_exports_asked(&o->exports, tune_index_html) && t->file_count == 1)
        find_site_curve(t->files);
    return report(o, t, out, err);
}

/* ---- malloc libraries ---- */

struct found_malloc {
    const struct tune_opts *opts;
    const struct tp_malloc_tune *t;
};

static void print_malloc(const void *of, struct tp_page *page)
{
    const struct found_malloc *f = of;
    tp_malloc_text(f->t, f->opts->all, page);
}

static cJSON *malloc_tree(struct tp_json *j, const void *of)
{
    return tp_malloc_tree(j, ((const struct found_malloc *)of)->t);
}

static int check_malloc_html(const void *of, struct tp_err *err)
{
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE,
                           "there is no page of malloc settings: '%s' is a host trace",
                           ((const struct found_malloc *)of)->t->trace->file),
                   "--json writes all figures");
}

static const struct tp_exporter malloc_text = {.name = "text", .print = print_malloc};
static const struct tp_exporter malloc_html = {.name = "html", .check = check_malloc_html};
static const struct tp_exporters malloc_exporters = TP_EXPORT_TABLE(malloc, EXPORTS, malloc_tree);

/* The recorded setting comes first, and is what the others are compared with. */
static int read_malloc_grids(const struct tune_opts *o, struct tp_malloc_tune *t,
                             struct tp_err *err)
{
    bool threads = tp_program_facts(t->trace->program)->threads > 1;
    int status = tp_malloc_settings_usual(&t->settings, !o->grid.count, threads, err);
    for (size_t i = 0; !status && i < o->grid.count; i++)
        status = tp_malloc_settings_add(&t->settings, o->grid.items[i], err);
    return status ? status
                  : tp_malloc_settings_recorded(&t->settings, t->trace->meta.allocator,
                                                t->trace->meta.settings, err);
}

/* The option that only a GPU has a use for; NULL: none was given. */
static const char *option_of_gpu(const struct tune_opts *o)
{
    if (o->capacity != TP_OPT_KEYWORD(0))
        return "capacity";
    if (o->without.count)
        return "without";
    return o->use ? "for" : NULL;
}

static int tune_malloc(const struct tune_opts *o, const struct tp_trace *trace, const char *given,
                       FILE *out, struct tp_err *err)
{
    struct tp_malloc_tune t = {.trace = trace};
    const struct tp_malloc_cfg cfg = {.given = given,
                                      .min_time_ns = o->min_time,
                                      .seed = o->seed,
                                      .timeout = o->timeout,
                                      .rounds = (unsigned)o->rounds,
                                      .goal = (enum tp_goal)o->goal,
                                      .exact = o->exports.bytes};
    const struct found_malloc found = {.opts = o, .t = &t};
    struct tp_stop stop;
    const char *gpu = option_of_gpu(o);
    if (gpu)
        return tp_fail(err, TP_EUSAGE, "--%s is about a GPU: '%s' is a host trace", gpu,
                       trace->file);
    int status = tp_exports_check(&o->exports, &malloc_exporters, &found, err);
    if (!status)
        status = read_malloc_grids(o, &t, err);
    tp_stop_catch(&stop, true);
    if (!status)
        status = tp_malloc_replay(&t, &cfg, err);
    tp_stop_restore(&stop);
    if (!status)
        status = tp_exports_write(&o->exports, &malloc_exporters, &found, out, err);
    tp_malloc_tune_release(&t);
    return status;
}

/* ---- the command ---- */

static int run_tune(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    const struct tune_opts *o = args->opts;
    struct tp_tune t = {.chosen = tp_tunable_chosen(o->allocator)};
    if (!args->count)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "tune needs a PyTorch snapshot, a TensorFlow or JAX capture or a "
                               "host trace"),
                       "torch.cuda.memory._dump_snapshot(FILE) makes the one, 'tapool record -o "
                       "FILE COMMAND' the other");
    int status = tp_exports_check(&o->exports, &tune_exporters, NULL, err);
    uint64_t capacity = o->capacity;
    if (!status)
        status = tp_less_reserve(&capacity, o->reserve, err);
    if (!status)
        status = tp_tune_open(&t, args->words, (size_t)args->count, &o->open, capacity, err);
    if (!status)
        status = t.host ? tune_malloc(o, &t.files[0].trace, args->words[0], out, err)
                        : tune_device(o, &t, out, err);
    tp_tune_release(&t);
    return status;
}

const struct tp_command tp_command_tune = {
    .name = "tune",
    .usage = "tune TRACE... [OPTION]...",
    .summary = "find settings that need less memory or time: malloc, PyTorch, BFC",
    .about =
        "Replay traces under many allocator settings and show those that no other beats, each "
        "with the text to paste. A host trace tries 10 to 30 settings of each malloc library of "
        "this machine and ranks them by total resident memory and time. PyTorch snapshots try "
        "about 64 settings of PYTORCH_CUDA_ALLOC_CONF and rank them by peak reserved memory, "
        "driver calls and retries; TensorFlow and JAX captures try the settings of BFC. Several "
        "snapshots, such as those of ranks, get one setting.\n\n"
        "Gains under 2% are not recommended. No advice is given where the rules reproduce less "
        "than 99% of the recorded addresses ('tapool verify').",
    .opts_size = sizeof(struct tune_opts),
    .options = rows,
    .run = run_tune,
};
