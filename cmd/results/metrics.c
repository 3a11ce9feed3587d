/* Metrics by name; see metrics.h. */
#include "cmd/results/metrics.h"

#include "alloc/base/opt.h"
#include "alloc/engine/replay_cfg.h"

#include <string.h>
#include <strings.h>

/* Whether `name` is the metric's path in the result, either complete or without the name of its
 * group. */
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
        tp_hint(err, status, "did you mean '%s'? 'tapool help metrics compared' lists all", near);
    else
        tp_hint(err, status, "'tapool help metrics compared' lists all");
    return NULL;
}

const struct tp_pass_row tp_pass_rows[TP_PASS_ROWS] = {
    {"verify", TP_PASS_VERIFY, NULL},
    {"usage", TP_PASS_USAGE, NULL},
    {"fits", TP_PASS_FITS, NULL},
    {"throughput", TP_PASS_THROUGHPUT, "throughput."},
    {"latency", TP_PASS_LATENCY, "latency."},
    {"count", TP_PASS_COUNT, "instructions."},
    {"resident", TP_PASS_RESIDENT, "resident."},
    {"mapped", TP_PASS_MAPPED, "mapped."}};

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

bool tp_metric_is_time(const struct tp_metric *m)
{
    return m->unit == TP_UNIT_NS;
}

bool tp_metric_is_timed(const struct tp_metric *m)
{
    return tp_metric_pass(m)->pass & (TP_PASS_THROUGHPUT | TP_PASS_LATENCY);
}

bool tp_metric_is_one_call(const struct tp_metric *m)
{
    return !strncmp(m->path, "latency.", 8) && !strstr(m->path, ".mean");
}

bool tp_metric_is_by_kernel(const struct tp_metric *m)
{
    return tp_metric_pass(m)->pass == TP_PASS_RESIDENT;
}

bool tp_metric_is_part_of(const struct tp_metric *part, const struct tp_metric *whole)
{
    static const char *const moments[][2] = {{"resident.peak_bytes", "resident.at_peak_pages_"},
                                             {"resident.at_peak_bytes", "resident.at_peak_pages_"},
                                             {"resident.end_bytes", "resident.end_pages_"}};
    for (size_t i = 0; part->part && i < sizeof moments / sizeof *moments; i++)
        if (!strcmp(whole->path, moments[i][0]))
            return !strncmp(part->path, moments[i][1], strlen(moments[i][1]));
    return false;
}

const char *tp_metric_moment(const struct tp_metric *part)
{
    return strstr(part->path, ".end_") ? "after the last event" : "at the trace peak";
}

bool tp_metric_is_exact_in(const struct tp_metric *m, bool exact_run)
{
    bool counted = tp_metric_pass(m)->pass == TP_PASS_MAPPED;
    if (counted || tp_metric_is_by_kernel(m))
        return m->metric_class == TP_CLASS_EXACT;
    return exact_run || m->metric_class != TP_CLASS_EXACT;
}

bool tp_metric_is_ns_per_op(const struct tp_metric *m)
{
    return !strcmp(m->name, "ns_per_op");
}

const char *tp_class_letter(enum tp_class metric_class)
{
    static const char *const letters[TP_CLASSES] = {"E", "D", "N", "R"};
    return letters[metric_class];
}
