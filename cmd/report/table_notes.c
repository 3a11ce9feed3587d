/* The notes below the table of several results of one trace. */
#include "cmd/report/table_notes.h"
#include "cmd/report/report_head.h"
#include "cmd/report/validated.h"
#include "cmd/results/figures.h"

#include <math.h>
#include <string.h>

enum { NOTE = 2 }; /* column of the notes */

const char *tp_no_time(const struct tp_result *r)
{
    if (!r->run->throughput.runs.count)
        return "-";
    if (tp_result_is_flattered(r))
        return "(a)";
    return isnan(tp_speed_of(r->run).ns) ? "(c)" : NULL;
}

struct tp_text tp_p99_text(const struct tp_report *rep, const struct tp_result *r,
                           struct tp_clock_marks *marks)
{
    struct tp_latency all;
    uint64_t ns = 0;
    tp_run_latency(r->run, TP_LAT_KINDS, &all);
    bool known = tp_percentile(&all, 0.99, &ns);
    if (tp_result_is_flattered(r))
        return (struct tp_text){"(a)"};
    return known ? tp_marked_latency(rep, ns, marks) : (struct tp_text){"-"};
}

bool tp_any_on_host(const struct tp_result *results, size_t count)
{
    return tp_result_is_on_host(tp_first_sourced(results, count));
}

bool tp_any_preloaded(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= results[i].spec->preload != NULL;
    return any && tp_results_by_resident(results, count);
}

bool tp_any_by_threads(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= tp_threads_of(results[i].run).replayed > 1;
    return any;
}

struct tp_recorded_row tp_recorded_row_of(const struct tp_result *r)
{
    struct tp_recorded_row sum = {.allocations = tp_captured_allocations(r->captured, r->facts)};
    bool unknown = false, silent = false;
    for (uint16_t i = 0; i < r->captured->count; i++) {
        const struct tp_captured_device *d = &r->captured->devices[i];
        uint64_t needed = tp_program_demand(r->trace->program, i)->bytes;
        sum.peak += d->peak_reserved;
        uint64_t had = needed - d->demand_failed;
        sum.free.bytes += d->at_demand > had ? d->at_demand - had : 0;
        unknown |= d->at_demand < had && d->replayed;
        silent |= d->largest == TP_RECORDED_UNKNOWN;
        sum.free.largest = d->largest > sum.free.largest ? d->largest : sum.free.largest;
        sum.takes += d->takes + d->maps; /* each of them is one call to the driver */
        sum.gives += d->gives + d->unmaps;
        sum.ran_out |= d->replayed && d->at_demand < needed;
    }
    sum.free.bytes = unknown ? TP_NONE : sum.free.bytes;
    sum.free.largest = unknown || silent ? TP_NONE : sum.free.largest;
    return sum;
}

bool tp_has_recorded_row(const struct tp_result *r)
{
    return r->captured->known && !r->trace->initial_dropped;
}

static void print_recorded_notes(const struct tp_result *r, bool free_shown, struct tp_page *page)
{
    struct tp_recorded_row sum = tp_recorded_row_of(r);
    tp_page_dim(page, NOTE, "The recorded row is from the file%s.",
                free_shown ? "; its free memory includes rounding and blocks that were not split"
                           : "");
    if (free_shown && sum.free.bytes != TP_NONE && sum.free.largest == TP_NONE)
        tp_page_dim(page, NOTE, "Its largest free block is not known: %s.",
                    r->trace->recorded.has_end ? "the addresses in the file contradict each other"
                                               : "the file has no segment addresses");
    if (tp_result_unseen(r))
        tp_page_dim(page, NOTE,
                    "It includes blocks that were live before the first event and are not in the "
                    "trace.");
    if (sum.ran_out || sum.peak < tp_run_trace_peak(r->run))
        tp_page_dim(page, NOTE, "Its peak is below the requested bytes: %s.",
                    sum.ran_out ? "the recorded program ran out of memory at the trace peak"
                                : "the file's segments and its events disagree");
}

