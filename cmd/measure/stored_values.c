/* What was measured: the metrics, device by device, and the times behind them; see stored_read.h.
 * What belongs to a pass lies in an object of its own, and where that is not there the pass was not
 * played, unless the run says that it was. */
#include "cmd/measure/stored_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

/* What a share is a share of, to add devices up. */
static int read_weight(struct tp_stored *s, const struct tp_member *device,
                       const struct tp_metric *m, double *weight, struct tp_err *err)
{
    struct tp_member at;
    bool last;
    int status = tp_stored_follow(device, m->share_of, &at, &last, err);
    if (status || at.item)
        return status ? status : tp_member_value(&at, &tp_stored_real_or_null, weight, err);
    return tp_stored_lack_member(s, &at, err);
}

/* Where it is not there, `at` says what is not. */
static int read_metric(const struct tp_member *root, const struct tp_metric *m, double *value,
                       struct tp_member *at, bool *last, struct tp_err *err)
{
    struct tp_member_range range = {
        .most = m->unit == TP_UNIT_SHARE ? 1 : TP_STORED_BEYOND,
        .whole = m->unit == TP_UNIT_BYTES || m->unit == TP_UNIT_COUNT,
        .null = true,
    };
    int status = tp_stored_follow(root, m->path, at, last, err);
    return status || !at->item ? status : tp_member_value(at, &range, value, err);
}

static int lack_metric(struct tp_stored *s, const struct tp_metric *m, const struct tp_member *at,
                       bool last, struct tp_err *err)
{
    return last ? tp_stored_lack(s, TP_LACKS_METRIC, m->name, err)
                : tp_stored_lack_member(s, at, err);
}

/* ---- memory and counts, by device ---- */

/* The object under which a device's memory stands: the run itself where there is one device. */
static int find_device(const struct tp_member *run_at, const struct tp_stored_run *run, uint16_t d,
                       struct tp_member *out, struct tp_err *err)
{
    struct tp_member list;
    *out = *run_at;
    if (run->devices == 1)
        return TP_OK;
    int status = tp_member_find(run_at, "devices", &list, err);
    *out = list;
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    if (!status && cJSON_GetArraySize(list.item) != run->devices)
        status = tp_member_fail(&list, "has another number of devices than its trace", err);
    if (!status)
        tp_member_element(&list, cJSON_GetArrayItem(list.item, d), d, out);
    if (!status && cJSON_IsNull(out->item)) {
        *out = list;
        out->item = NULL;
    }
    return status;
}

/* Whether anything is there of what the usage pass measures. */
static int find_usage(const struct tp_member *run_at, struct tp_stored_run *run, struct tp_err *err)
{
    static const char *const parts[] = {"memory", "source_calls"};
    int status = TP_OK;
    for (uint16_t d = 0; !status && d < run->devices; d++) {
        struct tp_member device, part;
        status = find_device(run_at, run, d, &device, err);
        for (size_t i = 0; !status && i < sizeof parts / sizeof *parts; i++) {
            status = tp_member_find(&device, parts[i], &part, err);
            run->usage |= !status && part.item;
        }
    }
    return status;
}

/* Memory of which this is not said is not taken for exact. */
static int read_class(struct tp_stored *s, const struct tp_member *device,
                      struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member memory;
    char *class = NULL;
    int status = tp_member_find(device, "memory", &memory, err);
    if (!status)
        status = tp_stored_text(s, &memory, "class", &class, err);
    if (!status && *class && strcmp(class, "E") && strcmp(class, "R")) {
        tp_member_find(&memory, "class", &memory, err);
        status = tp_member_fail(&memory, "is no word that is known here", err);
    }
    run->exact = run->exact && !status && *class == 'E';
    free(class);
    return status;
}

static int read_device(struct tp_stored *s, const struct tp_member *run_at,
                       struct tp_stored_run *run, uint16_t d, struct tp_err *err)
{
    struct tp_member device, at;
    bool last;
    const size_t first = (size_t)d * tp_metric_count;
    int status = find_device(run_at, run, d, &device, err);
    if (!status && !device.item) {
        run->exact = false;
        return tp_stored_lack_member(s, &device, err);
    }
    if (!status)
        status = read_class(s, &device, run, err);
    for (size_t i = 0; !status && i < tp_metric_count; i++) {
        const struct tp_metric *m = &tp_metrics[i];
        if (!m->per_device)
            continue;
        status = read_metric(&device, m, &run->values[first + i], &at, &last, err);
        if (!status && !at.item)
            status = lack_metric(s, m, &at, last, err);
        if (!status && m->share_of && run->devices > 1)
            status = read_weight(s, &device, m, &run->weights[first + i], err);
    }
    return status;
}

/* ---- of the whole run ---- */

/* The pass that a metric comes from is told by the object that it stands in; counts stand in none.
 */
