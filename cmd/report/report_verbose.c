/* What -v adds to the screens: all options, exact bytes, the hash of the program, memory over time,
 * latencies by size, and the slowest events. */
#include "cmd/report/curve_text.h"
#include "cmd/report/report.h"
#include "cmd/report/report_head.h"
#include "cmd/results/figures.h"
#include "cmd/results/metrics.h"
#include "cmd/ui/table.h"

#include <string.h>

enum { FIELD = 4, HASH = 14, VALUE = 30, PHASE_NAME = 30, CURVE = 18, CURVE_ROWS = 9 };

#define line(page, name, ...) tp_page_row(page, FIELD, name, VALUE, __VA_ARGS__)

/* Prints options as a user would type them; a long list is wrapped. */
static void options_line(struct tp_page *page, const char *name, const struct tp_opt *rows,
                         const void *opts)
{
    char text[2048];
    tp_page_at(page, FIELD, "%s", name);
    tp_page_at(page, VALUE, "%s", rows ? "" : "none");
    if (tp_opts_text(rows, opts, text, sizeof text)) {
        for (char *from = text, *comma; *from; from = comma) {
            comma = strchr(from, ',');
            size_t length = comma ? (size_t)(comma + 1 - from) : strlen(from);
            bool first = from == text;
            if (!first && page->column + (int)length > page->width - 1) {
                tp_page_line(page);
                tp_page_at(page, VALUE, "%s", "");
            }
            tp_page_at(page, page->column, "%.*s", (int)length, from);
            comma = from + length;
        }
    }
    tp_page_line(page);
}

static void print_identity(const struct tp_report *rep, const struct tp_result *r,
                           struct tp_page *page)
{
    const struct tp_program_facts *f = r->facts;
    uint64_t objects = tp_captured_objects(r->captured, f);
    options_line(page, "options", r->spec->strategy->options, r->spec->opts);
    if (!tp_result_is_foreign(r)) {
        line(page, "source", "%s", r->source->name);
        for (uint32_t i = 0; i < r->source->count; i++) {
            const struct tp_source_layer *l = &r->source->layers[i];
            if (l->ops->options)
                options_line(page, l->ops->name, l->ops->options, l->opts);
        }
    }
    if (tp_result_is_device(r))
        tp_device_verbose(r, page);
    tp_page_row(page, FIELD, "program", HASH, "%s", tp_hash_text(f).s);
    line(page, "objects", "%s; %s live at the end (%s), at most %s at once",
         tp_plural(objects, "object").s, tp_count(f->live_at_end).s,
         tp_bytes(f->live_at_end_bytes, false).s, tp_count(tp_captured_at_once(r->captured, f)).s);
    line(page, "clock", "%s: step %s ns, a reading costs %s ns; an empty alloc reads %s ns",
         rep->clock.name, tp_digits(rep->clock.step_ns).s, tp_digits(rep->clock.stamp_ns).s,
         tp_digits(r->run->latency.empty_ns[TP_LAT_ALLOC]).s);
    line(page, "seed", "%llu", (unsigned long long)rep->seed);
}

static void bytes_line(struct tp_page *page, const char *name, uint64_t bytes, uint64_t event)
{
    if (bytes != TP_NONE)
        line(page, name, "%s%s%s", tp_bytes(bytes, true).s, event == TP_NONE ? "" : ", at event ",
             event == TP_NONE ? "" : tp_count(event).s);
}

static void share_line(struct tp_page *page, const char *name, double at_peak, double weighted)
{
    line(page, name, "%s at the trace peak, %s weighted", tp_percent(at_peak).s,
         tp_percent(weighted).s);
}

static void print_failures(const struct tp_device_run *d, struct tp_page *page)
{
    struct tp_str s = {0};
    tp_str_add(&s, "%s", tp_count(d->failed_allocations).s);
    for (int c = 0; c < TP_OOM_CLASSES; c++)
        if (d->failed_by[c])
            tp_str_add(&s, ", %s by %s", tp_count(d->failed_by[c]).s, tp_oom_names[c]);
    if (d->failed_initial)
        tp_str_add(&s, "; %s of them initial blocks", tp_count(d->failed_initial).s);
    line(page, "failed_allocations", "%s", tp_str_text(&s));
    tp_str_drop(&s);
}

static void print_table(struct tp_table *t, struct tp_page *page)
{
    tp_table_print(t, page, FIELD, TP_TABLE_WIDE);
    tp_table_drop(t);
}

