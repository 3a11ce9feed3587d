/* Reading a baseline; see baseline.h. Every member is checked (json_member.h), and an unknown one
 * is an error: people edit this file, and a tolerance with a misspelled name would otherwise be
 * ignored without notice.
 *
 * Known weakness: the JSON tree takes up to thirty times the size of the file, hence
 * TP_BASELINE_BYTES. */
#include "cmd/baseline/baseline.h"

#include "alloc/base/clean.h"
#include "alloc/base/opt.h"
#include "cmd/results/json_member.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 4000, OPTIONS_MAX = 256 };

/* ---- members ---- */

/* Fails if a member of the object has none of these names. */
static void check_names(const struct tp_member *in, const char *const *names)
{
    struct tp_document *r = in->document;
    struct tp_member one = {0};
    if (in->item && !cJSON_IsObject(in->item))
        tp_member_fail(in, "is not an object");
    while (tp_member_next(in, &one)) {
        size_t i = 0;
        while (names[i] && strcmp(names[i], one.item->string))
            i++;
        if (names[i] || !tp_member_get(in, one.item->string, true).item)
            continue;
        const char *near = tp_nearest(one.item->string, names);
        tp_member_fail(&one, "is not a member that this tapool knows");
        if (near)
            tp_hint(r->err, r->status, "did you mean '%s'?", near);
        else
            tp_hint(r->err, r->status, "a newer tapool may have written it");
    }
}

/* Splits a name such as "peak_reserved[1]" into metric and device. */
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

/* Like tp_member_fail, with a hint. */
static void fail_with(const struct tp_member *m, const char *what, const char *hint)
{
    struct tp_document *r = m->document;
    if (r->status)
        return;
    tp_member_fail(m, what);
    tp_hint(r->err, r->status, "%s", hint);
}

static void fail_name(const struct tp_member *m)
{
    fail_with(m, "is not a metric that this tapool can check",
              "'tapool help metrics' lists all; a newer tapool may have written the file");
}

/* ---- lists of values ---- */

/* Sorts the values; fails if a value is there twice. */
static void sort_values(const struct tp_member *in, struct tp_baseline_value *list, size_t count)
{
    tp_baseline_values_sort(list, count);
    for (size_t i = 1; i < count; i++) {
        char what[96];
        if (!tp_baseline_values_alike(&list[i - 1], &list[i]))
            continue;
        snprintf(what, sizeof what, "has '%s' twice",
                 tp_baseline_name(list[i].metric, list[i].device).s);
        tp_member_fail(in, what);
    }
}

/* Reads {"peak_reserved": 65536, ...} or ["peak_reserved", ...]. Fails if `fits` is false for a
 * metric. */
static void read_values(const struct tp_member *in, bool (*fits)(const struct tp_metric *),
                        struct tp_baseline_value **out, size_t *count)
{
    struct tp_member m = {0};
    bool list = cJSON_IsArray(in->item);
    if (in->document->status)
        return;
    *out = tp_member_memory(in, calloc((size_t)cJSON_GetArraySize(in->item) + 1, sizeof **out));
    while (tp_member_next(in, &m)) {
        struct tp_baseline_value *v = &(*out)[*count];
        const char *name = m.item->string;
        if (list)
            name = cJSON_IsString(m.item) ? m.item->valuestring : "";
        if (parse_name(name, &v->metric, &v->device) && fits(v->metric)) {
            v->value = list ? 0 : tp_member_number(&m, &tp_member_real);
            ++*count;
        } else {
            fail_name(&m);
        }
    }
    if (!in->document->status)
        sort_values(in, *out, *count);
}

static bool is_exact(const struct tp_metric *m)
{
    return m->metric_class == TP_CLASS_EXACT;
}

static bool is_noisy(const struct tp_metric *m)
{
    return m->metric_class == TP_CLASS_NOISY;
}

static void read_metrics(const struct tp_member *in, struct tp_baseline_cell *c)
{
    const struct tp_member exact = tp_member_get(in, "metrics", true);
    const struct tp_member loose = tp_member_get(in, "nondeterministic", false);
    tp_member_object(&exact, SIZE_MAX, NULL);
    tp_member_list(&loose, SIZE_MAX, NULL);
    read_values(&exact, is_exact, &c->values, &c->value_count);
    if (loose.item)
        read_values(&loose, is_exact, &c->loose, &c->loose_count);
    for (size_t i = 0; i < c->loose_count; i++)
        if (tp_baseline_value_find(c, c->loose[i].metric, c->loose[i].device))
            tp_member_fail(&loose, "names what 'metrics' holds as exact");
}

/* ---- tolerances ---- */

