/* Keywords and rows of options that several commands share. */
#ifndef TP_OPTION_WORDS_H
#define TP_OPTION_WORDS_H

#include "alloc/base/opt.h"
#include "alloc/base/str.h"

extern const char *const tp_touch_words[];    /* "auto", then in the order of enum tp_touch */
extern const char *const tp_color_words[];    /* index as for tp_page_init */
extern const char *const tp_theme_words[];    /* in the order of enum tp_chart_theme */
extern const char *const tp_capacity_words[]; /* keyword 0 means: as recorded */
extern const char *const tp_goal_words[];
extern const char *const tp_auto_words[]; /* keyword 0 is "auto" */
extern const char *const tp_oom_words[];  /* TP_OOM_CONTINUE, TP_OOM_STOP */
extern const char *const tp_pass_words[]; /* in the order of the bits of enum tp_pass */
/* Keyword 0 means: as recorded. Keyword 1: as recorded where that can be. */
enum { TP_THREADS_RECORDED, TP_THREADS_AUTO };
extern const char *const tp_threads_words[];

/* Strategies that are code from a file: plugin:PATH, lib:NAME or lib:PATH. */
#define TP_PLUGIN_WORD "plugin"
#define TP_LIB_WORD    "lib"

/* Who may name a strategy, with its label and options. TP_OPT_USER: it runs code from a file, or
 * sets what a process starts with. A file that came with a folder, be it a configuration or a
 * baseline, may not; lib:NAME alone may stand there, as it only names what is installed. */
enum tp_opt_from tp_strategy_from(const char *text);

/* Option rows. `at` is the offset of the member in the option struct, `what` the help text. */
#define TP_STRATEGY_ROW(at, what)                                                                  \
    TP_LIST_AT("strategy", at, .letter = 's', .arg = "NAME[:OPTS]", .help = what,                  \
               .value_from = tp_strategy_from, TP_FIRST(STRATEGIES))
#define TP_ALLOC_ROW(at)                                                                           \
    TP_TEXT_AT("alloc", at, .from = TP_OPT_USER, .arg = "NAMES",                                   \
               .help = "strategies by short names: glibc,jemalloc,arena\n"                         \
                       "The same as -s system -s lib:jemalloc -s arena.",                          \
               TP_IN(STRATEGIES))
#define TP_SOURCE_ROW(at, what) TP_TEXT_AT("source", at, .arg = "NAME", .help = what, TP_IN(DEVICE))
#define TP_CAPACITY_ROW(at, what)                                                                  \
    TP_SIZE_AT("capacity", at, .def = "recorded", .max = UINT64_C(1) << 60,                        \
               .choices = tp_capacity_words, .help = what, TP_FIRST(DEVICE))
#define TP_RESERVE_ROW(at)                                                                         \
    TP_SIZE_AT("reserve", at, .def = "0", .max = UINT64_C(1) << 60,                                \
               .help = "share of --capacity for the CUDA context and other programs",              \
               TP_IN(DEVICE))
/* What of a device is PyTorch's. TP_EUSAGE: nothing, or --reserve without the size of the device
 * (`capacity` is the keyword). */
int tp_less_reserve(uint64_t *capacity, uint64_t reserve, struct tp_err *err);
/* Of the commands that read a recording as it is. */
#define TP_CONF_ROW(at)                                                                            \
    TP_TEXT_AT("conf", at, .from = TP_OPT_USER, .arg = "TEXT", TP_FIRST(TRACES),                   \
               .help = "PYTORCH_CUDA_ALLOC_CONF of the recording\n"                                \
                       "For a file that does not have it, or has a wrong one.")
#define TP_SNAPSHOT_MEMORY_ROW(at)                                                                 \
    TP_SIZE_AT("max-memory", at, .def = "1GiB", .min = 1 << 20, .max = UINT64_C(1) << 60,          \
               TP_IN(LIMITS), .help = "memory limit for reading a snapshot")
#define TP_TOUCH_ROW(at, what)                                                                     \
    TP_CHOICE_AT("touch", at, .def = "auto", .choices = tp_touch_words, .arg = "HOW",              \
                 .help = "memory of a new block to write in the timed call" what,                  \
                 TP_LAST(MEASURING))
#define TP_THREADS_ROW(at)                                                                         \
    TP_UINT_AT(                                                                                    \
        "threads", at, .def = "auto", .min = 1, .max = UINT16_MAX, .choices = tp_threads_words,    \
        .help = "threads for the timed passes of a host trace\n"                                   \
                "recorded: one per recorded thread; N: recorded thread i runs on thread i mod N; " \
                "auto: recorded on the source host, up to the limit of the machine, else 1. A "    \
                "block passes from thread to thread in the order of the trace; times exclude the " \
                "wait for it, and recorded pauses are skipped.",                                   \
        TP_FIRST(MEASURING))
#define TP_GOAL_ROW(at)                                                                            \
    TP_CHOICE_AT("goal", at, .def = "both", .choices = tp_goal_words, .arg = "GOAL",               \
                 .help = "goal of the Pick on the host", TP_IN(STRATEGIES))
#define TP_THP_ROW(at)                                                                             \
    TP_FLAG_AT("thp", at,                                                                          \
               .help = "measure resident memory with transparent huge pages\n"                     \
                       "A block of a few bytes may then hold 2 MiB.",                              \
               TP_LAST(MEASURING))
#define TP_FAIL_ON_ROW(at, listed, what)                                                           \
    TP_LIST_AT("fail-on", at, .arg = "EXPR", .help = what, TP_##listed(OUTPUT))
#define TP_SEED_ROW(at, what)                                                                      \
    TP_UINT_AT("seed", at, .def = "1", .max = UINT64_MAX - 1, .help = what, TP_LAST(MEASURING))
#define TP_OUTPUT_ROW(at, what)                                                                    \
    TP_FILE_AT("output", at, .letter = 'o', .help = what, TP_FIRST(OUTPUT))
#define TP_FORCE_ROW(at)                                                                           \
    TP_FLAG_AT("force", at, .letter = 'f', .from = TP_OPT_USER, .help = "overwrite FILE",          \
               TP_IN(OUTPUT))
#define TP_BYTES_ROW(at) TP_FLAG_AT("bytes", at, .help = "print sizes in bytes", TP_IN(OUTPUT))
#define TP_COLOR_ROW(at)                                                                           \
    TP_CHOICE_AT("color", at, .def = "auto", .choices = tp_color_words, .arg = "WHEN",             \
                 .help = "color the screen", TP_IN(OUTPUT))
#define TP_VERBOSE_ROW(at, what)                                                                   \
    TP_FLAG_AT("verbose", at, .letter = 'v', .help = what, TP_FIRST(OUTPUT))

/* Adds the choices of an option as ": never | always | auto". Adds nothing for an option without
 * choices, or for a set, which is explained by its help. */
void tp_str_choices(struct tp_str *s, const struct tp_opt *row);

#endif
