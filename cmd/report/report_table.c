/* The screen of several results of one trace. Rows are strategies, so that a further strategy does
 * not make the table wider. */
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/report/report_head.h"
#include "cmd/report/report_sites.h"
#include "cmd/report/table_notes.h"
#include "cmd/results/figures.h"
#include "cmd/ui/table.h"

#include <math.h>
#include <string.h>

enum { NOTE = 2, WHY = 14 }; /* column of the table and of the notes below it */

/* The result that a cell is filled from. */
struct row {
    const struct tp_report *rep;
    const struct tp_result *r;
    bool exact;
    bool resident; /* memory compares by what is resident */
};

struct column {
    struct tp_column column;
    /* head where `is_other` says so, or else with a driver; NULL: no other head */
    const char *other[2];
    bool (*is_other)(const struct tp_result *results, size_t count);
    void (*fill)(const struct row *row, struct tp_table *t);
    bool (*shown)(const struct tp_result *results, size_t count); /* NULL: always */
    unsigned marks; /* marks that its cells may have: bits SEE_... */
};

static void fill_name(const struct row *row, struct tp_table *t)
{
    tp_table_add(t, "%s", tp_result_name(row->r).s);
}

static void fill_peak(const struct row *row, struct tp_table *t)
{
    struct tp_range peak = tp_run_reserved(row->r->run);
    tp_table_add(t, "%s", tp_range_text(&peak, row->exact).s);
}

static void fill_resident(const struct row *row, struct tp_table *t)
{
    const struct tp_run *run = row->r->run;
    tp_table_bytes(t, run->passes & TP_PASS_RESIDENT ? run->resident.peak.median : TP_NONE,
                   row->exact);
}

static void fill_start(const struct row *row, struct tp_table *t)
{
    tp_table_bytes(t, row->r->spec->preload ? row->r->run->resident.start : TP_NONE, row->exact);
}

static void fill_total(const struct row *row, struct tp_table *t)
{
    tp_table_bytes(t, tp_run_total_resident(row->r->run), row->exact);
}

static void fill_fits(const struct row *row, struct tp_table *t)
{
    tp_table_bytes(t, tp_run_min_capacity(row->r->run), row->exact);
}

static void fill_needed(const struct row *row, struct tp_table *t)
{
    const struct tp_run *run = row->r->run;
    double needed =
        tp_run_needed(run, row->resident ? tp_run_total_resident(run) : tp_run_peak_reserved(run));
    if (tp_run_failed(run))
        tp_table_add(t, "OOM");
    else if (isnan(needed))
        tp_table_add(t, "-");
    else
        tp_table_add(t, "%s", tp_times(needed).s);
}

/* For half an interval in two digits that count. */
static int decimals_for(double half)
{
    if (half >= 10)
        return 0;
    if (half >= 1)
        return 1;
    return half >= 0.1 ? 2 : 3;
}

/* Adds a time with its interval, "14.20 ±0.31", which a single measurement has not. */
static void add_time(struct tp_table *t, double ns, double low, double high)
{
    double half = high - ns > ns - low ? high - ns : ns - low;
    if (isnan(half))
        tp_table_add(t, "%s (b)", tp_digits(ns).s);
    else
        tp_table_add(t, "%s ±%.*f", tp_digits(ns).s, decimals_for(half), half);
}

static void fill_time(const struct row *row, struct tp_table *t)
{
    struct tp_speed s = tp_speed_of(row->r->run);
    if (tp_no_time(row->r))
        tp_table_add(t, "%s", tp_no_time(row->r));
    else
        add_time(t, s.ns, s.low, s.high);
}

static void fill_wall(const struct row *row, struct tp_table *t)
{
    struct tp_by_threads s = tp_threads_of(row->r->run);
    if (isnan(s.wall))
        tp_table_add(t, "-");
    else
        add_time(t, s.wall, s.wall_low, s.wall_high);
}

/* The time without its interval, for a narrow table in which times do not decide. */
static void fill_strategy_time(const struct row *row, struct tp_table *t)
{
    const char *none = tp_no_time(row->r);
    tp_table_add(t, "%s", none ? none : tp_digits(tp_speed_of(row->r->run).ns).s);
}

static void fill_p99(const struct row *row, struct tp_table *t)
{
    struct tp_clock_marks marks = {false, false};
    tp_table_add(t, "%s", tp_p99_text(row->rep, row->r, &marks).s);
}

static void fill_waited(const struct row *row, struct tp_table *t)
{
    tp_table_add(t, "%s", tp_percent(tp_threads_of(row->r->run).waited).s);
}

