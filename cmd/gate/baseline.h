/* tapool-baseline.json: what `tapool check` compares with. It is committed beside the traces,
 * edited by hand here and there, and merged by git: sorted keys, one metric a line, and a reader
 * that refuses whatever it does not understand, because a value that is passed over is a hole in a
 * gate.
 *
 *     tapool.baseline/1
 *      |- tolerances          of all cells: {"peak_reserved": 0, "instructions": "2%"}
 *      `- cells               sorted by trace, strategy, source
 *          |- trace, strategy, source                 the key
 *          |- spec, trace_path, touch                 how it is played again
 *          |- events, program_hash, options           what must be the same
 *          |- metrics, nondeterministic, tolerances   class E
 *          |- instructions                            class D, with its fingerprint
 *          `- latency                                 for people and for --plan, never compared
 */
#ifndef TP_BASELINE_H
#define TP_BASELINE_H

#include "cmd/measure/record.h"
#include "cmd/measure/stored.h"
#include "cmd/ui/text.h"

#define TP_BASELINE_NAME   "tapool-baseline.json"
#define TP_BASELINE_SCHEMA "tapool.baseline/1"

enum { TP_BASELINE_BYTES = 8 << 20, TP_BASELINE_PATH = 4096, TP_BASELINE_PROCESSES = 5 };

/* By how much a value may be worse. */
struct tp_tolerance {
    bool given; /* else the metric's own (tp_metric.allowed) */
    bool
        relative; /* class E: a share of the base value; else absolute. Of D it is always a share */
    double value; /* >= 0 */
};

struct tp_baseline_value {
    const struct tp_metric *metric;
    uint16_t device;
    double value; /* 0 where only the name is held */
};

/* Times of some processes when it was written. */
struct tp_baseline_latency {
    char *machine; /* tp_baseline_machine; NULL: there are none */
    struct tp_baseline_value *values;
    size_t count;
    double spread;  /* of ns_per_op between processes: standard deviation of its logarithm; NAN */
    double seconds; /* that one such process took; NAN */
};

/* All texts are owned; NULL only where it says so. */
struct tp_baseline_cell {
    char *trace, *strategy, *source; /* the key */
    char *spec;                      /* the strategy as a command line names it, without a label */
    char *path; /* of the trace, relative to the baseline's folder; or "sample:NAME" */
    char *touch, *hash;
    uint64_t events;
    struct tp_record_options options; /* effective ones, sorted; "source.lag", "replay.on_oom" */
    struct tp_baseline_value *values; /* class E, sorted by name */
    size_t value_count;
    struct tp_baseline_value *loose; /* did not agree with themselves: known, not checked */
    size_t loose_count;
    struct tp_tolerance tolerances[TP_METRIC_MAX]; /* by hand, by index in tp_metrics */
    char *fingerprint;                             /* NULL: no instructions */
    double instructions;                           /* per operation */
    struct tp_baseline_latency latency;
};

struct tp_baseline {
    char *file;    /* as messages name it */
    char *version; /* of the tapool that wrote it */
    char *written; /* 2026-10-02 */
    char *reason;  /* of --reason; NULL */
    struct tp_tolerance tolerances[TP_METRIC_MAX];
    struct tp_baseline_cell *cells; /* sorted by key */
    size_t count;
};

/* The file by this name in the current folder or the nearest parent that has one, as a path that is
 * short where it can be ("tapool-baseline.json", "../tapool-baseline.json"). False: none. */
bool tp_baseline_find(char *path, size_t size);

/* TP_EINPUT names the file, the member and what is wrong with it: another schema, cut off, over
 * TP_BASELINE_BYTES, no JSON (marks of a merge conflict are named), a number that is none, a member
 * missing, unknown or there twice, two cells of the same key, a metric that this tapool does not
 * have. The caller releases `out`, also after errors. */
int tp_baseline_read(const char *path, struct tp_baseline *out, struct tp_err *err);
int tp_baseline_parse(const char *text, size_t length, const char *file, struct tp_baseline *out,
                      struct tp_err *err);

/* Reading back what this wrote and writing it again gives the same bytes. */
int tp_baseline_write(const struct tp_baseline *b, FILE *out, struct tp_err *err);

void tp_baseline_release(struct tp_baseline *b); /* a zeroed one is fine */
void tp_baseline_cell_release(struct tp_baseline_cell *c);

/* NULL: there is none of this key. */
const struct tp_baseline_cell *tp_baseline_cell_find(const struct tp_baseline *b, const char *trace,
                                                     const char *strategy, const char *source);

/* The same key: 0; else their order in the file. */
int tp_baseline_cell_order(const struct tp_baseline_cell *a, const struct tp_baseline_cell *b);

/* Sorts what the file holds sorted. TP_EINPUT: two cells of the same key. */
int tp_baseline_sort(struct tp_baseline *b, struct tp_err *err);

/* Sorts values as the file holds them: by name, then by device. */
void tp_baseline_values_sort(struct tp_baseline_value *values, size_t count);
bool tp_baseline_values_alike(const struct tp_baseline_value *a, const struct tp_baseline_value *b);

/* Whether the value is held, and which; NULL. */
const struct tp_baseline_value *tp_baseline_value_find(const struct tp_baseline_cell *c,
                                                       const struct tp_metric *m, uint16_t device);

/* "0", "64KiB", "2%": percent is a share of the base value, of shares it is points. False: neither,
 * or a share that tolerates everything. */
bool tp_tolerance_parse(const struct tp_metric *m, const char *text, struct tp_tolerance *out);

/* A share of 1 tolerates everything there is; who writes `"instructions": 2` means 2 %. */
bool tp_tolerance_fits(const struct tp_metric *m, double value);

/* What may be added to `base` before it is worse: of the cell, else of all, else the metric's own.
 * Class E: absolute; D: a share, `fallback` where nothing is given. */
double tp_tolerance_of(const struct tp_baseline *b, const struct tp_baseline_cell *c,
                       const struct tp_metric *m, double base, double fallback);

/* Where the cell's trace is from here: its path behind the baseline's folder. Owned by the caller;
 * NULL: out of memory. */
char *tp_baseline_trace_path(const struct tp_baseline *b, const struct tp_baseline_cell *c);

/* And back: `path` as seen from the folder of the baseline `file`. Owned by the caller; NULL. */
char *tp_baseline_relative(const char *file, const char *path);

/* This machine, as a baseline names the one that its times are from: "Some CPU, x86_64". False:
 * its processor does not say what it is, so that two cannot be told apart. */
bool tp_baseline_machine(char *text, size_t size);

/* "peak_reserved", of another device than the first "peak_reserved[1]". */
struct tp_text tp_baseline_name(const struct tp_metric *m, uint16_t device);

#endif
