/* The screen of one result: memory as a sum at the trace peak, speed, and latencies by kind of
 * call.
 */
#include "alloc/packing/offline.h"
#include "cmd/report/report.h"
#include "cmd/report/report_head.h"
#include "cmd/report/report_pages.h"
#include "cmd/report/report_sites.h"
#include "cmd/report/validated.h"
#include "cmd/results/figures.h"
#include "cmd/results/warnings.h"

#include <math.h>
#include <string.h>

enum { NUMBER_END = 15, TEXT = 20, NOTE = 46, SPEED_NOTE = 52, LABEL = 16 };

/* ---- memory ---- */

struct sum_line {
    char sign;
    uint64_t bytes;
    const char *text;
    char note[256];
};

static void print_sum_line(const struct sum_line *line, struct tp_page *page)
{
    char sign[2] = {line->sign, '\0'};
    tp_page_at(page, 5, "%s", sign);
    tp_page_right(page, NUMBER_END + (page->exact ? 4 : 0), tp_bytes(line->bytes, page->exact).s);
    tp_page_at(page, TEXT, "%s", line->text);
    if (line->note[0])
        tp_page_at(page, NOTE, "%s", line->note);
    tp_page_line(page);
}

static void note_free(const struct tp_result *r, const struct tp_device_run *d, bool exact,
                      char *note, size_t size)
{
    const struct tp_at_peak *at = &d->at_peak;
    struct tp_str s = tp_str_in(note, size);
    if (at->free_blocks == TP_NONE) {
        if (!r->spec->plugin) /* one without a walk says nothing of its free blocks */
            tp_str_add(&s, "from the allocator's own statistics");
        return;
    }
    if (at->free_blocks)
        tp_str_add(&s, "%s, largest %s", tp_plural(at->free_blocks, "block").s,
                   tp_bytes(at->largest, exact).s);
    if (at->dead)
        tp_str_item(&s, "; ", "%s unusable until a reset", tp_bytes(at->dead, exact).s);
    if (at->page_rest && at->page_rest != TP_NONE)
        tp_str_item(&s, "; ", "%s in partly used pages", tp_bytes(at->page_rest, exact).s);
}

static void note_reserved(const struct tp_device_run *d, bool exact, char *note, size_t size)
{
    double times =
        d->at_peak.requested ? (double)d->at_peak.reserved / (double)d->at_peak.requested : NAN;
    struct tp_str s = tp_str_in(note, size);
    tp_str_add(&s, "%s of requested", tp_times(times).s);
    bool also_peak = d->at_peak.reserved == d->peak_reserved;
    if (also_peak && d->peak_carved != TP_NONE)
        tp_str_add(&s, "; %s of it used at some time", tp_bytes(d->peak_carved, exact).s);
}

static void print_own_peak(const struct tp_result *r, const struct tp_device_run *d,
                           struct tp_page *page)
{
    struct tp_range peak = tp_device_reserved(r->run, d);
    tp_page_at(page, TEXT, "peak reserved: %s, at event %s", tp_range_text(&peak, page->exact).s,
               tp_count(d->peak_reserved_event).s);
    if (d->peak_carved != TP_NONE)
        tp_page_more(page, TEXT, "; %s of it used at some time",
                     tp_bytes(d->peak_carved, page->exact).s);
    tp_page_line(page);
}

static void print_when(const struct tp_result *r, const struct tp_device_run *d,
                       struct tp_page *page)
{
    if (d->at_peak.requested == TP_NONE) {
        tp_page_put(page, LABEL, "the replay stopped before the trace peak");
        return;
    }
    tp_page_put(page, LABEL, "at the trace peak: event %s of %s%s", tp_count(d->at_peak.event).s,
                tp_count(r->facts->events).s, tp_time_at(r->facts, d->at_peak.time_ns).s);
    if (r->run->resident.threads > 1)
        tp_page_put(page, TEXT, "replayed by one thread, except %s",
                    r->run->mapped.threads > 1 ? "resident and mapped memory" : "resident memory");
    tp_sites_line(r->captured->sites, LABEL, page);
}

