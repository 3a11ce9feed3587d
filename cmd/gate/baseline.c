/* Reading a baseline; see baseline.h. Every member is looked at (json_member.h), and one that is
 * not known is an error, not passed over: people edit this file, and a tolerance with a slip of the
 * fingers in its name would otherwise tolerate nothing, or everything.
 *
 * Known weakness: the tree takes up to thirty times the file, hence TP_BASELINE_BYTES. */
#include "cmd/gate/baseline.h"

#include "alloc/base/clean.h"
#include "alloc/base/opt.h"
#include "cmd/measure/json_member.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 4000, OPTIONS_MAX = 256 };

#define BEYOND 1e30 /* no size and no time of this world */

static const struct tp_member_range real = {.most = BEYOND};
static const struct tp_member_range real_or_null = {.most = BEYOND, .null = true};

static int out_of_memory(struct tp_err *err)
{
    return tp_fail(err, TP_ENOMEM, "out of memory");
}

/* ---- members ---- */

/* Every member is one of these. */
static int check_names(const struct tp_member *in, const char *const *names, struct tp_err *err)
{
    struct tp_member found;
    int status = tp_member_is_object(in, err);
    for (const cJSON *item = status ? NULL : in->item->child; item; item = item->next) {
        size_t i = 0;
        while (names[i] && strcmp(names[i], item->string))
            i++;
        if (names[i])
            continue;
        status = tp_member_get(in, item->string, true, &found, err);
        if (status)
            return status;
        const char *near = tp_nearest(item->string, names);
        status = tp_member_fail(&found, "is no member that this tapool knows", err);
        return near ? tp_hint(err, status, "did you mean '%s'?", near)
                    : tp_hint(err, status, "a newer tapool may have written it");
    }
    return status;
}

/* As tp_member_text, and NULL where there is none. */
static int read_optional(const struct tp_member *in, const char *name, char **out,
                         struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, false, &m, err);
    return status || !m.item ? status : tp_member_text(in, name, out, err);
}

/* The metric and the device of a name such as "peak_reserved[1]". */
static bool parse_name(const char *name, const struct tp_metric **metric, uint16_t *device)
{
    char *end = NULL;
    size_t length = strcspn(name, "[");
    unsigned long number = 0;
    if (name[length]) {
        if (name[length + 1] < '1' || name[length + 1] > '9')
            return false;
        number = strtoul(name + length + 1, &end, 10);
        if (strcmp(end, "]") || number >= TP_STORED_DEVICES)
            return false;
    }
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        if (strlen(m->name) != length || memcmp(m->name, name, length))
            continue;
        *metric = m;
        *device = (uint16_t)number;
        return !number || m->per_device;
    }
    return false;
}

static int fail_name(const struct tp_member *m, struct tp_err *err)
{
    return tp_hint(err, tp_member_fail(m, "is no metric that this tapool can check", err),
                   "'tapool help metrics' lists all; a newer tapool may have written the file");
}

/* ---- lists of values ---- */

static int fail_twice(const struct tp_member *in, const struct tp_metric *m, uint16_t device,
                      struct tp_err *err)
{
    char what[96];
    snprintf(what, sizeof what, "has '%s' twice", tp_baseline_name(m, device).s);
    return tp_member_fail(in, what, err);
}

static size_t count_members(const struct tp_member *in)
{
    size_t count = 0;
    for (const cJSON *item = in->item->child; item; item = item->next)
        count++;
    return count;
}

/* {"peak_reserved": 65536, ...} of metrics for which `fits` is true, sorted. */
static int read_values(const struct tp_member *in, bool (*fits)(const struct tp_metric *),
                       struct tp_baseline_value **out, size_t *count, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_is_object(in, err);
    if (status)
        return status;
    *out = calloc(count_members(in) + 1, sizeof **out);
    if (!*out)
        return out_of_memory(err);
    for (const cJSON *item = in->item->child; item; item = item->next) {
        struct tp_baseline_value *v = &(*out)[*count];
        tp_member_child(in, item, &m);
        if (!parse_name(item->string, &v->metric, &v->device) || !fits(v->metric))
            return fail_name(&m, err);
        status = tp_member_value(&m, &real, &v->value, err);
        if (status)
            return status;
        (*count)++;
    }
    tp_baseline_values_sort(*out, *count);
    for (size_t i = 1; i < *count; i++)
        if (tp_baseline_values_alike(&(*out)[i - 1], &(*out)[i]))
            return fail_twice(in, (*out)[i].metric, (*out)[i].device, err);
    return TP_OK;
}

