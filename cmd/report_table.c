/* Several strategies in one table: rows are strategies, so a sixth does not widen it. */
#include "cmd/pick.h"
#include "cmd/table.h"
#include "cmd/warnings.h"

#include <stdlib.h>
#include <string.h>

static void cell(char *out, const char *text)
{
    snprintf(out, TP_TABLE_CELL, "%s", text);
}

struct column {
    struct tp_column head;
    const char *device_head[2]; /* NULL: the same */
    void (*fill)(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out);
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
    cell(out, tp_bytes(tp_run_peak_reserved(r->run), exact).s);
}

static void fill_needed(const struct tp_report *rep, const struct tp_result *r, bool exact,
                        char *out)
{
    (void)rep;
    (void)exact;
    snprintf(out, TP_TABLE_CELL, "%.3f", tp_run_needed(r->run));
    if (tp_run_failed(r->run) || !tp_run_trace_peak(r->run))
        cell(out, "-");
}

/* A virtual device answers at once: the time of a policy that mostly calls it would flatter it. */
static void fill_time(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)rep;
    (void)exact;
    struct tp_speed s = tp_speed_of(r->run);
    double half = s.high - s.ns > s.ns - s.low ? s.high - s.ns : s.ns - s.low;
    if (tp_result_is_virtual(r) && tp_run_mostly_source(r->run))
        cell(out, "(a)");
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
    struct tp_latency *all = calloc(1, sizeof *all);
    uint64_t ns = 0;
    for (int k = 0; all && k < TP_LAT_KINDS; k++)
        tp_hist_merge(&all->hist, &r->run->latency.kinds[k].hist);
    bool known = all && tp_percentile(all, 0.99, &ns);
    cell(out, known ? tp_latency_text(ns, rep->clock.step_ns).s : "-");
    if (tp_result_is_virtual(r) && tp_run_mostly_source(r->run))
        cell(out, "(a)");
    free(all);
}

static void fill_calls(const struct tp_report *rep, const struct tp_result *r, bool exact,
                       char *out)
{
    (void)rep;
    (void)exact;
    uint64_t calls = tp_run_calls(r->run);
    cell(out, calls == TP_NONE ? "-" : tp_count(calls).s);
}

static void fill_reuse(const struct tp_report *rep, const struct tp_result *r, bool exact,
                       char *out)
{
    (void)rep;
    (void)exact;
    cell(out, tp_percent(tp_run_reuse(r->run)).s);
}

static void fill_idle(const struct tp_report *rep, const struct tp_result *r, bool exact, char *out)
{
    (void)rep;
    uint64_t idle = 0, largest = 0;
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
    if (largest == TP_NONE || !largest)
        cell(out, tp_bytes(idle, exact).s);
    else
        snprintf(out, TP_TABLE_CELL, "%s (%s)", tp_bytes(idle, exact).s,
                 tp_bytes(largest, exact).s);
}

