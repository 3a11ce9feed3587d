/* Writes tapool.info/1. Members that the result of a replay has too have the same names there
 * (cmd/measure/report_json.h). */
#include "cmd/measure/report_json.h"
#include "cmd/report/info.h"
#include "cmd/report/report_head.h"

#include "alloc/engine/run.h"

enum { NAMES_MAX = 64 };

static void write_operations(struct tp_json *j, cJSON *root, const struct tp_info_report *r)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    cJSON *o = tp_json_object(j, root, "operations");
    enum tp_op op;
    for (unsigned rank = 1; (op = tp_op_ranked(rank)) < TP_OP_COUNT; rank++)
        tp_json_uint(j, o, tp_op_rows[op].name, tp_captured_ops(r->captured, f, op));
}

static void write_count(struct tp_json *j, cJSON *o, const struct tp_info_count *c)
{
    tp_json_uint(j, o, "objects", c->objects);
    tp_json_uint(j, o, "bytes", c->bytes);
}

static void write_sizes(struct tp_json *j, cJSON *root, const struct tp_info *info)
{
    cJSON *sizes = tp_json_array(j, root, "sizes");
    for (int i = 0; i < TP_INFO_SIZES; i++) {
        cJSON *o = tp_json_item(j, sizes);
        tp_json_uint(j, o, "up_to_bytes", info->sizes[i].up_to); /* null in the last row */
        write_count(j, o, &info->sizes[i].count);
    }
    tp_json_uint(j, root, "distinct_sizes", info->distinct);
    tp_json_bool(j, root, "distinct_sizes_exact", !info->distinct_capped);
    cJSON *common = tp_json_array(j, root, "common_sizes");
    for (int i = 0; i < TP_INFO_COMMON && info->common[i].requests; i++) {
        cJSON *o = tp_json_item(j, common);
        tp_json_uint(j, o, "bytes", info->common[i].size);
        tp_json_uint(j, o, "requests", info->common[i].requests);
    }
}

