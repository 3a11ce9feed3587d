/* --format perfetto: memory over time as counters, in Chrome's trace-event JSON, which
 * ui.perfetto.dev and chrome://tracing show.
 *
 *     process 1  sqlite: arena on host      one for each trace and strategy
 *         memory     requested, allocated, reserved, free (bytes)
 *         phases     the phases between the marks of the trace
 *
 * Times are the recorded ones, in microseconds. In a trace without times each event takes one
 * microsecond. Other members of a result are in `otherData`, with their names in the JSON result.
 * Known weakness: a curve has at most TP_CURVE_POINTS points. No extreme is lost, but values
 * between extremes may be. */
#include "cmd/exports/timeline.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/report_json.h"

#include <string.h>

enum { TRACK_MEMORY, TRACK_PHASES, PHASES_MAX = 65536 };

struct perfetto_writer {
    FILE *out;
    struct tp_json json; /* for texts and otherData */
    bool any;            /* an event was written, so the next one needs a comma */
};

static void write_json(struct perfetto_writer *w, const cJSON *item)
{
    char *text = item ? cJSON_PrintUnformatted(item) : NULL;
    if (text)
        fputs(text, w->out);
    w->json.failed |= !text;
    cJSON_free(text);
}

static void write_text(struct perfetto_writer *w, const char *text)
{
    cJSON *item = cJSON_CreateString(text);
    write_json(w, item);
    cJSON_Delete(item);
}

/* Writes the start of an event; the caller writes its name and the rest. `ns` is the time since the
 * trace began. */
static void begin_event(struct perfetto_writer *w, char phase, size_t process, int track,
                        uint64_t ns)
{
    fprintf(w->out, "%s\n{\"ph\":\"%c\",\"pid\":%zu,\"tid\":%d,\"ts\":%llu.%03u", w->any ? "," : "",
            phase, process, track, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
    w->any = true;
}

static void write_label(struct perfetto_writer *w, const char *what, size_t process, int track,
                        const char *name)
{
    begin_event(w, 'M', process, track, 0);
    fprintf(w->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
    write_text(w, name);
    fputs("}}", w->out);
}

/* ---- tracks ---- */

static void write_counters(struct perfetto_writer *w, size_t process, const char *name, uint64_t ns,
                           const uint64_t *bytes)
{
    uint64_t allocated = bytes[TP_CURVE_ALLOCATED], reserved = bytes[TP_CURVE_RESERVED];
    begin_event(w, 'C', process, TRACK_MEMORY, ns);
    fprintf(w->out,
            ",\"name\":\"%s\",\"args\":{\"requested\":%llu,\"allocated\":%llu,\"reserved\":%llu,"
            "\"free\":%llu}}",
            name, (unsigned long long)bytes[TP_CURVE_REQUESTED], (unsigned long long)allocated,
            (unsigned long long)reserved,
            (unsigned long long)(reserved > allocated ? reserved - allocated : 0));
}

static void write_curve(struct perfetto_writer *w, size_t process, const struct tp_result *r,
                        uint32_t device)
{
    const struct tp_curve *curve = &r->run->devices[device].curve;
    char name[32] = "memory";
    if (r->run->device_count > 1)
        snprintf(name, sizeof name, "memory of device %u", device);
    for (uint32_t i = 0; i < curve->count; i++)
        write_counters(w, process, name, tp_point_ns(r->facts, &curve->points[i]),
                       curve->points[i].bytes);
}

static void write_phase(struct perfetto_writer *w, size_t process, const char *name, uint64_t from,
                        uint64_t to)
{
    begin_event(w, 'X', process, TRACK_PHASES, from);
    fprintf(w->out, ",\"dur\":%llu.%03u,\"name\":", (unsigned long long)((to - from) / 1000),
            (unsigned)((to - from) % 1000));
    write_text(w, name);
    fputc('}', w->out);
}

/* Writes the phases: each lasts from its mark to the next one, the last one to the end. */
static void write_phases(struct perfetto_writer *w, size_t process, const struct tp_phase_list *l)
{
    write_label(w, "thread_name", process, TRACK_PHASES, "phases");
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].name)
            write_phase(w, process, l->at[i].name, l->at[i].ns,
                        i + 1 < l->count ? l->at[i + 1].ns : l->end_ns);
}

static void write_process(struct perfetto_writer *w, const struct tp_report *rep, size_t index,
                          const struct tp_phase_list *phases)
{
    const struct tp_result *r = &rep->results[index];
    char name[4096 + 2 * TP_LABEL_MAX]; /* the name of the trace and two labels */
    snprintf(name, sizeof name, "%.*s: %s on %s%s", (int)tp_text_bytes(r->trace->meta.name, 900),
             r->trace->meta.name, r->spec->label, r->source->name,
             r->facts->time_known ? "" : ", an event is a microsecond");
    write_label(w, "process_name", index + 1, TRACK_MEMORY, name);
    for (uint32_t d = 0; d < r->run->device_count; d++)
        write_curve(w, index + 1, r, d);
    if (r->facts->marks)
        write_phases(w, index + 1, phases);
}

/* ---- otherData ---- */

/* The members of the JSON result that are short and not in the tracks. */
static cJSON *describe(struct perfetto_writer *w, const struct tp_report *rep, size_t index)
{
    static const char *const kept[] = {"trace", "strategy",      "source",
                                       "touch", "latency_scope", "warnings"};
    cJSON *run = tp_json_run(&w->json, rep, &rep->results[index]);
    cJSON *o = cJSON_CreateObject();
    if (o)
        tp_json_uint(&w->json, o, "pid", index + 1);
    for (size_t i = 0; o && i < sizeof kept / sizeof *kept; i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(run, kept[i]);
        w->json.failed |= !item || !cJSON_AddItemToObject(o, kept[i], item);
    }
    cJSON_Delete(run);
    return o;
}

static void write_other(struct perfetto_writer *w, const struct tp_report *rep)
{
    cJSON *head = tp_json_head(&w->json, rep);
    cJSON_DeleteItemFromObjectCaseSensitive(head, "schema"); /* otherData has no schema */
    cJSON *runs = tp_json_array(&w->json, head, "runs");
    for (size_t i = 0; i < rep->count; i++)
        tp_json_push(&w->json, runs, describe(w, rep, i));
    write_json(w, head);
    cJSON_Delete(head);
}

static int write_perfetto(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    struct perfetto_writer w = {.out = out};
    struct tp_phase_list phases = {0};
    int status = TP_OK;
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":", out);
    write_other(&w, r);
    fputs(",\"traceEvents\":[", out);
    for (size_t i = 0; !status && i < r->count; i++) {
        const struct tp_trace *t = r->results[i].trace;
        if (!i || t != r->results[i - 1].trace) {
            tp_phase_list_drop(&phases);
            status = tp_phase_list_find(t, PHASES_MAX, &phases, err);
        }
        if (!status)
            write_process(&w, r, i, &phases);
    }
    tp_phase_list_drop(&phases);
    fputs("\n]}\n", out);
    if (!status && w.json.failed)
        status = tp_fail(err, TP_ENOMEM, "out of memory while writing counters");
    return status;
}

static const char about[] = "Chrome's trace-event JSON for ui.perfetto.dev: requested, allocated,\n"
                            "reserved and free bytes over recorded time, one process per result,\n"
                            "the trace's marks as phases. In a trace without times each event\n"
                            "takes a microsecond.";

const struct tp_exporter tp_replay_perfetto = {
    .name = "perfetto",
    .summary = "memory over time as counters, for ui.perfetto.dev",
    .about = about,
    .write = write_perfetto,
};