static void print_failures(const struct tp_result *r, const struct tp_device_run *d,
                           struct tp_page *page)
{
    if (!d->failed_allocations)
        return;
    tp_page_styled(page, LABEL, TP_RED, "OUT OF MEMORY");
    tp_page_at(page, page->column + 2, "%s", "");
    tp_report_failure_count(r, d, TEXT, page);
    tp_report_failure(r, d, TEXT, page);
}

static void print_fits(const struct tp_device_run *d, struct tp_page *page)
{
    if (d->min_capacity == TP_NONE || d->failed_allocations)
        return;
    tp_page_put(page, TEXT, "min capacity %s: smallest device without OOM%s",
                tp_bytes(d->min_capacity, page->exact).s,
                d->min_capacity < d->peak_reserved ? " (when full, it returns free memory)" : "");
}

static void print_packing(const struct tp_result *r, uint16_t device, struct tp_page *page)
{
    if (!r->bounds)
        return;
    const struct tp_offline *best = &r->bounds[device];
    tp_page_put(page, TEXT,
                "best packing %s%s: smallest layout found offline in one range; "
                "separate segments can need less",
                tp_bytes(best->best, page->exact).s,
                best->best == best->least ? ", equal to the lower bound" : "");
}

static void print_calls(const struct tp_result *r, const struct tp_device_run *d,
                        struct tp_page *page)
{
    uint64_t calls = d->gets + d->puts;
    bool known = d->reused != TP_NONE && d->allocations;
    if (d->gets == TP_NONE || (!calls && !d->allocations)) /* not known, or nothing was requested */
        return;
    tp_page_at(page, TEXT, "%s %s call%s%s", tp_count(calls).s, tp_result_callee(r),
               calls == 1 ? "" : "s", tp_result_is_device(r) ? " for memory" : "");
    if (known)
        tp_page_more(page, TEXT, "; hit rate %s",
                     tp_percent((double)d->reused / (double)d->allocations).s);
    if (d->next_calls != TP_NONE && d->next_calls != calls)
        tp_page_more(page, TEXT, "; warm %s calls (second replay): %s", tp_result_callee(r),
                     tp_count(d->next_calls).s);
    tp_page_line(page);
}

/* Of a strategy that follows a plan. */
static void print_plan(const struct tp_device_run *d, struct tp_page *page)
{
    uint64_t all = d->planned + d->unplanned, bytes = d->planned_bytes + d->unplanned_bytes;
    if (all)
        tp_page_put(page, TEXT, "%s of %s requests followed the plan (%s of bytes)",
                    tp_count(d->planned).s, tp_count(all).s,
                    tp_percent((double)d->planned_bytes / (double)bytes).s);
}

/* " (9 threads)"; "": one thread replays all passes. */
static struct tp_text by_so_many(const struct tp_run *run)
{
    return run->resident.threads > 1
               ? tp_text_of(" (%s threads)", tp_count(run->resident.threads).s)
               : tp_text_of("%s", "");
}

/* What of the reserved memory is real: on host a range is addresses until it is written. */
static void print_resident(const struct tp_result *r, struct tp_page *page)
{
    const struct tp_resident *resident = &r->run->resident;
    struct sum_line start = {'+', resident->start, "added by the library at start", ""};
    struct sum_line total = {'=', tp_run_total_resident(r->run), "total resident", ""};
    if (total.bytes == TP_NONE)
        return;
    tp_page_right(page, NUMBER_END + (page->exact ? 4 : 0),
                  tp_bytes(resident->peak.median, page->exact).s);
    tp_page_at(page, TEXT, "peak resident%s: private memory, %s", by_so_many(r->run).s,
               tp_written_words(r->trace));
    if (tp_result_is_foreign(r))
        tp_page_more(page, TEXT, "; validated: %s", tp_validated_resident(resident->threads));
    tp_page_line(page);
    if (!r->spec->preload)
        return;
    print_sum_line(&start, page);
    print_sum_line(&total, page);
}

