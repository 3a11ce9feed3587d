/* A baseline in memory: finds the file, cells and values; applies tolerances; converts paths; and
 * releases it. baseline.c reads one, baseline_write.c writes one. */
#include "cmd/baseline/baseline.h"

#include "alloc/base/ascending.h"
#include "alloc/base/clean.h"
#include "alloc/base/units.h"
#include "cmd/jobs/machine.h"
#include "traces/trace.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- finding ---- */

bool tp_baseline_find(char *path, size_t size)
{
    char up[TP_BASELINE_PATH] = "";
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        return false;
    for (size_t used = 0;; used += 3) {
        int wrote = snprintf(path, size, "%s%s", up, TP_BASELINE_NAME);
        if (wrote < 0 || (size_t)wrote >= size)
            return false;
        if (access(path, F_OK) == 0)
            return true;
        char *slash = strrchr(here, '/');
        if (!slash || !here[1] || used + 4 > sizeof up)
            return false;
        slash[slash == here] = '\0'; /* the root stays "/" */
        memcpy(up + used, "../", 4);
    }
}

int tp_baseline_cell_order(const struct tp_baseline_cell *a, const struct tp_baseline_cell *b)
{
    int order = strcmp(a->trace, b->trace);
    if (!order)
        order = strcmp(a->strategy, b->strategy);
    return order ? order : strcmp(a->source, b->source);
}

static int compare_cells(const void *a, const void *b)
{
    return tp_baseline_cell_order(a, b);
}

int tp_baseline_sort(struct tp_baseline *b, struct tp_err *err)
{
    if (b->count)
        qsort(b->cells, b->count, sizeof *b->cells, compare_cells);
    for (size_t i = 1; i < b->count; i++) {
        const struct tp_baseline_cell *c = &b->cells[i];
        if (!tp_baseline_cell_order(c - 1, c))
            return tp_fail(err, TP_EINPUT,
                           "%s: the cell of trace '%s', strategy '%s' and source "
                           "'%s' stands there twice",
                           b->file, c->trace, c->strategy, c->source);
    }
    return TP_OK;
}

const struct tp_baseline_cell *tp_baseline_cell_find(const struct tp_baseline *b, const char *trace,
                                                     const char *strategy, const char *source)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct tp_baseline_cell *c = &b->cells[i];
        if (!strcmp(c->trace, trace) && !strcmp(c->strategy, strategy) &&
            !strcmp(c->source, source))
            return c;
    }
    return NULL;
}

static int compare_values(const void *a, const void *b)
{
    const struct tp_baseline_value *x = a, *y = b;
    int order = strcmp(x->metric->name, y->metric->name);
    return order ? order : tp_order(x->device, y->device);
}

void tp_baseline_values_sort(struct tp_baseline_value *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, compare_values);
}

bool tp_baseline_values_alike(const struct tp_baseline_value *a, const struct tp_baseline_value *b)
{
    return compare_values(a, b) == 0;
}

const struct tp_baseline_value *tp_baseline_value_find(const struct tp_baseline_cell *c,
                                                       const struct tp_metric *m, uint16_t device)
{
    for (size_t i = 0; i < c->value_count; i++)
        if (c->values[i].metric == m && c->values[i].device == device)
            return &c->values[i];
    return NULL;
}

struct tp_text tp_baseline_name(const struct tp_metric *m, uint16_t device)
{
    return device ? tp_text_of("%s[%u]", m->name, device) : tp_text_of("%s", m->name);
}

bool tp_baseline_machine(char *text, size_t size)
{
    struct tp_machine machine;
    char both[128];
    tp_machine_read(&machine);
    snprintf(both, sizeof both, "%.80s, %.20s", machine.cpu, machine.arch);
    tp_clean_text(both, text, size);
    return machine.cpu[0] != '\0';
}

/* ---- tolerances ---- */

/* Reads "2%" or "2 %" as 0.02. Returns false if the text is no percentage up to 10,000%. */
static bool take_percent(const char *text, double *value)
{
    char *end = NULL;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtod(text, &end) / 100;
    end += *end == ' ';
    return !strcmp(end, "%") && *value <= 100;
}

static bool take_number(const char *text, double *value)
{
    char *end = NULL;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtod(text, &end);
    return !*end && *value <= 1e30;
}

/* Whether a tolerance of the metric is an amount in its unit, and no share of the base value. */
static bool is_amount(const struct tp_metric *m)
{
    return m->metric_class == TP_CLASS_EXACT || tp_metric_is_by_kernel(m);
}