static void read_tolerance(const struct tp_member *m, const struct tp_metric *metric,
                           struct tp_tolerance *out)
{
    if (out->given)
        tp_member_fail(m, "stands there twice");
    if (m->document->status)
        return;
    if (cJSON_IsString(m->item)) {
        if (!tp_tolerance_parse(metric, m->item->valuestring, out))
            tp_member_fail(m, "is neither a number nor a share in percent");
        return;
    }
    out->given = true;
    out->value = tp_member_number(m, &tp_member_real);
    if (!tp_tolerance_fits(metric, out->value))
        fail_with(m, "is a share, and 1 is 100%", "two percent are \"2%\" or 0.02");
}

static void read_tolerances(const struct tp_member *in, struct tp_tolerance *out)
{
    const struct tp_member all = tp_member_get(in, "tolerances", false);
    struct tp_member m = {0};
    tp_member_object(&all, SIZE_MAX, NULL);
    while (tp_member_next(&all, &m)) {
        const struct tp_metric *metric = NULL;
        uint16_t device = 0;
        if (!parse_name(m.item->string, &metric, &device) || device)
            fail_name(&m);
        else if (tp_tolerance_refused(metric))
            fail_with(&m, tp_text_of("has no tolerance: %s", tp_tolerance_refused(metric)).s,
                      tp_tolerance_instead(metric));
        else
            read_tolerance(&m, metric, &out[metric - tp_metrics]);
    }
}

/* ---- cells ---- */

static void read_options(const struct tp_member *in, struct tp_baseline_cell *c)
{
    const struct tp_member all = tp_member_get(in, "options", true);
    struct tp_member m = {0};
    tp_member_object(&all, OPTIONS_MAX, "has more members than any strategy has options");
    while (tp_member_next(&all, &m)) {
        const struct tp_member once = tp_member_get(&all, m.item->string, true);
        char *value = tp_member_text(&once);
        tp_member_had_memory(
            &m, tp_record_options_add(&c->options, tp_clean_copy(m.item->string, TP_MEMBER_TEXT),
                                      value));
    }
    tp_record_options_sort(&c->options);
    for (size_t i = 1; i < c->options.count; i++)
        if (!strcmp(c->options.items[i - 1].name, c->options.items[i].name))
            tp_member_fail(&all, "has one name twice");
}

#define ROW(...)                                                                                   \
    {                                                                                              \
        TP_MEMBER_ROW(tp_baseline_cell, __VA_ARGS__, REQUIRED)                                     \
    }
static const struct tp_member_row cell_rows[] = {
    ROW(spec, "spec", TEXT), ROW(touch, "touch", TEXT), ROW(path, "trace_path", TEXT),
    ROW(events, "events", COUNT), ROW(hash, "program_hash", SHA256)};
static const struct tp_member_row instruction_rows[] = {ROW(fingerprint, "fingerprint", TEXT),
                                                        ROW(instructions, "per_op", REAL)};
static const struct tp_member_row latency_rows[] = {ROW(latency.machine, "machine", TEXT),
                                                    ROW(latency.seconds, "seconds", REAL_OR_NULL),
                                                    ROW(latency.spread, "spread", REAL_OR_NULL)};
#undef ROW

/* Reads the optional object `name` of a cell. It may have the members `names`; those in `rows` are
 * read into `c`. */
static struct tp_member read_part(const struct tp_member *in, const char *name,
                                  const char *const *names, const struct tp_member_row *rows,
                                  size_t count, struct tp_baseline_cell *c)
{
    const struct tp_member part = tp_member_get(in, name, false);
    check_names(&part, names);
    if (part.item)
        tp_member_rows(&part, rows, count, c);
    return part;
}

static void read_parts(const struct tp_member *in, struct tp_baseline_cell *c)
{
    static const char *const counted[] = {"fingerprint", "per_op", NULL};
    static const char *const timed[] = {"machine", "seconds", "spread", "times", NULL};
    read_part(in, "instructions", counted, instruction_rows, 2, c);
    const struct tp_member latency = read_part(in, "latency", timed, latency_rows, 3, c);
    if (!latency.item)
        return;
    const struct tp_member times = tp_member_get(&latency, "times", true);
    tp_member_object(&times, SIZE_MAX, NULL);
    read_values(&times, is_noisy, &c->latency.values, &c->latency.count);
}

static void read_cell(const struct tp_member *in, struct tp_baseline_cell *c)
{
    static const char *const names[] = {
        "events",           "instructions", "latency",      "metrics",
        "nondeterministic", "options",      "program_hash", "spec",
        "tolerances",       "trace_path",   "touch",        NULL};
    check_names(in, names);
    tp_member_rows(in, cell_rows, sizeof cell_rows / sizeof *cell_rows, c);
    read_options(in, c);
    read_metrics(in, c);
    read_tolerances(in, c->tolerances);
    read_parts(in, c);
}

