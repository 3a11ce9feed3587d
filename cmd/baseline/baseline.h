/* tapool-baseline.json: what `tapool check` compares with. The file is committed beside the traces,
 * sometimes edited by hand, and merged by git. Hence its keys are sorted, each metric has a line of
 * its own, and the reader refuses whatever it does not understand: a value that the reader skipped
 * would be a hole in the gate.
 *
 *     tapool.baseline/2
 *      |- tolerances          for all cells: {"peak_reserved": 0, "instructions": "2%"}
 *      `- cells               sorted by trace, strategy, source
 *          |- trace, strategy, source                 the key
 *          |- spec, trace_path, touch                 how it is replayed again
 *          |- events, program_hash, options           what must be the same
 *          |- metrics, nondeterministic, tolerances   class E
 *          |- instructions                            class D, with its fingerprint
 *          `- latency                                 for people and for --plan, never compared
 */
#ifndef TP_BASELINE_H
#define TP_BASELINE_H

#include "cmd/results/record.h"
#include "cmd/results/stored.h"
#include "cmd/ui/text.h"

#define TP_BASELINE_NAME   "tapool-baseline.json"
#define TP_BASELINE_SCHEMA "tapool.baseline/2"

enum { TP_BASELINE_BYTES = 8 << 20, TP_BASELINE_PATH = 4096, TP_BASELINE_PROCESSES = 5 };

/* By how much a value may be worse than the base value before it is a regression. */
struct tp_tolerance {
    bool given; /* false: the metric's default tolerance applies */
    /* Class E and resident memory: true if `value` is a share of the base value, false if it is an
     * absolute amount. Class D ignores this field: its tolerance is always a share. */
    bool relative;
    double value; /* >= 0; in the unit of the metric, or a share */
};

struct tp_baseline_value {
    const struct tp_metric *metric;
    uint16_t device;
    double value; /* 0 in a list that holds names only */
};

/* Times of a few processes, taken when the cell was written. */
struct tp_baseline_latency {
    char *machine; /* as tp_baseline_machine names it; NULL: the cell holds no times */
    struct tp_baseline_value *values;
    size_t count;
    double spread;  /* standard deviation of ln(ns_per_op) between processes; NAN: not known */
    double seconds; /* duration of one timed process; NAN: not known */
};

/* The cell owns all its texts. None of them is NULL unless its comment says so. */
struct tp_baseline_cell {
    char *trace, *strategy, *source; /* the key */
    char *spec;                      /* the strategy as a command line names it, without a label */
    char *path; /* the trace: "sample:NAME", or a path relative to the baseline's folder */
    char *touch, *hash;
    uint64_t events;
    /* Effective options, sorted by name. Options of the source are named "source.lag", settings of
     * the replay "replay.on_oom". */
    struct tp_record_options options;
    struct tp_baseline_value *values; /* class E, sorted by name */
    size_t value_count;
    /* Metrics that differed between two replays of one build: named in the file, never checked. */
    struct tp_baseline_value *loose;
    size_t loose_count;
    struct tp_tolerance tolerances[TP_METRIC_MAX]; /* set by hand; index as in tp_metrics */
    char *fingerprint;                             /* NULL: the cell holds no instructions */
    double instructions;                           /* per operation */
    struct tp_baseline_latency latency;
};

struct tp_baseline {
    char *file;                                    /* path, as messages show it */
    char *version;                                 /* version of the tapool that wrote the file */
    char *written;                                 /* date, "2026-10-02" */
    char *reason;                                  /* text of --reason; NULL: none was given */
    struct tp_tolerance tolerances[TP_METRIC_MAX]; /* for all cells; index as in tp_metrics */
    struct tp_baseline_cell *cells;                /* sorted by key */
    size_t count;
};

/* Finds TP_BASELINE_NAME in the current folder or in the nearest parent that has one. `path` is
 * relative where that is possible: "tapool-baseline.json", "../tapool-baseline.json". Returns false
 * if no folder has one. */
bool tp_baseline_find(char *path, size_t size);

