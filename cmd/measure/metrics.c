/* The table of metrics; see metrics.h. The order is that of tables and of the baseline's screens.
 */
#include "cmd/measure/metrics.h"

#include "alloc/base/opt.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LESS TP_BETTER_LESS
#define MORE TP_BETTER_MORE

/* A tenth of a percentage point: what a rounding in the last block moves. */
#define SHARE_ALLOWED 0.001

/* Each is a whole row: a class, then what it is about. */
/* clang-format off */
#define EXACT(name_, path_, unit_, better_, per_device_, allowed_, family_, follows_) \
    {.name = (name_), .path = (path_), .class = TP_CLASS_EXACT, .unit = (unit_), \
     .better = (better_), .per_device = (per_device_), .allowed = (allowed_), \
     .family = TP_FAMILY_##family_, .follows = (follows_)}
#define TIME(name_, path_, class_, allowed_) \
    {.name = (name_), .path = (path_), .class = (class_), .unit = TP_UNIT_NS, \
     .better = LESS, .allowed = (allowed_), .family = TP_FAMILY_TIME}

#define BYTES(of)  EXACT(#of, "memory." #of "_bytes", TP_UNIT_BYTES, LESS, true, 0, MEMORY, 0)
/* A share of this member, of which devices add up. */
#define SHARE(name_, path_, unit_, better_, allowed_, family_, of) \
    {.name = (name_), .path = (path_), .class = TP_CLASS_EXACT, .unit = (unit_), \
     .better = (better_), .per_device = true, .share_of = (of), .allowed = (allowed_), \
     .family = TP_FAMILY_##family_}
#define UNUSED(name, of) \
    SHARE(#name, "memory." #name, TP_UNIT_SHARE, LESS, SHARE_ALLOWED, MEMORY, "memory." of "_bytes")
#define CALLS(of, unit, follows) \
    EXACT("source_calls." #of, "source_calls." #of, unit, LESS, true, 0, CALLS, follows)
#define COUNT(of)  EXACT(#of, #of, TP_UNIT_COUNT, LESS, false, 0, FAILURES, 0)
#define LATENCY(call, of, class) TIME(call "." of, "latency." call "." of "_ns", class, 0.05)

const struct tp_metric tp_metrics[] = {
    BYTES(peak_reserved),
    BYTES(peak_requested),
    BYTES(peak_granted),
    BYTES(peak_carved),
    BYTES(peak_metadata),
    BYTES(end_reserved),
    BYTES(fits_in),
    SHARE("overhead", "memory.overhead", TP_UNIT_RATIO, LESS, 0, MEMORY,
          "memory.trace_peak_requested_bytes"),
    UNUSED(internal_fragmentation, "at_peak_demand.granted"),
    UNUSED(internal_fragmentation_weighted, "mean_granted"),
    UNUSED(unused_reserved, "at_peak_demand.reserved"),
    UNUSED(unused_reserved_weighted, "mean_reserved"),
    UNUSED(external_fragmentation, "at_peak_demand.span"),
    CALLS(get, TP_UNIT_COUNT, 0),
    CALLS(put, TP_UNIT_COUNT, 0),
    CALLS(wait, TP_UNIT_COUNT, 0),
    CALLS(get_bytes, TP_UNIT_BYTES, TP_FAMILY_MEMORY),
    CALLS(put_bytes, TP_UNIT_BYTES, TP_FAMILY_MEMORY),
    SHARE("reuse", "source_calls.reuse", TP_UNIT_SHARE, MORE, SHARE_ALLOWED, CALLS,
          "source_calls.allocations"),
    {.name = "source_calls.next_pass", .path = "source_calls.next_pass", .class = TP_CLASS_REPORT,
     .unit = TP_UNIT_COUNT, .better = LESS, .per_device = true, .family = TP_FAMILY_CALLS},
    COUNT(failed_allocations),
    COUNT(skipped_operations),
    COUNT(skipped_trims),
    {.name = "instructions", .path = "instructions.per_op", .class = TP_CLASS_INSTRUCTIONS,
     .unit = TP_UNIT_INSTRUCTIONS, .better = LESS, .allowed = 0.01, .family = TP_FAMILY_TIME},
    TIME("ns_per_op", "throughput.ns_per_op", TP_CLASS_NOISY, 0.05),
    LATENCY("alloc", "p90", TP_CLASS_NOISY),
    LATENCY("alloc", "p99", TP_CLASS_NOISY),
    LATENCY("alloc", "mean", TP_CLASS_REPORT),
    LATENCY("alloc", "p50", TP_CLASS_REPORT),
    LATENCY("alloc", "p99_9", TP_CLASS_REPORT),
    LATENCY("alloc", "max", TP_CLASS_REPORT),
    LATENCY("free", "p90", TP_CLASS_NOISY),
    LATENCY("free", "p99", TP_CLASS_NOISY),
    LATENCY("free", "mean", TP_CLASS_REPORT),
    LATENCY("free", "p50", TP_CLASS_REPORT),
    LATENCY("free", "p99_9", TP_CLASS_REPORT),
    LATENCY("free", "max", TP_CLASS_REPORT),
    LATENCY("realloc", "p90", TP_CLASS_NOISY),
    LATENCY("realloc", "p99", TP_CLASS_NOISY),
    LATENCY("realloc", "mean", TP_CLASS_REPORT),
    LATENCY("realloc", "p50", TP_CLASS_REPORT),
    LATENCY("realloc", "p99_9", TP_CLASS_REPORT),
    LATENCY("realloc", "max", TP_CLASS_REPORT),
    TIME("cold_ns_per_op", "throughput.cold_ns_per_op", TP_CLASS_REPORT, 0),
    TIME("engine_ns_per_op", "throughput.engine_ns_per_op", TP_CLASS_REPORT, 0),
    {.name = NULL},
};
/* clang-format on */

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

const char *tp_metric_unit_name(const struct tp_metric *m)
{
    static const char *const names[] = {
        [TP_UNIT_BYTES] = "bytes", [TP_UNIT_COUNT] = "count",
        [TP_UNIT_SHARE] = "share", [TP_UNIT_RATIO] = "ratio",
        [TP_UNIT_NS] = "ns",       [TP_UNIT_INSTRUCTIONS] = "instructions"};
    return names[m->unit];
}

static struct tp_text nanoseconds(double value)
{
    struct tp_text t;
    snprintf(t.s, sizeof t.s, "%.40s ns", tp_digits(value).s);
    return t;
}

enum { DECIMALS_MAX = 12 }; /* of texts that must differ; then all that a double holds */

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

/* With its thousands apart, as everywhere. */
static struct tp_text in_decimals(const struct tp_metric *m, double value, int decimals)
{
    static const struct {
        double scale;
        const char *unit;
    } forms[] = {[TP_UNIT_SHARE] = {100, " %"},
                 [TP_UNIT_RATIO] = {1, "x"},
                 [TP_UNIT_NS] = {1, " ns"},
                 [TP_UNIT_INSTRUCTIONS] = {1, ""}};
    struct tp_text t;
    char digits[48];
    double scaled = value * forms[m->unit].scale;
    if (decimals > DECIMALS_MAX || !(scaled >= 0 && scaled < 1e15)) {
        snprintf(t.s, sizeof t.s, "%.17g%s", scaled, forms[m->unit].unit);
        return t;
    }
    snprintf(digits, sizeof digits, "%.*f", decimals, scaled);
    snprintf(t.s, sizeof t.s, "%.24s%.16s%s", tp_count(strtoull(digits, NULL, 10)).s,
             digits + strcspn(digits, "."), forms[m->unit].unit);
    return t;
}

void tp_metric_texts(const struct tp_metric *m, const double values[2], struct tp_text out[2])
{
    bool whole_numbers = m->unit == TP_UNIT_BYTES || m->unit == TP_UNIT_COUNT;
    bool differ = isfinite(values[0]) && isfinite(values[1]) && values[0] != values[1];
    for (int i = 0; i < 2; i++)
        out[i] = tp_metric_text(m, values[i], false);
    for (int more = 1; differ && !strcmp(out[0].s, out[1].s) && more <= DECIMALS_MAX + 1; more++)
        for (int i = 0; i < 2; i++)
            out[i] = whole_numbers ? tp_metric_text(m, values[i], true)
                                   : in_decimals(m, values[i], more);
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