static void fill_blocked(const struct row *row, struct tp_table *t)
{
    tp_table_add(t, "%s", tp_percent(tp_threads_of(row->r->run).blocked).s);
}

static void fill_speedup(const struct row *row, struct tp_table *t)
{
    double speedup = tp_threads_of(row->r->run).speedup;
    tp_table_add(t, "%s", isnan(speedup) ? "-" : tp_times(speedup).s);
}

static void fill_calls(const struct row *row, struct tp_table *t)
{
    tp_table_count(t, tp_run_calls(row->r->run));
}

/* The calls of the next pass, which decide if the trace is a loop. */
static void fill_next_calls(const struct row *row, struct tp_table *t)
{
    tp_table_count(t, tp_run_next_calls(row->r->run));
}

static void fill_reuse(const struct row *row, struct tp_table *t)
{
    tp_table_add(t, "%s", tp_percent(tp_run_reuse(row->r->run)).s);
}

/* Adds "1.206 MiB (680 KiB)": free bytes and their largest block, if it is known. */
static void add_free(struct tp_table *t, struct tp_free_sum free, bool exact)
{
    if (free.bytes == TP_NONE || free.largest == TP_NONE || !free.bytes)
        tp_table_bytes(t, free.bytes, exact);
    else
        tp_table_add(t, "%s (%s)", tp_bytes(free.bytes, exact).s, tp_bytes(free.largest, exact).s);
}

static struct tp_free_sum free_of(const struct tp_run *run)
{
    struct tp_free_sum sum = {0, 0};
    for (uint32_t d = 0; d < run->device_count && sum.bytes != TP_NONE; d++) {
        const struct tp_at_peak *at = &run->devices[d].at_peak;
        /* A replay that stopped before the trace peak has no free bytes there. */
        sum.bytes = at->free_bytes == TP_NONE ? TP_NONE : sum.bytes + tp_usable_free(at);
        if (at->largest == TP_NONE || sum.largest == TP_NONE)
            sum.largest = TP_NONE;
        else if (at->largest > sum.largest)
            sum.largest = at->largest;
    }
    return sum;
}

static void fill_free(const struct row *row, struct tp_table *t)
{
    add_free(t, free_of(row->r->run), row->exact);
}

/* The free bytes without their largest block, for a narrow table. */
static void fill_free_bytes(const struct row *row, struct tp_table *t)
{
    tp_table_bytes(t, free_of(row->r->run).bytes, row->exact);
}

static bool any_fits(const struct tp_result *results, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= (results[i].run->flags & TP_RUN_FITS) != 0;
    return any;
}

static bool on_virtual(const struct tp_result *results, size_t count)
{
    return tp_result_is_virtual(&results[count - 1]);
}

static bool by_range(const struct tp_result *results, size_t count)
{
    return !tp_results_by_resident(results, count);
}

static bool is_loop(const struct tp_result *results, size_t count)
{
    return on_virtual(results, count) && tp_trace_is_loop(results->trace);
}

static bool is_narrow(const struct tp_result *results, size_t count)
{
    return any_fits(results, count) && on_virtual(results, count);
}

static bool is_wide(const struct tp_result *results, size_t count)
{
    return !is_narrow(results, count);
}

/* The column p99 is not shown together with `fits in`, because both do not fit. */
static bool shows_p99(const struct tp_result *results, size_t count)
{
    return !any_fits(results, count);
}

