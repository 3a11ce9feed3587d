/* The registry of figures. Documents, exports, screens and `tapool help metrics` are made from its
 * rows (figure_rows.h). A metric is a figure that can be compared. A metric has one name, which is
 * the same in tables, --fail-on, --metric and the baseline, and a class that says how it may be
 * judged (`tapool help ci`). */
#ifndef TP_METRICS_H
#define TP_METRICS_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_result;
struct tp_device_run;
struct tp_at_peak;

enum tp_class {
    TP_CLASS_EXACT,        /* E: a pure function of program, strategy, options and source */
    TP_CLASS_INSTRUCTIONS, /* D: counted instructions, nearly exact */
    TP_CLASS_NOISY,        /* N: times, which only pairs measured live may decide about */
    TP_CLASS_REPORT,       /* R: shown, but never decides */
    TP_CLASSES
};

enum tp_unit {
    TP_UNIT_BYTES,
    TP_UNIT_COUNT,
    TP_UNIT_SHARE, /* from 0 to 1, shown in percent */
    TP_UNIT_RATIO, /* shown as 1.04x */
    TP_UNIT_NS,
    TP_UNIT_INSTRUCTIONS /* per operation */
};

/* Metrics that move together form a family, which the gate reports in one line. The first two are
 * findings of the gate that belong to no metric. */
enum tp_family {
    TP_FAMILY_OPTION,      /* an option has changed */
    TP_FAMILY_INSTABILITY, /* a value is missing or differs between two runs of one cell */
    TP_FAMILY_FAILURES,    /* more allocations fail */
    TP_FAMILY_MEMORY,      /* more memory is held */
    TP_FAMILY_CALLS,       /* more calls to the system */
    TP_FAMILY_TIME,        /* slower */
    TP_FAMILIES
};
extern const char *const tp_family_names[TP_FAMILIES]; /* as in JSON */

/* Whether a lower or a higher value of a metric is better. */
enum tp_better { TP_BETTER_LESS, TP_BETTER_MORE };

/* The type of a figure in a document. */
enum tp_figure_type {
    TP_FIGURE_OTHER, /* not in the document, or written there by special code */
    TP_FIGURE_WHOLE,
    TP_FIGURE_REAL,
    TP_FIGURE_FLAG,
    TP_FIGURE_TEXT
};

struct tp_figure_value {
    uint64_t whole;   /* also a flag as 0 or 1; TP_NONE: not known */
    double real;      /* NAN: not known */
    const char *text; /* NULL: not known */
};

/* Where a value is taken from. */
struct tp_figure_of {
    const struct tp_result *r;
    const struct tp_device_run *d; /* NULL for a figure of the whole run */
};

/* A figure. `class`, `better`, `family`, `follows` and `allowed` are only used for metrics. */
struct tp_metric {
    const char *name;
    /* Path of the member in a run of the result: "memory.peak_reserved_bytes". If the run has
     * several devices, a per-device figure is at this path in each element of `devices`. */
    const char *path;
    enum tp_class metric_class;
    enum tp_unit unit;
    enum tp_better better;
    bool per_device;
    bool of_threads; /* null where one thread replayed, as in every result that lacks it */
    enum tp_family family;
    enum tp_family follows; /* a second family that the metric moves with; 0: none */
    /* How the values of several devices become one. NULL: they are added up. Otherwise the metric
     * is a share, the result is a share of sums, and this is the path of the member of a device
     * that holds the whole: "memory.at_trace_peak.allocated_bytes". */
    const char *share_of;
    /* Default tolerance: a change for the worse up to this is no regression. Absolute for class E,
     * a share of the base for other classes. */
    double allowed;
    double
        least; /* of resident memory: a change up to these bytes is none, however small the base */
    const char *part; /* what of resident memory the bytes are: "free pages"; NULL: no part of it */

    const char *meaning; /* text in `help metrics`; NULL: explained elsewhere */
    const char *term;    /* the term (cmd/ui/terms.h) that is its meaning; NULL: `meaning` is */
    /* Two lines over the column in a comparison. Both NULL: made from the name. Only the second is
     * NULL: "system" or "driver", whichever answers the source. */
    const char *head[2];
    const char *column; /* name of the CSV column; NULL: made from the path */
    bool no_column;     /* the figure is not in CSV */
    /* Unit in Go's benchmark format; NULL: not exported there. Only for whole numbers of a device
     * for which less is better. */
    const char *benchmark;
    enum tp_figure_type type;
    /* Computes the value. NULL: the value is the field at `offset` in struct tp_device_run, or in
     * struct tp_run for a figure of the whole run. */
    struct tp_figure_value (*get)(const struct tp_figure_of *of, const struct tp_metric *f);
    size_t offset;
    int percentile; /* index into tp_percentiles, for the latencies at `offset` */
};

