/* Class E: compares two replays of a cell with the baseline. This is a pure function, so that its
 * tests need no processes. */
#include "alloc/base/grow.h"
#include "cmd/gate/check_job.h"
#include "cmd/results/metric_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Results have six decimals. The rounding error of the difference of two results is below this. */
#define NOISE 1e-9

int tp_findings_add(struct tp_findings *list, const struct tp_finding *f, struct tp_err *err)
{
    int status = TP_GROW(&list->items, &list->room, list->count + 1, err, .what = "findings");
    if (!status)
        list->items[list->count++] = *f;
    return status;
}

/* ---- one value ---- */

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Writes "131.4 and 131.6 MiB"; if the units differ, each number keeps its own. */
static void both(const struct tp_metric *m, double a, double b, char *text, size_t size)
{
    struct tp_text texts[2];
    tp_metric_texts(m, (const double[]){a, b}, texts);
    const char *x = texts[0].s, *y = texts[1].s, *unit = strchr(x, ' '), *other = strchr(y, ' ');
    bool shared = unit && other && !strcmp(unit, other);
    snprintf(text, size, "%.*s and %s", shared ? (int)(unit - x) : (int)strlen(x), x, y);
}

bool tp_check_agrees(const struct tp_metric *m, double a, double b, char *note, size_t size)
{
    char values[128];
    if (same(a, b))
        return true;
    both(m, a, b, values, sizeof values);
    snprintf(note, size, "became nondeterministic: %s in two replays", values);
    return false;
}

enum tp_verdict tp_check_judge(const struct tp_metric *m, double base, double now, double allowed)
{
    double worse = m->better == TP_BETTER_LESS ? now - base : base - now;
    if (isnan(worse) || worse > allowed + NOISE)
        return TP_REGRESSION;
    return -worse > allowed + NOISE ? TP_IMPROVED : TP_SAME;
}

static void compare_value(const struct tp_baseline *b, const struct tp_baseline_cell *held,
                          const struct tp_baseline_value *v, const struct tp_record *runs[2],
                          struct tp_finding *f)
{
    double now[2] = {NAN, NAN};
    for (int i = 0; i < 2; i++)
        if (v->device < runs[i]->devices)
            now[i] = tp_record_value(runs[i], v->metric, v->device);
    f->metric = v->metric;
    f->device = v->device;
    f->base = v->value;
    f->now = now[0];
    f->change = v->value != 0 ? now[0] / v->value - 1 : NAN;
    f->allowed = tp_tolerance_of(b, held, v->metric, v->value, v->metric->allowed);
    f->note[0] = '\0';
    f->verdict = tp_check_judge(v->metric, f->base, f->now, f->allowed);
    if (!tp_check_agrees(v->metric, now[0], now[1], f->note, sizeof f->note))
        f->verdict = TP_REGRESSION;
    else if (isnan(now[0]))
        snprintf(f->note, sizeof f->note, "has no value any more");
}

static bool is_loose(const struct tp_baseline_cell *held, const struct tp_metric *m, uint16_t d)
{
    for (size_t i = 0; i < held->loose_count; i++)
        if (held->loose[i].metric == m && held->loose[i].device == d)
            return true;
    return false;
}

size_t tp_check_unheld(const struct tp_baseline_cell *held, const struct tp_record *run)
{
    size_t unheld = 0;
    for (size_t i = 0; run->exact && i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        uint16_t devices = m->per_device ? run->devices : 1;
        for (uint16_t d = 0; m->metric_class == TP_CLASS_EXACT && d < devices; d++)
            unheld += !isnan(tp_record_value(run, m, d)) && !tp_baseline_value_find(held, m, d) &&
                      !is_loose(held, m, d);
    }
    return unheld;
}

/* ---- options ---- */

/* Prefix of options that are settings of the replay. */
#define SETTING "replay."

static bool add_option(const char *prefix, const char *name, const char *value,
                       struct tp_record_options *out)
{
    char *full = NULL;
    return asprintf(&full, "%s%s", prefix, name) >= 0 &&
           tp_record_options_add(out, full, strdup(value));
}

static bool add_options(const char *prefix, const struct tp_record_options *list,
                        struct tp_record_options *out)
{
    bool good = true;
    for (size_t i = 0; good && i < list->count; i++)
        good = add_option(prefix, list->items[i].name, list->items[i].value, out);
    return good;
}

