/* Reading tapool.result/1 back; see stored.h. The whole document becomes a tree, every member that
 * is used is checked (json_member.h), the tree goes.
 *
 * Objects that belong together are there together, and one that is not there is a pass that was not
 * played. What has to be known of every run is damage where it is missing; a figure or a setting is
 * not: an older tapool did not have it. It is unknown then, and the file is known to lack it.
 *
 * Known weakness: the tree takes up to thirty times the file, which is why TP_STORED_BYTES is as
 * small as it is. */
#include "cmd/gate/stored.h"

#include "cmd/gate/command_words.h"
#include "cmd/gate/json_member.h"
#include "traces/clean.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "tapool.result/1"
enum { OPTIONS_MAX = 256, RUNS_MAX = 100000, CHUNK = 1 << 16 };

#define BEYOND 1e30 /* no time and no size of this world */

static const struct tp_member_range real = {.most = BEYOND};
static const struct tp_member_range real_or_null = {.most = BEYOND, .null = true};

/* ---- texts and lists ---- */

const char *tp_stored_options_find(const struct tp_stored_option *list, size_t count,
                                   const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].name, name))
            return list[i].value;
    return NULL;
}

/* A text that must be one of these; the first NULL ends them. */
static int read_word(const struct tp_member *in, const char *name, const char *const *words,
                     char **out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_text(in, name, out, err);
    for (size_t i = 0; !status && words[i]; i++)
        if (!strcmp(*out, words[i]))
            return TP_OK;
    if (!status)
        status = tp_member_get(in, name, true, &m, err);
    return status ? status : tp_member_fail(&m, "is no word that is known here", err);
}

static int add_option(struct tp_stored_option **list, size_t *count, const char *prefix,
                      const struct tp_member *value, struct tp_err *err)
{
    char name[256];
    snprintf(name, sizeof name, "%.120s%s%.120s", prefix, *prefix ? "." : "", value->item->string);
    if (!cJSON_IsString(value->item))
        return tp_member_fail(value, "is no text", err);
    struct tp_stored_option *more = realloc(*list, (*count + 1) * sizeof *more);
    if (!more)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    *list = more;
    more[*count] =
        (struct tp_stored_option){.name = tp_clean_copy(name, sizeof name),
                                  .value = tp_clean_copy(value->item->valuestring, TP_MEMBER_TEXT)};
    (*count)++;
    return more[*count - 1].name && more[*count - 1].value
               ? TP_OK
               : tp_fail(err, TP_ENOMEM, "out of memory");
}

static bool has_twin(const cJSON *item)
{
    for (const cJSON *other = item->next; other; other = other->next)
        if (!strcmp(item->string, other->string))
            return true;
    return false;
}

/* The member `options`, each a text, none twice. */
static int read_options(const struct tp_member *in, const char *prefix,
                        struct tp_stored_option **list, size_t *count, struct tp_err *err)
{
    struct tp_member options, value;
    int status = tp_member_get(in, "options", true, &options, err);
    if (!status)
        status = tp_member_is_object(&options, err);
    if (!status && cJSON_GetArraySize(options.item) > OPTIONS_MAX)
        status = tp_member_fail(&options, "has more members than any policy has options", err);
    for (const cJSON *item = status ? NULL : options.item->child; !status && item;
         item = item->next) {
        tp_member_child(&options, item, &value);
        status = has_twin(item) ? tp_member_fail(&value, "stands there twice", err)
                                : add_option(list, count, prefix, &value, err);
    }
    return status;
}

static int read_decorators(const struct tp_member *source, struct tp_stored_run *run,
                           struct tp_err *err)
{
    struct tp_member list, layer;
    size_t i = 0;
    int status = tp_member_get(source, "decorators", false, &list, err);
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        char *name = NULL;
        if (i == OPTIONS_MAX)
            return tp_member_fail(&list, "has more layers than any source", err);
        tp_member_element(&list, item, i++, &layer);
        status = tp_member_text(&layer, "name", &name, err);
        if (!status)
            status =
                read_options(&layer, name, &run->source_options, &run->source_option_count, err);
        free(name);
    }
    return status;
}