static const char *pass_of(const struct tp_metric *m)
{
    static const struct {
        const char *object, *pass;
    } rows[] = {{"throughput.", "throughput"}, {"latency.", "latency"}, {"instructions.", "count"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strncmp(m->path, rows[i].object, strlen(rows[i].object)))
            return rows[i].pass;
    return "usage";
}

/* Of a kind of call of which there was none there is no object, and of a pass that was not played
 * none either. */
static bool is_lacking(const struct tp_stored_run *run, const struct tp_metric *m,
                       const struct tp_member *at, bool last)
{
    const char *in_run = strrchr(at->path, ']');
    bool top = in_run && !strchr(in_run + 2, '.');
    if (top)
        return tp_stored_says_played(run, pass_of(m)) || (last && run->usage);
    return last;
}

static int read_whole(struct tp_stored *s, const struct tp_member *in, struct tp_stored_run *run,
                      struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && i < tp_metric_count; i++) {
        struct tp_member at;
        bool last;
        if (tp_metrics[i].per_device)
            continue;
        status = read_metric(in, &tp_metrics[i], &run->values[i], &at, &last, err);
        if (!status && !at.item && is_lacking(run, &tp_metrics[i], &at, last))
            status = lack_metric(s, &tp_metrics[i], &at, last, err);
    }
    return status;
}

/* ---- times ---- */

/* A number of a pass that is no metric; as NAN where it is not there. */
static int read_figure(struct tp_stored *s, const struct tp_member *in, const char *name,
                       double *out, struct tp_err *err)
{
    struct tp_member m;
    int status = tp_member_get(in, name, false, &m, err);
    if (status || m.item)
        return status ? status : tp_member_value(&m, &tp_stored_real_or_null, out, err);
    return tp_stored_lack_member(s, &m, err);
}

static int read_repeats(struct tp_stored *s, const struct tp_member *throughput,
                        struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member list, one;
    size_t i = 0;
    int status = tp_stored_seek(s, throughput, "runs_ns_per_op", &list, err);
    if (status || !list.item)
        return status;
    status = tp_member_is_array(&list, err);
    size_t count = status ? 0 : (size_t)cJSON_GetArraySize(list.item);
    if (count)
        run->repeats = malloc(count * sizeof *run->repeats);
    if (count && !run->repeats)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (const cJSON *item = status ? NULL : list.item->child; !status && item; item = item->next) {
        tp_member_element(&list, item, i++, &one);
        if (cJSON_IsNull(item))
            status = tp_stored_lack_member(s, &list, err);
        else
            status =
                tp_member_value(&one, &tp_stored_real, &run->repeats[run->repeat_count++], err);
    }
    return status;
}

static double *value_named(const struct tp_stored_run *run, const char *name)
{
    return &run->values[tp_metric_find(name, NULL) - tp_metrics];
}

/* Timed, and nothing left when tapool's own share was taken off: less than any time that is known.
 * Where nothing was timed there is no such share either. */
static void drown(struct tp_stored_run *run)
{
    double *ns = value_named(run, "ns_per_op");
    if (isnan(*ns) && !isnan(*value_named(run, "engine_ns_per_op")))
        *ns = 0;
}

static int read_throughput(struct tp_stored *s, const struct tp_member *in,
                           struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member t, ns;
    run->low_ns_per_op = run->high_ns_per_op = NAN;
    int status = tp_member_find(in, "throughput", &t, err);
    if (status || !t.item)
        return status;
    run->throughput = true;
    status = read_figure(s, &t, "low_ns_per_op", &run->low_ns_per_op, err);
    if (!status)
        status = read_figure(s, &t, "high_ns_per_op", &run->high_ns_per_op, err);
    if (!status)
        status = tp_stored_flag(s, &t, "played_once", &run->played_once, err);
    if (!status)
        status = tp_member_get(&t, "ns_per_op", false, &ns, err);
    if (!status && ns.item) /* one that is not there is not known */
        drown(run);
    return status ? status : read_repeats(s, &t, run, err);
}

/* ---- all of it ---- */

int tp_stored_read_values(struct tp_stored *s, const struct tp_member *in,
                          struct tp_stored_run *run, struct tp_err *err)
{
    struct tp_member latency;
    size_t count = run->devices * tp_metric_count;
    run->values = malloc(count * sizeof *run->values);
    run->weights = malloc(count * sizeof *run->weights);
    if (!run->values || !run->weights)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        run->values[i] = run->weights[i] = NAN;
    int status = find_usage(in, run, err);
    bool played = run->usage || tp_stored_says_played(run, "usage");
    run->exact = run->usage;
    for (uint16_t d = 0; !status && played && d < run->devices; d++)
        status = read_device(s, in, run, d, err);
    if (!status)
        status = read_whole(s, in, run, err);
    if (!status)
        status = read_throughput(s, in, run, err);
    if (!status)
        status = tp_member_find(in, "latency", &latency, err);
    run->latency = !status && latency.item;
    return status;
}