int tp_check_options(const struct tp_record *r, struct tp_record_options *out, struct tp_err *err)
{
    *out = (struct tp_record_options){0};
    bool good =
        add_options("", &r->options, out) && add_options("source.", &r->source_options, out);
    for (size_t i = 0; good && i < TP_SETTINGS; i++) {
        const char *path = tp_settings[i].path, *dot = strrchr(path, '.');
        if (tp_settings[i].memory && r->settings[i])
            good = add_option(SETTING, dot ? dot + 1 : path, r->settings[i], out);
    }
    tp_record_options_sort(out);
    if (good)
        return TP_OK;
    tp_record_options_release(out);
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* Whether the option is a setting of the replay. A setting that only one side has is not a change:
 * an older tapool did not write it. Any other option that only one side has is one. */
static bool is_setting(const char *name)
{
    return !strncmp(name, SETTING, sizeof SETTING - 1);
}

/* An option that the recording fills where it is not given: an older tapool left it empty. */
static bool is_told(const char *name, const char *was, const char *is)
{
    return !strcmp(name, "version") && (!*was || !*is);
}

static int option_finding(const struct tp_gate_cell *cell, const char *name, const char *was,
                          const char *is, struct tp_findings *out)
{
    struct tp_finding f = {
        .cell = cell, .verdict = TP_REGRESSION, .base = NAN, .now = NAN, .change = NAN};
    snprintf(f.note, sizeof f.note, "option %.60s: %.80s -> %.80s", name, was ? was : "(none)",
             is ? is : "(none)");
    return tp_findings_add(out, &f, NULL);
}

/* Walks both lists at once, which works because both are sorted by name. */
static int compare_options(const struct tp_record_options *held,
                           const struct tp_record_options *now, const struct tp_gate_cell *cell,
                           struct tp_findings *out)
{
    size_t i = 0, j = 0;
    int status = TP_OK;
    while (!status && (i < held->count || j < now->count)) {
        int order = 1;
        if (j == now->count)
            order = -1;
        else if (i < held->count)
            order = strcmp(held->items[i].name, now->items[j].name);
        const char *was = order > 0 ? NULL : held->items[i].value;
        const char *is = order < 0 ? NULL : now->items[j].value;
        const char *name = order < 0 ? held->items[i].name : now->items[j].name;
        if (was && is ? strcmp(was, is) != 0 && !is_told(name, was, is) : !is_setting(name))
            status = option_finding(cell, name, was, is, out);
        i += order <= 0;
        j += order >= 0;
    }
    return status;
}

/* ---- all of a cell ---- */

/* Adds one regression for all values of a cell with memory that is no longer exact. */
static int add_inexact(const struct tp_baseline_cell *held, const struct tp_gate_cell *cell,
                       struct tp_findings *out)
{
    const struct tp_baseline_value *v = &held->values[0];
    struct tp_finding f = {.cell = cell,
                           .metric = v->metric,
                           .device = v->device,
                           .verdict = TP_REGRESSION,
                           .base = v->value,
                           .now = NAN,
                           .change = NAN};
    snprintf(f.note, sizeof f.note, "memory is not exact here; the baseline has %zu values",
             held->value_count);
    return tp_findings_add(out, &f, NULL);
}

int tp_check_compare(const struct tp_baseline *b, const struct tp_baseline_cell *held,
                     const struct tp_record *first, const struct tp_record *second,
                     const struct tp_gate_cell *cell, struct tp_findings *out)
{
    struct tp_record_options options;
    const struct tp_record *runs[2] = {first, second};
    int status = tp_check_options(first, &options, NULL);
    if (!status)
        status = compare_options(&held->options, &options, cell, out);
    if (!status && strcmp(first->touch, held->touch))
        status = option_finding(cell, "touch", held->touch, first->touch, out);
    tp_record_options_release(&options);
    if (!status && held->value_count && !(first->exact && second->exact))
        return add_inexact(held, cell, out);
    for (size_t i = 0; !status && i < held->value_count; i++) {
        struct tp_finding f = {.cell = cell};
        compare_value(b, held, &held->values[i], runs, &f);
        status = tp_findings_add(out, &f, NULL);
    }
    return status;
}