static const struct column columns[] = {
    {{{"", ""}}, {NULL, NULL}, fill_name},
    {{{"peak", "reserved"}}, {NULL, NULL}, fill_peak},
    {{{"times", "needed"}}, {NULL, NULL}, fill_needed},
    {{{"ns per call", "±95 %"}}, {"policy time", "ns, ±95 %"}, fill_time},
    {{{"p99", "ns"}}, {NULL, NULL}, fill_p99},
    {{{"system", "calls"}}, {"driver", "calls"}, fill_calls},
    {{{"", "reuse"}}, {NULL, NULL}, fill_reuse},
    {{{"idle at peak demand", "(largest piece)"}}, {NULL, NULL}, fill_idle},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void fill_needed_row(const struct tp_result *r, bool exact, struct tp_row *row)
{
    for (int c = 0; c < COLUMNS; c++)
        cell(row->cells[c], "-");
    cell(row->cells[0], "needed by program");
    cell(row->cells[1], tp_bytes(tp_run_trace_peak(r->run), exact).s);
    cell(row->cells[2], "1.000");
}

static void print_failures(const struct tp_result *r, struct tp_page *page)
{
    uint64_t failed = tp_run_failed(r->run), first = tp_run_first_failure(r->run);
    if (!failed)
        return;
    tp_page_at(page, 2, "%s: ", r->spec->label);
    tp_page_styled(page, page->column, TP_RED, "OUT OF MEMORY");
    tp_page_more(
        page, 4, ", %s of %s allocations failed, the first at event %s", tp_count(failed).s,
        tp_count(r->facts->ops[TP_ALLOC] + r->facts->ops[TP_REALLOC]).s, tp_count(first).s);
    tp_page_line(page);
}

/* The same warning on several rows is said once, with the first row's sentence. */
static void print_warnings(const struct tp_result *results, size_t count, struct tp_page *page)
{
    for (size_t w = 0; tp_warnings[w]; w++) {
        char text[TP_WARNING_TEXT], others[256] = "";
        const struct tp_result *first = NULL;
        size_t used = 0;
        for (size_t i = 0; i < count; i++) {
            char same[TP_WARNING_TEXT];
            if (!tp_warnings[w]->applies(&results[i], first ? same : text, TP_WARNING_TEXT))
                continue;
            if (first && used < sizeof others)
                used += (size_t)snprintf(others + used, sizeof others - used, "%s%s",
                                         used ? ", " : "", results[i].spec->label);
            first = first ? first : &results[i];
        }
        if (!first)
            continue;
        tp_page_at(page, 0, "! %s", tp_warnings[w]->id);
        tp_page_at(page, page->column < 15 ? 16 : page->column + 2, "%s%s%s%s", text,
                   used ? " Likewise: " : "", others, used ? "." : "");
        tp_page_line(page);
    }
}

static void fill_table(const struct tp_report *rep, const struct tp_result *results, size_t count,
                       bool exact, struct tp_table *t)
{
    bool virtual_source = tp_result_is_virtual(&results[count - 1]);
    for (int c = 0; c < COLUMNS; c++) {
        bool other = columns[c].device_head[0] &&
                     (c == 3 ? virtual_source : results[0].facts->kind == TP_KIND_DEVICE);
        t->columns[c] = columns[c].head;
        if (other)
            t->columns[c] =
                (struct tp_column){{columns[c].device_head[0], columns[c].device_head[1]}};
    }
    t->column_count = COLUMNS;
    fill_needed_row(&results[0], exact, &t->rows[0]);
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < COLUMNS; c++)
            columns[c].fill(rep, &results[i], exact, t->rows[i + 1].cells[c]);
    t->row_count = (int)count + 1;
}

static void print_note(struct tp_page *page, const char *text)
{
    tp_page_styled(page, 2, TP_DIM, "%s", text);
    tp_page_line(page);
}

static void print_notes(const struct tp_result *results, size_t count, int hidden,
                        struct tp_page *page)
{
    bool flattered = false, once = false, informative = false;
    for (size_t i = 0; i < count; i++) {
        bool mostly_source =
            tp_result_is_virtual(&results[i]) && tp_run_mostly_source(results[i].run);
        flattered |= mostly_source;
        once |= !mostly_source && !tp_run_has_interval(results[i].run);
        informative |= (results[i].run->flags & TP_RUN_INFORMATIVE) != 0;
    }
    if (flattered)
        print_note(page, "(a) nearly every call goes to the source, whose cost is not simulated.");
    if (once)
        print_note(page, "(b) one replay, longer than --min-time: cold, page faults included.");
    if (results[0].run->device_count > 1)
        print_note(page, "Bytes are sums over the devices, each at its own moment; one by one: -v");
    if (informative)
        print_note(page, "A real allocator's memory is by its own statistics, its calls are not "
                         "seen.");
    if (hidden) {
        char text[64];
        snprintf(text, sizeof text, "%d column%s hidden: -v", hidden, hidden == 1 ? "" : "s");
        print_note(page, text);
    }
    for (size_t i = 0; i < count; i++)
        print_failures(&results[i], page);
}

void tp_report_table(const struct tp_report *rep, size_t first, size_t count, struct tp_page *page)
{
    const struct tp_result *results = &rep->results[first];
    const struct tp_result *sourced = &results[0];
    for (size_t i = count; i-- > 0;)
        if (!(results[i].spec->strategy->caps & TP_CAP_FOREIGN))
            sourced = &results[i]; /* the first that has a source at all */
    struct tp_table t = {.rows = calloc(count + 1, sizeof *t.rows)};
    if (!t.rows)
        return;
    fill_table(rep, results, count, page->exact, &t);
    bool foreign = (sourced->spec->strategy->caps & TP_CAP_FOREIGN) != 0;
    tp_report_head(sourced, foreign ? "host" : sourced->source->layers[0].ops->name, page);
    tp_page_line(page);
    int hidden = tp_table_print(&t, page, 2, rep->verbose);
    print_notes(results, count, hidden, page);
    tp_page_line(page);
    for (size_t i = 0; rep->verbose && i < count; i++)
        tp_report_verbose(rep, &results[i], page);
    tp_pick_print(results, count, page);
    print_warnings(results, count, page);
    tp_page_at(page, 0, "%sNumbers: tapool help report    One policy in detail: -s %s alone",
               rep->verbose ? "" : "Details: -v    ", sourced->spec->strategy->name);
    tp_page_line(page);
    free(t.rows);
}
