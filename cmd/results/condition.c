/* See condition.h. The text is split at its comparison operator; the value after it is read by the
 * unit of the metric. */
#include "cmd/results/condition.h"
#include "cmd/results/metric_text.h"

#include "alloc/base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_MAX_BYTES = 64 };

static int fail_value(const char *text, const char *value, const char *want, struct tp_err *err)
{
    return tp_fail(err, TP_EUSAGE, "--fail-on '%s': '%s' is not a %s", text, value, want);
}

/* Reads a number, and lets `rest` point behind it. */
static bool read_number(const char *text, double *value, const char **rest)
{
    size_t length = strspn(text, "0123456789.");
    char *end = NULL;
    if (!length || length > 40)
        return false;
    *value = strtod(text, &end); /* reads an exponent too */
    *rest = end;
    return isfinite(*value) && (size_t)(end - text) >= length;
}

/* The suffixes that a number may have, by the unit of the metric: a value is multiplied by `times`
 * and divided by `per`. */
static const struct {
    enum tp_unit of;
    const char *unit;
    double times, per;
} units[] = {
    {TP_UNIT_NS, "", 1, 1},       {TP_UNIT_NS, "ns", 1, 1},        {TP_UNIT_NS, "us", 1e3, 1},
    {TP_UNIT_NS, "ms", 1e6, 1},   {TP_UNIT_NS, "s", 1e9, 1},       {TP_UNIT_SHARE, "", 1, 1},
    {TP_UNIT_SHARE, "%", 1, 100}, {TP_UNIT_RATIO, "", 1, 1},       {TP_UNIT_RATIO, "x", 1, 1},
    {TP_UNIT_COUNT, "", 1, 1},    {TP_UNIT_INSTRUCTIONS, "", 1, 1}};

static bool read_unit(enum tp_unit of, const char *text, double *value)
{
    const char *rest;
    if (!read_number(text, value, &rest))
        return false;
    rest += *rest == ' ';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].of == of && !strcasecmp(rest, units[i].unit)) {
            *value = *value * units[i].times / units[i].per;
            return true;
        }
    return false;
}

/* Reads a value and converts it to the unit of the metric. */
static bool read_value(const struct tp_metric *m, const char *text, double *value)
{
    uint64_t bytes = 0;
    if (m->unit != TP_UNIT_BYTES)
        return read_unit(m->unit, text, value);
    bool good = tp_parse_size(text, &bytes);
    *value = (double)bytes;
    return good;
}

static const char *wanted(const struct tp_metric *m)
{
    static const char *const words[] = {
        [TP_UNIT_BYTES] = "size (8GiB, +1MiB, +2%)", [TP_UNIT_COUNT] = "number (0, +1, +2%)",
        [TP_UNIT_SHARE] = "share (20%, 0.2, +2%)",   [TP_UNIT_RATIO] = "ratio (1.2, +2%)",
        [TP_UNIT_NS] = "time (100ns, +2%)",          [TP_UNIT_INSTRUCTIONS] = "number (60, +2%)"};
    return words[m->unit];
}

static int parse_right(struct tp_condition *c, const char *right, struct tp_err *err)
{
    const char *value = right;
    double sign = *value == '-' ? -1 : 1;
    c->relative = *value == '+' || *value == '-';
    value += c->relative;
    c->percent = c->relative && strchr(value, '%') && read_unit(TP_UNIT_SHARE, value, &c->value);
    if (!c->percent && !read_value(c->metric, value, &c->value))
        return fail_value(c->text, right, wanted(c->metric), err);
    c->value *= sign;
    return TP_OK;
}

int tp_condition_parse_of(const char *text, tp_metric_finder *find, const char *examples,
                          struct tp_condition *out, struct tp_err *err)
{
    char name[NAME_MAX_BYTES];
    size_t length = strcspn(text, "<>");
    *out = (struct tp_condition){.text = text};
    if (!text[length] || !length || length >= sizeof name)
        return tp_hint(err, tp_fail(err, TP_EUSAGE, "'%s' is nothing that --fail-on knows", text),
                       "%s", examples);
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    while (length && name[length - 1] == ' ')
        name[--length] = '\0';
    const char *right = text + strcspn(text, "<>");
    out->less = *right++ == '<';
    out->equal = *right == '=';
    right += out->equal;
    right += strspn(right, " ");
    out->metric = find(name, err);
    return out->metric ? parse_right(out, right, err) : TP_EUSAGE;
}

int tp_condition_parse(const char *text, struct tp_condition *out, struct tp_err *err)
{
    if (strcasecmp(text, "oom") != 0)
        return tp_condition_parse_of(text, tp_metric_find,
                                     "--fail-on oom, --fail-on 'failed_allocations>0', --fail-on "
                                     "'peak_reserved>+2%'",
                                     out, err);
    *out = (struct tp_condition){.text = text, .metric = tp_metric_find("failed_allocations", err)};
    return out->metric ? TP_OK : TP_EUSAGE;
}

bool tp_condition_holds(const struct tp_condition *c, double value, double base, bool shown)
{
    double limit = c->value;
    if (c->relative && !shown)
        return false;
    if (c->percent)
        limit = base + copysign(fmax(fabs(c->value * base), c->metric->least), c->value);
    else if (c->relative)
        limit = base + c->value;
    if (isnan(value) || isnan(limit))
        return false;
    return (c->less ? value < limit : value > limit) || (c->equal && value == limit);
}

static int fail_met(const struct tp_condition *c, const struct tp_record *run, size_t more,
                    struct tp_err *err)
{
    char others[48] = "";
    double value = tp_record_total(run, c->metric);
    if (more)
        snprintf(others, sizeof others, "; so %s %zu more", more == 1 ? "does" : "do", more);
    return tp_fail(err, TP_EFOUND, "%s: '%s' has %s on %s%s", c->text, run->label,
                   tp_metric_text(c->metric, value, false).s, run->trace_name, others);
}

int tp_conditions_check_runs(const struct tp_condition *list, size_t count,
                             const struct tp_record *runs, size_t run_count, struct tp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct tp_record *first = NULL;
        size_t met = 0, known = 0;
        for (size_t r = 0; r < run_count; r++) {
            double value = tp_record_total(&runs[r], list[i].metric);
            known += isnan(value) ? 0 : 1;
            if (list[i].relative || !tp_condition_holds(&list[i], value, NAN, false))
                continue;
            first = first ? first : &runs[r];
            met++;
        }
        if (first)
            return fail_met(&list[i], first, met - 1, err);
        if (run_count && !known)
            return tp_fail(err, TP_EUSAGE, "--fail-on '%s': nothing here has '%s'", list[i].text,
                           list[i].metric->name);
    }
    return TP_OK;
}