/* Prints notes on what is different on a real device. */
static void print_device_notes(const struct tp_result *results, size_t count, struct tp_page *page)
{
    const struct tp_result *pool = NULL;
    bool ranges = false;
    for (size_t i = 0; i < count; i++) {
        struct tp_range peak = tp_run_reserved(results[i].run);
        ranges |= peak.low != peak.high;
        if (results[i].run->flags & TP_RUN_POOL && !pool)
            pool = &results[i];
    }
    if (pool)
        tp_page_dim(page, NOTE,
                    "%s: peak as counted by the driver's pool, which does not report free memory "
                    "or its hit rate.",
                    pool->spec->label);
    if (ranges)
        tp_page_dim(page, NOTE, "Peaks that differ between passes are ranges.");
}

static bool has_foreign(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= tp_result_is_foreign(&results[i]);
    return any;
}

/* Whether a strategy keeps books outside of the memory that it manages: then more can be resident
 * than the address space that it has. */
static bool any_with_books(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        uint64_t resident = results[i].run->resident.peak.median;
        uint64_t reserved = tp_run_peak_reserved(results[i].run);
        any |= resident != TP_NONE && reserved != TP_NONE && resident > reserved;
    }
    return any;
}

/* Prints what the column of resident memory says. A trace that takes long is replayed once only. */
static void print_resident(const struct tp_result *results, size_t count, struct tp_page *page)
{
    struct tp_str single = {0};
    uint64_t threads = 1, mapped = 1;
    if (!tp_results_by_resident(results, count))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct tp_resident *r = &results[i].run->resident;
        if (r->passes == 1)
            tp_str_item(&single, ", ", "%s", results[i].spec->label);
        threads = r->threads > threads ? r->threads : threads;
        mapped = results[i].run->mapped.threads > mapped ? results[i].run->mapped.threads : mapped;
    }
    tp_page_dim(
        page, NOTE, "Peak resident: private memory, %s%s%s.%s%s", tp_written_words(results->trace),
        single.length ? "; 1 slow pass instead of 3: " : "", tp_str_text(&single),
        any_with_books(results, count) ? " Unlike address space, it includes bookkeeping." : "",
        tp_any_preloaded(results, count) ? " At start: RSS added by the library." : "");
    if (has_foreign(results, count))
        tp_page_dim(page, NOTE, "Peak resident of malloc libraries in tests: %s.",
                    tp_validated_resident(threads));
    if (threads > 1)
        tp_page_dim(page, NOTE,
                    "%s memory: replayed by the %s recorded threads; all other memory: by one.",
                    mapped > 1 ? "Resident and mapped" : "Resident", tp_count(threads).s);
    tp_str_drop(&single);
}

/* Prints notes on the libraries behind real allocators. */
static void print_served(const struct tp_result *results, size_t count, struct tp_page *page)
{
    char text[TP_SERVED_TEXT];
    struct tp_served rows[TP_SERVED_MAX];
    size_t used = 0;
    for (size_t i = 0; i < count && used < TP_SERVED_MAX; i++) {
        const char *library = results[i].run->library;
        if (library[0])
            rows[used++] = (struct tp_served){
                results[i].spec->label, tp_served_library(results[i].spec->strategy->name, library),
                tp_run_peak_reserved(results[i].run) != TP_NONE,
                tp_results_by_resident(results, count)};
    }
    for (size_t i = 0; i < used; i++)
        if (tp_served_note(rows, used, i, text, sizeof text))
            tp_page_dim(page, NOTE, "%s", text);
}

/* Prints what threads wait for, and which strategies have one lock. */
static void print_thread_notes(const struct tp_result *results, size_t count, unsigned see,
                               struct tp_page *page)
{
    struct tp_str locked = {0};
    bool never_alone = false;
    for (size_t i = 0; i < count; i++) {
        const struct tp_by_threads t = tp_threads_of(results[i].run);
        if (t.one_lock)
            tp_str_item(&locked, ", ", "%s", results[i].spec->label);
        never_alone |= t.never_alone;
    }
    if (see & SEE_WALL)
        tp_page_dim(page, NOTE, TP_WALL_NOTE ".");
    if (never_alone && see & SEE_SPEEDUP)
        tp_page_dim(page, NOTE, TP_NEVER_ALONE_NOTE ".");
    if (see & SEE_WAITED)
        tp_page_dim(page, NOTE, TP_WAITED_NOTE ".");
    if (see & SEE_BLOCKED)
        tp_page_dim(page, NOTE, TP_BLOCKED_NOTE ".");
    if (locked.length)
        tp_page_dim(page, NOTE, "%s: one lock around every call.", tp_str_text(&locked));
    tp_str_drop(&locked);
}

