/* tapool check: the gate of a CI. The checks are in cmd/gate/check_*.c. This file validates the
 * options, runs the checks in order and has the result reported. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"

#include "alloc/base/clock.h"
#include "cmd/gate/check_job.h"
#include "cmd/gate/gate_words.h"
#include "cmd/jobs/libraries.h"
#include "cmd/jobs/process.h"
#include "cmd/jobs/spec.h"
#include "cmd/ui/exit.h"
#include "cmd/ui/exports.h"
#include "cmd/ui/stop.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASS_NS     UINT64_C(25000000)
#define THOROUGH_NS UINT64_C(250000000)

/* ---- options ---- */

static int check_binary(const char *option, const char *path, struct tp_err *err)
{
    struct stat st;
    if (!path || (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0))
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "option '%s' is '%s', which is not a program that can be started", option, path);
}

static int check_strategy(const char *text, struct tp_err *err)
{
    struct tp_strategy_spec spec;
    int status = text ? tp_strategy_spec_parse(&spec, text, err) : TP_OK;
    if (text && !status)
        tp_strategy_spec_release(&spec);
    return status;
}

static bool is_check(const struct tp_check_opts *o)
{
    return !o->update && !o->plan && !o->aa;
}

static int check_core(const struct tp_check_opts *o, struct tp_err *err)
{
    if (o->core == TP_OPT_KEYWORD(TP_CHECK_CORE_AUTO) ||
        o->core == TP_OPT_KEYWORD(TP_CHECK_CORE_NONE) || tp_measure_has_core(o->core))
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "option 'core' is %llu, which tapool may not run on here",
                   (unsigned long long)o->core);
}

/* Memory, counts and instructions are those of one thread, so threads change nothing without times.
 */
static int check_threads(const struct tp_check_opts *o, struct tp_err *err)
{
    if (o->threads == 1 || tp_check_is_live(o) || !is_check(o))
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE,
                           "--threads is about times, and there is nothing to compare them with"),
                   "--base-bin OLD-TAPOOL, --base-strategy NAME or --base-lib PATH");
}

/* Refuses impossible options before any work is done. */
static int check_options(const struct tp_check_opts *o, struct tp_err *err)
{
    char path[TP_LIBRARY_PATH];
    int status = check_binary("base-bin", o->base_bin, err);
    if (!status)
        status = check_binary("bin", o->bin, err);
    if (!status)
        status = check_strategy(o->base_strategy, err);
    if (!status && o->base_lib)
        status = tp_library_find(o->base_lib, path, err);
    if (!status)
        status = check_core(o, err);
    if (!status)
        status = check_threads(o, err);
    return status ? status : tp_exports_check(&o->exports, &tp_check_exporters, NULL, err);
}

/* A random seed of at most six digits, which people can read out and type. */
static uint64_t random_seed(void)
{
    uint32_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value)
        value = (uint32_t)tp_wall_ns();
    return 1 + value % 999999;
}

static void set_up(struct tp_check *k)
{
    const struct tp_check_opts *o = k->o;
    k->gate.words = k->words;
    k->gate.word_count = (size_t)k->word_count;
    k->gate.rows = tp_check_rows;
    k->gate.opts = o;
    k->gate.page = o->exports.files[tp_check_index_html];
    k->gate.pairs = (unsigned)o->pairs;
    k->gate.verbose = o->verbose;
    if (!tp_child_own_file(k->program, sizeof k->program))
        k->program[0] = '\0';
    k->gate.effect = o->effect;
    k->gate.alpha = o->alpha;
    k->gate.sensitivity = o->sensitivity;
    k->gate.sharpness = (struct tp_gate_sharpness){.worst = NAN, .median = NAN};
    k->gate.seed = o->seed == TP_OPT_KEYWORD(0) ? random_seed() : o->seed;
    k->min_time_ns = o->thorough ? THOROUGH_NS : PASS_NS;
    if (o->min_time != TP_OPT_KEYWORD(0))
        k->min_time_ns = o->min_time;
    if (o->core == TP_OPT_KEYWORD(TP_CHECK_CORE_AUTO))
        k->core = tp_measure_core();
    else
        k->core = o->core == TP_OPT_KEYWORD(TP_CHECK_CORE_NONE) ? -1 : (int)o->core;
}

