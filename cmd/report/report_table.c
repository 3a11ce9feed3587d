/* Several strategies in one table: rows are strategies, so a sixth does not widen it. */
#include "cmd/report/report_table.h"

#include "cmd/measure/warnings.h"
#include "cmd/report/pick.h"
#include "cmd/report/report.h"
#include "cmd/report/report_head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void cell(char *out, const char *text)
{
    snprintf(out, TP_TABLE_CELL, "%s", text);
}

/* Near 1 the third decimal tells policies apart. */
static void times_cell(double times, char *out)
{
    if (times < 10)
        snprintf(out, TP_TABLE_CELL, "%.3f", times);
    else
        cell(out, tp_digits(times).s);
}

struct column {
    struct tp_column head;
    const char *device_head[2]; /* NULL: the same */
    void (*fill)(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out);
    bool (*shown)(const struct tp_result *results, size_t count); /* NULL: always */
};

static void fill_name(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)rep;
    (void)exact;
    cell(out, r->spec->label);
}

static void fill_peak(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)rep;
    struct tp_range peak = tp_run_reserved(r->run);
    cell(out, tp_range_text(&peak, exact).s);
}

static void fill_fits(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)rep;
    uint64_t fits = tp_run_fits_in(r->run);
    cell(out, fits == TP_NONE ? "-" : tp_bytes(fits, exact).s);
}

static void fill_needed(const struct tp_report *rep, const struct tp_result *r, bool exact,
                        char *out)
{
    (void)rep;
    (void)exact;
    double needed = tp_run_needed(r->run);
    times_cell(needed, out);
    if (tp_run_failed(r->run) || isnan(needed))
        cell(out, "-");
}

/* A virtual device answers at once: the time of a policy that mostly calls it would flatter it. */
static void fill_time(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)rep;
    (void)exact;
    struct tp_speed s = tp_speed_of(r->run);
    double half = s.high - s.ns > s.ns - s.low ? s.high - s.ns : s.ns - s.low;
    if (!r->run->throughput.runs.count)
        cell(out, "-");
    else if (tp_result_is_virtual(r) && tp_run_mostly_source(r->run))
        cell(out, "(a)");
    else if (isnan(s.ns))
        cell(out, "(c)");
    else if (!tp_run_has_interval(r->run)) /* one measurement has no interval */
        snprintf(out, TP_TABLE_CELL, "%s (b)", tp_digits(s.ns).s);
    else
        snprintf(out, TP_TABLE_CELL, "%s ±%.*f", tp_digits(s.ns).s,
                 half >= 10    ? 0
                 : half >= 1   ? 1
                 : half >= 0.1 ? 2
                               : 3,
                 half);
}

static void fill_p99(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)exact;
    struct tp_latency all;
    uint64_t ns = 0;
    tp_run_latency(r->run, TP_LAT_KINDS, &all);
    bool known = tp_percentile(&all, 0.99, &ns);
    cell(out, known ? tp_latency_text(ns, rep->clock.step_ns).s : "-");
    if (tp_result_is_virtual(r) && tp_run_mostly_source(r->run))
        cell(out, "(a)");
}

static void fill_calls(const struct tp_report *rep, const struct tp_result *r, bool exact,
                       char *out)
{
    (void)rep;
    (void)exact;
    uint64_t calls = tp_run_calls(r->run);
    cell(out, calls == TP_NONE ? "-" : tp_count(calls).s);
}

/* What decides of a loop. */
static void fill_next_calls(const struct tp_report *rep, const struct tp_result *r, bool exact,
                            char *out)
{
    (void)rep;
    (void)exact;
    uint64_t calls = tp_run_next_calls(r->run);
    cell(out, calls == TP_NONE ? "-" : tp_count(calls).s);
}

static void fill_reuse(const struct tp_report *rep, const struct tp_result *r, bool exact,
                       char *out)
{
    (void)rep;
    (void)exact;
    cell(out, tp_percent(tp_run_reuse(r->run)).s);
}

/* "1.206 MiB (680 KiB)" */
static void idle_cell(uint64_t idle, uint64_t largest, bool exact, char *out)
{
    if (idle == TP_NONE)
        cell(out, "-");
    else if (largest == TP_NONE || !largest)
        cell(out, tp_bytes(idle, exact).s);
    else
        snprintf(out, TP_TABLE_CELL, "%s (%s)", tp_bytes(idle, exact).s,
                 tp_bytes(largest, exact).s);
}

