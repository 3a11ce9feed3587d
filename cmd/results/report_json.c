/* Writes tapool.result/2. Within a major version names never change, they are only added. */
#include "cmd/results/report_json.h"

#include "cmd/jobs/machine.h"
#include "cmd/results/figures.h"
#include "cmd/results/metrics.h"
#include "cmd/results/record.h"
#include "cmd/results/replay_exports.h"
#include "cmd/results/warnings.h"

#include <stdlib.h>
#include <string.h>

void tp_json_machine(struct tp_json *j, cJSON *in)
{
    struct tp_machine m;
    tp_machine_read(&m);
    cJSON *machine = tp_json_object(j, in, "machine");
    tp_json_text(j, machine, "os", m.os);
    tp_json_text(j, machine, "arch", m.arch);
    tp_json_text(j, machine, "cpu", m.cpu);
    tp_json_text(j, machine, "libc", m.libc);
    tp_json_uint(j, machine, "cores", m.cores);
    tp_json_uint(j, machine, "memory_bytes", m.memory_bytes);
    tp_json_uint(j, machine, "page_bytes", m.page_bytes);
}

void tp_json_clock(struct tp_json *j, cJSON *in, const struct tp_clock *c)
{
    cJSON *clock = tp_json_object(j, in, "clock");
    tp_json_text(j, clock, "name", c->name);
    tp_json_real(j, clock, "step_ns", c->step_ns);
    tp_json_real(j, clock, "stamp_ns", c->stamp_ns);
}

/* What could not be measured; nothing where all could. */
static void write_failed(struct tp_json *j, cJSON *root, const struct tp_report *rep)
{
    cJSON *list = rep->failed_count ? tp_json_array(j, root, "failed") : NULL;
    for (size_t i = 0; i < rep->failed_count; i++) {
        const struct tp_failed_row *row = &rep->failed[i];
        cJSON *o = tp_json_item(j, list);
        tp_json_text(j, o, "trace", row->trace->meta.name);
        tp_json_text(j, o, "label", row->label[0] ? row->label : NULL);
        tp_json_text(j, o, "error", row->err.text);
    }
}

cJSON *tp_json_head(struct tp_json *j, const struct tp_report *rep)
{
    cJSON *root = tp_json_object(j, NULL, NULL);
    tp_json_text(j, root, "schema", "tapool.result/2");
    tp_json_tool(j, root);
    tp_json_machine(j, root);
    tp_json_clock(j, root, &rep->clock);
    tp_json_uint(j, root, "seed", rep->seed);
    tp_json_bool(j, root, "partial", rep->partial);
    write_failed(j, root, rep);
    return root;
}

static void write_unknown(struct tp_json *j, cJSON *t, const struct tp_trace *trace)
{
    cJSON *unknown = tp_json_array(j, t, "unknown");
    bool timed = tp_program_facts(trace->program)->time_known;
    if (!timed)
        tp_json_push(j, unknown, cJSON_CreateString("time"));
    /* "times" would repeat the "time" that is already in the list. */
    tp_json_words(j, unknown, trace->meta.unknown, ",", timed ? NULL : "times");
}

/* What a trace of another program says about its recording; absent if it says nothing. */
static void write_capture(struct tp_json *j, cJSON *t, const struct tp_trace *trace)
{
    const struct tp_meta *m = &trace->meta;
    const struct {
        const char *name, *text;
    } texts[] = {{"capture", m->capture},   {"settings", m->settings},   {"space", m->space},
                 {"left_out", m->left_out}, {"allocator", m->allocator}, {"written", m->written}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text)
            tp_json_text(j, t, texts[i].name, texts[i].text);
    if (m->remarks)
        tp_json_words(j, tp_json_array(j, t, "remarks"), m->remarks, "\n", NULL);
    if (m->wrapped)
        tp_json_bool(j, t, "wrapped", true);
    for (size_t i = 0; i < TP_META_NUMBERS; i++)
        if (tp_meta_number(m, i))
            tp_json_uint(j, t, tp_meta_number_names[i], tp_meta_number(m, i));
    uint64_t before = tp_program_facts(trace->program)->initial_heap;
    if (before || trace->initial_dropped) {
        cJSON *initial = tp_json_object(j, t, "initial_heap");
        uint64_t bytes = 0;
        for (uint16_t d = 0; d < tp_program_facts(trace->program)->devices; d++)
            bytes += tp_program_demand(trace->program, d)->initial_heap_bytes;
        tp_json_uint(j, initial, "objects", before);
        tp_json_uint(j, initial, "bytes", bytes);
        tp_json_uint(j, initial, "dropped_objects", trace->initial_dropped);
    }
}

