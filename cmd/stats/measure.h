/* Measures in a separate process: runs `BINARY replay TRACE ... --format json` and reads its output
 * as a stored result. All live comparisons measure this way, so that both sides are treated alike,
 * whether they differ in the strategy or in the binary (--base-bin). */
#ifndef TP_MEASURE_H
#define TP_MEASURE_H

#include "alloc/program/program.h"
#include "cmd/results/stored.h"

#include <signal.h>

/* What is replayed, and how. All pointers are borrowed. */
struct tp_measure {
    const char *binary;      /* path of a tapool, not searched in PATH; NULL: this tapool */
    const char *trace;       /* path of a prepared trace (tp_measure_prepare), or a user's trace */
    const char *strategy;    /* "arena:arena_size=1MiB" */
    const char *source;      /* NULL: the default of the trace's kind without a GPU */
    const char *passes;      /* "usage", "throughput,latency", "usage,fits", ... */
    const char *const *more; /* further arguments, NULL-terminated; NULL: none */
    const char *threads;     /* value of --threads; NULL: 1 */
    uint64_t min_time_ns;    /* of each timed pass */
    uint64_t seed;
    int core;                  /* the core to pin the replay to; -1: not pinned */
    size_t padding;            /* bytes added to the environment, which moves the stack */
    const char *const *runner; /* words before the command, as {"valgrind", "--tool=...", NULL} */
    uint64_t timeout_ns;       /* the replay and its children are ended after this; 0: never */
    const volatile sig_atomic_t *interrupted; /* may be NULL */
};

/* The option --timeout: its row with its words and default, and its value for one trace in ns. */
enum { TP_TIMEOUT_AUTO, TP_TIMEOUT_NONE };
extern const char *const tp_timeout_words[];
#define TP_TIMEOUT_ROW(at)                                                                         \
    TP_TIME_AT("timeout", at, .def = "auto", .min = 1, .choices = tp_timeout_words,                \
               .help = "kill a replay that runs longer than TIME and fail\n"                       \
                       "auto: 2 min, 100 us per event and 20 times --min-time.",                   \
               TP_IN(LIMITS))
uint64_t tp_timeout_of(uint64_t option, uint64_t events, uint64_t min_time_ns);

/* Replays one strategy on one trace and reads the result, which has one run. The caller releases
 * `out`, also after errors. The child reads no configuration (tp_environment_for_child).
 *
 * TP_EIO: the child could not be started, was killed (the message names the signal) or its output
 * is no result. An error that the child reports is passed on with the status of its exit code.
 * TP_ELATE: the child did not end in time. TP_ESTOP: interrupted. */
int tp_measure(const struct tp_measure *m, struct tp_stored *out, struct tp_err *err);

/* The core to pin replays to: the last core that this process may use; -1: not known. */
int tp_measure_core(void);

/* Whether this process may use that core. */
bool tp_measure_has_core(uint64_t core);

/* A trace that was read once and written as a .tpt into an unlinked file. All children open the
 * same program quickly, and no file is left behind. */
struct tp_open_opts;
struct tp_trace;
struct tp_prepared {
    char *path; /* opens the .tpt in a child that inherits `fd`; NULL: nothing was prepared */
    int fd;
    char *given; /* the trace as the user named it */
    char *name;  /* base name of the file; "sample:web" for a shipped trace */
    enum tp_kind kind;
    char hash[65];
    uint64_t events, operations;
    uint16_t devices;
    uint64_t threads;
};

/* Reads the trace `given` (a path, a sample or a profile) and prepares it. TP_EIO: the file cannot
 * be written; other errors are those of reading the trace. The caller releases `out` in every case.
 */
int tp_measure_prepare(const char *given, const struct tp_open_opts *o, struct tp_prepared *out,
                       struct tp_err *err);

/* The same of a trace that is open, which the user named `given`. */
int tp_measure_lay_down(const struct tp_trace *t, const char *given, struct tp_prepared *out,
                        struct tp_err *err);
void tp_prepared_release(struct tp_prepared *p); /* a zeroed one is fine */

/* Create a private folder in $TMPDIR, and remove it with all files in it. */
int tp_measure_folder(char *path, size_t size, struct tp_err *err);
void tp_measure_folder_remove(const char *path);

#endif