static void print_memory(const struct tp_result *r, const struct tp_device_run *d,
                         struct tp_page *page)
{
    const struct tp_at_peak *at = &d->at_peak;
    struct tp_range own = tp_device_reserved(r->run, d);
    bool peak = at->reserved == own.low && at->reserved == own.high;
    struct sum_line requested = {' ', at->requested, "requested", ""};
    if (d->failed_allocations)
        snprintf(requested.note, sizeof requested.note, "without failed and skipped requests");
    struct sum_line rounding = {'+', at->allocated - at->requested, "rounding", ""};
    struct sum_line unallocated = {'+', at->free_bytes, "free", ""};
    struct sum_line reserved = {'=', at->reserved, peak ? "reserved, also the peak" : "reserved",
                                ""};
    snprintf(rounding.note, sizeof rounding.note, "%s of allocated (internal fragmentation)",
             tp_percent(d->internal_fragmentation).s);
    note_free(r, d, page->exact, unallocated.note, sizeof unallocated.note);
    note_reserved(d, page->exact, reserved.note, sizeof reserved.note);
    if (!d->trace_peak_requested && !d->peak_reserved) {
        tp_page_put(page, LABEL, "the program allocates nothing here");
        return;
    }
    print_failures(r, d, page);
    if (r->run->flags & TP_RUN_POOL) {
        tp_device_pool(r, d, page);
        tp_device_answers(r, d, page);
        return;
    }
    print_when(r, d, page);
    if (at->requested == TP_NONE) { /* the replay stopped before the trace peak */
        print_own_peak(r, d, page);
        print_calls(r, d, page);
        print_plan(d, page);
        tp_device_answers(r, d, page);
        return;
    }
    print_sum_line(&requested, page);
    if (at->allocated != TP_NONE)
        print_sum_line(&rounding, page);
    if (at->reserved == TP_NONE) {
        if (tp_run_total_resident(r->run) == TP_NONE)
            tp_page_put(page, TEXT, "free and reserved memory are not known");
        print_resident(r, page);
        return;
    }
    print_sum_line(&unallocated, page);
    print_sum_line(&reserved, page);
    if (!peak)
        print_own_peak(r, d, page);
    print_resident(r, page);
    print_fits(d, page);
    print_packing(r, (uint16_t)(d - r->run->devices), page);
    print_calls(r, d, page);
    print_plan(d, page);
    tp_device_answers(r, d, page);
}

static void print_all_memory(const struct tp_report *rep, const struct tp_result *r,
                             struct tp_page *page)
{
    for (uint32_t i = 0; i < tp_devices_shown(rep, r); i++) {
        if (r->run->device_count == 1)
            tp_page_at(page, 0, "Memory");
        else
            tp_page_at(page, 0, "Memory, %s %u", tp_part_name(r->trace, "gpu", "space"), i);
        print_memory(r, &r->run->devices[i], page);
        tp_page_line(page);
    }
    tp_pages_print(r, page);
}

/* ---- speed ---- */

/* Prints "16,500 replays in 0.5 s". */
static void print_replays(const struct tp_throughput *t, struct tp_page *page)
{
    tp_page_at(page, SPEED_NOTE, "%s replays in ", tp_count(t->replays).s);
    if (t->wall_ns < 50 * 1000 * 1000)
        tp_page_more(page, SPEED_NOTE, "%s", tp_duration(t->wall_ns).s);
    else
        tp_page_more(page, SPEED_NOTE, "%.1f s", (double)t->wall_ns / 1e9);
    if (t->runs.count > 1)
        tp_page_more(page, SPEED_NOTE, "; other runs differ more");
}

