/* Derived figures; see figures.h. */
#include "cmd/results/figures.h"

#include "alloc/packing/offline.h"
#include "cmd/jobs/catalog.h"
#include "cmd/jobs/libraries.h"

#include <math.h>
#include <string.h>

#define LOOP_APART 0.05 /* a loop may end with so much more or less live, as a share */

enum { BEYOND = 10 };

const struct tp_percentile_row tp_percentiles[TP_PERCENTILES] = {{0.5, "p50", "p50_ns"},
                                                                 {0.9, "p90", "p90_ns"},
                                                                 {0.99, "p99", "p99_ns"},
                                                                 {0.999, "p99.9", "p99_9_ns"}};

const char *const tp_touch_names[] = {
    [TP_TOUCH_NONE] = "none", [TP_TOUCH_FIRST] = "first", [TP_TOUCH_ALL] = "all"};

enum tp_touch tp_touch_named(const char *name)
{
    enum tp_touch touch = TP_TOUCH_NONE;
    while (touch < TP_TOUCH_ALL && strcmp(tp_touch_names[touch], name))
        touch++;
    return touch;
}

static double not_negative(double value)
{
    return value > 0 ? value : 0;
}

static double engine_share(const struct tp_run *run)
{
    return tp_series_median(&run->throughput.engine).median * run->throughput.engine_scale;
}

double tp_speed_net(const struct tp_run *run, double gross)
{
    return not_negative(gross - engine_share(run));
}

bool tp_run_has_interval(const struct tp_run *run)
{
    return run->throughput.runs.count > 1;
}

static double above_zero(double value)
{
    return value > 0 ? value : (double)NAN;
}

struct tp_speed tp_speed_of(const struct tp_run *run)
{
    const struct tp_throughput *t = &run->throughput;
    struct tp_speed s = {.ns = NAN, .low = NAN, .high = NAN, .cold = NAN, .engine = NAN};
    if (!t->runs.count)
        return s;
    struct tp_median gross = tp_series_median(&t->runs);
    s.engine = engine_share(run);
    s.cold = above_zero(t->cold_ns_per_op - s.engine);
    s.ns = above_zero(gross.median - s.engine);
    if (isnan(s.ns))
        return s;
    if (tp_run_has_interval(run)) {
        s.low = tp_speed_net(run, gross.low);
        s.high = tp_speed_net(run, gross.high);
    }
    return s;
}

struct tp_by_threads tp_threads_of(const struct tp_run *run)
{
    const struct tp_crew_run *crew = &run->throughput.crew;
    struct tp_by_threads t = {.replayed = crew->threads ? crew->threads : 1,
                              .wall = NAN,
                              .wall_low = NAN,
                              .wall_high = NAN,
                              .window = NAN,
                              .window_low = NAN,
                              .window_high = NAN,
                              .calls_per_second = TP_NONE,
                              .speedup = NAN,
                              .waited = NAN,
                              .blocked = NAN,
                              .one_lock = run->flags & TP_RUN_ONE_LOCK};
    struct tp_median wall = tp_series_median(&crew->wall);
    double alone = tp_series_median(&crew->alone).median;
    if (!(wall.median > 0))
        return t;
    t.wall = wall.median;
    if (tp_run_has_interval(run)) {
        t.wall_low = wall.low;
        t.wall_high = wall.high;
    }
    struct tp_median window = tp_series_median(&crew->window);
    t.window = window.median;
    if (crew->window.count > 1) {
        t.window_low = window.low;
        t.window_high = window.high;
    }
    t.calls_per_second = (uint64_t)(1e9 / t.wall + 0.5);
    t.waited = tp_series_median(&crew->waited).median;
    t.blocked = tp_series_median(&crew->blocked).median;
    t.never_alone = !crew->alone.count;
    if (alone > 0)
        t.speedup = alone / t.wall;
    return t;
}

const char *tp_result_no_speed(const struct tp_result *r)
{
    if (!r->facts->operations)
        return "not measured: the trace has no call to time";
    if (!r->run->throughput.runs.count)
        return "not measured: every call of the trace failed or was skipped";
    return isnan(tp_speed_of(r->run).ns)
               ? "within the replay overhead, which is subtracted: too noisy, or too few calls"
               : NULL;
}

bool tp_percentile(const struct tp_latency *l, double fraction, uint64_t *ns)
{
    double beyond = (1 - fraction) * (double)l->hist.count;
    if (beyond < BEYOND - 1e-6)
        return false;
    *ns = tp_hist_quantile(&l->hist, fraction);
    return true;
}

double tp_latency_mean(const struct tp_latency *l)
{
    return l->hist.count ? not_negative(l->raw_sum_ns / (double)l->hist.count) : NAN;
}

void tp_run_latency(const struct tp_run *run, int kind, struct tp_latency *out)
{
    *out = (struct tp_latency){.raw_sum_ns = 0};
    for (int k = 0; k < TP_LAT_KINDS; k++) {
        if (kind != TP_LAT_KINDS && kind != k)
            continue;
        tp_hist_merge(&out->hist, &run->latency.kinds[k].hist);
        out->raw_sum_ns += run->latency.kinds[k].raw_sum_ns;
    }
}

