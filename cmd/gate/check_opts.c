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
    TP_TEXT_AT("baseline", ROW(baseline), .from = TP_OPT_TYPED, .arg = "FILE", TP_FIRST(TRACES),
               .help = "stored baseline (default: tapool-baseline.json)\n"
                       "The default is searched in this folder, then in its parents."),
    TP_LIST_AT("strategy", ROW(strategies), .letter = 's', .from = TP_OPT_TYPED,
               .arg = "NAME[:OPTS]", TP_FIRST(STRATEGIES),
               .help = "check only cells of this strategy; repeatable\n"
                       "Named as in the baseline. With --update: a strategy to write into it, "
                       "under a label as LABEL=NAME:..."),
    TP_TEXT_AT("source", ROW(source), .from = TP_OPT_TYPED, .arg = "NAME", TP_IN(DEVICE),
               .help = "check only cells of this memory source\n"
                       "With --update: memory source of the cells to write (default: host for "
                       "host traces, virtual for device traces)."),
    TP_TOUCH_ROW(ROW(touch), "\nauto: as in the baseline"),
    TP_FLAG_AT("update", ROW(update), .excludes = "plan aa" OF_A_CHECK, .from = TP_OPT_USER,
               TP_FIRST(OUTPUT), .help = "measure, write the baseline and list what changed"),
    TP_TEXT_AT("reason", ROW(reason), .needs = "update", .arg = "TEXT", TP_IN(OUTPUT),
               .help = "reason to store in the baseline, with --update"),
    TP_LIST_AT("tolerance", ROW(tolerances), .needs = "update", .arg = "METRIC=VALUE",
               .from = TP_OPT_TYPED, TP_IN(OUTPUT),
               .help = "allowed regression of a metric, with --update: 64KiB or 2%\n"
                       "It holds for every cell; 'tolerances' of a cell in the file holds for "
                       "that one. Repeatable."),
    TP_TEXT_AT("base-bin", ROW(base_bin), .excludes = "base-strategy", .from = TP_OPT_TYPED,
               .arg = "PATH", TP_FIRST(MEASURING),
               .help = "compare times and instructions with this build of tapool\n"
                       "Usually the one of the merge base; both run in interleaved pairs."),
    TP_TEXT_AT("base-strategy", ROW(base_strategy), .from = TP_OPT_TYPED, .arg = "NAME[:OPTS]",
               TP_LAST(MEASURING), .help = "compare times with those of this strategy"),
    TP_TEXT_AT("base-lib", ROW(base_lib), .excludes = "base-strategy", .from = TP_OPT_TYPED,
               .arg = "PATH", TP_IN(MEASURING),
               .help = "compare cells of lib: with this library of the merge base\n"
                       "By times, resident and mapped memory. Nothing stored is needed: TRACE and "
                       "-s may name cells that the baseline lacks."),
    TP_TEXT_AT("bin", ROW(bin), .from = TP_OPT_TYPED, .arg = "PATH", TP_LAST(MEASURING),
               .help = "build of tapool to check (default: this one)"),
    TP_UINT_AT("pairs", ROW(pairs), .def = "20", .min = 2, .max = TP_ROUNDS_MAX,
               TP_FIRST(MEASURING), .help = "interleaved pairs of fresh processes per cell"),
    TP_TIME_AT("min-time", ROW(min_time), .def = "auto", .max = UINT64_C(60000000000),
               .choices = time_words, TP_LAST(MEASURING),
               .help = "min time of each timed pass\nauto: 25ms, or 250ms with --thorough."),
    TP_FLAG_AT("thorough", ROW(thorough), TP_IN(MEASURING),
               .help = "measure ten times as long in each process"),
    TP_SHARE_AT("effect", ROW(effect), .from = TP_OPT_TYPED, .def = "5%", .max = 10, .arg = "SHARE",
                TP_FIRST(MEASURING), .help = "smallest slowdown to report as a regression"),
    TP_SHARE_AT("alpha", ROW(alpha), .from = TP_OPT_TYPED, .def = "0.01", .max = 1, .arg = "P",
                TP_IN(MEASURING), .help = "significance level, Holm-corrected over all tests"),
    TP_CHOICE_AT("inconclusive", ROW(inconclusive), .def = "warn", .choices = open_words,
                 .arg = "WHAT", TP_IN(OUTPUT),
                 .help = "response to noise that may hide a slowdown\nfail: exit with 5."),
    TP_LIST_AT("require", ROW(require), .choices = tp_gate_required, .arg = "CLASS",
               TP_FIRST(OUTPUT),
               .help = "exit with 1 unless CLASS was checked\n"
                       "all-cells: every cell of the baseline. Repeatable."),
    TP_SHARE_AT("require-sensitivity", ROW(sensitivity), .max = 10, .arg = "SHARE", TP_IN(OUTPUT),
                .help = "exit with 5 unless a slowdown of SHARE is detectable\n"
                        "With 90% power, in every cell whose times are compared."),
    TP_FLAG_AT("allow-missing", ROW(allow_missing), .from = TP_OPT_TYPED, TP_IN(TRACES),
               .help = "skip cells whose trace or device is missing"),
    TP_FLAG_AT("plan", ROW(plan), .excludes = "aa" OF_A_CHECK, TP_IN(MEASURING),
               .help = "print the duration and minimum detectable slowdown, then exit"),
    TP_UINT_AT("aa", ROW(aa), .excludes = "base-bin base-strategy base-lib" OF_A_CHECK, .def = "0",
               .max = 100000, TP_LAST(MEASURING),
               .help = "check this build against itself N times, count false positives"),
    TP_UINT_AT("core", ROW(core), .def = "auto", .max = 65535, .choices = core_words,
               TP_LAST(MEASURING),
               .help = "CPU core for timed processes\nauto: the last core that may be used."),
    TP_UINT_AT("threads", ROW(threads), .def = "1", .min = 1, .max = UINT16_MAX,
               .choices = recorded_words, .excludes = "update core", TP_LAST(MEASURING),
               .help = "threads for the timed passes of cells on host\n"
                       "As for 'tapool replay'. Times then depend on the scheduler too, so more "
                       "cells may be inconclusive."),
    TP_TIMEOUT_ROW(ROW(timeout)),
    TP_UINT_AT("seed", ROW(seed), .def = "random", .max = UINT64_C(1) << 53, .choices = seed_words,
               TP_LAST(MEASURING),
               .help = "seed of the order of pairs, of address shifts and of statistics"),
    TP_EXPORT_ROWS(tp_check, TP_CHECK_EXPORTS),
    TP_COLOR_ROW(ROW(exports.color)),
    TP_VERBOSE_ROW(ROW(verbose), "list every changed metric and every inconclusive time"),
    {.name = NULL}};