static const struct column col_name = {.column.name = "", .column.left = true, .fill = fill_name},
                           col_resident = {.column.head = {"peak", "resident"},
                                           .fill = fill_resident,
                                           .shown = tp_results_by_resident},
                           col_start = {.column.head = {"+ at", "start"},
                                        .fill = fill_start,
                                        .shown = tp_any_preloaded},
                           col_total = {.column.head = {"total", "resident"},
                                        .fill = fill_total,
                                        .shown = tp_any_preloaded},
                           col_peak = {.column.head = {"peak", "reserved"},
                                       .other = {"address", "space"},
                                       .is_other = tp_any_on_host,
                                       .fill = fill_peak,
                                       .shown = by_range,
                                       .marks = SEE_SPACE},
                           col_space = {.column.head = {"address", "space"},
                                        .fill = fill_peak,
                                        .shown = tp_results_by_resident,
                                        .marks = SEE_SPACE},
                           col_needed = {.column.head = {"", "overhead"}, .fill = fill_needed},
                           col_fits = {.column.head = {"min", "capacity"},
                                       .fill = fill_fits,
                                       .shown = any_fits,
                                       .marks = SEE_CAPACITY},
                           col_time = {.column.head = {"ns/op", "95% CI"},
                                       .other = {"strategy ns/op", "95% CI"},
                                       .is_other = on_virtual,
                                       .fill = fill_time,
                                       .shown = is_wide,
                                       .marks = SEE_TIME | SEE_INTERVAL},
                           col_strategy_time = {.column.head = {"strategy", "ns/op"},
                                                .fill = fill_strategy_time,
                                                .shown = is_narrow,
                                                .marks = SEE_TIME},
                           col_p99 = {.column.head = {"p99", "ns"},
                                      .fill = fill_p99,
                                      .shown = shows_p99,
                                      .marks = SEE_P99},
                           col_wall = {.column.head = {"wall ns/op", "95% CI"},
                                       .fill = fill_wall,
                                       .shown = tp_any_by_threads,
                                       .marks = SEE_INTERVAL | SEE_WALL},
                           col_speedup = {.column.head = {"vs", "1 thread"},
                                          .fill = fill_speedup,
                                          .shown = tp_any_by_threads,
                                          .marks = SEE_SPEEDUP},
                           col_waited = {.column.head = {"", "waited"},
                                         .fill = fill_waited,
                                         .shown = tp_any_by_threads,
                                         .marks = SEE_WAITED},
                           col_blocked = {.column.head = {"", "blocked"},
                                          .fill = fill_blocked,
                                          .shown = tp_any_by_threads,
                                          .marks = SEE_BLOCKED},
                           col_calls = {.column.head = {"system", "calls"},
                                        .other = {"driver", "calls"},
                                        .fill = fill_calls},
                           col_next_calls = {.column.head = {"warm", "calls"},
                                             .fill = fill_next_calls,
                                             .shown = is_loop},
                           col_reuse = {.column.head = {"", "hit rate"}, .fill = fill_reuse},
                           col_free = {.column.head = {"free at peak", "(largest block)"},
                                       .fill = fill_free,
                                       .shown = by_range,
                                       .marks = SEE_FREE},
                           /* beside what is resident, without the largest block */
    col_free_brief = {.column.head = {"free", "at peak"},
                      .fill = fill_free_bytes,
                      .shown = tp_results_by_resident,
                      .marks = SEE_FREE},
                           col_free_bytes = {.column.head = {"free", "at peak"},
                                             .fill = fill_free_bytes,
                                             .marks = SEE_FREE};

/* The columns, in three orders. Columns that do not fit are dropped from the right, so the least
 * important ones are last: memory details on a host, times on a virtual device, and the slowest
 * calls on a real device, where peaks are ranges and take more room. */
enum { COLUMNS = 20 };
static const struct column *const host_columns[COLUMNS] = {
    &col_name,   &col_resident,   &col_start, &col_total,         &col_peak,
    &col_needed, &col_fits,       &col_wall,  &col_time,          &col_speedup,
    &col_waited, &col_blocked,    &col_p99,   &col_strategy_time, &col_space,
    &col_calls,  &col_next_calls, &col_reuse, &col_free,          &col_free_brief};
static const struct column *const device_columns[COLUMNS] = {
    &col_name,       &col_peak,  &col_needed, &col_fits,          &col_free, &col_calls,
    &col_next_calls, &col_reuse, &col_time,   &col_strategy_time, &col_p99};
static const struct column *const real_columns[COLUMNS] = {
    &col_name, &col_peak,       &col_needed,        &col_time, &col_calls,     &col_reuse,
    &col_fits, &col_free_bytes, &col_strategy_time, &col_p99,  &col_next_calls};

/* Fills the row of what the program itself needs; "-" in columns without such a value. */
static void add_needed_row(const struct tp_result *r, const struct column *column, bool exact,
                           struct tp_table *t)
{
    if (column == &col_peak || column == &col_resident || column == &col_total)
        tp_table_bytes(t, tp_run_trace_peak(r->run), exact);
    else if (column == &col_name)
        tp_table_add(t, "requested");
    else
        tp_table_add(t, column == &col_needed ? "1.00x" : "-");
}

/* Fills the row of the best packing or the lower bound, "-" in columns without such a value. */
static void add_packing_row(const char *name, uint64_t bytes, const struct tp_result *r,
                            const struct column *column, bool exact, struct tp_table *t)
{
    uint64_t needed = tp_run_trace_peak(r->run);
    if (column == &col_peak)
        tp_table_bytes(t, bytes, exact);
    else if (column == &col_needed && needed)
        tp_table_add(t, "%s", tp_times((double)bytes / (double)needed).s);
    else
        tp_table_add(t, "%s", column == &col_name ? name : "-");
}