uint64_t tp_run_sum(const struct tp_run *run, size_t field)
{
    uint64_t sum = 0, value;
    for (uint32_t d = 0; d < run->device_count; d++) {
        memcpy(&value, (const char *)&run->devices[d] + field, sizeof value);
        if (value == TP_NONE)
            return TP_NONE;
        sum += value;
    }
    return sum;
}

uint64_t tp_run_first_failure(const struct tp_run *run)
{
    uint64_t first = TP_NONE;
    for (uint32_t d = 0; d < run->device_count; d++)
        if (run->devices[d].first_failed_event < first)
            first = run->devices[d].first_failed_event;
    return first;
}

uint64_t tp_usable_free(const struct tp_at_peak *at)
{
    return at->cached == TP_NONE ? at->free_bytes : at->cached + at->span;
}

uint64_t tp_run_calls(const struct tp_run *run)
{
    if (run->flags & TP_RUN_DEVICE)
        return TP_RUN_SUM(run, measured.driver.calls);
    uint64_t gets = TP_RUN_SUM(run, gets);
    return gets == TP_NONE ? TP_NONE : gets + TP_RUN_SUM(run, puts);
}

bool tp_trace_is_loop(const struct tp_trace *t)
{
    const struct tp_program_facts *f = tp_program_facts(t->program);
    double before = 0, after = (double)f->live_at_end_bytes;
    for (uint16_t d = 0; d < f->devices; d++)
        before += (double)tp_program_demand(t->program, d)->initial_heap_bytes;
    return t->meta.loop || (before > 0 && fabs(after - before) <= LOOP_APART * before);
}

struct tp_range tp_device_reserved(const struct tp_run *run, const struct tp_device_run *d)
{
    if (run->flags & TP_RUN_DEVICE && d->measured.peak_reserved.low != TP_NONE)
        return d->measured.peak_reserved;
    return (struct tp_range){d->peak_reserved, d->peak_reserved};
}

struct tp_range tp_run_reserved(const struct tp_run *run)
{
    struct tp_range sum = {0, 0};
    for (uint32_t i = 0; i < run->device_count; i++) {
        struct tp_range one = tp_device_reserved(run, &run->devices[i]);
        if (one.low == TP_NONE)
            return one;
        sum.low += one.low;
        sum.high += one.high;
    }
    return sum;
}

uint64_t tp_run_peak_reserved(const struct tp_run *run)
{
    return tp_run_reserved(run).high;
}

struct tp_text tp_range_text(const struct tp_range *r, bool exact)
{
    struct tp_text low = tp_bytes(r->low, exact), high = tp_bytes(r->high, exact);
    if (r->low == TP_NONE || r->high == TP_NONE)
        return tp_text_of("-");
    if (!strcmp(low.s, high.s))
        return high;
    char *unit = strrchr(low.s, ' ');
    if (unit && !strcmp(unit, strrchr(high.s, ' '))) /* write a common unit only once */
        *unit = '\0';
    return tp_text_of("%s to %s", low.s, high.s);
}

uint64_t tp_result_packed(const struct tp_result *r)
{
    uint64_t sum = 0;
    for (uint16_t d = 0; d < r->facts->devices; d++)
        sum += r->bounds[d].best;
    return sum;
}

uint64_t tp_result_lower_bound(const struct tp_result *r)
{
    uint64_t sum = 0;
    for (uint16_t d = 0; d < r->facts->devices; d++)
        sum += r->bounds[d].least;
    return sum;
}

uint64_t tp_run_min_capacity(const struct tp_run *run)
{
    return run->flags & TP_RUN_FITS ? TP_RUN_SUM(run, min_capacity) : TP_NONE;
}

double tp_run_needed(const struct tp_run *run, uint64_t held)
{
    uint64_t trace = tp_run_trace_peak(run);
    return trace && held != TP_NONE ? (double)held / (double)trace : (double)NAN;
}

uint64_t tp_run_total_resident(const struct tp_run *run)
{
    const struct tp_resident *r = &run->resident;
    bool known = run->passes & TP_PASS_RESIDENT && r->peak.median != TP_NONE && r->start != TP_NONE;
    return known ? r->peak.median + r->start : TP_NONE;
}

bool tp_result_is_on_host(const struct tp_result *r)
{
    return tp_source_spec_flags(r->source) & TP_SRC_HOST;
}

bool tp_results_by_resident(const struct tp_result *results, size_t count)
{
    bool real = false;
    for (size_t i = 0; i < count; i++) {
        const struct tp_run *run = results[i].run;
        real |= tp_result_is_foreign(&results[i]);
        if (tp_run_total_resident(run) == TP_NONE && !tp_run_failed(run))
            return false;
    }
    return real;
}

double tp_run_reuse(const struct tp_run *run)
{
    uint64_t reused = TP_RUN_SUM(run, reused), served = TP_RUN_SUM(run, allocations);
    return reused != TP_NONE && served ? (double)reused / (double)served : NAN;
}