static bool is_exact(const struct tp_metric *m)
{
    return m->class == TP_CLASS_EXACT;
}

static bool is_noisy(const struct tp_metric *m)
{
    return m->class == TP_CLASS_NOISY;
}

static int read_metrics(const struct tp_member *in, struct tp_baseline_cell *c, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, "metrics", true, &m, err);
    return status ? status : read_values(&m, is_exact, &c->values, &c->value_count, err);
}

static int read_loose(const struct tp_member *in, struct tp_baseline_cell *c, struct tp_err *err)
{
    struct tp_member list, m;
    int status = tp_member_get(in, "nondeterministic", false, &list, err);
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    if (status)
        return status;
    c->loose = calloc(count_members(&list) + 1, sizeof *c->loose);
    if (!c->loose)
        return out_of_memory(err);
    for (const cJSON *item = list.item->child; item; item = item->next) {
        struct tp_baseline_value *l = &c->loose[c->loose_count];
        tp_member_element(&list, item, c->loose_count, &m);
        if (!cJSON_IsString(item) || !parse_name(item->valuestring, &l->metric, &l->device) ||
            !is_exact(l->metric))
            return fail_name(&m, err);
        c->loose_count++;
    }
    tp_baseline_values_sort(c->loose, c->loose_count);
    for (size_t i = 1; i < c->loose_count; i++)
        if (tp_baseline_values_alike(&c->loose[i - 1], &c->loose[i]))
            return fail_twice(&list, c->loose[i].metric, c->loose[i].device, err);
    for (size_t i = 0; i < c->loose_count; i++)
        if (tp_baseline_value_find(c, c->loose[i].metric, c->loose[i].device))
            return tp_member_fail(&list, "names what 'metrics' holds as exact", err);
    return TP_OK;
}

/* ---- tolerances ---- */

static int read_tolerance(const struct tp_member *m, const struct tp_metric *metric,
                          struct tp_tolerance *out, struct tp_err *err)
{
    if (out->given)
        return tp_member_fail(m, "stands there twice", err);
    if (cJSON_IsString(m->item)) {
        if (!tp_tolerance_parse(metric, m->item->valuestring, out))
            return tp_member_fail(m, "is neither a number nor a share in percent", err);
        return TP_OK;
    }
    out->given = true;
    int status = tp_member_value(m, &real, &out->value, err);
    if (!status && !tp_tolerance_fits(metric, out->value))
        status = tp_hint(err, tp_member_fail(m, "is a share, and 1 is 100 %", err),
                         "two percent are \"2%%\" or 0.02");
    return status;
}

static int read_tolerances(const struct tp_member *in, struct tp_tolerance *out, struct tp_err *err)
{
    struct tp_member all, m;
    int status = tp_member_get(in, "tolerances", false, &all, err);
    if (status || !all.item)
        return status;
    status = tp_member_is_object(&all, err);
    for (const cJSON *item = status ? NULL : all.item->child; item && !status; item = item->next) {
        const struct tp_metric *metric = NULL;
        uint16_t device = 0;
        tp_member_child(&all, item, &m);
        if (!parse_name(item->string, &metric, &device) || device)
            return fail_name(&m, err);
        if (metric->class > TP_CLASS_INSTRUCTIONS)
            return tp_hint(err, tp_member_fail(&m, "has no tolerance: it is a time", err),
                           "--effect says from what size on a slowdown counts");
        status = read_tolerance(&m, metric, &out[metric - tp_metrics], err);
    }
    return status;
}

/* ---- cells ---- */