/* Fills the row of the recorded allocator, from its own records. */
static void add_recorded_row(const struct tp_result *r, const struct column *column, bool exact,
                             struct tp_table *t)
{
    struct tp_recorded_row sum = tp_recorded_row_of(r);
    uint64_t needed = tp_run_trace_peak(r->run);
    bool fewer = sum.takes < sum.allocations;
    if (column == &col_name)
        tp_table_add(t, "recorded, %.20s", r->trace->recorded.by);
    else if (column == &col_peak)
        tp_table_bytes(t, sum.peak, exact);
    else if (column == &col_needed && needed && !sum.ran_out)
        tp_table_add(t, "%s", tp_times((double)sum.peak / (double)needed).s);
    else if (column == &col_free)
        add_free(t, sum.free, exact);
    else if (column == &col_free_bytes)
        tp_table_bytes(t, sum.free.bytes, exact);
    else if (column == &col_calls)
        tp_table_count(t, sum.takes + sum.gives);
    else if (column == &col_reuse && sum.allocations)
        tp_table_add(t, "%s",
                     tp_percent(fewer ? 1 - (double)sum.takes / (double)sum.allocations : 0).s);
    else
        tp_table_add(t, "-");
}

static struct tp_column head_of(const struct column *column, const struct tp_result *results,
                                size_t count)
{
    bool driver = !strcmp(tp_result_callee(&results[count - 1]), "driver");
    bool other = column->is_other ? column->is_other(results, count) : driver;
    struct tp_column head = column->column;
    for (int i = 0; i < 2 && other && column->other[0]; i++)
        snprintf(head.head[i], sizeof head.head[i], "%s", column->other[i]);
    head.to = TP_TO_MARKDOWN;
    return head;
}

/* Chooses the columns of the table in their order, and returns their number. */
static int choose_columns(const struct tp_result *results, size_t count,
                          const struct column *out[COLUMNS])
{
    const struct column *const *columns = host_columns;
    if (tp_result_is_device(results))
        columns = real_columns;
    else if (results->facts->kind == TP_KIND_DEVICE && on_virtual(results, count))
        columns = device_columns;
    int used = 0;
    for (int c = 0; c < COLUMNS && columns[c]; c++)
        if (!columns[c]->shown || columns[c]->shown(results, count))
            out[used++] = columns[c];
    return used;
}

/* Fills the table: the rows of the trace, of the recorded allocator, and of each strategy. The
 * lower bound has a row where it differs from the requested bytes and from the best packing. */
static void fill_table(const struct tp_report *rep, const struct tp_result *results, size_t count,
                       bool exact, const struct column *const *columns, int used,
                       struct tp_table *t)
{
    struct tp_column heads[COLUMNS];
    bool resident = tp_results_by_resident(results, count);
    for (int c = 0; c < used; c++)
        heads[c] = head_of(columns[c], results, count);
    tp_table_columns(t, heads, used);
    for (int c = 0; c < used; c++)
        add_needed_row(results, columns[c], exact, t);
    for (int c = 0; c < used && results->bounds; c++)
        add_packing_row("best packing", tp_result_packed(results), results, columns[c], exact, t);
    uint64_t bound = results->bounds ? tp_result_lower_bound(results) : 0;
    bool between = bound > tp_run_trace_peak(results->run) && bound < tp_result_packed(results);
    for (int c = 0; c < used && between; c++)
        add_packing_row("lower bound", bound, results, columns[c], exact, t);
    for (int c = 0; c < used && tp_has_recorded_row(results); c++)
        add_recorded_row(results, columns[c], exact, t);
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < used; c++)
            columns[c]->fill(&(struct row){rep, &results[i], exact, resident}, t);
}

/* Prints "Trace peak: event 1,844 of 6,486 (+25.4 ms); last allocation there: optimizer.py:78 step
 * (1.2% of the peak), in Optimizer.step". */
static void print_demand(const struct tp_result *r, struct tp_page *page)
{
    const struct tp_demand *peak = tp_program_demand(r->trace->program, 0);
    if (r->facts->kind != TP_KIND_DEVICE || r->facts->devices > 1 || !peak->event) {
        tp_sites_line(r->captured->sites, NOTE, page);
        return;
    }
    const char *phase = tp_captured_phase(r->captured, r->trace, 0);
    tp_page_at(page, NOTE, "Trace peak: event %s of %s%s", tp_count(peak->event).s,
               tp_count(r->facts->events).s, tp_time_at(r->facts, peak->time_ns).s);
    tp_peak_asker(r->captured, peak, 0, page);
    if (phase)
        tp_page_more(page, 8, ", in %s", phase);
    tp_page_line(page);
    tp_sites_line(r->captured->sites, NOTE, page);
}