static void write_recorded_device(struct tp_json *j, cJSON *o, const struct tp_captured_device *d,
                                  const struct tp_recorded_device *end, bool has_end)
{
    const struct {
        const char *name;
        uint64_t value;
    } ends[] = {
        {"end_segments", end->end_segments},          {"end_large_segments", end->end_large},
        {"end_small_segments", end->end_small},       {"end_free_bytes", end->end_free},
        {"end_free_blocks", end->end_free_blocks},    {"end_largest_free_bytes", end->end_largest},
        {"end_returnable_bytes", end->end_returnable}};
    tp_json_uint(j, o, "number", end->number);
    tp_json_uint(j, o, "start_reserved_bytes", d->start_reserved);
    tp_json_uint(j, o, "peak_reserved_bytes", d->peak_reserved);
    tp_json_uint(j, o, "peak_reserved_event", d->peak_event);
    tp_json_uint(j, o, "at_trace_peak_reserved_bytes", d->at_demand);
    tp_json_uint(j, o, "at_trace_peak_refused_bytes", d->demand_failed);
    tp_json_uint(j, o, "at_trace_peak_largest_free_bytes", d->largest);
    tp_json_uint(j, o, "end_reserved_bytes", d->end_reserved);
    tp_json_uint(j, o, "segments_taken", d->takes);
    tp_json_uint(j, o, "segments_given_back", d->gives);
    tp_json_uint(j, o, "ranges_mapped", d->maps);
    tp_json_uint(j, o, "ranges_unmapped", d->unmaps);
    tp_json_uint(j, o, "out_of_memory", d->ooms);
    tp_json_uint(j, o, "retries", d->limit.retries);
    tp_json_uint(j, o, "first_retry_event", d->limit.retries ? d->limit.first_retry : TP_NONE);
    tp_json_uint(j, o, "limit_below_bytes", d->limit.below);
    tp_json_uint(j, o, "garbage_collections", d->limit.collections);
    tp_json_uint(j, o, "retries_or_collections", d->limit.undecided);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        tp_json_uint(j, o, ends[i].name, has_end ? ends[i].value : TP_NONE);
}

void tp_json_captured(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                      const struct tp_captured *captured)
{
    const struct tp_recorded *r = &trace->recorded;
    const char *place = tp_captured_place(captured, tp_program_demand(trace->program, 0)->event);
    if (place && captured->count == 1)
        tp_json_text(j, in, "peak_place", place);
    if (captured->sites)
        tp_json_sites(j, in, captured->sites->at == TP_AT_PEAK ? "peak_sites" : "sites",
                      captured->sites);
    struct tp_captured_failures failures = tp_captured_failures(captured);
    if (failures.ooms) {
        cJSON *o = tp_json_object(j, in, "recorded_failures");
        tp_json_uint(j, o, "out_of_memory", failures.ooms);
        tp_json_uint(j, o, "replayed", failures.replayed);
    }
    if (!captured->known)
        return;
    cJSON *o = tp_json_object(j, in, "recorded");
    const struct tp_program_facts *f = tp_program_facts(trace->program);
    tp_json_text(j, o, "by", r->by);
    tp_json_uint(j, o, "allocations", tp_captured_allocations(captured, f));
    cJSON *devices = tp_json_array(j, o, "devices");
    for (uint32_t i = 0; i < r->count; i++) {
        struct tp_captured_device held = tp_captured_device(captured, r, i);
        cJSON *device = tp_json_item(j, devices);
        write_recorded_device(j, device, &held, &r->devices[i], r->has_end);
    }
}

