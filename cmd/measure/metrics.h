/* The metrics that can be compared: one name each, the same in tables, --fail-on, --metric, the
 * baseline and `tapool help metrics`; where it stands in tapool.result/1; its class (tapool help
 * ci). */
#ifndef TP_METRICS_H
#define TP_METRICS_H

#include "alloc/base/err.h"
#include "cmd/ui/text.h"

#include <stdbool.h>
#include <stddef.h>

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
};

enum { TP_METRIC_MAX = 64 };
extern const struct tp_metric tp_metrics[]; /* ends with a NULL name; at most TP_METRIC_MAX */
extern const size_t tp_metric_count;

/* By name, any case; as in the JSON with its unit ("peak_reserved_bytes", "alloc.p99_ns");
 * `ns_per_call` for ns_per_op. TP_EUSAGE with the nearest as hint and NULL. */
const struct tp_metric *tp_metric_find(const char *name, struct tp_err *err);

/* As the JSON documents name it: "bytes", "count", "share", "ratio", "ns", "instructions". */
const char *tp_metric_unit_name(const struct tp_metric *m);

/* A value as people read it: "131.4 MiB", "12,345", "3.2 %", "14.9 ns", "-" for NAN. `exact`: bytes
 * in full. */
struct tp_text tp_metric_text(const struct tp_metric *m, double value, bool exact);

/* Two values that are compared: those that differ read differently, with as many digits as that
 * takes. "1.04x" and "1.21x", but "1,256.342x" and "1,256.343x". */
void tp_metric_texts(const struct tp_metric *m, const double values[2], struct tp_text out[2]);

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
