/* The registry of figures: a row each (figure_rows.h), from which documents, exports, screens and
 * `tapool help metrics` are made. Those that can be compared are the metrics: one name each, the
 * same in tables, --fail-on, --metric and the baseline; its class (tapool help ci). */
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
    TP_CLASS_INSTRUCTIONS, /* D: counted, nearly exact */
    TP_CLASS_NOISY,        /* N: times; only live pairs may decide about them */
    TP_CLASS_REPORT,       /* R: shown, never gates */
    TP_CLASSES
};

enum tp_unit {
    TP_UNIT_BYTES,
    TP_UNIT_COUNT,
    TP_UNIT_SHARE, /* 0 to 1, shown in percent */
    TP_UNIT_RATIO, /* shown as 1.04x */
    TP_UNIT_NS,
    TP_UNIT_INSTRUCTIONS /* per operation */
};

/* What moves together: the gate says it in one line. */
enum tp_family {
    TP_FAMILY_OPTION,      /* no metric's: an option that is another */
    TP_FAMILY_INSTABILITY, /* no metric's: it does not agree with itself any more */
    TP_FAMILY_FAILURES,    /* fails more allocations */
    TP_FAMILY_MEMORY,      /* holds more memory */
    TP_FAMILY_CALLS,       /* calls the system more */
    TP_FAMILY_TIME,        /* is slower */
    TP_FAMILIES
};
extern const char *const tp_family_names[TP_FAMILIES]; /* as in JSON */

/* Whether less or more of it is better. */
enum tp_better { TP_BETTER_LESS, TP_BETTER_MORE };

/* What a figure is in a document. */
enum tp_figure_type {
    TP_FIGURE_OTHER, /* none, or a member that code of its own writes */
    TP_FIGURE_WHOLE,
    TP_FIGURE_REAL,
    TP_FIGURE_FLAG,
    TP_FIGURE_TEXT
};

struct tp_figure_value {
    uint64_t whole;   /* TP_NONE: not known; a flag: 0 or 1 */
    double real;      /* NAN likewise */
    const char *text; /* NULL likewise */
};

/* What a value is taken from. */
struct tp_figure_of {
    const struct tp_result *r;
    const struct tp_device_run *d; /* not of a figure of a whole run */
};

/* A figure. `class`, `better`, `family`, `follows` and `allowed` are about those that compare. */
struct tp_metric {
    const char *name;
    const char *path; /* in a run of the result, members with dots: "memory.peak_reserved_bytes";
                         of a per-device one the same under each of `devices`, where there are
                         several */
    enum tp_class class;
    enum tp_unit unit;
    enum tp_better better;
    bool per_device;
    enum tp_family family;
    enum tp_family follows; /* it moves with that one too; 0: with none */
    /* Several devices: NULL: their sum. Else it is a share, and theirs is a share of the sums: the
     * member of the device that it is a share of, "memory.at_peak_demand.granted_bytes". */
    const char *share_of;
    double allowed; /* default: worse by so much is no regression; E: absolute, else a share */

    const char *meaning;   /* in `help metrics`, under the end of its name; lines that end in '\n'.
                              NULL: another line speaks for it */
    const char *head[2];   /* over its column in a comparison, in two lines: NULL, NULL: made of the
                              name; the second alone NULL: who answers, "system" or "driver" */
    const char *column;    /* in CSV; NULL: made of the path */
    bool no_column;        /* not in CSV */
    const char *benchmark; /* its unit in Go's benchmark format, of whole numbers of a device, where
                              less is better; NULL: it is not there */
    enum tp_figure_type type;
    /* NULL: the field of this offset, in struct tp_device_run or, of a whole run, in struct tp_run.
     */
    struct tp_figure_value (*get)(const struct tp_figure_of *of, const struct tp_metric *f);
    size_t offset;
    int percentile; /* of the calls at this offset: which of tp_percentiles */
};

enum { TP_METRIC_MAX = 64 };
extern const struct tp_metric tp_metrics[]; /* at most TP_METRIC_MAX */
extern const size_t tp_metric_count;

/* All figures in the order of documents, those that compare and others, and lines of `help metrics`
 * that have no path. */
enum { TP_FIGURE_MAX = 192 };
extern const struct tp_metric *const tp_figures[]; /* at most TP_FIGURE_MAX */
extern const size_t tp_figure_count;

struct tp_figure_value tp_figure_value(const struct tp_metric *f, const struct tp_figure_of *of);

/* Whether it is a member of this object, "memory." or "", of a device or of the whole run; none
 * that code of its own writes. */
bool tp_figure_is_member(const struct tp_metric *f, const char *object, bool per_device);

/* Whether it says at which event the figure of the row before it was reached. */
bool tp_figure_is_event(const struct tp_metric *f);

/* The value of a figure of "memory.at_peak_demand." at another moment. */
uint64_t tp_figure_at(const struct tp_metric *f, const struct tp_at_peak *at);

/* A pass as --passes and the result name it, and the member of a run that it fills; NULL: none of
 * its own. */
struct tp_pass_row {
    const char *name;
    unsigned pass; /* enum tp_pass */
    const char *object;
};
enum { TP_PASS_ROWS = 6 };
extern const struct tp_pass_row tp_pass_rows[TP_PASS_ROWS]; /* in the order of documents */

/* The one that a metric comes from; what stands in no such member is of the pass `usage`. */
const struct tp_pass_row *tp_metric_pass(const struct tp_metric *m);

/* By name, any case; as in the JSON with its unit ("peak_reserved_bytes", "alloc.p99_ns");
 * `ns_per_call` for ns_per_op. TP_EUSAGE with the nearest as hint and NULL. */
const struct tp_metric *tp_metric_find(const char *name, struct tp_err *err);

/* As the JSON documents name it: "bytes", "count", "share", "ratio", "ns", "instructions". */
const char *tp_metric_unit_name(const struct tp_metric *m);

bool tp_metric_is_time(const struct tp_metric *m);

/* The time of one call (a percentile, a maximum): below ten steps of the clock a bound or a guess.
 * Means and whole replays are not. */
bool tp_metric_is_one_call(const struct tp_metric *m);

/* The mean of whole replays less the empty strategy's: what the gate's verdict on a cell rests on.
 */
bool tp_metric_is_ns_per_op(const struct tp_metric *m);

/* "E", "D", "N", "R". */
const char *tp_class_letter(enum tp_class class);

#endif