void tp_json_host_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace)
{
    const struct tp_program_facts *f = tp_program_facts(trace->program);
    cJSON *o = tp_json_object(j, in, "trace");
    tp_json_text(j, o, "path", trace->path);
    tp_json_text(j, o, "file", trace->file);
    tp_json_uint(j, o, "events", f->events);
    tp_json_uint(j, o, "threads", f->threads);
    tp_json_uint(j, o, "peak_requested_bytes", tp_program_demand(trace->program, 0)->bytes);
    tp_json_text(j, o, "recorded_malloc", trace->meta.allocator);
}

void tp_json_trace(struct tp_json *j, cJSON *in, const struct tp_trace *trace,
                   const struct tp_captured *captured)
{
    const struct tp_program_facts *f = tp_program_facts(trace->program);
    cJSON *t = tp_json_object(j, in, "trace");
    tp_json_text(j, t, "path", trace->path);
    tp_json_text(j, t, "name", trace->meta.name);
    tp_json_text(j, t, "kind", f->kind == TP_KIND_DEVICE ? "device" : "host");
    tp_json_text(j, t, "format", trace->format);
    tp_json_text(j, t, "program_hash", tp_hash_text(f).s);
    tp_json_uint(j, t, "events", f->events);
    tp_json_bool(j, t, "cut", trace->cut);
    tp_json_uint(j, t, "operations", f->operations);
    tp_json_uint(j, t, "objects", tp_captured_objects(captured, f));
    tp_json_uint(j, t, "threads", tp_is_recorded(trace, "threads") ? f->recorded_threads : TP_NONE);
    tp_json_uint(j, t, "streams", tp_is_recorded(trace, "streams") ? f->streams : TP_NONE);
    tp_json_uint(j, t, "devices", f->devices);
    tp_json_uint(j, t, "frees", tp_captured_ops(captured, f, TP_FREE));
    tp_json_bool(j, t, "loop", tp_trace_is_loop(trace));
    tp_json_uint(j, t, "live_at_end", f->live_at_end);
    cJSON *repairs = tp_json_object(j, t, "repairs");
    for (int i = 0; i < TP_REPAIR_COUNT; i++)
        if (trace->repairs[i])
            tp_json_uint(j, repairs, tp_repair_names[i], trace->repairs[i]);
    write_unknown(j, t, trace);
    write_capture(j, t, trace);
}

static void write_options(struct tp_json *j, cJSON *in, const struct tp_opt *rows, const void *opts)
{
    for (const struct tp_opt *row = rows; row && row->name; row++) {
        char value[TP_SPEC_TEXT];
        tp_opt_format(row, opts, value, sizeof value);
        if (row->type == TP_OPT_LIST && !value[0])
            continue; /* given not once: as in a document of before there was such an option */
        tp_json_text(j, in, row->name, value);
    }
}

/* The options of the lowest layer, then a list of the wrappers with theirs. It is a list because
 * the same wrapper may occur twice. */
static void write_layers(struct tp_json *j, cJSON *source, const struct tp_source_spec *spec)
{
    const struct tp_source_layer *l = spec->layers;
    write_options(j, tp_json_object(j, source, "options"), l->ops->options, l->opts);
    cJSON *wrappers = tp_json_array(j, source, "wrappers");
    for (uint32_t i = 1; i < spec->count; i++) {
        cJSON *o = tp_json_item(j, wrappers);
        tp_json_text(j, o, "name", l[i].ops->name);
        write_options(j, tp_json_object(j, o, "options"), l[i].ops->options, l[i].opts);
    }
}

/* The real devices that replayed the trace, in the order of the trace's devices. */
static void write_device_facts(struct tp_json *j, cJSON *source, const struct tp_result *r)
{
    const struct tp_cuda_info *driver = r->use->driver;
    cJSON *devices = tp_json_array(j, source, "device");
    for (uint16_t d = 0; d < r->facts->devices; d++) {
        const struct tp_cuda_device *device = &driver->devices[r->use->ordinals[d]];
        cJSON *o = tp_json_item(j, devices);
        tp_json_text(j, o, "name", device->name);
        tp_json_uint(j, o, "ordinal", r->use->ordinals[d]);
        tp_json_uint(j, o, "total_bytes", device->total_bytes);
        tp_json_text(j, o, "driver_release", driver->release);
        tp_json_uint(j, o, "cuda_version", (uint64_t)driver->version);
        tp_json_uint(j, o, "max_connections", driver->connections ? driver->connections : TP_NONE);
        tp_json_uint(j, o, "clock_khz", device->clock_khz ? device->clock_khz : TP_NONE);
        tp_json_bool(j, o, "simulated", driver->simulated);
    }
}

