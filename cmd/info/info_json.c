/* Writes tapool.info/2. Members that the result of a replay has too have the same names there
 * (cmd/results/report_json.h). */
#include "cmd/info/info.h"
#include "cmd/report/report_head.h"
#include "cmd/results/report_json.h"

#include "alloc/base/clean.h"
#include "alloc/engine/run.h"

#include <stdlib.h>

enum {
    NAMES_MAX = 64,
    SHARES_MAX = TP_INFO_THREADS, /* rows of threads, or of streams; the others are one row */
    PHASES_MAX = 200,
    NAME_BYTES = 200 /* bytes of a name in the data of a page */
};

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

/* Adds a pair: how many lived for less than `below`, and no less than the row before it. */
static void push_doubling(struct tp_json *j, cJSON *rows, uint64_t below, uint64_t objects)
{
    cJSON *pair = cJSON_CreateArray();
    tp_json_push(j, pair, below == TP_NONE ? cJSON_CreateNull() : tp_json_number(j, below));
    tp_json_push(j, pair, tp_json_number(j, objects));
    tp_json_push(j, rows, pair);
}

static void write_doublings(struct tp_json *j, cJSON *o, const char *name,
                            const struct tp_histogram *h, bool known)
{
    uint64_t counts[TP_HIST_DOUBLINGS];
    cJSON *list = tp_json_array(j, o, name);
    if (!known)
        return;
    const struct tp_info_rows used = tp_info_doublings(h, counts);
    for (unsigned k = used.first; k < used.end; k++)
        push_doubling(j, list, tp_info_below(k), counts[k]);
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

/* ---- who and when ---- */

static void write_powers(struct tp_json *j, cJSON *in, const struct tp_info *info)
{
    cJSON *powers = tp_json_array(j, in, "size_powers");
    const struct tp_info_rows used = tp_info_powers(info);
    for (unsigned k = used.first; k < used.end; k++) {
        cJSON *o = tp_json_item(j, powers);
        tp_json_uint(j, o, "up_to_bytes", UINT64_C(1) << k);
        write_count(j, o, &info->powers[k]);
    }
}

static void write_share(struct tp_json *j, cJSON *o, const struct tp_info_share *s)
{
    tp_json_uint(j, o, "allocations", s->allocated.objects);
    tp_json_uint(j, o, "allocated_bytes", s->allocated.bytes);
    tp_json_uint(j, o, "frees", s->frees);
    tp_json_uint(j, o, "remote_frees", s->remote);
}

static void push_share(struct tp_json *j, cJSON *rows, uint64_t index,
                       const struct tp_info_share *s)
{
    cJSON *o = tp_json_item(j, rows);
    tp_json_uint(j, o, "index", index);
    write_share(j, o, s);
}

/* Without an index a row is all others together. */
static void write_shares(struct tp_json *j, cJSON *in, const char *name,
                         const struct tp_info_share *s, uint64_t count)
{
    cJSON *rows = tp_json_array(j, in, name);
    for (uint64_t i = 0; i < count && i < SHARES_MAX; i++)
        push_share(j, rows, i, &s[i]);
    if (count > SHARES_MAX) {
        const struct tp_info_share others = tp_info_sum(s, SHARES_MAX, count);
        push_share(j, rows, TP_NONE, &others);
    }
}

static void write_phase(struct tp_json *j, cJSON *o, const struct tp_info_phase *p, bool timed)
{
    tp_json_uint(j, o, "begun", p->begun);
    tp_json_uint(j, o, "first_event", p->first_event);
    tp_json_uint(j, o, "events", p->events);
    tp_json_uint(j, o, "duration_ns", timed ? p->ns : TP_NONE);
    tp_json_uint(j, o, "peak_requested_bytes", p->peak);
    tp_json_uint(j, o, "peak_requested_event", p->peak_event);
}

/* `cut`: names are at most so many bytes; 0: they are whole. */
static void write_phases(struct tp_json *j, cJSON *in, const struct tp_info_report *r, size_t cut)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    cJSON *rows = tp_json_array(j, in, "phases");
    for (uint32_t i = 0, count = 0; i < f->marks && count < PHASES_MAX; i++) {
        const struct tp_info_phase *p = &r->info->phase_rows[i];
        const char *name = tp_mark_phase(r->trace->program, i);
        if (!p->begun)
            continue;
        char *copy = cut ? tp_clean_copy(name, cut) : NULL;
        cJSON *o = tp_json_item(j, rows);
        tp_json_text(j, o, "name", cut ? copy : name);
        write_phase(j, o, p, f->time_known);
        free(copy);
        count++;
    }
}