static void fill_idle(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    uint64_t idle = 0, largest = 0;
    (void)rep;
    for (uint32_t d = 0; d < r->run->device_count; d++) {
        const struct tp_at_peak *at = &r->run->devices[d].at_peak;
        if (at->idle == TP_NONE) {
            cell(out, "-"); /* stopped before */
            return;
        }
        idle += at->idle;
        if (at->largest == TP_NONE || largest == TP_NONE)
            largest = TP_NONE;
        else if (at->largest > largest)
            largest = at->largest;
    }
    idle_cell(idle, largest, exact, out);
}

/* The same without the largest piece, where room is scarce. */
static void fill_idle_alone(const struct tp_report *rep, const struct tp_result *r, bool exact,
                            char *out)
{
    fill_idle(rep, r, exact, out);
    char *more = strstr(out, " (");
    if (more)
        *more = '\0';
}

/* Where room is scarce and nothing is decided by it. */
static void fill_policy_time(const struct tp_report *rep, const struct tp_result *r, bool exact,
                             char *out)
{
    (void)rep;
    (void)exact;
    double ns = tp_speed_of(r->run).ns;
    bool timed = r->run->throughput.runs.count;
    cell(out, !timed                         ? "-"
              : tp_run_mostly_source(r->run) ? "(a)"
              : isnan(ns)                    ? "(c)"
                                             : tp_digits(ns).s);
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

/* Its place is needed where `fits in` stands. */
static bool shows_p99(const struct tp_result *results, size_t count)
{
    return !any_fits(results, count);
}

static const struct column
    col_name = {{{"", ""}}, {NULL, NULL}, fill_name, NULL},
    col_peak = {{{"peak", "reserved"}}, {NULL, NULL}, fill_peak, NULL},
    col_needed = {{{"times", "needed"}}, {NULL, NULL}, fill_needed, NULL},
    col_fits = {{{"fits", "in"}}, {NULL, NULL}, fill_fits, any_fits},
    col_time = {{{"ns per call", "±95 %"}}, {"policy time", "ns, ±95 %"}, fill_time, is_wide},
    col_policy_time = {{{"policy", "time, ns"}}, {NULL, NULL}, fill_policy_time, is_narrow},
    col_p99 = {{{"p99", "ns"}}, {NULL, NULL}, fill_p99, shows_p99},
    col_calls = {{{"system", "calls"}}, {"driver", "calls"}, fill_calls, NULL},
    col_next_calls = {{{"next", "pass"}}, {NULL, NULL}, fill_next_calls, is_loop},
    col_reuse = {{{"", "reuse"}}, {NULL, NULL}, fill_reuse, NULL},
    col_idle = {{{"idle at peak demand", "(largest piece)"}}, {NULL, NULL}, fill_idle, NULL},
    col_idle_alone = {{{"idle at", "peak demand"}}, {NULL, NULL}, fill_idle_alone, NULL};

/* What does not fit is dropped from the right: on a host memory, on a virtual device times, on a
 * real one, where peaks may be ranges, the slowest calls. */
enum { COLUMNS = 11 };
static const struct column *const host_columns[COLUMNS] = {
    &col_name, &col_peak,  &col_needed,     &col_fits,  &col_time, &col_policy_time,
    &col_p99,  &col_calls, &col_next_calls, &col_reuse, &col_idle};
static const struct column *const device_columns[COLUMNS] = {
    &col_name,       &col_peak,  &col_needed, &col_fits,        &col_idle, &col_calls,
    &col_next_calls, &col_reuse, &col_time,   &col_policy_time, &col_p99};
static const struct column *const real_columns[COLUMNS] = {
    &col_name, &col_peak,       &col_needed,      &col_time, &col_calls,     &col_reuse,
    &col_fits, &col_idle_alone, &col_policy_time, &col_p99,  &col_next_calls};

/* What the program needs, in the columns that have such a thing. */
static void fill_needed_row(const struct tp_result *r, bool exact, const struct column *column,
                            char *out)
{
    cell(out, "-");
    if (column == &col_name)
        cell(out, "needed by program");
    else if (column == &col_peak)
        cell(out, tp_bytes(tp_run_trace_peak(r->run), exact).s);
    else if (column == &col_needed)
        cell(out, "1.000");
}

/* Sums over the devices of what really was. */
struct recorded {
    uint64_t peak, takes, gives, allocations;
    uint64_t idle, largest; /* where the program needed most; TP_NONE: not known */
    bool ran_out;           /* there */
};

static struct recorded recorded_of(const struct tp_result *r)
{
    struct recorded sum = {.allocations = r->facts->ops[TP_ALLOC] + r->facts->ops[TP_REALLOC] -
                                          tp_captured_failures(r->captured).played};
    bool unknown = false, silent = false;
    for (uint16_t i = 0; i < r->captured->count; i++) {
        const struct tp_captured_device *d = &r->captured->devices[i];
        uint64_t needed = tp_program_demand(r->trace->program, i)->bytes;
        sum.peak += d->peak_reserved;
        uint64_t had = needed - d->demand_failed;
        sum.idle += d->at_demand > had ? d->at_demand - had : 0;
        unknown |= d->at_demand < had && d->played;
        silent |= d->largest == TP_RECORDED_UNKNOWN;
        sum.largest = d->largest > sum.largest ? d->largest : sum.largest;
        sum.takes += d->takes + d->maps; /* each is a call */
        sum.gives += d->gives + d->unmaps;
        sum.ran_out |= d->played && d->at_demand < needed;
    }
    sum.idle = unknown ? TP_NONE : sum.idle;
    sum.largest = unknown || silent ? TP_NONE : sum.largest;
    return sum;
}

/* Without what was live before, what was reserved for it does not compare. */
static bool has_recorded(const struct tp_result *r)
{
    return r->captured->known && !r->trace->initial_dropped;
}

/* What the recorded allocator held, by its own records. */
static void fill_recorded_row(const struct tp_result *r, bool exact, const struct column *column,
                              char *out)
{
    struct recorded sum = recorded_of(r);
    uint64_t needed = tp_run_trace_peak(r->run);
    cell(out, "-");
    if (column == &col_name)
        snprintf(out, TP_TABLE_CELL, "recorded, %.20s", r->trace->recorded.by);
    else if (column == &col_peak)
        cell(out, tp_bytes(sum.peak, exact).s);
    else if (column == &col_needed && needed && !sum.ran_out)
        times_cell((double)sum.peak / (double)needed, out);
    else if (column == &col_idle || column == &col_idle_alone)
        idle_cell(sum.idle, column == &col_idle ? sum.largest : TP_NONE, exact, out);
    else if (column == &col_calls)
        cell(out, tp_count(sum.takes + sum.gives).s);
    else if (column == &col_reuse && sum.allocations)
        cell(out, tp_percent(sum.takes < sum.allocations
                                 ? 1 - (double)sum.takes / (double)sum.allocations
                                 : 0)
                      .s);
}

static void print_warnings(const struct tp_result *results, size_t count, struct tp_page *page)
{
    for (size_t w = 0; tp_warnings[w]; w++) {
        char text[TP_WARNINGS_TEXT];
        if (!tp_warning_of_all(tp_warnings[w], results, count, text))
            continue;
        tp_page_at(page, 0, "! %s", tp_warnings[w]->id);
        tp_page_put(page, page->column < 15 ? 16 : page->column + 2, "%s", text);
    }
}

static struct tp_column head_of(const struct column *column, const struct tp_result *results,
                                size_t count)
{
    bool driver = !strcmp(tp_result_callee(&results[count - 1]), "driver");
    bool other = column == &col_time ? on_virtual(results, count) : driver;
    if (!column->device_head[0] || !other)
        return column->head;
    return (struct tp_column){{column->device_head[0], column->device_head[1]}};
}

/* Those that such a table has, in their order; how many there are. */
static int choose_columns(const struct tp_result *results, size_t count,
                          const struct column *out[COLUMNS])
{
    bool device = results->facts->kind == TP_KIND_DEVICE && on_virtual(results, count);
    const struct column *const *columns = tp_result_is_device(results) ? real_columns
                                          : device                     ? device_columns
                                                                       : host_columns;
    int used = 0;
    for (int c = 0; c < COLUMNS; c++)
        if (!columns[c]->shown || columns[c]->shown(results, count))
            out[used++] = columns[c];
    return used;
}

void tp_table_fill(const struct tp_report *rep, const struct tp_result *results, size_t count,
                   bool exact, struct tp_table *t)
{
    const struct column *columns[COLUMNS];
    int first = has_recorded(results) ? 2 : 1, used = choose_columns(results, count, columns);
    for (int c = 0; c < used; c++) {
        const struct column *column = columns[c];
        int at = t->column_count++;
        t->columns[at] = head_of(column, results, count);
        fill_needed_row(&results[0], exact, column, t->rows[0].cells[at]);
        if (first == 2)
            fill_recorded_row(&results[0], exact, column, t->rows[1].cells[at]);
        for (size_t i = 0; i < count; i++)
            column->fill(rep, &results[i], exact, t->rows[first + (int)i].cells[at]);
    }
    t->row_count = first + (int)count;
}

/* "Peak: event 1,844 of 6,486 (+25.4 ms); the last to ask there: optimizer.py:78 step, for 1.2 % of
 * it; in Optimizer.step" */
void tp_table_demand(const struct tp_result *r, struct tp_page *page)
{
    const struct tp_demand *peak = tp_program_demand(r->trace->program, 0);
    if (r->facts->kind != TP_KIND_DEVICE || r->facts->devices > 1 || !peak->event)
        return;
    const char *phase = tp_captured_phase(r->captured, r->trace, 0);
    tp_page_at(page, 2, "Peak: event %s of %s", tp_count(peak->event).s,
               tp_count(r->facts->events).s);
    if (r->facts->time_known)
        tp_page_more(page, 8, " (+%s)", tp_duration(peak->time_ns).s);
    tp_peak_asker(r->captured, peak, 0, page);
    if (phase)
        tp_page_more(page, 8, ", in %s", phase);
    tp_page_line(page);
}

static void print_note(struct tp_page *page, const char *text)
{
    tp_page_dim(page, 2, "%s", text);
}

static void print_recorded_notes(const struct tp_result *r, bool idle, struct tp_page *page)
{
    struct recorded sum = recorded_of(r);
    print_note(page, idle ? "The recorded row is from the file; its idle memory holds what was "
                            "rounded up or not split off."
                          : "The recorded row is from the file.");
    if (idle && sum.idle != TP_NONE && sum.largest == TP_NONE)
        print_note(page, r->trace->recorded.has_end
                             ? "Its largest piece is not known: what the file says of addresses "
                               "does not add up."
                             : "Its largest piece is not known: the file does not say where its "
                               "segments lay.");
    if (tp_result_unseen(r))
        print_note(page, "It also holds what was live before the first event, which is not in the "
                         "trace.");
    if (sum.ran_out)
        print_note(page, "It is less than the program needed: the recorded program ran out of "
                         "memory there.");
    else if (sum.peak < tp_run_trace_peak(r->run))
        print_note(page, "It is less than the program needed: the file's segments and its events "
                         "disagree.");
}

static void print_flattered(const struct tp_result *r, struct tp_page *page)
{
    char text[96];
    snprintf(text, sizeof text,
             "(a) over half of the allocations go to the %s, whose cost is not simulated.",
             tp_result_callee(r));
    print_note(page, text);
}

static void print_untimed(const struct tp_result *r, struct tp_page *page)
{
    char text[96];
    snprintf(text, sizeof text, "A time of '-' was %s.", tp_result_no_speed(r));
    print_note(page, text);
}

static void print_sums(const struct tp_result *r, struct tp_page *page)
{
    char text[96];
    snprintf(text, sizeof text,
             "Bytes are sums over the %ss, each at its own moment; one by one: -v",
             tp_part_name(r->trace, "device", "memory space"));
    print_note(page, text);
}

/* What is different on a real device. */
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
    if (pool) {
        char text[TP_LABEL_MAX + 128];
        snprintf(text, sizeof text,
                 "%s's peak is the high-water mark of the driver's pool, which tells neither what "
                 "is idle in it nor what it reuses.",
                 pool->spec->label);
        print_note(page, text);
    }
    if (ranges)
        print_note(page, "A peak that differs between the passes is given as a range.");
}

