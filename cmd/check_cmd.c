/* tapool check: the gate of a CI. What it does is in cmd/gate/check_*.c; here is what it can be
 * asked for, and what becomes of the answer. */
#include "cmd/cli/commands.h"
#include "cmd/cli/config.h"

#include "alloc/base/clock.h"
#include "cmd/gate/check_job.h"
#include "cmd/gate/gate_words.h"
#include "cmd/measure/process.h"
#include "cmd/measure/spec.h"
#include "cmd/ui/option_words.h"
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

enum { CORE_AUTO, CORE_NONE };

static const char *const open_words[] = {"warn", "fail", NULL};
static const char *const core_words[] = {"auto", "none", NULL};
static const char *const seed_words[] = {"random", NULL};
static const char *const time_words[] = {"auto", NULL};

#define ROW(member) offsetof(struct tp_check_opts, member)
static const struct tp_opt rows[] = {
    TP_FILE_AT(
        "baseline", ROW(baseline),
        .help = "the stored baseline (default: tapool-baseline.json here or in a parent folder)"),
    TP_LIST_AT("strategy", ROW(strategies), .letter = 's', .arg = "NAME[:OPTS]",
               .help =
                   "only cells of this strategy, as the baseline names it; with --update: a "
                   "strategy to write into it, under a label as label=name:...; may be repeated"),
    TP_TEXT_AT("source", ROW(source), .arg = "NAME",
               .help = "only cells on this source; with --update: where memory comes from "
                       "(default: host for host traces, virtual for device traces)"),
    TP_CHOICE_AT("touch", ROW(touch), .def = "auto", .choices = tp_touch_words, .arg = "HOW",
                 .help = "what is written into a new block inside the timed call (default: as the "
                         "baseline has it)"),
    TP_FLAG_AT(
        "update", ROW(update), .from = TP_OPT_USER,
        .help = "measure and write the baseline instead of comparing with it; says what changed"),
    TP_TEXT_AT("reason", ROW(reason), .arg = "TEXT",
               .help = "with --update: why, kept in the baseline"),
    TP_LIST_AT("tolerance", ROW(tolerances), .arg = "METRIC=VALUE",
               .help = "with --update: by how much this metric may be worse in every cell, as "
                       "64KiB or 2%; may be repeated. For one cell: its 'tolerances' in the file"),
    TP_TEXT_AT(
        "base-bin", ROW(base_bin), .from = TP_OPT_USER, .arg = "PATH",
        .help = "the tapool of the merge base: times are compared with it, live, and instructions"),
    TP_TEXT_AT("base-strategy", ROW(base_strategy), .arg = "NAME[:OPTS]",
               .help = "compare times with those of this strategy instead"),
    TP_TEXT_AT("bin", ROW(bin), .from = TP_OPT_USER, .arg = "PATH",
               .help = "the tapool that is checked (default: this one)"),
    TP_UINT_AT("pairs", ROW(pairs), .def = "20", .min = 2, .max = TP_ROUNDS_MAX,
               .help = "interleaved pairs of fresh processes for each cell"),
    TP_TIME_AT(
        "min-time", ROW(min_time), .def = "auto", .max = UINT64_C(60000000000),
        .choices = time_words,
        .help = "of each timed pass of such a process; auto is 25 ms, and 250 ms with --thorough"),
    TP_FLAG_AT("thorough", ROW(thorough), .help = "ten times as long in each process"),
    TP_TEXT_AT("effect", ROW(effect), .arg = "SHARE",
               .help = "a slowdown counts from this size on (default: 5%)"),
    TP_TEXT_AT("alpha", ROW(alpha), .arg = "P",
               .help = "and below this p after Holm's adjustment over all tests (default: 0.01)"),
    TP_CHOICE_AT("inconclusive", ROW(inconclusive), .def = "warn", .choices = open_words,
                 .arg = "WHAT",
                 .help = "when a machine is too noisy to exclude a slowdown; fail is exit 5"),
    TP_LIST_AT(
        "require", ROW(require), .arg = "CLASS",
        .help =
            "exit 1 where this is not checked: memory, instructions or latency; may be repeated"),
    TP_FLAG_AT("allow-missing", ROW(allow_missing),
               .help = "cells whose trace or device is not here are left out"),
    TP_FLAG_AT(
        "plan", ROW(plan),
        .help =
            "say what a check would take and how small a slowdown it would see; checks nothing"),
    TP_UINT_AT("aa", ROW(aa), .def = "0", .max = 100000,
               .help = "check this build against itself N times and count the false alarms"),
    TP_UINT_AT("core", ROW(core), .def = "auto", .max = 65535, .choices = core_words,
               .help = "where timed processes are pinned; auto is the last core that may be used"),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_UINT_AT("seed", ROW(seed), .def = "random", .max = UINT64_C(1) << 53, .choices = seed_words,
               .help =
                   "of the order of pairs, of what moves a process's memory and of the statistics"),
    TP_GATE_EXPORT_ROWS(struct tp_check_opts),
    TP_COLOR_ROW(ROW(color)),
    TP_FLAG_AT("verbose", ROW(verbose), .letter = 'v',
               .help = "every figure that moved, and every time that was too noisy to tell"),
    {.name = NULL}};

