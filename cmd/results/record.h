/* The record of a run: what was replayed, and the values that were measured. It is read from a
 * stored result (stored.h) or made of a run that was just replayed. */
#ifndef TP_RECORD_H
#define TP_RECORD_H

#include "alloc/engine/run.h"
#include "cmd/results/metrics.h"
#include "cmd/results/result.h"

#include <stdbool.h>
#include <stdint.h>

/* Settings of a replay that change its figures, beside the options of the strategy and the source.
 * The writer of the result, its reader and `tapool compare` share this table. */

struct tp_setting {
    const char *option; /* option of tapool replay without its dashes */
    const char *path;   /* path in a run of the result: "settings.on_oom" */
    const char *before; /* its value in results older than the setting; NULL: not known */
    bool document;      /* `path` begins at the document, not at the run */
    bool reads;         /* the setting decides which program is read from a trace */
    bool memory;        /* the setting changes memory and counts, so a baseline stores it */
};

/* --touch is not in the table, because results with different --touch do not compare at all.
 * --capacity is not in the table either, because it is an option of the source; it is compared
 * together with the settings (tp_stored_settings_differ). */
enum { TP_SETTINGS = 10 };
extern const struct tp_setting tp_settings[TP_SETTINGS];

struct tp_record_option {
    char *name, *value;
};

/* A list of names and values. All texts are owned. */
struct tp_record_options {
    struct tp_record_option *items;
    size_t count;
    bool partial; /* the stored result does not name all options */
};

/* The value of an option by its name; NULL: not in the list. */
const char *tp_record_option(const struct tp_record_options *list, const char *name);

/* Adds an option and takes ownership of both texts, even if it fails. false: one of the texts is
 * NULL, or out of memory. */
bool tp_record_options_add(struct tp_record_options *list, char *name, char *value);
void tp_record_options_sort(struct tp_record_options *list); /* by name */
void tp_record_options_release(struct tp_record_options *list);

/* Memory over time on a device: the event, then the bytes that were requested, handed out and
 * reserved (TP_CURVE_...) from it on until the next one. Events never fall. */
enum { TP_RECORD_POINT = 1 + TP_CURVE_VALUES };
struct tp_record_curve {
    uint64_t (*points)[TP_RECORD_POINT]; /* owned */
    size_t count;
};

/* One strategy on one trace. All texts are owned. A text is never NULL unless its comment says so;
 * TP_NONE and NULL mean that the stored result does not have the value. */
struct tp_record {
    char *trace_path, *trace_name, *kind, *hash;
    uint64_t events, operations; /* or TP_NONE */
    uint64_t frees;              /* frees of single objects; or TP_NONE */
    bool loop;                   /* the trace is one period of a loop */
    char *strategy, *label;
    char *library; /* the library behind a real allocator; NULL: no real allocator, or not known */
    uint64_t failed_initial;          /* failed allocations before the first event; or TP_NONE */
    struct tp_record_options options; /* all effective options, in the order of the file */
    char *source;                     /* "host", "virtual+limit" */
    /* Options of the source, and of its wrappers with their names: "limit.capacity". */
    struct tp_record_options source_options;
    char *touch, *scope;             /* "none", "first", "all"; "strategy", "strategy_and_source" */
    char *settings[TP_SETTINGS];     /* in the order of tp_settings; "": null in the result; NULL */
    bool usage, throughput, latency; /* the passes that were replayed */
    bool exact;                      /* memory is class E: no real allocator, no real device */
    bool aged;                       /* the strategy began with the recorded heap */
    bool replayed_once;              /* each replay took longer than --min-time: times are cold */
    uint16_t devices;
    /* values[device * tp_metric_count + metric]; NAN: not known. The value of a metric of the whole
     * run is that of device 0. Bytes above 2^53 are rounded. */
    double *values;
    /* The wholes that shares are shares of, indexed like `values`; only for several devices. NULL:
     * none is known. */
    double *weights;
    struct tp_record_curve *curves; /* of each device; NULL: not read */
    double *repeats;                /* ns_per_op of each replay */
    size_t repeat_count;
    double ci95_low_ns_per_op, ci95_high_ns_per_op; /* 95% interval of ns_per_op; NAN: none */
    struct tp_record_options warnings;              /* name: id of the warning; value: its text */
};

/* The value of a metric on a device; `device` is ignored for a metric of the whole run. NAN: not
 * known. */
double tp_record_value(const struct tp_record *r, const struct tp_metric *m, uint16_t device);

/* The value of a metric for all devices together: the sum, or the share of the sums (metrics.h).
 * NAN: the value of one device is not known. */
double tp_record_total(const struct tp_record *r, const struct tp_metric *m);

/* Sets ns_per_op to 0, less than any known time, if the run was timed but nothing is left after
 * tapool's own share is taken off. A run that was not timed is not changed. */
void tp_record_drown(struct tp_record *r);

void tp_record_release(struct tp_record *r);

/* Makes the record of a run that was just replayed. Its values are the same as those read from a
 * stored result, so that the name of a metric means the same for both. */

/* Fills the names and values of the record and no other members. The caller releases it with
 * tp_record_release. TP_ENOMEM. */
int tp_record_of(const struct tp_result *r, struct tp_record *out, struct tp_err *err);

#endif