static int read_warnings(const struct tp_member *in, struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member list, one;
    int status = tp_member_get(in, "warnings", true, &list, err);
    if (!status)
        status = tp_member_is_array(&list, err);
    int count = status ? 0 : cJSON_GetArraySize(list.item);
    if (!status && count > OPTIONS_MAX)
        status = tp_member_fail(&list, "has more warnings than there are", err);
    if (!status && count)
        run->warnings = calloc((size_t)count, sizeof *run->warnings);
    if (!status && count && !run->warnings)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        struct tp_stored_option *w = &run->warnings[run->warning_count];
        tp_member_element(&list, item, run->warning_count++, &one);
        status = tp_member_text(&one, "id", &w->name, err);
        if (!status)
            status = tp_member_text(&one, "text", &w->value, err);
    }
    return status;
}

/* ---- a run ---- */

/* A count that older tapools did not write. */
static int read_later(const struct tp_member *in, const char *name, uint64_t *out,
                      struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, false, &m, err);
    *out = TP_NONE;
    return status || !m.item ? status : tp_member_count(in, name, out, err);
}

static int read_trace(const struct tp_member *in, struct tp_stored_run *run, struct tp_err *err)
{
    static const char *const kinds[] = {"host", "device", NULL};
    struct tp_member t, loop = {0};
    uint64_t devices = 0;
    int status = tp_member_get(in, "trace", true, &t, err);
    if (!status)
        status = tp_member_text(&t, "path", &run->trace_path, err);
    if (!status)
        status = tp_member_text(&t, "name", &run->trace_name, err);
    if (!status)
        status = read_word(&t, "kind", kinds, &run->kind, err);
    if (!status)
        status = tp_member_sha256(&t, "program_hash", &run->hash, err);
    if (!status)
        status = tp_member_count(&t, "events", &run->events, err);
    if (!status)
        status = tp_member_count(&t, "operations", &run->operations, err);
    if (!status)
        status = tp_member_count(&t, "devices", &devices, err);
    if (!status)
        status = read_later(&t, "frees", &run->frees, err);
    if (!status)
        status = tp_member_get(&t, "loop", false, &loop, err);
    run->loop = !status && cJSON_IsTrue(loop.item);
    if (!status && (!devices || devices > TP_STORED_DEVICES))
        return tp_fail(err, TP_EINPUT, "%s: %s.devices is not from 1 to %d", t.file, t.path,
                       TP_STORED_DEVICES);
    run->devices = (uint16_t)devices;
    return status;
}

static int read_policy(const struct tp_member *in, struct tp_stored_run *run, struct tp_err *err)
{
    static const char *const touches[] = {"none", "first", "all", NULL};
    static const char *const scopes[] = {"policy", "policy_and_source", NULL};
    struct tp_member strategy, source;
    int status = tp_member_get(in, "strategy", true, &strategy, err);
    if (!status)
        status = tp_member_text(&strategy, "name", &run->strategy, err);
    if (!status)
        status = tp_member_text(&strategy, "label", &run->label, err);
    if (!status)
        status = read_options(&strategy, "", &run->options, &run->option_count, err);
    if (!status)
        status = tp_member_get(in, "source", true, &source, err);
    if (!status)
        status = tp_member_text(&source, "name", &run->source, err);
    if (!status)
        status = read_options(&source, "", &run->source_options, &run->source_option_count, err);
    if (!status)
        status = read_decorators(&source, run, err);
    if (!status)
        status = read_word(in, "touch", touches, &run->touch, err);
    if (!status)
        status = read_word(in, "latency_scope", scopes, &run->scope, err);
    return status;
}