/* ---- the answer ---- */

/* Counts the different traces of all cells, or the different strategies if `traces` is false. */
static size_t count_distinct(const struct tp_baseline *b, bool traces)
{
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++) {
        bool known = false;
        for (size_t j = 0; !known && j < i; j++)
            known = !strcmp(traces ? b->cells[i].trace : b->cells[i].strategy,
                            traces ? b->cells[j].trace : b->cells[j].strategy);
        count += !known;
    }
    return count;
}

static void describe_baseline(struct tp_check *k)
{
    const struct tp_baseline *b = &k->baseline;
    struct tp_gate *g = &k->gate;
    size_t traces = count_distinct(b, true), strategies = count_distinct(b, false);
    snprintf(g->baseline, sizeof g->baseline, "%.255s", k->file);
    if (!k->has_baseline)
        return;
    if (traces * strategies == b->count)
        tp_append(g->written, sizeof g->written, "%s x %s = ", tp_plural(traces, "trace").s,
                  tp_plural(strategies, "strategy").s);
    tp_append(g->written, sizeof g->written, "%s, written %.20s, tapool %.40s",
              tp_plural(b->count, "cell").s, b->written, b->version);
}

/* ---- running ---- */

static int check_times(struct tp_check *k, struct tp_err *err)
{
    struct tp_class_check *noisy = &k->gate.classes[TP_CLASS_NOISY];
    if (tp_check_is_live(k->o))
        return tp_check_noisy(k, err);
    snprintf(noisy->reason, sizeof noisy->reason, "needs the old build");
    snprintf(noisy->how, sizeof noisy->how, "--base-bin OLD-TAPOOL or --base-strategy");
    return TP_OK;
}

/* Says in the line of a class which cell failed in it or before. */
static void tell_failed(const struct tp_check *k, struct tp_class_check *metric_class)
{
    snprintf(metric_class->reason, sizeof metric_class->reason, "%.300s", k->failed.text);
    if (k->failed_cells > 1) {
        size_t used = strlen(metric_class->reason);
        snprintf(metric_class->reason + used, sizeof metric_class->reason - used, "; nor %s",
                 tp_plural(k->failed_cells - 1, "other cell").s);
    }
    metric_class->how[0] = '\0';
    metric_class->named = metric_class->checked;
}

/* Runs the checks of all classes. An error ends the check: its text becomes the reason of that
 * class, and the classes after it say that the check stopped before this them. */
static int check_classes(struct tp_check *k, struct tp_err *err)
{
    int (*const checks[TP_CLASS_REPORT])(struct tp_check *, struct tp_err *) = {
        tp_check_all_exact, tp_check_counted, check_times};
    int status = TP_OK;
    for (size_t c = 0; c < TP_CLASS_REPORT; c++) {
        struct tp_class_check *metric_class = &k->gate.classes[c];
        bool reached = !status;
        size_t failed = k->failed_cells;
        if (reached)
            status = checks[c](k, err);
        bool lacks = k->failed_cells && metric_class->checked && !metric_class->reason[0];
        if (!status && (k->failed_cells > failed || lacks))
            tell_failed(k, metric_class);
        if (!status)
            continue;
        snprintf(metric_class->reason, sizeof metric_class->reason, "%s",
                 reached ? err->text : "the check stopped before this");
        metric_class->how[0] = '\0';
        metric_class->named = false;
    }
    return status;
}

