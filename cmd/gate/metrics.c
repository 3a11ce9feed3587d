/* The table of metrics; see metrics.h. The order is that of tables and of the baseline's screens.
 */
#include "cmd/gate/metrics.h"

#include "alloc/opt.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define PER_DEVICE(member, unit_, better_, allowed_)                                               \
    {                                                                                              \
        .name = #member, .class = TP_CLASS_EXACT, .unit = (unit_), .better = (better_),            \
        .per_device = true, .allowed = (allowed_)
#define LESS TP_BETTER_LESS
#define MORE TP_BETTER_MORE

/* A tenth of a percentage point: what a rounding in the last block moves. */
#define SHARE_ALLOWED 0.001

#define BYTES(member)                                                                              \
    PER_DEVICE(member, TP_UNIT_BYTES, LESS, 0), .path = "memory." #member "_bytes"                 \
    }
#define SHARE(member)                                                                              \
    PER_DEVICE(member, TP_UNIT_SHARE, LESS, SHARE_ALLOWED), .path = "memory." #member              \
    }
#define CALLS(member, unit_)                                                                       \
    {                                                                                              \
        .name = "source_calls." #member, .path = "source_calls." #member, .class = TP_CLASS_EXACT, \
        .unit = (unit_), .better = LESS, .per_device = true                                        \
    }
#define COUNT(member)                                                                              \
    {                                                                                              \
        .name = #member, .path = #member, .class = TP_CLASS_EXACT, .unit = TP_UNIT_COUNT,          \
        .better = LESS                                                                             \
    }
#define LATENCY(kind, member, class_)                                                              \
    {                                                                                              \
        .name = kind "." member, .path = "latency." kind "." member "_ns", .class = (class_),      \
        .unit = TP_UNIT_NS, .better = LESS, .allowed = 0.05                                        \
    }
#define LATENCIES(kind)                                                                            \
    LATENCY(kind, "p90", TP_CLASS_NOISY), LATENCY(kind, "p99", TP_CLASS_NOISY),                    \
        LATENCY(kind, "mean", TP_CLASS_REPORT), LATENCY(kind, "p50", TP_CLASS_REPORT),             \
        LATENCY(kind, "p99_9", TP_CLASS_REPORT), LATENCY(kind, "max", TP_CLASS_REPORT)

const struct tp_metric
    tp_metrics[] = {BYTES(peak_reserved),     BYTES(peak_requested),
                    BYTES(peak_granted),      BYTES(peak_carved),
                    BYTES(peak_metadata),     BYTES(end_reserved),
                    BYTES(fits_in),           PER_DEVICE(overhead, TP_UNIT_RATIO, LESS, 0),
                    .path = "memory.overhead"},
    SHARE(internal_fragmentation), SHARE(internal_fragmentation_weighted), SHARE(unused_reserved),
    SHARE(unused_reserved_weighted), SHARE(external_fragmentation), CALLS(get, TP_UNIT_COUNT),
    CALLS(put, TP_UNIT_COUNT), CALLS(wait, TP_UNIT_COUNT), CALLS(get_bytes, TP_UNIT_BYTES),
    CALLS(put_bytes, TP_UNIT_BYTES),
    {.name = "reuse",
     .path = "source_calls.reuse",
     .class = TP_CLASS_EXACT,
     .unit = TP_UNIT_SHARE,
     .better = MORE,
     .per_device = true,
     .allowed = SHARE_ALLOWED},
    COUNT(failed_allocations), COUNT(skipped_operations), COUNT(skipped_trims),
    {.name = "instructions",
     .path = "instructions.per_op",
     .class = TP_CLASS_INSTRUCTIONS,
     .unit = TP_UNIT_INSTRUCTIONS,
     .better = LESS,
     .allowed = 0.01},
    {.name = "ns_per_op",
     .path = "throughput.ns_per_op",
     .class = TP_CLASS_NOISY,
     .unit = TP_UNIT_NS,
     .better = LESS,
     .allowed = 0.05},
    LATENCIES("alloc"), LATENCIES("free"), LATENCIES("realloc"),
    {.name = "cold_ns_per_op",
     .path = "throughput.cold_ns_per_op",
     .class = TP_CLASS_REPORT,
     .unit = TP_UNIT_NS,
     .better = LESS},
    {.name = "engine_ns_per_op",
     .path = "throughput.engine_ns_per_op",
     .class = TP_CLASS_REPORT,
     .unit = TP_UNIT_NS,
     .better = LESS},
{
    .name = NULL
}
}
;

const size_t tp_metric_count = sizeof tp_metrics / sizeof *tp_metrics - 1;
static_assert(sizeof tp_metrics / sizeof *tp_metrics <= TP_METRIC_MAX, "the documented limit");

/* As it stands in the result, with its unit: whole, or without these. */
static bool is_path(const struct tp_metric *m, const char *name)
{
    static const char *const left_out[] = {"memory.", "throughput.", "latency."};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        size_t length = strlen(left_out[i]);
        if (!strncmp(m->path, left_out[i], length) && !strcasecmp(name, m->path + length))
            return true;
    }
    return !strcasecmp(name, m->path);
}

const struct tp_metric *tp_metric_find(const char *name, struct tp_err *err)
{
    const char *names[TP_METRIC_MAX] = {0};
    if (!strcasecmp(name, "ns_per_call"))
        name = "ns_per_op";
    for (size_t i = 0; i < tp_metric_count; i++) {
        names[i] = tp_metrics[i].name;
        if (!strcasecmp(name, names[i]) || is_path(&tp_metrics[i], name))
            return &tp_metrics[i];
    }
    const char *near = tp_nearest(name, names);
    int status = tp_fail(err, TP_EUSAGE, "unknown metric '%s'", name);
    if (near)
        tp_hint(err, status, "did you mean '%s'? 'tapool help metrics' lists all", near);
    else
        tp_hint(err, status, "'tapool help metrics' lists all");
    return NULL;
}

static struct tp_text nanoseconds(double value)
{
    struct tp_text t;
    snprintf(t.s, sizeof t.s, "%.40s ns", tp_digits(value).s);
    return t;
}

static uint64_t whole(double value)
{
    return value < 0 ? 0 : value >= 0x1p63 ? (uint64_t)1 << 63 : (uint64_t)(value + 0.5);
}

struct tp_text tp_metric_text(const struct tp_metric *m, double value, bool exact)
{
    if (!isfinite(value))
        return (struct tp_text){"-"};
    switch (m->unit) {
    case TP_UNIT_BYTES:
        return tp_bytes(whole(value), exact);
    case TP_UNIT_COUNT:
        return tp_count(whole(value));
    case TP_UNIT_SHARE:
        return tp_percent(value);
    case TP_UNIT_RATIO:
        return tp_times(value);
    case TP_UNIT_NS:
        return nanoseconds(value);
    case TP_UNIT_INSTRUCTIONS:
        return tp_digits(value);
    }
    return (struct tp_text){"-"};
}

bool tp_metric_is_time(const struct tp_metric *m)
{
    return m->unit == TP_UNIT_NS;
}

bool tp_metric_is_one_call(const struct tp_metric *m)
{
    return !strncmp(m->path, "latency.", 8) && !strstr(m->path, ".mean");
}

bool tp_metric_is_ns_per_op(const struct tp_metric *m)
{
    return !strcmp(m->name, "ns_per_op");
}

const char *tp_class_letter(enum tp_class class)
{
    static const char *const letters[TP_CLASSES] = {"E", "D", "N", "R"};
    return letters[class];
}