/* ---- what was asked for ---- */

/* "5%" or "0.05"; `text` NULL: as it is. */
static int parse_share(const char *option, const char *text, double most, double *out,
                       struct tp_err *err)
{
    char *end = NULL;
    if (!text)
        return TP_OK;
    double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : NAN;
    if (end && *end == '%') {
        value /= 100;
        end++;
    }
    if (!end || *end || !(value > 0) || !(value < most))
        return tp_fail(err, TP_EUSAGE,
                       "option '%s' is '%s', which is no share above 0 and below %g", option, text,
                       most);
    *out = value;
    return TP_OK;
}

static bool is_word(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words))
            return true;
    return false;
}

static int check_binary(const char *option, const char *path, struct tp_err *err)
{
    struct stat st;
    if (!path || (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0))
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "option '%s' is '%s', which is no program that can be started",
                   option, path);
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
    if (o->core == TP_OPT_KEYWORD(CORE_AUTO) || o->core == TP_OPT_KEYWORD(CORE_NONE) ||
        tp_measure_has_core(o->core))
        return TP_OK;
    return tp_fail(err, TP_EUSAGE, "option 'core' is %llu, which tapool may not run on here",
                   (unsigned long long)o->core);
}

/* Contradictions, found before any work. */
static int check_options(const struct tp_args *args, struct tp_err *err)
{
    const struct tp_check_opts *o = args->opts;
    const struct {
        bool wrong;
        const char *text;
    } rules[] = {
        {o->base_bin && o->base_strategy, "--base-bin and --base-strategy exclude each other"},
        {o->update + o->plan + (o->aa > 0) > 1, "--update, --plan and --aa exclude each other"},
        {!is_check(o) && tp_check_exports_any(&o->exports),
         "--format and --export are about a check: not with --update, --plan or --aa"},
        {!o->update && tp_config_typed(args, rows, "reason"), "--reason goes with --update"},
        {!o->update && tp_config_typed(args, rows, "tolerance"), "--tolerance goes with --update"},
        {o->aa && (o->base_bin || o->base_strategy), "--aa checks a build against itself: it takes "
                                                     "neither --base-bin nor --base-strategy"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return tp_fail(err, TP_EUSAGE, "%s", rules[i].text);
    for (size_t i = 0; i < o->require.count; i++)
        if (!is_word(o->require.items[i], tp_class_required))
            return tp_fail(err, TP_EUSAGE,
                           "'%s' is nothing to --require: memory, instructions or latency",
                           o->require.items[i]);
    int status = check_binary("base-bin", o->base_bin, err);
    if (!status)
        status = check_binary("bin", o->bin, err);
    if (!status)
        status = check_strategy(o->base_strategy, err);
    if (!status)
        status = check_core(o, err);
    return status ? status : tp_check_exports_look(&o->exports, err);
}

/* Short, so that it can be read out and typed. */
static uint64_t random_seed(void)
{
    uint32_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != sizeof value)
        value = (uint32_t)tp_wall_ns();
    return 1 + value % 999999;
}

static int set_up(struct tp_check *k, struct tp_err *err)
{
    const struct tp_check_opts *o = k->o;
    k->gate.pairs = (unsigned)o->pairs;
    k->gate.verbose = o->verbose;
    if (!tp_child_own_file(k->program, sizeof k->program))
        k->program[0] = '\0';
    k->gate.effect = 0.05;
    k->gate.alpha = 0.01;
    k->gate.sharpness = (struct tp_gate_sharpness){.worst = NAN, .median = NAN};
    k->gate.seed = o->seed == TP_OPT_KEYWORD(0) ? random_seed() : o->seed;
    k->min_time_ns = o->min_time != TP_OPT_KEYWORD(0) ? o->min_time
                     : o->thorough                    ? THOROUGH_NS
                                                      : PASS_NS;
    k->core = o->core == TP_OPT_KEYWORD(CORE_AUTO)   ? tp_measure_core()
              : o->core == TP_OPT_KEYWORD(CORE_NONE) ? -1
                                                     : (int)o->core;
    int status = parse_share("effect", o->effect, 10, &k->gate.effect, err);
    return status ? status : parse_share("alpha", o->alpha, 1, &k->gate.alpha, err);
}

/* ---- the answer ---- */

/* How many different traces, or strategies, the cells have. */
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

static bool is_live(const struct tp_check *k)
{
    return k->o->base_bin || k->o->base_strategy;
}

static int check_times(struct tp_check *k, struct tp_err *err)
{
    struct tp_class_check *noisy = &k->gate.classes[TP_CLASS_NOISY];
    if (is_live(k))
        return tp_check_noisy(k, err);
    snprintf(noisy->reason, sizeof noisy->reason, "needs the old build");
    snprintf(noisy->how, sizeof noisy->how, "--base-bin OLD-TAPOOL or --base-strategy");
    return TP_OK;
}

/* An error ends the check: its class says it, those behind it that they were not reached. */
static int check_classes(struct tp_check *k, struct tp_err *err)
{
    int (*const checks[TP_CLASS_REPORT])(struct tp_check *, struct tp_err *) = {
        tp_check_exact, tp_check_counted, check_times};
    int status = TP_OK;
    for (size_t c = 0; c < TP_CLASS_REPORT; c++) {
        struct tp_class_check *class = &k->gate.classes[c];
        bool reached = !status;
        if (reached)
            status = checks[c](k, err);
        if (!status)
            continue;
        snprintf(class->reason, sizeof class->reason, "%s",
                 reached ? err->text : "the check ended before");
        class->how[0] = '\0';
        class->named = false;
    }
    return status;
}

static int check_all(struct tp_check *k, struct tp_page *page, struct tp_err *err)
{
    uint64_t from = tp_wall_ns();
    struct tp_err found = {0}, lost = {0};
    k->ended = is_live(k) ? tp_check_enough(k, err) : TP_OK;
    if (!k->ended)
        k->ended = check_classes(k, err);
    k->gate.wall_ns = tp_wall_ns() - from;
    if (k->ended)
        tp_check_end(k, k->ended, err);
    if (k->ended && !k->findings.count) {
        tp_check_report_end(k, page->out);
        return k->ended;
    }
    int outcome = tp_check_outcome(k, &found);
    int written = tp_check_report(k, page, &lost);
    if (k->ended)
        return k->ended;
    if (written || outcome)
        *err = written ? lost : found;
    return written ? written : outcome;
}

static int run_with(struct tp_check *k, FILE *out, struct tp_err *err)
{
    struct tp_page page;
    tp_page_init(&page, out, k->o->color);
    int status = tp_check_open_baseline(k, err);
    bool found = k->has_baseline; /* it may still be unreadable */
    k->has_baseline = found && !status;
    if (found || !status)
        describe_baseline(k);
    if (!status)
        status = tp_check_select(k, err);
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

static int run_check(const struct tp_args *args, FILE *out, struct tp_err *err)
{
    struct tp_progress_line progress = {0};
    struct tp_check k = {
        .o = args->opts, .word_count = args->count, .words = args->words, .progress = &progress};
    struct tp_stop stop; /* not put back: the process ends after this */
    int status = check_options(args, err);
    if (!status)
        status = set_up(&k, err);
    if (status && is_check(k.o)) {
        tp_check_end(&k, status, err);
        tp_check_report_usage(&k, out);
    }
    if (!status) {
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
    .summary = "the gate of a CI: fails when memory, instructions or times got worse, only then",
    .about =
        "Compares this tapool with a baseline that is committed (tapool-baseline.json), and, live, "
        "with an older build. Memory and counts are exact and compared as they are; instructions "
        "are counted where a counter is; times are compared only in interleaved pairs in the same "
        "job, never with stored ones. What is not checked is said.\n\nWithout arguments all cells "
        "of the baseline are run; TRACE and -s select some. With --update they define what is "
        "written.\n\nExit codes: 0 no regression, 1 regression (or something required was not "
        "checked), 2 wrong command line or no baseline, 3 unusable input or another program than "
        "the baseline's, 4 a replay failed, 5 inconclusive (--inconclusive=fail).",
    .opts_size = sizeof(struct tp_check_opts),
    .options = rows,
    .run = run_check,
};