/* Prints the peaks of each phase. */
static void print_phases(const struct tp_result *r, const struct tp_device_run *d,
                         struct tp_page *page)
{
    static const struct tp_column columns[] = {{.head = {"", "phases"}, .width = PHASE_NAME + 2},
                                               {.head = {"", "times"}, .width = 8},
                                               {.head = {"", "requested"}, .width = 12},
                                               {.head = {"", "reserved"}, .width = 12}};
    struct tp_table t = {0};
    if (!d->phase_count)
        return;
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < d->phase_count; i++) {
        const struct tp_phase *phase = &d->phases[i];
        const char *name = tp_mark_phase(r->trace->program, phase->mark);
        if (!name)
            name = phase->mark == UINT32_MAX ? "before the first mark" : "outside all phases";
        tp_table_add(&t, "  %.*s", (int)tp_text_bytes(name, PHASE_NAME), name);
        tp_table_count(&t, phase->times);
        tp_table_bytes(&t, phase->peak_requested, false);
        tp_table_bytes(&t, phase->peak_reserved, false);
    }
    print_table(&t, page);
    if (d->phase_count == TP_PHASES && r->facts->marks > TP_PHASES - 1)
        line(page, "  more phases", "%s", tp_count(r->facts->marks - (d->phase_count - 1)).s);
}

static uint64_t whole(const struct tp_metric *f, const struct tp_figure_of *of)
{
    return tp_figure_value(f, of).whole;
}

/* Prints each figure in bytes that is a direct member of "memory", with the event at which it was
 * reached if the next row of the registry is that event. */
static void print_bytes(const struct tp_result *r, const struct tp_device_run *d,
                        struct tp_page *page)
{
    const struct tp_figure_of of = {r, d};
    for (size_t i = 0; i + 1 < tp_figure_count; i++) {
        const struct tp_metric *f = tp_figures[i], *next = tp_figures[i + 1];
        if (f->unit == TP_UNIT_BYTES && tp_figure_is_member(f, "memory.", true) &&
            f->type == TP_FIGURE_WHOLE)
            bytes_line(page, f->name, whole(f, &of),
                       tp_figure_is_event(next) ? whole(next, &of) : TP_NONE);
    }
}

/* Draws the requested bytes as an area and the reserved ones as a line, where that can be shown and
 * is known. */
static void print_curve(const struct tp_result *r, const struct tp_device_run *d,
                        struct tp_page *page)
{
    struct tp_stretch area[TP_CURVE_TEXT_DOTS], line[TP_CURVE_TEXT_DOTS];
    struct tp_columns columns;
    struct tp_err err = {0};
    uint32_t dots = tp_curve_text_dots(page, CURVE);
    if (page->no_curves || !d->curve.count || !tp_braille_can_show())
        return;
    if (tp_columns_spread(r->trace->program, dots, &columns, &err)) {
        line(page, "memory over time", "not drawn: %s", err.text);
        return;
    }
    tp_columns_thin(&columns, &d->curve, TP_CURVE_REQUESTED, area);
    tp_columns_thin(&columns, &d->curve, TP_CURVE_RESERVED, line);
    uint64_t high = line[tp_columns_peak(line, dots)].high;
    uint64_t requested = area[tp_columns_peak(area, dots)].high;
    high = requested > high ? requested : high;
    uint64_t low = tp_curve_text_floor(area, dots, high);
    line(page, "memory over time", "shaded: requested; line: reserved%s",
         low ? "; not from 0 B" : "");
    tp_curve_text_print(&(struct tp_curve_text){.name = FIELD + 2,
                                                .column = CURVE,
                                                .rows = CURVE_ROWS,
                                                .area = area,
                                                .line = line,
                                                .low = low,
                                                .high = high,
                                                .left = tp_curve_text_left(&columns),
                                                .right = tp_curve_text_right(&columns)},
                        page);
}

static void print_device(const struct tp_result *r, const struct tp_device_run *d,
                         struct tp_page *page)
{
    print_bytes(r, d, page);
    line(page, "overhead", "%s", tp_times(d->overhead).s);
    share_line(page, "internal_fragmentation", d->internal_fragmentation,
               d->internal_fragmentation_weighted);
    share_line(page, "unused_reserved", d->unused_reserved, d->unused_reserved_weighted);
    line(page, "external_fragmentation", "%s of free spans (%s)",
         tp_percent(d->external_fragmentation).s,
         d->at_peak.span == TP_NONE ? "not known" : tp_bytes(d->at_peak.span, false).s);
    print_failures(d, page);
    print_phases(r, d, page);
    print_curve(r, d, page);
    if (r->run->flags & TP_RUN_DEVICE)
        tp_device_verbose_run(d, page);
    if (d->gets == TP_NONE)
        return;
    line(page, "driver_calls", "%s get (%s), %s put (%s), %s wait, %s fallback; %s warm",
         tp_count(d->gets).s, tp_bytes(d->get_bytes, false).s, tp_count(d->puts).s,
         d->put_bytes == TP_NONE ? "-" : tp_bytes(d->put_bytes, false).s, tp_count(d->waits).s,
         tp_count(d->fallbacks).s,
         d->next_calls == TP_NONE ? "not known" : tp_count(d->next_calls).s);
}

