/* Reads what was measured: the metrics of each device and of the whole run, and the times of the
 * single replays; see stored_read.h. Each pass has an object of its own. If the object is missing,
 * the pass was not replayed, unless the run's settings say that it was. */
#include "cmd/results/stored_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lacks ---- */

void tp_stored_lack(struct tp_document *r, enum tp_stored_lack_kind kind, const char *name)
{
    struct tp_stored *s = r->ctx;
    for (size_t i = 0; i < s->lack_count; i++)
        if (s->lacks[i].kind == kind && !strcmp(s->lacks[i].name, name))
            return;
    const struct tp_member at = {.document = r};
    struct tp_stored_lack *more =
        tp_member_memory(&at, realloc(s->lacks, (s->lack_count + 1) * sizeof *more));
    if (!more)
        return;
    s->lacks = more;
    more += s->lack_count++;
    more->kind = kind;
    snprintf(more->name, sizeof more->name, "%s", name);
}

/* The name leaves out which run or device lacks the member, so that a member that is missing in
 * many of them is noted once. */
/* Skips "runs[2]." or "devices[1]." at the start of a path. */
static const char *skip_element(const char *path, const char *list)
{
    size_t length = strlen(list);
    const char *end = strncmp(path, list, length) ? NULL : strstr(path + length, "].");
    return end ? end + 2 : path;
}

void tp_stored_lack_member(const struct tp_member *m)
{
    const char *name = skip_element(skip_element(m->path, "runs["), "devices[");
    tp_stored_lack(m->document, TP_LACKS_MEMBER, name);
}