/* All members are null if nothing was freed or times are not known. */
static void write_lifetimes(struct tp_json *j, cJSON *root, const char *name,
                            const struct tp_histogram *h, bool known)
{
    static const struct {
        const char *name;
        double fraction;
    } rows[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    cJSON *o = tp_json_object(j, root, name);
    known &= h->count > 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tp_json_uint(j, o, rows[i].name, known ? tp_hist_quantile(h, rows[i].fraction) : TP_NONE);
    tp_json_uint(j, o, "max", known ? h->max : TP_NONE);
}

static void write_objects(struct tp_json *j, cJSON *root, const struct tp_info *info, bool timed)
{
    write_count(j, tp_json_object(j, root, "allocated"), &info->allocated);
    tp_json_uint(j, root, "freed_objects", info->freed);
    write_sizes(j, root, info);
    write_lifetimes(j, root, "lifetimes_events", &info->events, true);
    write_lifetimes(j, root, "lifetimes_ns", &info->times, timed);
    cJSON *temporary = tp_json_object(j, root, "temporary");
    tp_json_uint(j, temporary, "within_events", TP_INFO_TEMPORARY);
    write_count(j, temporary, &info->temporary);
    write_count(j, tp_json_object(j, root, "outlive"), &info->outlive);
    cJSON *before = tp_json_object(j, root, "before");
    write_count(j, before, &info->before);
    tp_json_uint(j, before, "freed_objects", info->before_freed);
    cJSON *reallocs = tp_json_object(j, root, "reallocs");
    tp_json_uint(j, reallocs, "grow", info->grow);
    tp_json_uint(j, reallocs, "shrink", info->shrink);
    tp_json_uint(j, reallocs, "same", info->same);
    tp_json_uint(j, root, "remote_frees", info->remote_frees);
    cJSON *alignment = tp_json_object(j, root, "alignment");
    tp_json_uint(j, alignment, "usual_bytes", UINT64_C(1) << info->usual_align_log2);
    tp_json_uint(j, alignment, "other_requests", info->aligned);
    tp_json_uint(j, alignment, "highest_bytes", UINT64_C(1) << info->highest_align_log2);
}

static void write_marks(struct tp_json *j, cJSON *root, const struct tp_info_report *r)
{
    const struct tp_program *p = r->trace->program;
    cJSON *marks = tp_json_object(j, root, "marks");
    tp_json_uint(j, marks, "count", r->info->phases_begun);
    tp_json_uint(j, marks, "distinct", r->info->phases);
    cJSON *names = tp_json_array(j, marks, "names");
    uint32_t count = 0;
    for (uint32_t i = 0; i < tp_program_facts(p)->marks && count < NAMES_MAX; i++) {
        const char *name = tp_mark_phase(p, i);
        if (name)
            tp_json_push(j, names, cJSON_CreateString(name));
        count += name != NULL;
    }
}

static void write_curve(struct tp_json *j, cJSON *o, const struct tp_curve *c)
{
    cJSON *curve = tp_json_array(j, o, "curve");
    for (uint32_t i = 0; i < c->count; i++) {
        cJSON *pair = cJSON_CreateArray();
        tp_json_push(j, pair, tp_json_number(j, c->points[i].event));
        tp_json_push(j, pair, tp_json_number(j, c->points[i].bytes[TP_CURVE_REQUESTED]));
        tp_json_push(j, curve, pair);
    }
}

static void write_peak(struct tp_json *j, cJSON *o, const struct tp_info_report *r, uint16_t device)
{
    const struct tp_program *p = r->trace->program;
    const struct tp_demand *peak = tp_program_demand(p, device);
    const struct tp_info_device *d = &r->info->devices[device];
    bool timed = tp_program_facts(p)->time_known;
    tp_json_uint(j, o, "peak_requested_bytes", peak->bytes);
    tp_json_uint(j, o, "peak_requested_event", peak->event);
    tp_json_uint(j, o, "peak_requested_time_ns", timed ? peak->time_ns : TP_NONE);
    tp_json_uint(j, o, "peak_new_requested_bytes", d->peak_new);
    tp_json_text(j, o, "peak_requested_mark", tp_mark_phase(p, d->peak_mark));
    write_curve(j, o, &d->curve);
}

static void write_devices(struct tp_json *j, cJSON *root, const struct tp_info_report *r)
{
    cJSON *devices = tp_json_array(j, root, "devices");
    for (uint16_t i = 0; i < r->info->device_count; i++) {
        cJSON *o = tp_json_item(j, devices);
        tp_json_uint(j, o, "index", i);
        write_peak(j, o, r, i);
    }
}

int tp_info_json(const struct tp_info_report *r, FILE *out, struct tp_err *err)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    struct tp_json j = {false};
    cJSON *root = tp_json_object(&j, NULL, NULL);
    tp_json_text(&j, root, "schema", "tapool.info/1");
    tp_json_tool(&j, root);
    tp_json_trace(&j, root, r->trace, r->captured);
    tp_json_captured(&j, root, r->trace, r->captured);
    if (r->trace->meta.nothing)
        tp_json_text(&j, root, "nothing", r->trace->meta.nothing);
    tp_json_text(&j, root, "program", r->trace->meta.program);
    tp_json_uint(&j, root, "file_bytes", r->trace->file_bytes ? r->trace->file_bytes : TP_NONE);
    write_operations(&j, root, r);
    tp_json_uint(&j, root, "duration_ns", f->time_known ? f->duration_ns : TP_NONE);
    if (r->info->device_count == 1) /* several devices have no common byte values */
        write_peak(&j, root, r, 0);
    tp_json_uint(&j, root, "peak_objects", tp_captured_at_once(r->captured, f));
    tp_json_uint(&j, root, "live_at_end", f->live_at_end);
    tp_json_uint(&j, root, "live_at_end_bytes", f->live_at_end_bytes);
    write_objects(&j, root, r->info, f->time_known);
    write_marks(&j, root, r);
    write_devices(&j, root, r);
    return tp_json_print(&j, root, out, err);
}