/* Reads one cell; `key` is its trace, strategy and source. */
static void add_cell(const struct tp_member *at, const char *const key[3], struct tp_baseline *b)
{
    struct tp_document *r = at->document;
    if (b->count == CELLS_MAX) {
        r->status = tp_fail(r->err, TP_EINPUT, "%s: more than %d cells", b->file, CELLS_MAX);
        return;
    }
    struct tp_baseline_cell *c =
        tp_member_memory(at, realloc(b->cells, (b->count + 1) * sizeof *c));
    if (!c)
        return;
    b->cells = c;
    c += b->count++;
    *c = (struct tp_baseline_cell){.trace = tp_clean_copy(key[0], TP_MEMBER_TEXT),
                                   .strategy = tp_clean_copy(key[1], TP_MEMBER_TEXT),
                                   .source = tp_clean_copy(key[2], TP_MEMBER_TEXT),
                                   .latency = {.spread = NAN, .seconds = NAN}};
    if (tp_member_memory(at, c->trace) && tp_member_memory(at, c->strategy) &&
        tp_member_memory(at, c->source))
        read_cell(at, c);
}

/* Reads one level of the nested objects {"sqlite": {"arena": {"host": CELL}}}. */
static void read_level(const struct tp_member *in, const char *key[3], int level,
                       struct tp_baseline *b)
{
    struct tp_member m = {0};
    tp_member_object(in, SIZE_MAX, NULL);
    while (tp_member_next(in, &m)) {
        const char *name = key[level] = m.item->string;
        if (!*name || strlen(name) > TP_MEMBER_TEXT)
            tp_member_fail(&m, "has no usable name");
        else if (level < 2)
            read_level(&m, key, level + 1, b);
        else
            add_cell(&m, key, b);
    }
}

/* ---- the file ---- */

static void check_schema(const struct tp_member *root)
{
    struct tp_document *r = root->document;
    struct tp_member m = tp_member_get(root, "schema", true);
    char *schema = tp_member_text(&m);
    if (schema && strcmp(schema, TP_BASELINE_SCHEMA))
        r->status =
            tp_hint(r->err,
                    tp_fail(r->err, TP_EINPUT, "%s: the schema is '%s', this tapool reads '%s'",
                            r->file, schema, TP_BASELINE_SCHEMA),
                    "make it again in another file: 'tapool check TRACE -s STRATEGY --baseline "
                    "FILE --update'");
    free(schema);
}

static const struct tp_member_row root_rows[] = {
    {TP_MEMBER_ROW(tp_baseline, version, "version", TEXT, REQUIRED)},
    {TP_MEMBER_ROW(tp_baseline, written, "written", TEXT, REQUIRED)}};

static void read_root(const struct tp_member *root, struct tp_baseline *b)
{
    static const char *const names[] = {"cells",   "reason",  "schema", "tolerances",
                                        "version", "written", NULL};
    const char *key[3] = {0};
    check_schema(root);
    check_names(root, names);
    tp_member_rows(root, root_rows, sizeof root_rows / sizeof *root_rows, b);
    const struct tp_member reason = tp_member_get(root, "reason", false);
    if (reason.item)
        b->reason = tp_member_text(&reason);
    read_tolerances(root, b->tolerances);
    const struct tp_member cells = tp_member_get(root, "cells", true);
    read_level(&cells, key, 0, b);
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
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = tp_member_parse(text, length, file, &tree, err);
    if (status == TP_EINPUT && has_conflict(text, length))
        status =
            tp_hint(err, tp_fail(err, TP_EINPUT, "%s holds the marks of a merge conflict", file),
                    "keep one side, then 'tapool check --update' measures it anew");
    struct tp_document r = {.file = file, .err = err, .status = status};
    read_root(&(struct tp_member){.document = &r, .item = tree}, out);
    cJSON_Delete(tree);
    return r.status ? r.status : tp_baseline_sort(out, err);
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
        status = tp_fail(err, TP_ENOMEM, "out of memory");
    else if (ferror(in))
        status = tp_fail(err, TP_EINPUT, "'%s' cannot be read: %s", path, strerror(errno));
    else if (length > TP_BASELINE_BYTES)
        status = tp_fail(err, TP_EINPUT, "%s is not a baseline: it is over %d MiB", path,
                         TP_BASELINE_BYTES >> 20);
    fclose(in);
    if (!status)
        status = tp_baseline_parse(text, length, path, out, err);
    free(text);
    return status;
}