/* Says on standard error which other cells failed; the first of them ends the check. */
static void tell_others(const struct tp_check *k)
{
    for (size_t i = 0; i < k->gate.cell_count; i++) {
        struct tp_err why;
        tp_fail(&why, TP_EBROKEN, "%s", tp_cell_failure(&k->gate, &k->gate.cells[i]).s);
        if (why.text[0])
            tp_error_print(&why);
    }
}

static int check_all(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    uint64_t from = tp_wall_ns();
    struct tp_err found = {0}, lost = {0};
    k->ended = tp_check_is_live(k->o) ? tp_check_enough(k, err) : TP_OK;
    k->goes_on = true;
    if (!k->ended)
        k->ended = check_classes(k, err);
    if (!k->ended && k->failed_cells) {
        *err = k->failed;
        k->ended = (int)err->status;
    }
    k->gate.wall_ns = tp_wall_ns() - from;
    if (k->ended)
        tp_check_end(k, k->ended, err);
    if (k->ended && !k->findings.count) {
        tp_check_report_end(k, page->out);
        tell_others(k);
        return k->ended;
    }
    int outcome = tp_check_outcome(k, &found);
    int written = tp_check_report(k, page->out, &lost);
    tell_others(k);
    if (k->ended)
        return k->ended;
    if (written || outcome)
        *err = written ? lost : found;
    return written ? written : outcome;
}

static int run_with(struct tp_check *k, FILE *out, struct tp_err *err)
{
    struct tp_page page;
    tp_page_init(&page, out, k->o->exports.color);
    int status = tp_check_open_baseline(k, err);
    bool found = k->has_baseline; /* true even if the file could not be read */
    k->has_baseline = found && !status;
    if (found)
        describe_baseline(k);
    if (!status)
        status = tp_check_select(k, err);
    if (!status)
        status = tp_check_base_libraries(k, err);
    if (status && is_check(k->o)) {
        tp_check_end(k, status, err);
        tp_check_report_end(k, out);
    }
    if (status)
        return status;
    if (k->o->update)
        return tp_check_update(k, &page, err);
    if (k->o->plan)
        return tp_check_plan(k, &page, err);
    if (k->o->aa)
        return tp_check_aa(k, &page, err);
    return check_all(k, &page, err);
}

static void tell_refused(const void *opts, const struct tp_err *err, FILE *out)
{
    struct tp_check k = {.o = opts};
    if (!is_check(k.o))
        return;
    tp_check_end(&k, (int)err->status, err);
    tp_check_report_usage(&k, out);
    tp_check_release(&k);
}

static int run_check(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    struct tp_progress_line progress = {0};
    struct tp_check k = {
        .o = args->opts, .word_count = args->count, .words = args->words, .progress = &progress};
    struct tp_stop stop; /* never restored, because the process ends after this */
    int status = check_options(k.o, err);
    if (status)
        tell_refused(k.o, err, out);
    if (!status) {
        set_up(&k);
        tp_stop_catch(&stop, true);
        status = run_with(&k, out, err);
        tp_progress_clear(&progress);
    }
    tp_check_release(&k);
    return status;
}

const struct tp_command tp_command_check = {
    .name = "check",
    .usage = "check [TRACE]... [-s STRATEGY]... [--base-bin PATH] [--update] [OPTION]...",
    .summary = "CI gate: fail if memory, instruction counts or latency regress",
    .about =
        "Compare this build with a committed baseline (tapool-baseline.json): memory and counts "
        "exactly, instructions where the machine counts them. With --base-bin, compare times with "
        "an older build in interleaved pairs. The result lists what was not checked. TRACE and -s "
        "select cells (default: all).\n\n"
        "Exit codes: 0 no regression, 1 regression or a --require that failed, 2 usage error or no "
        "baseline, 3 unusable input or a trace that differs from the baseline's, 4 a replay "
        "failed, 5 inconclusive (--inconclusive=fail) or not sensitive enough "
        "(--require-sensitivity).",
    .opts_size = sizeof(struct tp_check_opts),
    .options = tp_check_rows,
    .refused = tell_refused,
    .run = run_check,
};