static int compare_options(const void *a, const void *b)
{
    const struct tp_stored_option *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int read_options(const struct tp_member *in, struct tp_baseline_cell *c, struct tp_err *err)
{
    struct tp_member all;
    int status = tp_member_get(in, "options", true, &all, err);
    if (!status)
        status = tp_member_is_object(&all, err);
    if (status)
        return status;
    size_t count = count_members(&all);
    if (count > OPTIONS_MAX)
        return tp_member_fail(&all, "has more members than any policy has options", err);
    c->options = calloc(count + 1, sizeof *c->options);
    if (!c->options)
        return out_of_memory(err);
    for (const cJSON *item = all.item->child; item; item = item->next) {
        struct tp_stored_option *option = &c->options[c->option_count++];
        option->name = tp_clean_copy(item->string, TP_MEMBER_TEXT);
        if (!option->name)
            return out_of_memory(err);
        status = tp_member_text(&all, item->string, &option->value, err);
        if (status)
            return status;
    }
    qsort(c->options, c->option_count, sizeof *c->options, compare_options);
    for (size_t i = 1; i < c->option_count; i++)
        if (!strcmp(c->options[i - 1].name, c->options[i].name))
            return tp_member_fail(&all, "has one name twice", err);
    return TP_OK;
}

static int read_instructions(const struct tp_member *in, struct tp_baseline_cell *c,
                             struct tp_err *err)
{
    static const char *const names[] = {"fingerprint", "per_op", NULL};
    struct tp_member m;
    int status = tp_member_get(in, "instructions", false, &m, err);
    if (status || !m.item)
        return status;
    status = check_names(&m, names, err);
    if (!status)
        status = tp_member_text(&m, "fingerprint", &c->fingerprint, err);
    return status ? status : tp_member_number(&m, "per_op", &real, &c->instructions, err);
}

static int read_latency(const struct tp_member *in, struct tp_baseline_latency *l,
                        struct tp_err *err)
{
    static const char *const names[] = {"machine", "seconds", "spread", "times", NULL};
    struct tp_member m, times;
    int status = tp_member_get(in, "latency", false, &m, err);
    if (status || !m.item)
        return status;
    status = check_names(&m, names, err);
    if (!status)
        status = tp_member_text(&m, "machine", &l->machine, err);
    if (!status)
        status = tp_member_number(&m, "seconds", &real_or_null, &l->seconds, err);
    if (!status)
        status = tp_member_number(&m, "spread", &real_or_null, &l->spread, err);
    if (!status)
        status = tp_member_get(&m, "times", true, &times, err);
    return status ? status : read_values(&times, is_noisy, &l->values, &l->count, err);
}

static const char *const cell_names[] = {
    "events",           "instructions", "latency",      "metrics",
    "nondeterministic", "options",      "program_hash", "spec",
    "tolerances",       "trace_path",   "touch",        NULL};

static int read_cell(const struct tp_member *in, struct tp_baseline_cell *c, struct tp_err *err)
{
    const struct {
        const char *name;
        char **out;
    } texts[] = {{"spec", &c->spec}, {"touch", &c->touch}, {"trace_path", &c->path}};
    int status = check_names(in, cell_names, err);
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++)
        status = tp_member_text(in, texts[i].name, texts[i].out, err);
    if (!status)
        status = tp_member_count(in, "events", &c->events, err);
    if (!status)
        status = tp_member_sha256(in, "program_hash", &c->hash, err);
    if (!status)
        status = read_options(in, c, err);
    if (!status)
        status = read_metrics(in, c, err);
    if (!status)
        status = read_loose(in, c, err);
    if (!status)
        status = read_tolerances(in, c->tolerances, err);
    if (!status)
        status = read_instructions(in, c, err);
    return status ? status : read_latency(in, &c->latency, err);
}

/* The next cell of the file, with its key. */
static int add_cell(const struct tp_member *at, const char *const key[3], struct tp_baseline *b,
                    struct tp_err *err)
{
    if (b->count == CELLS_MAX)
        return tp_fail(err, TP_EINPUT, "%s: more than %d cells", b->file, CELLS_MAX);
    struct tp_baseline_cell *c = realloc(b->cells, (b->count + 1) * sizeof *c);
    if (!c)
        return out_of_memory(err);
    b->cells = c;
    c += b->count++;
    *c = (struct tp_baseline_cell){.trace = tp_clean_copy(key[0], TP_MEMBER_TEXT),
                                   .strategy = tp_clean_copy(key[1], TP_MEMBER_TEXT),
                                   .source = tp_clean_copy(key[2], TP_MEMBER_TEXT),
                                   .latency = {.spread = NAN, .seconds = NAN}};
    if (!c->trace || !c->strategy || !c->source)
        return out_of_memory(err);
    return read_cell(at, c, err);
}