/* Which library is behind the name of a real allocator. */
static void print_served(const struct tp_result *results, size_t count, struct tp_page *page)
{
    char names[TP_SERVED_MAX][TP_LIBRARY], text[TP_SERVED_TEXT];
    struct tp_served rows[TP_SERVED_MAX];
    size_t used = 0;
    for (size_t i = 0; i < count && used < TP_SERVED_MAX; i++) {
        const struct tp_strategy_spec *spec = results[i].spec;
        const char *library = tp_strategy_library(spec->strategy, names[used], TP_LIBRARY);
        if (library)
            rows[used++] = (struct tp_served){spec->label, library,
                                              tp_run_peak_reserved(results[i].run) != TP_NONE};
    }
    for (size_t i = 0; i < used; i++)
        if (tp_served_note(rows, used, i, text, sizeof text))
            print_note(page, text);
}

/* Its own peak is higher than what it held when the program needed most. */
static bool peaks_elsewhere(const struct tp_run *run)
{
    bool apart = false;
    for (uint32_t d = 0; d < run->device_count; d++)
        apart |= run->devices[d].at_peak.reserved != TP_NONE &&
                 run->devices[d].peak_reserved != TP_NONE &&
                 run->devices[d].peak_reserved > run->devices[d].at_peak.reserved;
    return apart;
}

