/* Results as they are stored: tapool.result/1 read back, from this tapool or another. What live
 * comparisons measure comes through here too: each measured replay is a process of its own that
 * prints its result as JSON. */
#ifndef TP_STORED_H
#define TP_STORED_H

#include "alloc/engine/run.h"
#include "cmd/measure/metrics.h"
#include "cmd/measure/settings.h"

#include <stdint.h>
#include <stdio.h>

enum { TP_STORED_DEVICES = 256, TP_STORED_BYTES = 1 << 26 };

struct tp_stored_option {
    char *name, *value;
};

/* The value of the option of that name; NULL: there is none. */
const char *tp_stored_options_find(const struct tp_stored_option *list, size_t count,
                                   const char *name);
void tp_stored_options_release(struct tp_stored_option *list, size_t count); /* NULL is fine */

/* One strategy on one trace. All texts owned, never NULL unless it says so. */
struct tp_stored_run {
    char *trace_path, *trace_name, *kind, *hash;
    uint64_t events, operations; /* TP_NONE: the file does not say */
    uint64_t frees;              /* of single objects; TP_NONE likewise */
    bool loop;                   /* it is one period of a loop */
    char *strategy, *label;
    char *library; /* that served a real allocator; NULL: none, or the file does not say */
    uint64_t failed_initial; /* of the failed allocations, blocks that were live before the first
                                event; TP_NONE: an older tapool's, or no such pass */
    struct tp_stored_option *options; /* all effective ones, in the order of the file */
    size_t option_count;
    char *source;                            /* "host", "virtual+limit" */
    struct tp_stored_option *source_options; /* of the base and, as "limit.capacity", decorators */
    size_t source_option_count;
    bool options_known, source_options_known; /* else some may be missing in the lists */
    char *touch, *scope;                      /* "first"; "policy" or "policy_and_source" */
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
    struct tp_stored_option *warnings;    /* id, text */
    size_t warning_count;
};

/* What an older tapool did not write, in some of its runs: unknown, and no damage. */
enum tp_stored_lack_kind { TP_LACKS_METRIC, TP_LACKS_SETTING, TP_LACKS_MEMBER, TP_LACK_KINDS };
struct tp_stored_lack {
    enum tp_stored_lack_kind kind;
    char name[64]; /* a metric's, "trace.frees", "--on-oom" */
};

struct tp_stored {
    char *path;                       /* as given, for messages */
    char *version, *build, *compiler; /* of the tapool that measured; "": not known */
    char *arch, *cpu, *libc;          /* "": not known */
    double step_ns;                   /* NAN: not known */
    bool partial;
    struct tp_stored_lack *lacks; /* each once */
    size_t lack_count;
    struct tp_stored_run *runs;
    size_t count;
};

/* From a file; "-" is standard input. TP_EINPUT names the file and what is wrong: no JSON (with its
 * byte), cut off, another schema or major version (with both), a member of the wrong type (with its
 * path, "runs[2].memory.peak_reserved_bytes"), a number that is none (NaN, 1e999), over
 * TP_STORED_BYTES, or without what says which experiment it was: name, kind, program and devices of
 * the trace, name and label of the strategy, the source's name, touch and scope of latency. All
 * else may be absent or null: it is unknown then, and named in `lacks`. What a newer tapool adds is
 * ignored. */
int tp_stored_read(const char *path, struct tp_stored *out, struct tp_err *err);

/* The same from memory; `name` stands for the file in messages. */
int tp_stored_parse(const char *text, size_t length, const char *name, struct tp_stored *out,
                    struct tp_err *err);

/* Where it was timed, and nothing is left when tapool's own share is taken off, ns_per_op is made
 * 0: less than any time that is known. Where nothing was timed there is no such share either. */
void tp_stored_drown(struct tp_stored_run *run);

void tp_stored_run_release(struct tp_stored_run *r);
void tp_stored_release(struct tp_stored *s); /* a zeroed one is fine */

/* Of device 0 unless it is per device. */
double tp_stored_value(const struct tp_stored_run *r, const struct tp_metric *m, uint16_t device);

/* Of all devices together: sums, and of shares the share of the sums (metrics.h). NAN where that of
 * one device is not known. */
double tp_stored_total(const struct tp_stored_run *r, const struct tp_metric *m);

/* Two runs may stand side by side: the same program, kind and scope of latency, touch and number of
 * devices. TP_EINPUT says in what they differ and names both. What else differs (version, compiler,
 * machine, source) is for the caller to say: tp_stored_differences. */
int tp_stored_comparable(const struct tp_stored *a, const struct tp_stored_run *x,
                         const struct tp_stored *b, const struct tp_stored_run *y,
                         struct tp_err *err);

/* "tapool 0.1.0 and 0.2.0, GNU 12.2.0 and Clang 14.0.6"; "" where nothing differs. `times`: what
 * makes times incomparable (machine, build, clock) too. */
void tp_stored_differences(const struct tp_stored *a, const struct tp_stored *b, bool times,
                           char *text, size_t size);

/* Played on the same source, whatever --capacity gave it: "virtual" and "virtual+limit". */
bool tp_stored_same_source(const struct tp_stored_run *x, const struct tp_stored_run *y);

/* The option of a source that --capacity sets. */
#define TP_STORED_CAPACITY "limit.capacity"

/* "--capacity 8GiB and not given, --on-oom continue and stop, --min-time 500ms and 2s": settings
 * that both say and that differ, all or those alone that decide what is read from a trace; "" where
 * none does. */
void tp_stored_settings_differ(const struct tp_stored_run *x, const struct tp_stored_run *y,
                               bool reads, char *text, size_t size);

struct tp_text;

/* "3,000 events"; "an unknown number of events". */
struct tp_text tp_stored_events(const struct tp_stored_run *run);

/* The text, "unknown" for "". */
const char *tp_stored_known(const char *text);

/* "peak_carved, --on-oom, --repeat, 2 more": what the file lacks, with settings or without; ""
 * where nothing. */
void tp_stored_lacks(const struct tp_stored *s, bool settings, char *text, size_t size);

#endif