int tp_report_rows(const struct tp_report *rep, const struct tp_result *results, size_t count,
                   struct tp_page *page, struct tp_err *err)
{
    const struct column *columns[COLUMNS];
    struct tp_table t = {0};
    int status = TP_OK, used = choose_columns(results, count, columns), shown = used;
    unsigned see = 0;
    fill_table(rep, results, count, page->exact, columns, used, &t);
    if (page->form == TP_PAGE_MARKDOWN)
        status = tp_table_markdown(&t, " --- ", " ---: ", page->out, err);
    else
        shown = tp_table_print(&t, page, NOTE, rep->verbose ? TP_TABLE_WIDE : TP_TABLE_FIRST);
    if (page->form == TP_PAGE_MARKDOWN)
        tp_page_line(page);
    for (int c = 0; c < shown; c++)
        see |= columns[c]->marks;
    tp_table_notes(rep, results, count, see, page);
    if (shown < used)
        tp_page_dim(page, NOTE, "%s hidden: -v", tp_plural((uint64_t)(used - shown), "column").s);
    print_demand(&results[0], page);
    tp_page_line(page);
    if (page->form != TP_PAGE_HTML) /* where it is a section of its own */
        tp_report_oom(results, count, page);
    tp_table_drop(&t);
    return status;
}

/* ---- the largest figures ---- */

/* Adds the time without its interval, where it is known. */
static void add_time_figure(const struct tp_result *r, bool strategy_only, struct tp_table *t)
{
    double wall = tp_threads_of(r->run).wall;
    if (!isnan(wall))
        tp_table_figure(t, "wall ns/op", tp_digits(wall).s, "");
    else if (!tp_no_time(r))
        tp_table_figure(t, strategy_only ? "strategy ns/op" : "ns/op",
                        tp_digits(tp_speed_of(r->run).ns).s, "");
}

void tp_report_figures(const struct tp_result *results, size_t count, size_t of, bool exact,
                       struct tp_table *t)
{
    static const struct column *const held[] = {&col_total, &col_resident, &col_peak};
    const struct row row = {NULL, &results[of], exact, tp_results_by_resident(results, count)};
    const struct column *shown[] = {held[0], &col_needed};
    for (int i = 0; !held[i]->shown(results, count);)
        shown[0] = held[++i];
    for (int i = 0; i < 2; i++) {
        char head[TP_COLUMN_TEXT];
        const struct tp_column column = head_of(shown[i], results, count);
        tp_column_text(&column, head);
        tp_table_add(t, "%s", head);
        shown[i]->fill(&row, t);
        tp_table_add(t, "%s", i && tp_run_failed(row.r->run) ? "bad" : "");
    }
    add_time_figure(row.r, on_virtual(results, count), t);
}

/* ---- the screen ---- */

void tp_report_missing(const struct tp_report *r, const struct tp_trace *trace,
                       struct tp_page *page)
{
    bool any = false;
    for (size_t i = 0; i < r->failed_count; i++) {
        const struct tp_failed_row *row = &r->failed[i];
        if (row->trace != trace)
            continue;
        any = true;
        tp_page_styled(page, 0, TP_RED, "not measured");
        bool named = strstr(row->err.text, row->label) != NULL;
        tp_page_at(page, WHY, "%s%s%s", named ? "" : row->label, named ? "" : ": ", row->err.text);
        tp_page_line(page);
    }
    if (any)
        tp_page_line(page);
}

void tp_report_table(const struct tp_report *rep, size_t first, size_t count, struct tp_page *page)
{
    const struct tp_result *results = &rep->results[first];
    const struct tp_result *sourced = tp_first_sourced(results, count);
    struct tp_str one = {0};
    struct tp_pick pick;
    tp_report_head(sourced, tp_report_place(sourced).s, page);
    tp_page_line(page);
    tp_report_rows(rep, results, count, page, NULL);
    tp_report_missing(rep, results->trace, page);
    for (size_t i = 0; rep->verbose && i < count; i++)
        tp_report_verbose(rep, &results[i], page);
    tp_report_pick(results, count, page->exact, &pick);
    tp_pick_print(&pick, page);
    tp_report_warnings(results, count, 0, page);
    tp_strategy_spec_add_name(&one, sourced->spec);
    tp_page_put(page, 0, "%sColumns: tapool help report    One in detail:%s",
                rep->verbose ? "" : "Details: -v    ", tp_str_text(&one));
    tp_str_drop(&one);
}