/* How a real device is used. */
static void write_use(struct tp_json *j, cJSON *run, cJSON *source, const struct tp_result *r)
{
    static const char *const occupy[] = {"none", "memset", "spin"};
    if (!tp_result_is_device(r))
        return;
    write_device_facts(j, source, r);
    tp_json_text(j, run, "occupy", occupy[r->use->occupy]);
    tp_json_real(j, run, "occupy_scale", r->use->scale);
}

static void write_plugin(struct tp_json *j, cJSON *in, const struct tp_loaded_plugin *p)
{
    tp_json_text(j, in, "file", p->file);
    tp_json_text(j, in, "version", p->version[0] ? p->version : NULL);
}

static void write_strategy(struct tp_json *j, cJSON *run, const struct tp_result *r)
{
    cJSON *s = tp_json_object(j, run, "strategy");
    tp_json_text(j, s, "name", r->spec->strategy->name);
    tp_json_text(j, s, "label", r->spec->label);
    if (r->run->library[0])
        tp_json_text(j, s, "library", r->run->library);
    if (r->spec->plugin)
        write_plugin(j, tp_json_object(j, s, "plugin"), r->spec->plugin);
    write_options(j, tp_json_object(j, s, "options"), r->spec->strategy->options, r->spec->opts);
    cJSON *source = tp_json_object(j, run, "source");
    tp_json_text(j, source, "name", r->source->name);
    if (tp_result_is_foreign(r)) {
        tp_json_object(j, source, "options");
    } else {
        write_layers(j, source, r->source);
        write_use(j, run, source, r);
    }
    tp_json_text(j, run, "touch", tp_touch_names[r->touch]);
    tp_json_text(j, run, "latency_scope", tp_result_scope(r));
}

/* The settings that are in the member `settings`, each as the text that would set it again; null if
 * the setting was not given or the report has no command line. */
static void write_settings(struct tp_json *j, cJSON *run, const struct tp_report *r)
{
    static const char folder[] = "settings.";
    cJSON *settings = tp_json_object(j, run, "settings");
    for (size_t i = 0; i < TP_SETTINGS; i++) {
        const struct tp_setting *s = &tp_settings[i];
        const struct tp_opt *row = r->rows ? tp_opt_find(r->rows, s->option) : NULL;
        char value[512] = "";
        if (strncmp(s->path, folder, sizeof folder - 1) != 0)
            continue; /* written at another place of the document */
        if (row)
            tp_opt_format(row, r->opts, value, sizeof value);
        tp_json_text(j, settings, s->path + sizeof folder - 1, value[0] ? value : NULL);
    }
}

/* ---- figures ---- */

#define AT_PEAK "memory.at_trace_peak."

static void write_figure(struct tp_json *j, cJSON *in, const char *name, const struct tp_metric *f,
                         const struct tp_figure_of *of)
{
    const struct tp_figure_value value = tp_figure_value(f, of);
    if (f->type == TP_FIGURE_WHOLE)
        tp_json_uint(j, in, name, value.whole);
    else if (f->type == TP_FIGURE_REAL)
        tp_json_real(j, in, name, value.real);
    else if (f->type == TP_FIGURE_FLAG)
        tp_json_bool(j, in, name, value.whole != 0);
    else
        tp_json_text(j, in, name, value.text);
}

/* Writes the figures of an object, in the order of their rows. */
static void write_figures(struct tp_json *j, cJSON *in, const char *object,
                          const struct tp_figure_of *of)
{
    for (size_t i = 0; i < tp_figure_count; i++)
        if (tp_figure_is_member(tp_figures[i], object, of->d))
            write_figure(j, in, tp_figures[i]->path + strlen(object), tp_figures[i], of);
}