/* The columns that found room and have marks of their own. */
struct visible {
    bool time; /* with its interval or without */
    bool interval, p99, idle;
};

static struct visible visible_of(const struct tp_result *results, size_t count, int hidden)
{
    const struct column *columns[COLUMNS];
    struct visible see = {false, false, false, false};
    int used = choose_columns(results, count, columns);
    for (int c = 0; c < used - hidden; c++) {
        see.interval |= columns[c] == &col_time;
        see.time |= columns[c] == &col_time || columns[c] == &col_policy_time;
        see.p99 |= columns[c] == &col_p99;
        see.idle |= columns[c] == &col_idle || columns[c] == &col_idle_alone;
    }
    return see;
}

void tp_table_notes(const struct tp_result *results, size_t count, int hidden, struct tp_page *page)
{
    const struct visible see = visible_of(results, count, hidden);
    const struct tp_result *flattered = NULL, *untimed = NULL;
    bool once = false, drowned = false, apart = false;
    for (size_t i = 0; i < count; i++) {
        bool timed = results[i].run->throughput.runs.count;
        bool mostly_source =
            tp_result_is_virtual(&results[i]) && tp_run_mostly_source(results[i].run);
        untimed = timed ? untimed : &results[i];
        flattered = timed && mostly_source ? &results[i] : flattered;
        bool nothing = timed && !mostly_source && isnan(tp_speed_of(results[i].run).ns);
        drowned |= nothing;
        once |= timed && !mostly_source && !nothing && !tp_run_has_interval(results[i].run);
        apart |= peaks_elsewhere(results[i].run);
    }
    if (untimed && see.time)
        print_untimed(untimed, page);
    if (flattered && (see.time || see.p99))
        print_flattered(flattered, page);
    if (once && see.interval)
        print_note(page, tp_result_is_device(results)
                             ? "(b) one replay, longer than --min-time: cold."
                             : "(b) one replay, longer than --min-time: cold, page faults "
                               "included.");
    if (drowned && see.time)
        print_note(page,
                   "(c) no more than tapool's own share, which is taken off: too noisy, or too "
                   "few calls.");
    if (apart)
        print_note(page, "Reserved is each one's own peak, which may lie at another event than the "
                         "program's.");
    if (results[0].run->device_count > 1)
        print_sums(results, page);
    if (results[0].run->latency.sampled && see.p99) {
        char text[96];
        snprintf(text, sizeof text, "p99 is that of the first %s calls.",
                 tp_count(results[0].run->latency.sampled).s);
        print_note(page, text);
    }
    if (has_recorded(&results[0]))
        print_recorded_notes(&results[0], see.idle, page);
    print_device_notes(results, count, page);
    print_served(results, count, page);
    if (hidden) {
        char text[64];
        snprintf(text, sizeof text, "%d column%s hidden: -v", hidden, hidden == 1 ? "" : "s");
        print_note(page, text);
    }
}