/* What several threads did beside the time of their calls. */
static void print_threads(const struct tp_result *r, struct tp_page *page)
{
    struct tp_by_threads t = tp_threads_of(r->run);
    if (t.calls_per_second == TP_NONE)
        return;
    tp_page_at(page, LABEL, "%s ns/op wall time", tp_digits(t.wall).s);
    tp_page_put(page, SPEED_NOTE, "%s calls/s", tp_count(t.calls_per_second).s);
    tp_page_at(page, LABEL, "%s per window", tp_duration((uint64_t)t.window).s);
    tp_page_put(page, SPEED_NOTE, "all threads meet at its end");
    if (t.never_alone) {
        tp_page_put(page, LABEL, TP_NEVER_ALONE_NOTE);
    } else {
        tp_page_at(page, LABEL, "%s vs 1 thread", tp_times(t.speedup).s);
        tp_page_put(page, SPEED_NOTE, "speedup in wall time%s",
                    t.one_lock ? "; one lock around every call" : "");
    }
    tp_page_at(page, LABEL, "%s waited", tp_percent(t.waited).s);
    tp_page_put(page, SPEED_NOTE, "for other threads' blocks");
    tp_page_at(page, LABEL, "%s blocked", tp_percent(t.blocked).s);
    tp_page_put(page, SPEED_NOTE, "in a lock or a page fault");
}

static void print_speed(const struct tp_result *r, struct tp_page *page)
{
    struct tp_speed s = tp_speed_of(r->run);
    const struct tp_throughput *t = &r->run->throughput;
    const char *none = tp_result_no_speed(r);
    tp_page_at(page, 0, tp_result_is_virtual(r) ? "Strategy time" : "Speed");
    if (none) {
        tp_page_put(page, LABEL, "%s", none);
        return;
    }
    tp_page_at(page, LABEL, "%s ns/op", tp_digits(s.ns).s);
    if (t->runs.count > 1) /* a single measurement has no interval */
        tp_page_more(page, LABEL, ", 95%% CI [%s, %s]", tp_digits(s.low).s, tp_digits(s.high).s);
    if (r->run->flags & TP_RUN_REPLAYED_ONCE)
        tp_page_at(page, SPEED_NOTE, "%s, longer than %s: cold", tp_plural(t->replays, "replay").s,
                   tp_duration(r->min_time_ns).s);
    else
        print_replays(t, page);
    tp_page_line(page);
    if (!(r->run->flags & TP_RUN_REPLAYED_ONCE)) {
        tp_page_at(page, LABEL, "%s ns/op cold", tp_digits(s.cold).s);
        tp_page_put(page, SPEED_NOTE,
                    tp_result_is_device(r) ? "first replay" : "page faults included");
    }
    tp_page_at(page, LABEL, "%s ns/op replay overhead", tp_digits(s.engine).s);
    tp_page_put(page, SPEED_NOTE, "subtracted (empty %s)",
                tp_result_is_foreign(r) ? "malloc" : "strategy");
    print_threads(r, page);
}

/* ---- latencies ---- */

/* Widths of the columns; with the bars they fit into 80 characters. */
enum { LAT_NAME = 4, LAT_CALLS = 23, LAT_PERCENTILE = 7, LAT_MAX = 11, LAT_GAP = 2 };
enum { BARS_PER_DECADE = 4, DECADES = 4, BARS = BARS_PER_DECADE * DECADES };

/* Counts calls by latency. Bar i ends at 10^(1 + (i + 1) / 4) ns. The first bar also has all
 * shorter calls, the last bar all longer ones. */
static void fill_bars(const struct tp_histogram *h, double bars[BARS])
{
    memset(bars, 0, BARS * sizeof *bars);
    for (uint32_t b = 0; b < TP_HIST_BUCKETS; b++) {
        if (!h->buckets[b])
            continue;
        double upper = (double)tp_hist_upper(b);
        int bar = upper <= 10 ? 0 : (int)floor((log10(upper) - 1) * BARS_PER_DECADE);
        bars[bar < BARS ? bar : BARS - 1] += (double)h->buckets[b];
    }
}

