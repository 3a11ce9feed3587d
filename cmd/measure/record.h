/* The record of a run: what was played and what came of it, whether it was read from the file of a
 * result (stored.h) or is of a run that was just played (played_record.h). */
#ifndef TP_RECORD_H
#define TP_RECORD_H

#include "alloc/engine/run.h"
#include "cmd/measure/metrics.h"
#include "cmd/measure/settings.h"

#include <stdint.h>

struct tp_record_option {
    char *name, *value;
};

/* Names with their values, all owned. */
struct tp_record_options {
    struct tp_record_option *items;
    size_t count;
    bool partial; /* the file does not say all of them */
};

/* The value of that name; NULL: there is none. */
const char *tp_record_option(const struct tp_record_options *list, const char *name);

/* Takes both over; false: one of them is NULL, or there is no memory. */
bool tp_record_options_add(struct tp_record_options *list, char *name, char *value);
void tp_record_options_sort(struct tp_record_options *list); /* by name */
void tp_record_options_release(struct tp_record_options *list);

/* One strategy on one trace. All texts owned, never NULL unless it says so. */
struct tp_record {
    char *trace_path, *trace_name, *kind, *hash;
    uint64_t events, operations; /* TP_NONE: the file does not say */
    uint64_t frees;              /* of single objects; TP_NONE likewise */
    bool loop;                   /* it is one period of a loop */
    char *strategy, *label;
    char *library; /* that served a real allocator; NULL: none, or the file does not say */
    uint64_t failed_initial; /* of the failed allocations, blocks that were live before the first
                                event; TP_NONE: an older tapool's, or no such pass */
    struct tp_record_options options;        /* all effective ones, in the order of the file */
    char *source;                            /* "host", "virtual+limit" */
    struct tp_record_options source_options; /* of the base and, as "limit.capacity", decorators */
    char *touch, *scope;                     /* "first"; "policy" or "policy_and_source" */
    char *settings[TP_SETTINGS];     /* as tp_settings; "": null; NULL: the file does not say */
    bool usage, throughput, latency; /* which passes it was measured by */
    bool exact;                      /* memory is class E: no real allocator, no real device */
    bool played_once;
    uint16_t devices;
    double *values;  /* of devices x tp_metric_count; NAN: null, absent or not of this device. Run-
                        level metrics are those of device 0. Bytes above 2^53 are rounded. */
    double *weights; /* the same of what a metric is a share of, of several devices; NULL: none are
                        known */
    double *repeats; /* ns_per_op of each replay */
    size_t repeat_count;
    double low_ns_per_op, high_ns_per_op; /* NAN: none */
    struct tp_record_options warnings;    /* id, text */
};

/* Of device 0 unless it is per device. */
double tp_record_value(const struct tp_record *r, const struct tp_metric *m, uint16_t device);

/* Of all devices together: sums, and of shares the share of the sums (metrics.h). NAN where that of
 * one device is not known. */
double tp_record_total(const struct tp_record *r, const struct tp_metric *m);

/* Where it was timed, and nothing is left when tapool's own share is taken off, ns_per_op is made
 * 0: less than any time that is known. Where nothing was timed there is no such share either. */
void tp_record_drown(struct tp_record *r);

void tp_record_release(struct tp_record *r);

#endif