static bool any_device(const struct tp_result *results, size_t count,
                       bool (*is)(const struct tp_device_run *d))
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < results[i].run->device_count; d++)
            any |= is(&results[i].run->devices[d]);
    return any;
}

/* Whether a strategy's own peak is higher than what it held at the trace peak. */
static bool peaks_elsewhere(const struct tp_device_run *d)
{
    return d->at_peak.reserved != TP_NONE && d->peak_reserved != TP_NONE &&
           d->peak_reserved > d->at_peak.reserved;
}

static bool fits_below_peak(const struct tp_device_run *d)
{
    return d->min_capacity != TP_NONE && d->peak_reserved != TP_NONE &&
           d->min_capacity < d->peak_reserved;
}

static bool has_failed(const struct tp_device_run *d)
{
    return d->failed_allocations > 0;
}

/* The meanings of the marks of times. */
static void print_time_notes(const struct tp_result *results, size_t count, unsigned see,
                             struct tp_page *page)
{
    const struct tp_result *flattered = NULL, *untimed = NULL;
    bool once = false, overhead_only = false;
    for (size_t i = 0; i < count; i++) {
        const char *none = tp_no_time(&results[i]);
        untimed = none && *none == '-' ? &results[i] : untimed;
        flattered = none && !strcmp(none, "(a)") ? &results[i] : flattered;
        overhead_only |= none && !strcmp(none, "(c)");
        once |= !none && !tp_run_has_interval(results[i].run);
    }
    if (untimed && see & SEE_TIME)
        tp_page_dim(page, NOTE, "A time of '-' was %s.", tp_result_no_speed(untimed));
    if (flattered && see & (SEE_TIME | SEE_P99))
        tp_page_dim(page, NOTE,
                    "(a) over half of the allocations call the %s, whose time is not simulated.",
                    tp_result_callee(flattered));
    if (once && see & SEE_INTERVAL)
        tp_page_dim(page, NOTE, "(b) one replay, longer than --min-time: cold%s.",
                    tp_result_is_device(results) ? "" : ", page faults included");
    if (overhead_only && see & SEE_TIME)
        tp_page_dim(page, NOTE,
                    "(c) within the replay overhead, which is subtracted: too noisy, or too few "
                    "calls.");
}

/* Prints the meanings of the marks in the cells, whose bits are in `see`. */
void tp_table_notes(const struct tp_report *rep, const struct tp_result *results, size_t count,
                    unsigned see, struct tp_page *page)
{
    bool host = tp_any_on_host(results, count);
    uint64_t sampled = results[0].run->latency.sampled;
    struct tp_clock_marks marks = {false, false};
    for (size_t i = 0; see & SEE_P99 && i < count; i++)
        tp_p99_text(rep, &results[i], &marks);
    tp_clock_marks_print(rep, &marks, false, NOTE, page);
    print_time_notes(results, count, see, page);
    if (tp_any_by_threads(results, count))
        print_thread_notes(results, count, see, page);
    if (see & SEE_SPACE && any_device(results, count, peaks_elsewhere))
        tp_page_dim(page, NOTE, "%s: each strategy's own peak, not always at the trace peak.",
                    host ? "Address space" : "Peak reserved");
    if (any_device(results, count, has_failed))
        tp_page_dim(page, NOTE, "OOM: the row is without the allocations that failed.");
    if (see & SEE_CAPACITY && any_device(results, count, fits_below_peak))
        tp_page_dim(page, NOTE,
                    "Min capacity can be below the peak: when memory is full, a strategy returns "
                    "free memory.");
    if (results->bounds)
        tp_page_dim(page, NOTE, "Best packing is in one range: separate segments can need less.");
    if (results[0].run->device_count > 1)
        tp_page_dim(page, NOTE, "Bytes are sums over the %ss, each at its own peak. One by one: -v",
                    tp_part_name(results->trace, "device", "memory space"));
    if (sampled && see & SEE_P99)
        tp_page_dim(page, NOTE, "p99: of the first %s calls.", tp_count(sampled).s);
    if (tp_has_recorded_row(results))
        print_recorded_notes(results, see & SEE_FREE, page);
    for (size_t i = 0; i < count; i++)
        tp_report_fidelity(&results[i], NOTE, page);
    print_device_notes(results, count, page);
    print_resident(results, count, page);
    print_served(results, count, page);
}