/* Heights are logarithmic, so that one slow call among a million can be seen. */
static void draw_bars(const struct tp_histogram *h, char *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    double bars[BARS], most = 1;
    fill_bars(h, bars);
    int last = 0;
    for (int i = 0; i < BARS; i++) {
        most = bars[i] > most ? bars[i] : most;
        last = bars[i] > 0 ? i : last;
    }
    out[0] = '\0';
    for (int i = 0; i <= last; i++) {
        double height = bars[i] > 0 && most > 1 ? 7 * log(bars[i]) / log(most) : 7;
        const char *cell = bars[i] > 0 ? blocks[(int)(height + 0.5)] : " ";
        memcpy(out, cell, strlen(cell) + 1);
        out += strlen(cell);
    }
}

struct tp_text tp_marked_latency(const struct tp_report *rep, uint64_t ns,
                                 struct tp_clock_marks *marks)
{
    struct tp_text text = tp_latency_text(ns, rep->clock.step_ns);
    marks->below_step |= text.s[0] == '<';
    marks->coarse |= text.s[0] == '~';
    return text;
}

static void print_latency(const struct tp_report *rep, const struct tp_latency *l, const char *name,
                          struct tp_clock_marks *marks, bool *too_few, struct tp_page *page)
{
    int end = LAT_CALLS;
    tp_page_at(page, LAT_NAME, "%s", name);
    tp_page_right(page, end, tp_count(l->hist.count).s);
    for (int i = 0; i <= TP_PERCENTILES; i++) {
        uint64_t ns = l->hist.max;
        bool known = i == TP_PERCENTILES || tp_percentile(l, tp_percentiles[i].fraction, &ns);
        struct tp_text text = known ? tp_marked_latency(rep, ns, marks) : (struct tp_text){"-"};
        *too_few |= !known;
        end += i == TP_PERCENTILES ? LAT_MAX : LAT_PERCENTILE;
        tp_page_right(page, end, text.s);
    }
    char bars[BARS * 4 + 1];
    draw_bars(&l->hist, bars);
    tp_page_put(page, end + LAT_GAP, "%s", bars);
}

void tp_clock_marks_print(const struct tp_report *rep, const struct tp_clock_marks *marks,
                          bool too_few, int column, struct tp_page *page)
{
    char text[256];
    struct tp_str s = TP_STR_IN(text);
    double step = rep->clock.step_ns;
    if (marks->below_step)
        tp_str_add(&s, "<=%.0f: within one step of this clock.", step);
    if (marks->coarse)
        tp_str_item(&s, "  ", "~: +-%.0f ns.", step);
    if (too_few)
        tp_str_item(&s, "  ", "-: too few calls.");
    if (s.length)
        tp_page_dim(page, column, "%s", text);
}

static void print_latencies(const struct tp_report *rep, const struct tp_result *r,
                            struct tp_page *page)
{
    struct tp_clock_marks marks = {false, false};
    bool too_few = false;
    int end = LAT_CALLS;
    if (!r->run->throughput.runs.count)
        return; /* nothing was timed, and print_speed has said why */
    tp_page_at(page, 0, "Latency, ns");
    tp_page_right(page, end, "calls");
    for (int i = 0; i < TP_PERCENTILES; i++)
        tp_page_right(page, end += LAT_PERCENTILE, tp_percentiles[i].head);
    tp_page_right(page, end += LAT_MAX, "max");
    tp_page_put(page, end + LAT_GAP, "10  100 1k  10k");
    for (int k = 0; k < TP_LAT_KINDS; k++)
        if (r->run->latency.kinds[k].hist.count)
            print_latency(rep, &r->run->latency.kinds[k], tp_latency_names[k], &marks, &too_few,
                          page);
    tp_clock_marks_print(rep, &marks, too_few, LAT_NAME, page);
    uint64_t sampled = r->run->latency.sampled;
    tp_page_dim(page, LAT_NAME,
                "Each call%s%s%s is timed by itself, in %s, not those of ns/op. Bars: log height, "
                "log time.",
                sampled ? " of the first " : "", sampled ? tp_count(sampled).s : "",
                sampled ? " of the trace" : "", tp_plural(r->run->latency.replays, "replay").s);
    tp_page_line(page);
}