void tp_report_table(const struct tp_report *rep, size_t first, size_t count, struct tp_page *page)
{
    const struct tp_result *results = &rep->results[first];
    const struct tp_result *sourced = tp_first_sourced(results, count);
    struct tp_pick pick;
    struct tp_table t = {.rows = calloc(count + 2, sizeof *t.rows)};
    if (!t.rows)
        return;
    tp_table_fill(rep, results, count, page->exact, &t);
    char label[TP_LABEL_MAX];
    tp_report_place(sourced, label, sizeof label);
    tp_report_head(sourced, label, page);
    tp_page_line(page);
    int hidden = tp_table_print(&t, page, 2, rep->verbose);
    tp_table_notes(results, count, hidden, page);
    tp_table_demand(&results[0], page);
    tp_page_line(page);
    tp_report_oom(results, count, page);
    for (size_t i = 0; rep->verbose && i < count; i++)
        tp_report_verbose(rep, &results[i], page);
    tp_report_pick(results, count, page->exact, &pick);
    tp_pick_print(&pick, page);
    print_warnings(results, count, page);
    tp_page_put(page, 0, "%sNumbers: tapool help report    One policy in detail: -s %s alone",
                rep->verbose ? "" : "Details: -v    ", sourced->spec->strategy->name);
    free(t.rows);
}