/* Follows "memory.peak_reserved_bytes". `out->item` is NULL where one on the way is not there;
 * `last`: that is the last one. */
static int follow(const struct tp_member *root, const char *path, struct tp_member *out, bool *last,
                  struct tp_err *err)
{
    *out = *root;
    for (;;) {
        char name[64];
        size_t length = strcspn(path, ".");
        *last = !path[length];
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        int status = tp_member_get(out, name, false, out, err);
        if (status || *last || !out->item)
            return status;
        path += length + 1;
    }
}

/* What a share is a share of, to add devices up; older tapools did not write it of all. */
static int read_weight(const struct tp_member *device, const struct tp_metric *m, double *weight,
                       struct tp_err *err)
{
    const struct tp_member_range range = {.most = BEYOND, .null = true};
    struct tp_member at = {0};
    bool last;
    int status = m->share_of ? follow(device, m->share_of, &at, &last, err) : TP_OK;
    return status || !at.item ? status : tp_member_value(&at, &range, weight, err);
}

/* A run-level figure beside no object is that of a pass: `played` says whether it was. */
static int read_metric(const struct tp_member *root, const struct tp_metric *m, bool played,
                       double *value, bool *lacks, struct tp_err *err)
{
    struct tp_member at;
    struct tp_member_range range = {
        .most = m->unit == TP_UNIT_SHARE ? 1 : BEYOND,
        .whole = m->unit == TP_UNIT_BYTES || m->unit == TP_UNIT_COUNT,
        .null = true,
    };
    bool last;
    int status = follow(root, m->path, &at, &last, err);
    *lacks |= !status && !at.item && last && played;
    if (status || !at.item)
        return status;
    return tp_member_value(&at, &range, value, err);
}

/* The object under which a device's memory stands, NULL where the usage pass was not played: the
 * run itself where there is one device. */
static int find_device(const struct tp_member *run_at, const struct tp_stored_run *run, uint16_t d,
                       struct tp_member *out, struct tp_err *err)
{
    struct tp_member list;
    *out = *run_at;
    if (run->devices == 1)
        return TP_OK;
    int status = tp_member_get(run_at, "devices", false, &list, err);
    out->item = NULL;
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    if (!status && cJSON_GetArraySize(list.item) != run->devices)
        status = tp_member_fail(&list, "has another number of devices than its trace", err);
    if (!status)
        tp_member_element(&list, cJSON_GetArrayItem(list.item, d), d, out);
    return status;
}

static int read_device(const struct tp_member *run_at, struct tp_stored_run *run, uint16_t d,
                       bool *played, bool *lacks, struct tp_err *err)
{
    static const char *const classes[] = {"E", "R", NULL};
    struct tp_member device, memory = {0};
    char *class = NULL;
    const size_t first = (size_t)d * tp_metric_count;
    double *values = run->values + first;
    int status = find_device(run_at, run, d, &device, err);
    if (!status && device.item)
        status = tp_member_get(&device, "memory", false, &memory, err);
    *played = memory.item != NULL;
    if (status || !memory.item)
        return status;
    status = read_word(&memory, "class", classes, &class, err);
    run->exact = run->exact && !status && *class == 'E';
    free(class);
    if (!status) { /* its twin, so that neither stands there alone */
        struct tp_member calls;
        status = tp_member_get(&device, "source_calls", true, &calls, err);
    }
    for (size_t i = 0; !status && i < tp_metric_count; i++)
        if (tp_metrics[i].per_device)
            status = read_metric(&device, &tp_metrics[i], true, &values[i], &lacks[i], err);
    for (size_t i = 0; !status && i < tp_metric_count; i++)
        status = read_weight(&device, &tp_metrics[i], &run->weights[first + i], err);
    return status;
}

