/* The options of `tapool check`. */
#include "cmd/gate/check_job.h"

#include "cmd/gate/gate_words.h"
#include "cmd/ui/option_words.h"

#include <stddef.h>

static const char *const recorded_words[] = {"recorded", NULL};
static const char *const open_words[] = {"warn", "fail", NULL};
static const char *const core_words[] = {"auto", "none", NULL};
static const char *const seed_words[] = {"random", NULL};
static const char *const time_words[] = {"auto", NULL};

/* Options that choose the form in which findings are written. */
#define OF_A_CHECK " format" TP_CHECK_EXPORTS(TP_EXPORT_EXCLUDED, )
static const char *const tp_check_words[] = {TP_EXPORT_WORDS(TP_CHECK_EXPORTS)};

#define ROW(member) offsetof(struct tp_check_opts, member)
const struct tp_opt tp_check_rows[] = {
    TP_TEXT_AT(
        "baseline", ROW(baseline), .from = TP_OPT_TYPED, .arg = "FILE",
        .help = "the stored baseline (default: tapool-baseline.json here or in a parent folder)"),
    TP_LIST_AT("strategy", ROW(strategies), .letter = 's', .from = TP_OPT_TYPED,
               .arg = "NAME[:OPTS]",
               .help = "only cells of this strategy, as the baseline names it; with --update: a "
                       "strategy to write into it, under a label as label=name:...; may be "
                       "repeated"),
    TP_TEXT_AT("source", ROW(source), .from = TP_OPT_TYPED, .arg = "NAME",
               .help = "only cells on this source; with --update: where memory comes from "
                       "(default: host for host traces, virtual for device traces)"),
    TP_TOUCH_ROW(ROW(touch), " (default: as the baseline has it)"),
    TP_FLAG_AT(
        "update", ROW(update), .excludes = "plan aa" OF_A_CHECK, .from = TP_OPT_USER,
        .help = "measure and write the baseline instead of comparing with it; says what changed"),
    TP_TEXT_AT("reason", ROW(reason), .needs = "update", .arg = "TEXT",
               .help = "with --update: why, kept in the baseline"),
    TP_LIST_AT("tolerance", ROW(tolerances), .needs = "update", .arg = "METRIC=VALUE",
               .from = TP_OPT_TYPED,
               .help = "with --update: by how much this metric may be worse in every cell, as "
                       "64KiB or 2%; may be repeated. For one cell: its 'tolerances' in the file"),
    TP_TEXT_AT(
        "base-bin", ROW(base_bin), .excludes = "base-strategy", .from = TP_OPT_TYPED, .arg = "PATH",
        .help = "the tapool of the merge base: times are compared with it, live, and instructions"),
    TP_TEXT_AT("base-strategy", ROW(base_strategy), .from = TP_OPT_TYPED, .arg = "NAME[:OPTS]",
               .help = "compare times with those of this strategy instead"),
    TP_TEXT_AT(
        "base-lib", ROW(base_lib), .excludes = "base-strategy", .from = TP_OPT_TYPED, .arg = "PATH",
        .help = "compare times, resident and mapped memory of the cells of lib: with those "
                "of this library: the one of the merge base. Nothing stored is needed: TRACE and "
                "-s name cells that the baseline does not have"),
    TP_TEXT_AT("bin", ROW(bin), .from = TP_OPT_TYPED, .arg = "PATH",
               .help = "the tapool that is checked (default: this one)"),
    TP_UINT_AT("pairs", ROW(pairs), .def = "20", .min = 2, .max = TP_ROUNDS_MAX,
               .help = "interleaved pairs of fresh processes for each cell"),
    TP_TIME_AT(
        "min-time", ROW(min_time), .def = "auto", .max = UINT64_C(60000000000),
        .choices = time_words,
        .help = "of each timed pass of such a process; auto is 25 ms, and 250 ms with --thorough"),
    TP_FLAG_AT("thorough", ROW(thorough), .help = "ten times as long in each process"),
    TP_SHARE_AT("effect", ROW(effect), .from = TP_OPT_TYPED, .def = "5%", .max = 10, .arg = "SHARE",
                .help = "a slowdown counts from this size on"),
    TP_SHARE_AT("alpha", ROW(alpha), .from = TP_OPT_TYPED, .def = "0.01", .max = 1, .arg = "P",
                .help = "and below this p after Holm's adjustment over all tests"),
    TP_CHOICE_AT("inconclusive", ROW(inconclusive), .def = "warn", .choices = open_words,
                 .arg = "WHAT",
                 .help = "when a machine is too noisy to exclude a slowdown; fail is exit 5"),
    TP_LIST_AT("require", ROW(require), .choices = tp_gate_required, .arg = "CLASS",
               .help = "exit 1 unless this class is checked, or all-cells: every cell of the "
                       "baseline; may be repeated"),
    TP_SHARE_AT("require-sensitivity", ROW(sensitivity), .max = 10, .arg = "SHARE",
                .help = "exit 5 unless a slowdown this small could be detected with 90% power in "
                        "every cell that compares times"),
    TP_FLAG_AT("allow-missing", ROW(allow_missing), .from = TP_OPT_TYPED,
               .help = "cells whose trace or device is not here are left out"),
    TP_FLAG_AT(
        "plan", ROW(plan), .excludes = "aa" OF_A_CHECK,
        .help =
            "say what a check would take and how small a slowdown it would see; checks nothing"),
    TP_UINT_AT("aa", ROW(aa), .excludes = "base-bin base-strategy base-lib" OF_A_CHECK, .def = "0",
               .max = 100000,
               .help = "check this build against itself N times and count the false alarms"),
    TP_UINT_AT("core", ROW(core), .def = "auto", .max = 65535, .choices = core_words,
               .help = "where timed processes are pinned; auto is the last core that may be used"),
    TP_UINT_AT("threads", ROW(threads), .def = "1", .min = 1, .max = UINT16_MAX,
               .choices = recorded_words, .excludes = "update core",
               .help = "real threads that play for the times of cells on host, as of replay; they "
                       "depend on the scheduler, too, so more of them may stay open"),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_UINT_AT("seed", ROW(seed), .def = "random", .max = UINT64_C(1) << 53, .choices = seed_words,
               .help =
                   "of the order of pairs, of what moves a process's memory and of the statistics"),
    TP_EXPORT_ROWS(tp_check, TP_CHECK_EXPORTS),
    TP_COLOR_ROW(ROW(exports.color)),
    TP_VERBOSE_ROW(ROW(verbose),
                   "every figure that moved, and every time that was too noisy to tell"),
    {.name = NULL}};