static void print_spread(const char *name, const struct tp_spread *s, struct tp_page *page)
{
    if (s->low == s->high)
        bytes_line(page, name, s->median, TP_NONE);
    else
        line(page, name, "%s (%s to %s)", tp_bytes(s->median, true).s, tp_bytes(s->low, true).s,
             tp_bytes(s->high, true).s);
}

static void print_resident(const struct tp_run *run, struct tp_page *page)
{
    const struct tp_resident *resident = &run->resident;
    if (!(run->passes & TP_PASS_RESIDENT))
        return;
    if (!resident->passes)
        line(page, "resident", "not known: %s",
             resident->threads ? "this kernel does not report it"
                               : "too many threads for this machine");
    else
        line(page, "resident", "%s by %s, every block written, huge pages %s",
             resident->passes == 1 ? "1 pass" : "median of 3 passes",
             tp_plural(resident->threads, "thread").s,
             resident->huge_pages ? "as configured" : "off");
    if (!resident->passes)
        return;
    print_spread("  at trace peak", &resident->at_peak, page);
    print_spread("  peak", &resident->peak, page);
    print_spread("  end", &resident->end, page);
}

static void print_mapped(const struct tp_run *run, struct tp_page *page)
{
    const struct tp_mapped *m = &run->mapped;
    if (!(run->passes & TP_PASS_MAPPED))
        return;
    if (!m->known) {
        line(page, "mapped", "not known: the process cannot be traced (%s)", tp_mapped_why(m));
        return;
    }
    line(page, "mapped", "%s above the start, by %s; %s get calls, %s put calls%s",
         tp_bytes(m->peak - m->base, true).s, tp_plural(m->threads, "thread").s,
         tp_count(m->gets).s, tp_count(m->puts).s, m->fixed ? "" : "; addresses were randomised");
    bytes_line(page, "  at trace peak", m->at_peak, TP_NONE);
    bytes_line(page, "  end", m->end, TP_NONE);
}

static void print_sizes(const struct tp_report *rep, const struct tp_result *r,
                        struct tp_page *page)
{
    static const struct tp_column columns[] = {{.head = {"", "alloc by size"}, .width = 20},
                                               {.head = {"", "calls"}, .width = 12},
                                               {.head = {"", "p50"}, .width = 7},
                                               {.head = {"", "p99"}, .width = 7},
                                               {.head = {"", "max"}, .width = 12}};
    const double fractions[] = {0.5, 0.99};
    struct tp_table t = {0};
    tp_table_columns(&t, columns, sizeof columns / sizeof *columns);
    for (int c = 0; c < TP_SIZE_CLASSES; c++) {
        struct tp_latency l = {.hist = r->run->latency.alloc_sizes[c]};
        if (!l.hist.count)
            continue;
        tp_table_add(&t, "  <= %s", tp_bytes(UINT64_C(1) << c, false).s);
        tp_table_count(&t, l.hist.count);
        for (int i = 0; i < 2; i++) {
            uint64_t ns;
            bool known = tp_percentile(&l, fractions[i], &ns);
            tp_table_add(&t, "%s", known ? tp_latency_text(ns, rep->clock.step_ns).s : "-");
        }
        tp_table_add(&t, "%s", tp_latency_text(l.hist.max, rep->clock.step_ns).s);
    }
    print_table(&t, page);
}

static void print_slowest(const struct tp_result *r, struct tp_page *page)
{
    tp_page_put(page, FIELD, "slowest calls, ns");
    for (uint32_t i = 0; i < r->run->latency.slowest_count; i++) {
        const struct tp_slow_event *e = &r->run->latency.slowest[i];
        tp_page_right(page, 16, tp_count(e->ns).s);
        const char *place = tp_captured_place(r->captured, e->event);
        tp_page_at(page, VALUE, "event %s: %s of %s", tp_count(e->event).s, tp_op_rows[e->op].name,
                   tp_bytes(e->size, false).s);
        if (place)
            tp_page_more(page, VALUE, ", %s", place);
        tp_page_line(page);
    }
}

void tp_report_verbose(const struct tp_report *rep, const struct tp_result *r, struct tp_page *page)
{
    tp_page_put(page, 0, "%s, all figures", r->spec->label);
    print_identity(rep, r, page);
    for (uint32_t d = 0; d < tp_devices_shown(rep, r); d++) {
        if (r->run->device_count > 1)
            tp_page_put(page, FIELD - 2, "%s %u", tp_part_name(r->trace, "device", "space"), d);
        print_device(r, &r->run->devices[d], page);
    }
    print_resident(r->run, page);
    print_mapped(r->run, page);
    line(page, "skipped_operations", "%s", tp_count(r->run->skipped_operations).s);
    line(page, "skipped_trims", "%s", tp_count(r->run->skipped_trims).s);
    print_sizes(rep, r, page);
    print_slowest(r, page);
    tp_page_line(page);
}