/* What is measured, device by device and for the whole run. */
static int read_values(const struct tp_member *in, struct tp_stored_run *run, bool *lacks,
                       struct tp_err *err)
{
    size_t count = run->devices * tp_metric_count;
    int status = TP_OK;
    run->values = malloc(count * sizeof *run->values);
    run->weights = malloc(count * sizeof *run->weights);
    if (!run->values || !run->weights)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        run->values[i] = run->weights[i] = NAN;
    run->exact = true;
    for (uint16_t d = 0; !status && d < run->devices; d++) {
        bool played = false;
        status = read_device(in, run, d, &played, lacks, err);
        if (!status && d && played != run->usage)
            return tp_fail(err, TP_EINPUT, "%s: %s has the memory of some devices only", in->file,
                           in->path);
        run->usage = played;
    }
    run->exact = run->exact && run->usage;
    for (size_t i = 0; !status && i < tp_metric_count; i++)
        if (!tp_metrics[i].per_device)
            status = read_metric(in, &tp_metrics[i], run->usage || strchr(tp_metrics[i].path, '.'),
                                 &run->values[i], &lacks[i], err);
    return status;
}

/* A number of a pass that is no metric; as NAN where it is not there. */
static int read_figure(const struct tp_member *in, const char *name, double *out,
                       struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, false, &m, err);
    return status || !m.item ? status : tp_member_value(&m, &real_or_null, out, err);
}

/* ---- settings ---- */

/* A list as --passes takes it. */
static int join_texts(const struct tp_member *list, char **out, struct tp_err *err)
{
    char text[TP_MEMBER_TEXT] = "", clean[256];
    for (const cJSON *item = list->item->child; item; item = item->next) {
        if (!cJSON_IsString(item))
            return tp_member_fail(list, "holds what is no text", err);
        tp_clean_text(item->valuestring, clean, sizeof clean);
        tp_append(text, sizeof text, "%s%s", *text ? "," : "", clean);
    }
    *out = strdup(text);
    return *out ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int read_setting(const struct tp_member *m, char **out, struct tp_err *err)
{
    char digits[40];
    if (cJSON_IsArray(m->item))
        return join_texts(m, out, err);
    if (!cJSON_IsString(m->item) && !cJSON_IsNumber(m->item) && !cJSON_IsNull(m->item))
        return tp_member_fail(m, "is neither a text nor a number nor null", err);
    snprintf(digits, sizeof digits, "%.17g", m->item->valuedouble);
    *out = tp_clean_copy(cJSON_IsString(m->item)   ? m->item->valuestring
                         : cJSON_IsNumber(m->item) ? digits
                                                   : "",
                         TP_MEMBER_TEXT);
    return *out ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
}

static int read_settings(const struct tp_member *root, const struct tp_member *run_at,
                         struct tp_stored_run *run, bool *lacks, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < TP_SETTINGS; i++) {
        struct tp_member m;
        bool last;
        const struct tp_setting *s = &tp_settings[i];
        status = follow(s->document ? root : run_at, s->path, &m, &last, err);
        lacks[i] |= !status && !m.item;
        if (!status && m.item)
            status = read_setting(&m, &run->settings[i], err);
    }
    return status;
}

static int read_repeats(const struct tp_member *throughput, struct tp_stored_run *run,
                        struct tp_err *err)
{
    struct tp_member list, one;
    int status = tp_member_get(throughput, "runs_ns_per_op", true, &list, err);
    if (!status)
        status = tp_member_is_array(&list, err);
    size_t count = status ? 0 : (size_t)cJSON_GetArraySize(list.item);
    if (count)
        run->repeats = malloc(count * sizeof *run->repeats);
    if (count && !run->repeats)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        tp_member_element(&list, item, run->repeat_count, &one);
        status = tp_member_value(&one, &real, &run->repeats[run->repeat_count++], err);
    }
    return status;
}

/* Timed, and nothing left when tapool's own share was taken off: less than any time that is known.
 * Where nothing was timed there is no such share either. */