bool tp_stored_says_replayed(const struct tp_record *run, const char *pass)
{
    const char *list = NULL;
    for (size_t i = 0; i < TP_SETTINGS; i++)
        if (!strcmp(tp_settings[i].path, "passes"))
            list = run->settings[i];
    const size_t length = strlen(pass);
    while (list && *list) {
        size_t word = strcspn(list, ",");
        if (word == length && !strncmp(list, pass, length))
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

/* ---- metrics ---- */

/* Reads the value of a metric. If it is missing, `at` is the member of its path that is missing. */
static double read_metric(const struct tp_member *root, const struct tp_metric *m,
                          struct tp_member *at, bool *last)
{
    struct tp_member_range range = {
        .most = m->unit == TP_UNIT_SHARE ? 1 : TP_MEMBER_BEYOND,
        .whole = m->unit == TP_UNIT_BYTES || m->unit == TP_UNIT_COUNT,
        .null = true,
    };
    *at = tp_member_follow(root, m->path, false, last);
    return tp_member_number(at, &range);
}

static void lack_metric(const struct tp_metric *m, const struct tp_member *at, bool last)
{
    if (at->item || at->document->status)
        return;
    if (last)
        tp_stored_lack(at->document, TP_LACKS_METRIC, m->name);
    else
        tp_stored_lack_member(at);
}

/* ---- memory and counts, by device ---- */

/* The object that holds the figures of a device. It is the run itself if there is one device. */
static struct tp_member find_device(const struct tp_member *run_at, const struct tp_record *run,
                                    uint16_t d)
{
    if (run->devices == 1)
        return *run_at;
    struct tp_member list = tp_member_find(run_at, "devices");
    if (list.item && tp_member_list(&list, SIZE_MAX, NULL) != run->devices)
        tp_member_fail(&list, "has another number of devices than its trace");
    const struct tp_member one = tp_member_element(&list, d);
    if (one.item && !cJSON_IsNull(one.item))
        return one;
    list.item = NULL;
    return list;
}

/* Whether the run has anything that the usage pass measures. */
static bool find_usage(const struct tp_member *run_at, const struct tp_record *run)
{
    bool found = false;
    for (uint16_t d = 0; d < run->devices; d++) {
        struct tp_member device = find_device(run_at, run, d);
        found |= tp_member_find(&device, "memory").item != NULL;
        found |= tp_member_find(&device, "driver_calls").item != NULL;
    }
    return found;
}

/* Whether a device's memory is of class E; false if the result does not say. */
static bool is_exact(const struct tp_member *device)
{
    const struct tp_member memory = tp_member_find(device, "memory");
    const struct tp_member memory_class = tp_member_seek(&memory, "class");
    char *text = memory_class.item ? tp_member_text(&memory_class) : NULL;
    bool exact = text && !strcmp(text, "E");
    if (text && !exact && *text && strcmp(text, "R"))
        tp_member_fail(&memory_class, "is not a known word");
    free(text);
    return exact;
}

/* A point that is null, or has a null, is not known and left out. */
static void read_point(const struct tp_member *list, struct tp_record_curve *curve)
{
    uint64_t *point = curve->points[curve->count];
    bool known = !cJSON_IsNull(list->item);
    struct tp_member one = {0};
    if (known && tp_member_list(list, SIZE_MAX, NULL) != TP_RECORD_POINT)
        tp_member_fail(list, "is not a point of a curve");
    for (int i = 0; known && i < TP_RECORD_POINT && tp_member_next(list, &one); i++) {
        known = !cJSON_IsNull(one.item);
        point[i] = known ? tp_member_count(&one) : 0;
    }
    if (known && curve->count && point[0] < curve->points[curve->count - 1][0])
        tp_member_fail(list, "lies before the point before it");
    curve->count += known;
}

/* The member is not missed where it is not there: only pictures need it. */
static void read_curve(const struct tp_member *device, struct tp_record_curve *curve)
{
    const struct tp_member memory = tp_member_find(device, "memory");
    const struct tp_member list = tp_member_find(&memory, "curve");
    struct tp_member one = {0};
    size_t count = tp_member_list(&list, SIZE_MAX, NULL);
    if (count)
        curve->points = tp_member_memory(&list, calloc(count, sizeof *curve->points));
    while (curve->points && tp_member_next(&list, &one))
        read_point(&one, curve);
}

static void read_device(const struct tp_member *device, struct tp_record *run, uint16_t d)
{
    const size_t first = (size_t)d * tp_metric_count;
    if (!device->item) {
        run->exact = false;
        tp_stored_lack_member(device);
        return;
    }
    run->exact &= is_exact(device);
    if (run->curves)
        read_curve(device, &run->curves[d]);
    for (size_t i = 0; i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        struct tp_member at;
        bool last;
        if (!m->per_device)
            continue;
        run->values[first + i] = read_metric(device, m, &at, &last);
        lack_metric(m, &at, last);
        if (!m->share_of || run->devices == 1)
            continue;
        const struct tp_member_row weight = {
            .path = m->share_of, .type = TP_ROW_REAL_OR_NULL, .need = TP_ROW_EXPECTED};
        tp_member_rows(device, &weight, 1, &run->weights[first + i]);
    }
}

/* ---- metrics of the whole run ---- */

/* Whether a missing member is a lack of the result. It is none if the object of its pass is missing
 * because the pass was not replayed, or the object of its kind of call because there was no such
 * call. */
static bool is_lacking(const struct tp_record *run, const struct tp_metric *m,
                       const struct tp_member *at, bool last)
{
    const char *in_run = strrchr(at->path, ']');
    bool top = in_run && !strchr(in_run + 2, '.');
    if (top)
        return tp_stored_says_replayed(run, tp_metric_pass(m)->name) || (last && run->usage);
    return last;
}

static void read_whole(const struct tp_member *in, struct tp_record *run)
{
    for (size_t i = 0; i < tp_metric_count; i++) {
        struct tp_member at;
        bool last;
        if (tp_metrics[i].per_device)
            continue;
        run->values[i] = read_metric(in, &tp_metrics[i], &at, &last);
        if (!tp_metrics[i].of_threads && is_lacking(run, &tp_metrics[i], &at, last))
            lack_metric(&tp_metrics[i], &at, last);
    }
}

/* ---- times ---- */

static void read_repeats(const struct tp_member *throughput, struct tp_record *run)
{
    const struct tp_member list = tp_member_seek(throughput, "runs_ns_per_op");
    struct tp_member one = {0};
    size_t count = tp_member_list(&list, SIZE_MAX, NULL);
    if (count)
        run->repeats = tp_member_memory(&list, malloc(count * sizeof *run->repeats));
    while (tp_member_next(&list, &one))
        if (cJSON_IsNull(one.item))
            tp_stored_lack_member(&list);
        else
            run->repeats[run->repeat_count++] = tp_member_number(&one, &tp_member_real);
}

#define ROW(name, type)                                                                            \
    {                                                                                              \
        TP_MEMBER_ROW(tp_record, name, #name, type, EXPECTED)                                      \
    }
static const struct tp_member_row throughput_rows[] = {ROW(ci95_low_ns_per_op, REAL_OR_NULL),
                                                       ROW(ci95_high_ns_per_op, REAL_OR_NULL),
                                                       ROW(replayed_once, FLAG)};

static void read_throughput(const struct tp_member *in, struct tp_record *run)
{
    struct tp_member t = tp_member_find(in, "throughput");
    run->ci95_low_ns_per_op = run->ci95_high_ns_per_op = NAN;
    run->throughput = t.item != NULL;
    if (!t.item)
        return;
    tp_member_rows(&t, throughput_rows, sizeof throughput_rows / sizeof *throughput_rows, run);
    if (tp_member_get(&t, "ns_per_op", false).item) /* null means 0 here, absent means not known */
        tp_record_drown(run);
    read_repeats(&t, run);
}

/* ---- the whole run ---- */

void tp_stored_read_values(const struct tp_member *in, struct tp_record *run)
{
    size_t count = run->devices * tp_metric_count;
    if (in->document->status)
        return;
    run->values = tp_member_memory(in, malloc(count * sizeof *run->values));
    run->weights = tp_member_memory(in, malloc(count * sizeof *run->weights));
    run->curves = tp_member_memory(in, calloc(run->devices, sizeof *run->curves));
    for (size_t i = 0; run->values && run->weights && i < count; i++)
        run->values[i] = run->weights[i] = NAN;
    run->usage = run->exact = find_usage(in, run);
    bool replayed = run->usage || tp_stored_says_replayed(run, "usage");
    for (uint16_t d = 0; replayed && !in->document->status && d < run->devices; d++) {
        struct tp_member device = find_device(in, run, d);
        read_device(&device, run, d);
    }
    if (in->document->status)
        return;
    run->aged = cJSON_IsTrue(tp_member_get(in, "recorded_heap", false).item);
    read_whole(in, run);
    read_throughput(in, run);
    run->latency = tp_member_find(in, "latency").item != NULL;
}