static void write_at_peak(struct tp_json *j, cJSON *in, const char *name,
                          const struct tp_at_peak *at)
{
    cJSON *o = tp_json_object(j, in, name);
    for (size_t i = 0; i < tp_figure_count; i++)
        if (tp_figure_is_member(tp_figures[i], AT_PEAK, true))
            tp_json_uint(j, o, tp_figures[i]->path + strlen(AT_PEAK),
                         tp_figure_at(tp_figures[i], at));
}

/* ---- memory ---- */

/* The peaks of each phase. The name null means outside of all phases. */
static void write_phases(struct tp_json *j, cJSON *memory, const struct tp_program *program,
                         const struct tp_device_run *d)
{
    cJSON *phases = tp_json_array(j, memory, "phases");
    for (uint32_t i = 0; i < d->phase_count; i++) {
        const struct tp_phase *phase = &d->phases[i];
        cJSON *o = tp_json_item(j, phases);
        tp_json_text(j, o, "name", tp_mark_phase(program, phase->mark));
        tp_json_uint(j, o, "first_event", phase->first_event);
        tp_json_uint(j, o, "times", phase->times);
        tp_json_uint(j, o, "peak_requested_bytes", phase->peak_requested);
        tp_json_uint(j, o, "peak_allocated_bytes", phase->peak_allocated);
        tp_json_uint(j, o, "peak_reserved_bytes", phase->peak_reserved);
    }
}

/* Each point is [event, requested, allocated, reserved]. */
static void write_curve(struct tp_json *j, cJSON *memory, const struct tp_curve *c)
{
    cJSON *curve = tp_json_array(j, memory, "curve");
    for (uint32_t i = 0; i < c->count; i++) {
        cJSON *point = cJSON_CreateArray();
        tp_json_push(j, point, tp_json_number(j, c->points[i].event));
        for (int v = 0; v < TP_CURVE_VALUES; v++)
            tp_json_push(j, point, tp_json_number(j, c->points[i].bytes[v]));
        tp_json_push(j, curve, point);
    }
}

static void write_failures(struct tp_json *j, cJSON *in, const struct tp_figure_of *of)
{
    const struct tp_first_failure *f = &of->d->first_failure;
    write_figures(j, in, "", of);
    write_figures(j, tp_json_object(j, in, "failed_by"), "failed_by.", of);
    if (!of->d->failed_allocations)
        return;
    cJSON *o = tp_json_object(j, in, "first_failure");
    tp_json_text(j, o, "class", tp_oom_names[f->oom_class]);
    tp_json_text(j, o, "place", tp_captured_place(of->r->captured, of->d->first_failed_event));
    tp_json_text(j, o, "phase", tp_mark_phase(of->r->trace->program, f->mark));
    tp_json_uint(j, o, "size_bytes", f->size);
    tp_json_uint(j, o, "align_bytes", f->align);
    tp_json_uint(j, o, "replaced_bytes", f->replaced);
    tp_json_uint(j, o, "capacity_bytes", f->capacity);
    write_at_peak(j, o, "state", &f->at);
}

static void write_range(struct tp_json *j, cJSON *in, const char *name, const struct tp_range *r)
{
    if (r->low == TP_NONE) {
        tp_json_uint(j, in, name, TP_NONE);
        return;
    }
    cJSON *range = tp_json_array(j, in, name);
    tp_json_push(j, range, tp_json_number(j, r->low));
    tp_json_push(j, range, tp_json_number(j, r->high));
}

/* What a real device answered: ranges over the passes, and single values of the usage pass. */
static void write_measured(struct tp_json *j, cJSON *in, const struct tp_figure_of *of)
{
    const struct tp_measured *m = &of->d->measured;
    cJSON *o = tp_json_object(j, in, "measured");
    write_range(j, o, "peak_reserved_bytes", &m->peak_reserved);
    write_range(j, o, "pool_used_bytes", &m->pool_used);
    write_range(j, o, "peak_metadata_bytes", &m->peak_metadata);
    write_range(j, o, "failed_allocations", &m->failed_allocations);
    write_figures(j, o, "measured.", of);
    write_figures(j, tp_json_object(j, o, "driver"), "measured.driver.", of);
}