static void drown(struct tp_stored_run *run)
{
    double *ns = &run->values[tp_metric_find("ns_per_op", NULL) - tp_metrics];
    if (isnan(*ns) && !isnan(run->engine_ns_per_op))
        *ns = 0;
}

static int read_throughput(const struct tp_member *in, struct tp_stored_run *run,
                           struct tp_err *err)
{
    struct tp_member t, ns;
    run->low_ns_per_op = run->high_ns_per_op = run->engine_ns_per_op = NAN;
    int status = tp_member_get(in, "throughput", false, &t, err);
    if (status || !t.item)
        return status;
    run->throughput = true;
    status = read_figure(&t, "low_ns_per_op", &run->low_ns_per_op, err);
    if (!status)
        status = read_figure(&t, "high_ns_per_op", &run->high_ns_per_op, err);
    if (!status)
        status = read_figure(&t, "engine_ns_per_op", &run->engine_ns_per_op, err);
    if (!status)
        status = tp_member_flag(&t, "played_once", &run->played_once, err);
    if (!status)
        status = tp_member_get(&t, "ns_per_op", false, &ns, err);
    if (!status && ns.item) /* one that is not there is not known */
        drown(run);
    return status ? status : read_repeats(&t, run, err);
}

static int read_run(const struct tp_member *root, const struct tp_member *in, struct tp_stored *s,
                    struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member latency;
    int status = read_trace(in, run, err);
    if (!status)
        status = read_policy(in, run, err);
    if (!status)
        status = read_settings(root, in, run, s->lacks_setting, err);
    if (!status)
        status = read_values(in, run, s->lacks_metric, err);
    if (!status)
        status = read_throughput(in, run, err);
    if (!status)
        status = tp_member_get(in, "latency", false, &latency, err);
    if (!status)
        run->latency = latency.item != NULL;
    return status ? status : read_warnings(in, run, err);
}

/* ---- the document ---- */

static int check_schema(const struct tp_member *root, struct tp_err *err)
{
    const size_t length = sizeof SCHEMA - 1;
    char *schema = NULL;
    int status = tp_member_text(root, "schema", &schema, err);
    if (!status && (strncmp(schema, SCHEMA, length) || (schema[length] && schema[length] != '.'))) {
        status = tp_fail(err, TP_EINPUT, "%s is '%.80s'; this tapool reads '" SCHEMA "'",
                         root->file, schema);
        if (!strncmp(schema, SCHEMA, length - 1))
            tp_hint(err, status, "a tapool of its own version reads it");
        else
            tp_hint(err, status, "'tapool replay TRACE --export-json FILE' writes one");
    }
    free(schema);
    return status;
}

static int read_head(const struct tp_member *root, struct tp_stored *out, struct tp_err *err)
{
    struct tp_member tool, machine, clock;
    const struct {
        const struct tp_member *in;
        const char *name;
        char **text;
    } texts[] = {{&tool, "version", &out->version},   {&tool, "build", &out->build},
                 {&tool, "compiler", &out->compiler}, {&machine, "arch", &out->arch},
                 {&machine, "cpu", &out->cpu},        {&machine, "libc", &out->libc}};
    int status = check_schema(root, err);
    if (!status)
        status = tp_member_get(root, "tool", true, &tool, err);
    if (!status)
        status = tp_member_get(root, "machine", true, &machine, err);
    if (!status)
        status = tp_member_get(root, "clock", true, &clock, err);
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++)
        status = tp_member_text(texts[i].in, texts[i].name, texts[i].text, err);
    if (!status)
        status = tp_member_number(&clock, "step_ns", &real, &out->step_ns, err);
    return status ? status : tp_member_flag(root, "partial", &out->partial, err);
}