/* Reads a baseline from a file, or from a text that messages call `file`. TP_EINPUT with the file,
 * the member and what is wrong also: the file is cut off, larger than TP_BASELINE_BYTES, of
 * another schema or not JSON (marks of a merge conflict are named); a number is malformed; a member
 * is missing, unknown or there twice; two cells have the same key; this tapool has no such metric.
 * The caller releases `out`, also after errors. */
int tp_baseline_read(const char *path, struct tp_baseline *out, struct tp_err *err);
int tp_baseline_parse(const char *text, size_t length, const char *file, struct tp_baseline *out,
                      struct tp_err *err);

/* Writes the baseline as JSON. To read the output and write it again gives the same bytes. */
int tp_baseline_write(const struct tp_baseline *b, FILE *out, struct tp_err *err);

void tp_baseline_release(struct tp_baseline *b); /* a zeroed one is fine */
void tp_baseline_cell_release(struct tp_baseline_cell *c);

/* Returns NULL if no cell has this key. */
const struct tp_baseline_cell *tp_baseline_cell_find(const struct tp_baseline *b, const char *trace,
                                                     const char *strategy, const char *source);

/* Compares two keys as strcmp does: 0 for the same key, else the order in the file. */
int tp_baseline_cell_order(const struct tp_baseline_cell *a, const struct tp_baseline_cell *b);

/* Sorts everything that the file holds in sorted order. TP_EINPUT: two cells have the same key. */
int tp_baseline_sort(struct tp_baseline *b, struct tp_err *err);

/* Sorts values as the file holds them: by name, then by device. */
void tp_baseline_values_sort(struct tp_baseline_value *values, size_t count);
bool tp_baseline_values_alike(const struct tp_baseline_value *a, const struct tp_baseline_value *b);

/* The exact value that the cell holds for a metric on a device; NULL: the cell holds none. */
const struct tp_baseline_value *tp_baseline_value_find(const struct tp_baseline_cell *c,
                                                       const struct tp_metric *m, uint16_t device);

/* Why a baseline holds no tolerance of the metric: "it is a time"; NULL: it may hold one. Of class
 * R only resident memory has one, for --base-lib. */
const char *tp_tolerance_refused(const struct tp_metric *m);

/* What to do instead; "" if there is nothing. */
const char *tp_tolerance_instead(const struct tp_metric *m);

/* Reads a tolerance such as "0", "64KiB" or "2%". A percentage is a share of the base value; for a
 * metric that is itself a share it means percentage points. Returns false if the text is malformed
 * or tp_tolerance_fits refuses the value. */
bool tp_tolerance_parse(const struct tp_metric *m, const char *text, struct tp_tolerance *out);

/* Whether a number may stand as a tolerance of the metric. A share of 1 or more is refused because
 * it would tolerate everything: whoever writes `"instructions": 2` means 2%. */
bool tp_tolerance_fits(const struct tp_metric *m, double value);

/* By how much a value may exceed `base` before it is a regression: the tolerance of the cell, else
 * that of all cells, else `fallback`. Instructions: a share of `base`; others: an absolute amount.
 * `c` is NULL where the baseline has no such cell. */
double tp_tolerance_of(const struct tp_baseline *b, const struct tp_baseline_cell *c,
                       const struct tp_metric *m, double base, double fallback);

/* The path of the cell's trace as seen from the current folder. The caller frees it; NULL: out of
 * memory. */
char *tp_baseline_trace_path(const struct tp_baseline *b, const struct tp_baseline_cell *c);

/* Turns `path`, as seen from the current folder, into a path as seen from the folder of the
 * baseline `file`. The caller frees it; NULL: out of memory. */
char *tp_baseline_relative(const char *file, const char *path);

/* Names this machine as baselines do, to say on which one times were taken: "Some CPU, x86_64".
 * Returns false if the processor has no name: then two machines cannot be told apart. */
bool tp_baseline_machine(char *text, size_t size);

/* The name of a value in the file: "peak_reserved" for device 0, "peak_reserved[1]" for device 1.
 */
struct tp_text tp_baseline_name(const struct tp_metric *m, uint16_t device);

#endif