/* `curve`: with memory over time, which is most of a document. */
static void write_memory(struct tp_json *j, cJSON *in, const struct tp_figure_of *of, bool curve)
{
    const struct tp_program *program = of->r->trace->program;
    cJSON *m = tp_json_object(j, in, "memory");
    write_figures(j, m, "memory.", of);
    write_at_peak(j, m, "at_trace_peak", &of->d->at_peak);
    write_phases(j, m, program, of->d);
    if (curve)
        write_curve(j, m, &of->d->curve);
    write_figures(j, tp_json_object(j, in, "driver_calls"), "driver_calls.", of);
    if (of->d->planned + of->d->unplanned)
        write_figures(j, tp_json_object(j, in, "plan"), "plan.", of);
}

/* ---- times ---- */

static void write_throughput(struct tp_json *j, cJSON *run, const struct tp_figure_of *of)
{
    const struct tp_throughput *t = &of->r->run->throughput;
    bool known = !isnan(tp_speed_of(of->r->run).ns);
    cJSON *o = tp_json_object(j, run, "throughput");
    write_figures(j, o, "throughput.", of);
    cJSON *runs = tp_json_array(j, o, "runs_ns_per_op");
    for (uint32_t i = 0; known && i < t->runs.count; i++)
        tp_json_push(
            j, runs,
            cJSON_CreateNumber(round(tp_speed_net(of->r->run, t->runs.values[i]) * 1e3) / 1e3));
}

/* The names of percentiles that are so short that the step of the clock makes them coarse. */
static void write_coarse(struct tp_json *j, cJSON *o, const struct tp_latency *l, double step_ns)
{
    uint64_t ns;
    cJSON *coarse = tp_json_array(j, o, "coarse");
    for (int i = 0; i < TP_PERCENTILES; i++)
        if (tp_percentile(l, tp_percentiles[i].fraction, &ns) && tp_latency_is_coarse(ns, step_ns))
            tp_json_push(j, coarse, cJSON_CreateString(tp_percentiles[i].json_name));
}

static void write_latency(struct tp_json *j, cJSON *in, const struct tp_figure_of *of, int kind,
                          double step_ns)
{
    const struct tp_latency *l = &of->r->run->latency.kinds[kind];
    char object[32];
    cJSON *o = tp_json_object(j, in, tp_latency_names[kind]);
    tp_json_real(j, o, "empty_ns", of->r->run->latency.empty_ns[kind]);
    snprintf(object, sizeof object, "latency.%s.", tp_latency_names[kind]);
    write_figures(j, o, object, of);
    write_coarse(j, o, l, step_ns);
    cJSON *buckets = tp_json_array(j, o, "buckets");
    for (uint32_t b = 0; b < TP_HIST_BUCKETS; b++) {
        if (!l->hist.buckets[b])
            continue;
        cJSON *pair = cJSON_CreateArray();
        tp_json_push(j, pair, tp_json_number(j, tp_hist_upper(b)));
        tp_json_push(j, pair, tp_json_number(j, l->hist.buckets[b]));
        tp_json_push(j, buckets, pair);
    }
}

/* The only device has the curve in the memory of the run. */
static void write_devices(struct tp_json *j, cJSON *o, const struct tp_report *rep,
                          const struct tp_result *r)
{
    cJSON *devices = tp_json_array(j, o, "devices");
    for (uint32_t d = 0; d < r->run->device_count; d++) {
        const struct tp_figure_of of = {r, &r->run->devices[d]};
        cJSON *device = tp_json_item(j, devices);
        tp_json_uint(j, device, "index", d);
        write_memory(j, device, &of, r->run->device_count > 1 && !rep->no_curves);
        write_failures(j, device, &of);
        if (r->run->flags & TP_RUN_DEVICE)
            write_measured(j, device, &of);
    }
}

static void write_warnings(struct tp_json *j, cJSON *o, const struct tp_result *r)
{
    cJSON *warnings = tp_json_array(j, o, "warnings");
    bool known = r->run->passes & TP_PASS_USAGE; /* most warnings need the memory figures */
    for (size_t i = 0; known && tp_warnings[i]; i++) {
        char text[TP_WARNING_TEXT];
        if (!tp_warnings[i]->applies(r, text, sizeof text))
            continue;
        cJSON *w = tp_json_item(j, warnings);
        tp_json_text(j, w, "id", tp_warnings[i]->id);
        tp_json_text(j, w, "text", text);
    }
}