/* How many rows of threads, and of streams, say something; 0: the format of the trace does not
 * record them. */
static uint64_t thread_rows(const struct tp_info_report *r)
{
    uint64_t count = r->info->thread_count;
    if (!tp_threads_recorded(r->trace))
        return 0;
    return count <= TP_INFO_THREADS ? count : TP_INFO_THREADS + 1;
}

static uint64_t stream_rows(const struct tp_info_report *r)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    bool any = f->events && f->kind == TP_KIND_DEVICE && tp_is_recorded(r->trace, "streams");
    return any ? f->streams : 0;
}

/* What both the document and the data of a page have. */
static void write_parts(struct tp_json *j, cJSON *o, const struct tp_info_report *r, size_t cut)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    const struct tp_info *info = r->info;
    write_operations(j, o, r);
    write_powers(j, o, info);
    write_lifetimes(j, o, "lifetimes_events", &info->events, true);
    write_lifetimes(j, o, "lifetimes_ns", &info->times, f->time_known);
    cJSON *doublings = tp_json_object(j, o, "lifetime_doublings");
    write_doublings(j, doublings, "events", &info->events, true);
    write_doublings(j, doublings, "ns", &info->times, f->time_known);
    write_shares(j, o, "threads", info->threads, thread_rows(r));
    write_shares(j, o, "streams", info->streams, stream_rows(r));
    write_phases(j, o, r, cut);
}

static void write_objects(struct tp_json *j, cJSON *root, const struct tp_info *info)
{
    write_count(j, tp_json_object(j, root, "allocated"), &info->allocated);
    tp_json_uint(j, root, "freed_objects", info->freed);
    write_sizes(j, root, info);
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

static void write_device(struct tp_json *j, cJSON *o, const struct tp_info_report *r,
                         uint16_t index)
{
    const struct tp_info_device *d = &r->info->devices[index];
    tp_json_uint(j, o, "index", index);
    write_share(j, o, &d->share);
    tp_json_uint(j, o, "left_bytes", d->left);
}

static void write_devices(struct tp_json *j, cJSON *root, const struct tp_info_report *r)
{
    cJSON *devices = tp_json_array(j, root, "devices");
    for (uint16_t i = 0; i < r->info->device_count; i++) {
        cJSON *o = tp_json_item(j, devices);
        write_device(j, o, r, i);
        write_peak(j, o, r, i);
    }
}

void tp_info_captured(struct tp_json *j, cJSON *in, const struct tp_info_report *r)
{
    tp_json_captured(j, in, r->trace, r->captured);
}

cJSON *tp_info_tree(struct tp_json *j, const struct tp_info_report *r)
{
    const struct tp_program_facts *f = tp_program_facts(r->trace->program);
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.info/2");
    tp_json_tool(j, root);
    tp_json_trace(j, root, r->trace, r->captured);
    tp_info_captured(j, root, r);
    if (r->trace->meta.nothing)
        tp_json_text(j, root, "nothing", r->trace->meta.nothing);
    tp_json_text(j, root, "program", r->trace->meta.program);
    tp_json_uint(j, root, "file_bytes", r->trace->file_bytes ? r->trace->file_bytes : TP_NONE);
    write_parts(j, root, r, 0);
    tp_json_uint(j, root, "duration_ns", f->time_known ? f->duration_ns : TP_NONE);
    if (r->info->device_count == 1) /* several devices have no common byte values */
        write_peak(j, root, r, 0);
    tp_json_uint(j, root, "peak_objects", tp_captured_at_once(r->captured, f));
    tp_json_uint(j, root, "live_at_end", f->live_at_end);
    tp_json_uint(j, root, "live_at_end_bytes", f->live_at_end_bytes);
    write_objects(j, root, r->info);
    write_marks(j, root, r);
    write_devices(j, root, r);
    tp_json_site_curve(j, root, r->captured->site_curve);
    tp_info_write_ages(j, root, r->ages);
    return root;
}

void tp_info_parts(struct tp_json *j, cJSON *in, const char *name, const struct tp_info_report *r)
{
    cJSON *o = tp_json_object(j, in, name);
    write_parts(j, o, r, NAME_BYTES);
    write_sizes(j, o, r->info);
    cJSON *devices = tp_json_array(j, o, "devices");
    for (uint16_t i = 0; i < r->info->device_count; i++) {
        cJSON *device = tp_json_item(j, devices);
        write_device(j, device, r, i);
        tp_json_uint(j, device, "peak_requested_bytes",
                     tp_program_demand(r->trace->program, i)->bytes);
    }
}