bool tp_result_unseen(const struct tp_result *r)
{
    const struct tp_recorded *recorded = &r->trace->recorded;
    uint64_t reserved = 0;
    for (uint32_t i = 0; recorded->by && !recorded->has_end && i < recorded->count; i++)
        reserved += recorded->devices[i].start_reserved;
    return reserved && !r->facts->initial_heap;
}

bool tp_result_is_foreign(const struct tp_result *r)
{
    return !r->source->count;
}

bool tp_result_is_virtual(const struct tp_result *r)
{
    return tp_source_spec_flags(r->source) & TP_SRC_VIRTUAL;
}

bool tp_result_is_flattered(const struct tp_result *r)
{
    return tp_result_is_virtual(r) && tp_run_reuse(r->run) < TP_FEW_REUSED;
}

uint32_t tp_devices_shown(const struct tp_report *rep, const struct tp_result *r)
{
    uint32_t count = r->run->device_count;
    return rep->devices && rep->devices < count ? rep->devices : count;
}

size_t tp_results_of_trace(const struct tp_result *results, size_t count)
{
    size_t end = 1;
    while (end < count && results[end].trace == results->trace)
        end++;
    return end;
}

const struct tp_result *tp_first_sourced(const struct tp_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!tp_result_is_foreign(&results[i]))
            return &results[i];
    return results;
}

const char *tp_result_scope(const struct tp_result *r)
{
    return tp_result_is_virtual(r) ? "strategy" : "strategy_and_source";
}

const char *tp_result_base(const struct tp_result *r)
{
    return tp_result_is_foreign(r) ? r->source->name : r->source->layers[0].ops->name;
}

bool tp_result_is_device(const struct tp_result *r)
{
    return tp_source_spec_flags(r->source) & TP_SRC_DEVICE;
}

bool tp_result_reuses_unsafely(const struct tp_result *r)
{
    const struct tp_strategy *s = r->spec->strategy;
    const struct tp_program_facts *f = r->facts;
    bool knows = s->caps & TP_CAP_STREAMS || s->group != TP_GROUP_STRATEGY;
    bool several = f->kind == TP_KIND_DEVICE && f->streams > f->devices;
    return !knows && several && tp_run_reuse(r->run) > 0;
}

static bool is_preloaded(const char *strategy)
{
    const struct tp_strategy *s = tp_find_strategy(strategy, NULL);
    return s && s->caps & TP_CAP_PRELOAD;
}

const char *tp_served_library(const char *strategy, const char *library)
{
    return is_preloaded(strategy) ? "preloaded" : library;
}

struct tp_text tp_versioned_label(const char *label, const char *strategy, const char *library)
{
    const char *version = library && is_preloaded(strategy) ? tp_library_version(library) : "";
    return tp_text_of("%s%s%s", label, *version ? " " : "", version);
}

struct tp_text tp_result_name(const struct tp_result *r)
{
    return r->spec->labelled
               ? tp_text_of("%s", r->spec->label)
               : tp_versioned_label(r->spec->label, r->spec->strategy->name, r->run->library);
}

static bool are_alike(const struct tp_served *a, const struct tp_served *b)
{
    return a->library && b->library && a->known == b->known && !strcmp(a->library, b->library);
}

/* What is known of the memory of what a library serves, of one strategy or of several. */
static const char *what_is_known(const struct tp_served *row, bool several)
{
    if (row->known && row->resident)
        return "address space from its own statistics; its calls are not visible.";
    if (row->known)
        return "memory from its own statistics; its calls are not visible.";
    if (row->resident)
        return several ? "their address space and calls are not visible."
                       : "its address space and calls are not visible.";
    return several ? "their memory and calls are not known."
                   : "its memory and calls are not known.";
}

bool tp_served_note(const struct tp_served *rows, size_t count, size_t i, char *text, size_t size)
{
    struct tp_str s = tp_str_in(text, size);
    size_t served = 0;
    for (size_t k = 0; k < i; k++)
        if (are_alike(&rows[k], &rows[i]))
            return false;
    if (!rows[i].library)
        return false;
    for (size_t k = i; k < count; k++)
        if (are_alike(&rows[k], &rows[i]))
            tp_str_add(&s, "%s%s", served++ ? ", " : "", rows[k].label);
    tp_str_add(&s, " %s %s: %s", served == 1 ? "is" : "are", rows[i].library,
               what_is_known(&rows[i], served > 1));
    return true;
}

const char *tp_part_name(const struct tp_trace *t, const char *device, const char *space)
{
    bool all = t->meta.space && !strcmp(t->meta.space, "all");
    return all && tp_program_facts(t->program)->devices > 1 ? space : device;
}

const char *tp_result_callee(const struct tp_result *r)
{
    return r->facts->kind == TP_KIND_DEVICE || tp_result_is_device(r) ? "driver" : "system";
}

struct tp_hash_text tp_hash_text(const struct tp_program_facts *f)
{
    struct tp_hash_text hash;
    for (size_t i = 0; i < TP_HASH_SIZE; i++)
        snprintf(hash.s + 2 * i, 3, "%02x", f->hash[i]);
    return hash;
}