/* ---- the whole screen ---- */

bool tp_report_warnings(const struct tp_result *results, size_t count, int column,
                        struct tp_page *page)
{
    bool any = false;
    for (size_t w = 0; tp_warnings[w]; w++) {
        char text[TP_WARNINGS_TEXT];
        if (!tp_warning_of_all(tp_warnings[w], results, count, text))
            continue;
        tp_page_warning(page, column, tp_warnings[w]->id, "%s", text);
        any = true;
    }
    return any;
}

/* " (4 threads: 16.66 ns/op wall time)"; "": one thread replayed. */
static struct tp_text by_threads(const struct tp_run *run)
{
    struct tp_by_threads t = tp_threads_of(run);
    return isnan(t.wall) ? tp_text_of("%s", "")
                         : tp_text_of(" (%s threads: %s ns/op wall time)", tp_count(t.replayed).s,
                                      tp_digits(t.wall).s);
}

/* Sums up the result. If allocations failed, the failure is what counts: times and peaks of a
 * program that was only partly replayed mean little. */
static void print_in_short(const struct tp_result *r, struct tp_page *page)
{
    uint64_t failed = tp_run_failed(r->run), first = tp_run_first_failure(r->run);
    uint64_t initial = tp_run_failed_initial(r->run);
    struct tp_range held = tp_run_reserved(r->run);
    char text[160];
    tp_report_failed(initial, TP_NONE, failed - initial, TP_NONE, text, sizeof text);
    if (failed)
        tp_page_at(page, 0,
                   "Summary: %s ran out of memory, first %s%s: %s failed; requested "
                   "%s.",
                   r->spec->label, first ? "at event " : "before the first event",
                   first ? tp_count(first).s : "", text,
                   tp_bytes(tp_run_trace_peak(r->run), page->exact).s);
    else {
        double ns = tp_speed_of(r->run).ns;
        struct tp_text needed = tp_bytes(tp_run_trace_peak(r->run), page->exact);
        uint64_t resident = tp_run_total_resident(r->run);
        tp_page_at(page, 0, "Summary: %s", r->spec->label);
        if (!isnan(ns))
            tp_page_more(page, 0, ", %s ns/op%s", tp_digits(ns).s, by_threads(r->run).s);
        /* where a strategy replayed, `held` is exact */
        if (resident != TP_NONE && (tp_result_is_foreign(r) || held.high == TP_NONE))
            tp_page_more(page, 0, ", %s resident%s for %s requested",
                         tp_bytes(resident, page->exact).s, by_so_many(r->run).s, needed.s);
        else if (held.high != TP_NONE)
            tp_page_more(page, 0, ", %s reserved for %s requested",
                         tp_range_text(&held, page->exact).s, needed.s);
        else
            tp_page_more(page, 0, ", %s requested; its memory is not known", needed.s);
    }
    tp_page_line(page);
}

void tp_report_detail(const struct tp_report *rep, const struct tp_result *r, struct tp_page *page)
{
    char label[TP_LABEL_MAX * 2 + 8];
    snprintf(label, sizeof label, "%s on %s", r->spec->label,
             tp_result_is_device(r) ? tp_device_label(r).s : tp_result_base(r));
    tp_report_head(r, label, page);
    if (r->spec->plugin)
        tp_page_put(page, tp_page_beside(r->trace->file, label), "plug-in %s%s%s",
                    r->spec->plugin->file, r->spec->plugin->version[0] ? " " : "",
                    r->spec->plugin->version);
    tp_page_line(page);
    print_all_memory(rep, r, page);
    if (r->fidelity) {
        tp_report_fidelity(r, 0, page);
        tp_page_line(page);
    }
    print_speed(r, page);
    tp_page_line(page);
    print_latencies(rep, r, page);
    if (tp_report_warnings(r, 1, 4, page))
        tp_page_line(page);
    if (rep->verbose)
        tp_report_verbose(rep, r, page);
    print_in_short(r, page);
}
