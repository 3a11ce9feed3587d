/* Metrics by name, and their values in words; see metrics.h. */
#include "cmd/measure/metrics.h"

#include "alloc/base/opt.h"
#include "alloc/engine/replay_cfg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

const struct tp_pass_row tp_pass_rows[TP_PASS_ROWS] = {
    {"verify", TP_PASS_VERIFY, NULL},
    {"usage", TP_PASS_USAGE, NULL},
    {"fits", TP_PASS_FITS, NULL},
    {"throughput", TP_PASS_THROUGHPUT, "throughput."},
    {"latency", TP_PASS_LATENCY, "latency."},
    {"count", TP_PASS_COUNT, "instructions."}};

const struct tp_pass_row *tp_metric_pass(const struct tp_metric *m)
{
    const struct tp_pass_row *usage = NULL;
    for (size_t i = 0; i < TP_PASS_ROWS; i++) {
        const struct tp_pass_row *row = &tp_pass_rows[i];
        if (row->object && !strncmp(m->path, row->object, strlen(row->object)))
            return row;
        if (row->pass == TP_PASS_USAGE)
            usage = row;
    }
    return usage;
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