const char *tp_tolerance_refused(const struct tp_metric *m)
{
    if (is_amount(m) || m->metric_class == TP_CLASS_INSTRUCTIONS)
        return NULL;
    return tp_metric_is_time(m) ? "it is a time" : "it decides nothing";
}

const char *tp_tolerance_instead(const struct tp_metric *m)
{
    return m->metric_class == TP_CLASS_NOISY ? "--effect says from what size on a slowdown counts"
                                             : "";
}

bool tp_tolerance_fits(const struct tp_metric *m, double value)
{
    return value < 1 || (is_amount(m) && m->unit != TP_UNIT_SHARE);
}

bool tp_tolerance_parse(const struct tp_metric *m, const char *text, struct tp_tolerance *out)
{
    uint64_t bytes = 0;
    *out = (struct tp_tolerance){.given = true};
    if (take_percent(text, &out->value)) {
        out->relative = is_amount(m) && m->unit != TP_UNIT_SHARE;
        return tp_tolerance_fits(m, out->value);
    }
    if (take_number(text, &out->value))
        return tp_tolerance_fits(m, out->value);
    if (m->unit != TP_UNIT_BYTES || !tp_parse_size(text, &bytes))
        return false;
    out->value = (double)bytes;
    return true;
}

double tp_tolerance_of(const struct tp_baseline *b, const struct tp_baseline_cell *c,
                       const struct tp_metric *m, double base, double fallback)
{
    size_t i = (size_t)(m - tp_metrics);
    bool own = c && c->tolerances[i].given;
    const struct tp_tolerance *t = own ? &c->tolerances[i] : &b->tolerances[i];
    if (!t->given)
        return fallback;
    return t->relative ? t->value * base : t->value;
}

/* ---- paths ---- */

char *tp_baseline_trace_path(const struct tp_baseline *b, const struct tp_baseline_cell *c)
{
    char *path = NULL;
    const char *slash = strrchr(b->file, '/');
    if (tp_trace_is_sample(c->path) || c->path[0] == '/' || !slash)
        return strdup(c->path);
    return asprintf(&path, "%.*s/%s", (int)(slash - b->file), b->file, c->path) < 0 ? NULL : path;
}

/* The real path of the folder of `file`, without links and dots. The file need not exist. */
static bool real_folder(const char *file, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    if (!slash)
        return realpath(".", out) != NULL;
    int length = slash == file ? 1 : (int)(slash - file);
    int wrote = snprintf(folder, sizeof folder, "%.*s", length, file);
    return wrote >= 0 && (size_t)wrote < sizeof folder && realpath(folder, out);
}

/* The length of the common start of both paths, up to and including a slash. Without the slash,
 * "/a/b" would count as a start of "/a/bc". */
static size_t count_shared(const char *from, const char *folder)
{
    size_t same = 0;
    for (size_t i = 0; from[i] && from[i] == folder[i]; i++)
        if (from[i] == '/')
            same = i + 1;
    return same;
}

/* Adds a slash if the path does not end in one. Only the real path of the root does. */
static void end_in_slash(char folder[PATH_MAX + 1])
{
    size_t length = strlen(folder);
    if (folder[length - 1] != '/')
        memcpy(folder + length, "/", 2);
}

char *tp_baseline_relative(const char *file, const char *path)
{
    char from[PATH_MAX + 1], folder[PATH_MAX + 1];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (tp_trace_is_sample(path) || !real_folder(file, from) || !real_folder(path, folder))
        return strdup(path);
    end_in_slash(from);
    end_in_slash(folder);
    size_t same = count_shared(from, folder), up = 0;
    for (const char *c = from + same; *c; c++)
        up += *c == '/';
    size_t size = 3 * up + strlen(folder + same) + strlen(name) + 1;
    char *out = malloc(size);
    for (size_t i = 0; out && i < up; i++)
        memcpy(out + 3 * i, "../", 4);
    if (out)
        snprintf(out + 3 * up, size - 3 * up, "%s%s", folder + same, name);
    return out;
}

/* ---- release ---- */

void tp_baseline_cell_release(struct tp_baseline_cell *c)
{
    char *const texts[] = {c->trace, c->strategy, c->source, c->spec,
                           c->path,  c->touch,    c->hash,   c->fingerprint};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    tp_record_options_release(&c->options);
    free(c->values);
    free(c->loose);
    free(c->latency.machine);
    free(c->latency.values);
    *c = (struct tp_baseline_cell){0};
}

void tp_baseline_release(struct tp_baseline *b)
{
    for (size_t i = 0; i < b->count; i++)
        tp_baseline_cell_release(&b->cells[i]);
    free(b->cells);
    free(b->file);
    free(b->version);
    free(b->written);
    free(b->reason);
    *b = (struct tp_baseline){0};
}