enum { TP_METRIC_MAX = 80 };
extern const struct tp_metric tp_metrics[]; /* at most TP_METRIC_MAX */
extern const size_t tp_metric_count;

/* All figures in the order of documents: metrics, figures that are only reported, and lines of
 * `help metrics`, which have no path. */
enum { TP_FIGURE_MAX = 256 };
extern const struct tp_metric *const tp_figures[]; /* at most TP_FIGURE_MAX */
extern const size_t tp_figure_count;

/* The value of a figure; which member of the value is set depends on the figure's type. */
struct tp_figure_value tp_figure_value(const struct tp_metric *f, const struct tp_figure_of *of);

/* Whether the figure is a direct member of `object` ("memory.", or "" for the top) in a device or
 * in the whole run. false for a figure that special code writes. */
bool tp_figure_is_member(const struct tp_metric *f, const char *object, bool per_device);

/* Whether the figure is the event at which the figure of the row before it was reached. */
bool tp_figure_is_event(const struct tp_metric *f);

/* The value that a figure of "memory.at_trace_peak." has in `at`, which may be another moment than
 * the trace peak. */
uint64_t tp_figure_at(const struct tp_metric *f, const struct tp_at_peak *at);

/* A pass, by the name that --passes and the result use. */
struct tp_pass_row {
    const char *name;
    unsigned pass;      /* enum tp_pass */
    const char *object; /* member of a run that the pass fills; NULL: it has no such member */
};
enum { TP_PASS_ROWS = 8 };
extern const struct tp_pass_row tp_pass_rows[TP_PASS_ROWS]; /* in the order of documents */

/* The pass that measures a metric: the one whose `object` holds it, or else `usage`. */
const struct tp_pass_row *tp_metric_pass(const struct tp_metric *m);

/* Finds a metric by its name in any case. Its JSON name with the unit is accepted too
 * ("peak_reserved_bytes", "alloc.p99_ns"), and `ns_per_call` means ns_per_op. NULL: unknown; err is
 * TP_EUSAGE with the nearest name as hint. */
const struct tp_metric *tp_metric_find(const char *name, struct tp_err *err);

/* The unit's name in JSON documents: "bytes", "count", "share", "ratio", "ns", "instructions". */
const char *tp_metric_unit_name(const struct tp_metric *m);

bool tp_metric_is_time(const struct tp_metric *m); /* whether its unit is ns */

/* Whether a timed pass measures it, so that it differs from round to round. */
bool tp_metric_is_timed(const struct tp_metric *m);

/* Whether the metric is the time of a single call (a percentile, a maximum). Below ten steps of the
 * clock such a time is only a bound or a guess, unlike a mean or the time of a whole replay. */
bool tp_metric_is_one_call(const struct tp_metric *m);

/* Whether the metric is memory as the kernel counts it: the same again but for a few pages. */
bool tp_metric_is_by_kernel(const struct tp_metric *m);

/* Whether `part` is a part of the resident memory that `whole` is, at the same moment; of the peak
 * at the trace peak, which it may lie beside. */
bool tp_metric_is_part_of(const struct tp_metric *part, const struct tp_metric *whole);

/* "at the trace peak", "after the last event": when a part of resident memory is what it is. */
const char *tp_metric_moment(const struct tp_metric *part);

/* Whether any difference in the metric is real, in a run whose memory is exact or is not. What is
 * resident never is exact; the calls of a real allocator are, whose own statistics are not. */
bool tp_metric_is_exact_in(const struct tp_metric *m, bool exact_run);

/* Whether the metric is ns_per_op, the time of whole replays less the engine's share. The gate's
 * verdict on the time of a cell rests on it. */
bool tp_metric_is_ns_per_op(const struct tp_metric *m);

/* The letter of a class: "E", "D", "N" or "R". */
const char *tp_class_letter(enum tp_class metric_class);

#endif