static int read_document(const cJSON *tree, struct tp_stored *out, struct tp_err *err)
{
    const struct tp_member root = {.file = out->path, .item = tree};
    struct tp_member list, one;
    int status = tp_member_is_object(&root, err);
    if (!status)
        status = read_head(&root, out, err);
    if (!status)
        status = tp_member_get(&root, "runs", true, &list, err);
    if (!status)
        status = tp_member_is_array(&list, err);
    size_t count = status ? 0 : (size_t)cJSON_GetArraySize(list.item);
    if (count > RUNS_MAX)
        return tp_member_fail(&list, "has more than 100,000 runs", err);
    if (count)
        out->runs = calloc(count, sizeof *out->runs);
    if (count && !out->runs)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        tp_member_element(&list, item, out->count, &one);
        status = read_run(&root, &one, out, &out->runs[out->count++], err);
    }
    return status;
}

int tp_stored_parse(const char *text, size_t length, const char *name, struct tp_stored *out,
                    struct tp_err *err)
{
    cJSON *tree = NULL;
    *out = (struct tp_stored){.path = tp_clean_copy(name, TP_MEMBER_TEXT)};
    if (!out->path)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = tp_member_parse(text, length, out->path, &tree, err);
    if (!status)
        status = read_document(tree, out, err);
    cJSON_Delete(tree);
    if (!status)
        return TP_OK;
    tp_stored_release(out);
    return status;
}

/* ---- files ---- */

static int read_whole(FILE *in, const char *name, char **text, size_t *length, struct tp_err *err)
{
    size_t room = 0;
    *text = NULL;
    *length = 0;
    do {
        if (*length == room) {
            room = room ? 2 * room : CHUNK;
            char *more = realloc(*text, room);
            if (!more)
                return tp_fail(err, TP_ENOMEM, "out of memory");
            *text = more;
        }
        *length += fread(*text + *length, 1, room - *length, in);
        if (*length > TP_STORED_BYTES)
            return tp_fail(err, TP_EINPUT, "%s is larger than %d MiB: no result is", name,
                           TP_STORED_BYTES >> 20);
    } while (!feof(in) && !ferror(in));
    return ferror(in) ? tp_fail(err, TP_EINPUT, "%s cannot be read: %s", name, strerror(errno))
                      : TP_OK;
}

int tp_stored_read(const char *path, struct tp_stored *out, struct tp_err *err)
{
    bool standard = !strcmp(path, "-");
    const char *name = standard ? "stdin" : path;
    char *text = NULL;
    size_t length = 0;
    *out = (struct tp_stored){0};
    FILE *in = standard ? stdin : fopen(path, "re");
    if (!in)
        return tp_fail(err, TP_EINPUT, "%s cannot be opened: %s", name, strerror(errno));
    int status = read_whole(in, name, &text, &length, err);
    if (!standard)
        fclose(in);
    if (!status)
        status = tp_stored_parse(text, length, name, out, err);
    free(text);
    return status;
}

/* ---- giving back ---- */

void tp_stored_options_release(struct tp_stored_option *list, size_t count)
{
    for (size_t i = 0; list && i < count; i++) {
        free(list[i].name);
        free(list[i].value);
    }
    free(list);
}

static void release_run(struct tp_stored_run *r)
{
    char *const texts[] = {r->trace_path, r->trace_name, r->kind,  r->hash, r->strategy,
                           r->label,      r->source,     r->touch, r->scope};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < TP_SETTINGS; i++)
        free(r->settings[i]);
    tp_stored_options_release(r->options, r->option_count);
    tp_stored_options_release(r->source_options, r->source_option_count);
    tp_stored_options_release(r->warnings, r->warning_count);
    free(r->values);
    free(r->weights);
    free(r->repeats);
}

void tp_stored_release(struct tp_stored *s)
{
    char *const texts[] = {s->path, s->version, s->build, s->compiler, s->arch, s->cpu, s->libc};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < s->count; i++)
        release_run(&s->runs[i]);
    free(s->runs);
    *s = (struct tp_stored){0};
}
