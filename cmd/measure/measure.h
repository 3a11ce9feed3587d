/* Measuring in a process of its own: `BINARY replay TRACE ... --format json`, its answer read as a
 * stored result. Every live comparison is made of these, so that both sides are treated alike, be
 * the other one an older tapool (--base-bin) or another strategy of this one. */
#ifndef TP_MEASURE_H
#define TP_MEASURE_H

#include "alloc/program/program.h"
#include "cmd/measure/stored.h"

#include <signal.h>

/* What is played, and how; all borrowed. */
struct tp_measure {
    const char *binary;      /* a file, never looked for in PATH; NULL: this tapool */
    const char *trace;       /* path of a prepared trace (tp_measure_prepare) or as given */
    const char *strategy;    /* "arena:arena_size=1MiB" */
    const char *source;      /* NULL: the default of the trace's kind without a GPU */
    const char *passes;      /* "usage", "throughput,latency", "usage,fits", ... */
    const char *const *more; /* further arguments, NULL-terminated; NULL: none */
    uint64_t min_time_ns;    /* of each timed pass */
    uint64_t seed;
    int core;                  /* pinned to it; -1: anywhere */
    size_t padding;            /* bytes of environment, to move the stack */
    const char *const *runner; /* what is put before it, as {"valgrind", "--tool=...", NULL} */
    uint64_t timeout_ns;       /* it is ended after, with all that it started; 0: never */
    const volatile sig_atomic_t *interrupted; /* may be NULL */
};

/* Of --timeout: a row's words, its default, and what it means for a trace. */
enum { TP_TIMEOUT_AUTO, TP_TIMEOUT_NONE };
extern const char *const tp_timeout_words[];
#define TP_TIMEOUT_ROW(at)                                                                         \
    TP_TIME_AT("timeout", at, .def = "auto", .min = 1, .choices = tp_timeout_words,                \
               .help = "a replay that takes longer is ended and is an error; auto is 2 min, 100 "  \
                       "us for each event and 20 times --min-time")
uint64_t tp_timeout_of(uint64_t option, uint64_t events, uint64_t min_time_ns);

/* Plays one strategy on one trace; `out` has that one run. The caller releases `out`, also after
 * errors. TP_EIO: the child could not be started, was killed (names the signal) or answered
 * nonsense; what it itself says of an error is passed on with its status (from its exit code).
 * TP_ELATE: it did not end in time. TP_ESTOP: interrupted. The child takes no configuration
 * (tp_environment_for_child). */
int tp_measure(const struct tp_measure *m, struct tp_stored *out, struct tp_err *err);

/* A core to pin to, the last one that this process may use; -1 where that cannot be told. */
int tp_measure_core(void);

/* Whether this process may use that core. */
bool tp_measure_has_core(uint64_t core);

/* Reads a trace of any form once and writes it as a .tpt into a file without a name, so that every
 * child opens the same program at once and none is left behind. `path` is by what a child that
 * inherits `fd` opens it. */
struct tp_open_opts;
struct tp_prepared {
    char *path; /* of the .tpt; NULL: there is none */
    int fd;
    char *given; /* as the user named it */
    char *name;  /* its file's base name, "sample:web" of a shipped one */
    enum tp_kind kind;
    char hash[65];
    uint64_t events, operations;
    uint16_t devices;
    uint64_t threads;
};
int tp_measure_prepare(const char *given, const struct tp_open_opts *o, struct tp_prepared *out,
                       struct tp_err *err);
void tp_prepared_release(struct tp_prepared *p); /* a zeroed one is fine */

/* A fresh private folder in $TMPDIR; removes it and all that is in it. */
int tp_measure_folder(char *path, size_t size, struct tp_err *err);
void tp_measure_folder_remove(const char *path);

#endif