/* {"sqlite": {"arena": {"host": CELL}}} */
static int read_level(const struct tp_member *in, const char *key[3], int level,
                      struct tp_baseline *b, struct tp_err *err)
{
    int status = tp_member_is_object(in, err);
    for (const cJSON *item = status ? NULL : in->item->child; item && !status; item = item->next) {
        struct tp_member m;
        tp_member_child(in, item, &m);
        key[level] = item->string;
        status = !*item->string || strlen(item->string) > TP_MEMBER_TEXT
                     ? tp_member_fail(&m, "has no usable name", err)
                 : level < 2 ? read_level(&m, key, level + 1, b, err)
                             : add_cell(&m, key, b, err);
    }
    return status;
}

/* ---- the file ---- */

static int check_schema(const struct tp_member *root, struct tp_err *err)
{
    char *schema = NULL;
    int status = tp_member_text(root, "schema", &schema, err);
    if (!status && strcmp(schema, TP_BASELINE_SCHEMA))
        status = tp_hint(err,
                         tp_fail(err, TP_EINPUT, "%s: the schema is '%s', this tapool reads '%s'",
                                 root->file, schema, TP_BASELINE_SCHEMA),
                         "the tapool that wrote it can read it; '--update' into another file "
                         "makes a new one");
    free(schema);
    return status;
}

static int read_root(const struct tp_member *root, struct tp_baseline *b, struct tp_err *err)
{
    static const char *const names[] = {"cells",   "reason",  "schema", "tolerances",
                                        "version", "written", NULL};
    const char *key[3] = {0};
    struct tp_member cells;
    int status = check_schema(root, err);
    if (!status)
        status = check_names(root, names, err);
    if (!status)
        status = tp_member_text(root, "version", &b->version, err);
    if (!status)
        status = tp_member_text(root, "written", &b->written, err);
    if (!status)
        status = read_optional(root, "reason", &b->reason, err);
    if (!status)
        status = read_tolerances(root, b->tolerances, err);
    if (!status)
        status = tp_member_get(root, "cells", true, &cells, err);
    if (!status)
        status = read_level(&cells, key, 0, b, err);
    return status ? status : tp_baseline_sort(b, err);
}

static bool has_conflict(const char *text, size_t length)
{
    static const char mark[] = "\n<<<<<<< ";
    return memmem(text, length, mark, sizeof mark - 1) != NULL;
}

int tp_baseline_parse(const char *text, size_t length, const char *file, struct tp_baseline *out,
                      struct tp_err *err)
{
    cJSON *tree = NULL;
    *out = (struct tp_baseline){.file = strdup(file)};
    if (!out->file)
        return out_of_memory(err);
    int status = tp_member_parse(text, length, file, &tree, err);
    if (status == TP_EINPUT && has_conflict(text, length))
        status =
            tp_hint(err, tp_fail(err, TP_EINPUT, "%s holds the marks of a merge conflict", file),
                    "keep one side, then 'tapool check --update' measures it anew");
    const struct tp_member root = {.file = file, .item = tree};
    if (!status)
        status = read_root(&root, out, err);
    cJSON_Delete(tree);
    return status;
}

int tp_baseline_read(const char *path, struct tp_baseline *out, struct tp_err *err)
{
    *out = (struct tp_baseline){0};
    FILE *in = fopen(path, "re");
    if (!in)
        return tp_fail(err, TP_EINPUT, "'%s' cannot be read: %s", path, strerror(errno));
    char *text = malloc(TP_BASELINE_BYTES + 1);
    size_t length = text ? fread(text, 1, TP_BASELINE_BYTES + 1, in) : 0;
    int status = TP_OK;
    if (!text)
        status = out_of_memory(err);
    else if (ferror(in))
        status = tp_fail(err, TP_EINPUT, "'%s' cannot be read: %s", path, strerror(errno));
    else if (length > TP_BASELINE_BYTES)
        status = tp_fail(err, TP_EINPUT, "%s is no baseline: it is over %d MiB", path,
                         TP_BASELINE_BYTES >> 20);
    fclose(in);
    if (!status)
        status = tp_baseline_parse(text, length, path, out, err);
    free(text);
    return status;
}