static void write_passes(struct tp_json *j, cJSON *o, const struct tp_run *run)
{
    cJSON *passes = tp_json_array(j, o, "passes");
    for (size_t i = 0; i < TP_PASS_ROWS; i++)
        if (run->passes & tp_pass_rows[i].pass)
            tp_json_push(j, passes, cJSON_CreateString(tp_pass_rows[i].name));
}

static void write_latencies(struct tp_json *j, cJSON *o, const struct tp_figure_of *of,
                            double step_ns)
{
    const struct tp_latency_run *run = &of->r->run->latency;
    tp_json_uint(j, o, "latency_sampled_operations", run->sampled ? run->sampled : TP_NONE);
    cJSON *latency = tp_json_object(j, o, "latency");
    for (int k = 0; k < TP_LAT_KINDS; k++)
        if (run->kinds[k].hist.count)
            write_latency(j, latency, of, k, step_ns);
}

/* Members of a pass that was not replayed are left out. */
cJSON *tp_json_run(struct tp_json *j, const struct tp_report *rep, const struct tp_result *r)
{
    cJSON *o = cJSON_CreateObject();
    const struct tp_run *run = r->run;
    const struct tp_figure_of whole = {.r = r};
    tp_json_trace(j, o, r->trace, r->captured);
    tp_json_captured(j, o, r->trace, r->captured);
    if (!rep->no_curves && (r == rep->results || r[-1].trace != r->trace))
        tp_json_site_curve(j, o, r->captured->site_curve);
    write_strategy(j, o, r);
    write_settings(j, o, rep);
    write_passes(j, o, run);
    bool usage = run->passes & TP_PASS_USAGE;
    if (usage && run->device_count == 1) /* several devices have no common byte values */
        write_memory(j, o, &(struct tp_figure_of){r, &run->devices[0]}, !rep->no_curves);
    tp_json_bool(j, o, "verified", (run->flags & TP_RUN_VERIFIED) != 0);
    if (r->fidelity) {
        cJSON *f = tp_json_object(j, o, "fidelity");
        tp_json_uint(j, f, "addresses", r->fidelity->addresses);
        tp_json_uint(j, f, "reproduced_addresses", r->fidelity->good_addresses);
        tp_json_uint(j, f, "segments", r->fidelity->segments);
        tp_json_uint(j, f, "reproduced_segments", r->fidelity->good_segments);
    }
    if (usage && tp_program_heap(r->trace->program))
        tp_json_bool(j, o, "recorded_heap", (run->flags & TP_RUN_AGED) != 0);
    if (usage)
        write_figures(j, o, "", &whole);
    if (run->passes & TP_PASS_THROUGHPUT)
        write_throughput(j, o, &whole);
    if (run->passes & TP_PASS_RESIDENT)
        write_figures(j, tp_json_object(j, o, "resident"), "resident.", &whole);
    if (run->passes & TP_PASS_MAPPED)
        write_figures(j, tp_json_object(j, o, "mapped"), "mapped.", &whole);
    if (run->passes & TP_PASS_COUNT)
        write_figures(j, tp_json_object(j, o, "instructions"), "instructions.", &whole);
    if (run->passes & TP_PASS_LATENCY)
        write_latencies(j, o, &whole, rep->clock.step_ns);
    if (usage)
        write_devices(j, o, rep, r);
    write_warnings(j, o, r);
    return o;
}

/* The document tapool.result/2 (result.schema.json). Its names are fixed. */
cJSON *tp_replay_tree(struct tp_json *j, const void *of)
{
    const struct tp_report *rep = of;
    cJSON *root = tp_json_head(j, rep);
    cJSON *runs = tp_json_array(j, root, "runs");
    for (size_t i = 0; i < rep->count; i++)
        tp_json_push(j, runs, tp_json_run(j, rep, &rep->results[i]));
    return root;
}
