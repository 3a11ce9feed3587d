/* See memory_chart.h. The curves are those of the usage pass, thinned to columns. What the program
 * requested is the curve of a result in which nothing failed; where there is none, it is found by a
 * scan of the program. */
#include "cmd/charts/memory_chart.h"

#include "cmd/info/info_scan.h"
#include "cmd/report/report.h"
#include "cmd/results/figures.h"

#include <stdlib.h>
#include <string.h>

enum { TITLE_NAME = 44 }; /* characters of a trace's name; a longer one is cut */

/* What is needed while a chart is made. */
struct chart_making {
    struct tp_memory_chart *m;
    const struct tp_result
        *results; /* the first one's trace and capture are read even if count is 0 */
    size_t count;
    uint16_t device;
    const struct tp_info *info; /* of the program; NULL: not looked through so far */
    bool over_events;           /* also where the trace has times */
    const struct tp_result
        *of[TP_CHART_LINES]; /* the first result of a line; NULL: no strategy's */
};

static const struct tp_device_run *device_of(const struct chart_making *g,
                                             const struct tp_result *r)
{
    return &r->run->devices[g->device];
}

/* ---- lines ---- */

static struct tp_stretch *next_room(const struct chart_making *g)
{
    return g->m->at + (size_t)g->m->chart.line_count * g->m->columns.count;
}

/* Thins a curve to the room of the next line. */
static const struct tp_stretch *thin(struct chart_making *g, const struct tp_curve *curve,
                                     int value)
{
    tp_columns_thin(&g->m->columns, curve, value, next_room(g));
    return next_room(g);
}

/* Adds a line whose stretches are in the next room; returns its name, to be written. */
static struct tp_str *add_line(struct chart_making *g, enum tp_chart_kind kind,
                               const struct tp_result *of)
{
    uint32_t index = g->m->chart.line_count++;
    g->m->lines[index] =
        (struct tp_chart_line){.kind = kind, .at = g->m->at + (size_t)index * g->m->columns.count};
    g->of[index] = of;
    return &g->m->names[index];
}

static void describe(struct chart_making *g, const char *name, uint64_t peak, uint64_t event)
{
    tp_str_add(&g->m->description, " %s: at most %s", name, tp_bytes(peak, false).s);
    if (event && event != TP_NONE)
        tp_str_add(&g->m->description, ", at event %s", tp_count(event).s);
    tp_str_add(&g->m->description, ".");
}

static void name_requested(struct chart_making *g)
{
    const struct tp_demand *demand = tp_program_demand(g->results->trace->program, g->device);
    tp_str_add(add_line(g, TP_CHART_REQUESTED, NULL), "requested");
    describe(g, "Requested", demand->bytes, demand->event);
}

static int add_requested(struct chart_making *g, struct tp_err *err)
{
    struct tp_info *info = NULL;
    const struct tp_curve *curve = NULL;
    int status = TP_OK;
    for (size_t i = 0; !curve && i < g->count; i++) {
        const struct tp_device_run *d = device_of(g, &g->results[i]);
        curve = d->curve.count && !d->failed_allocations ? &d->curve : NULL;
    }
    if (!curve && g->info)
        curve = &g->info->devices[g->device].curve;
    if (!curve)
        status = tp_info_scan(g->results->trace->program, &info, err);
    if (!status) {
        thin(g, curve ? curve : &info->devices[g->device].curve, TP_CURVE_REQUESTED);
        name_requested(g);
    }
    tp_info_free(info);
    return status;
}

static int add_recorded(struct chart_making *g, struct tp_err *err)
{
    const struct tp_result *r = g->results;
    if (!r->captured || !r->captured->known || g->device >= r->captured->count)
        return TP_OK;
    const struct tp_captured_device *d = &r->captured->devices[g->device];
    struct tp_curve *curve = d->peak_reserved ? calloc(1, sizeof *curve) : NULL;
    if (!curve)
        return d->peak_reserved ? tp_fail(err, TP_ENOMEM, "out of memory") : TP_OK;
    int status = tp_captured_curve(r->trace, g->device, curve, err);
    if (!status) {
        thin(g, curve, TP_CURVE_RESERVED);
        struct tp_str *name = add_line(g, TP_CHART_RECORDED, NULL);
        tp_str_add(name, "recorded, %s", r->trace->recorded.by);
        describe(g, tp_str_text(name), d->peak_reserved, d->peak_event);
    }
    free(curve);
    return status;
}

/* The line of another strategy that is the same everywhere; NULL: there is none. */
static struct tp_str *same_line(struct chart_making *g, const struct tp_result *r,
                                const struct tp_stretch *at)
{
    uint64_t failed = device_of(g, r)->first_failed_event;
    for (uint32_t i = 0; i < g->m->chart.line_count; i++)
        if (g->of[i] && device_of(g, g->of[i])->first_failed_event == failed &&
            !memcmp(g->m->lines[i].at, at, g->m->columns.count * sizeof *at))
            return &g->m->names[i];
    return NULL;
}

static void add_strategy(struct chart_making *g, const struct tp_result *r)
{
    const struct tp_device_run *d = device_of(g, r);
    const struct tp_text name = tp_result_name(r);
    if (!d->curve.count) {
        tp_str_item(&g->m->undrawn, ", ", "%s", name.s);
        return;
    }
    struct tp_str *to = same_line(g, r, thin(g, &d->curve, TP_CURVE_RESERVED));
    if (!to && g->m->chart.line_count == TP_CHART_LINES)
        to = &g->m->crowded;
    else if (!to)
        to = add_line(g, TP_CHART_STRATEGY, r);
    tp_str_item(to, ", ", "%s", name.s);
    describe(g, name.s, d->peak_reserved, d->peak_reserved_event);
}

/* ---- what failed ---- */

/* A strategy's line ends there: what it holds without the failed request does not compare with the
 * others. */
static void add_mark(struct chart_making *g, uint32_t line, uint64_t event, uint64_t size)
{
    uint32_t column = tp_columns_find(&g->m->columns, event);
    if (g->m->lines[line].kind == TP_CHART_STRATEGY)
        g->m->lines[line].shown = column + 1;
    const char *name = tp_str_text(&g->m->names[line]);
    const struct tp_text when =
        event ? tp_text_of("at event %s", tp_count(event).s) : tp_text_of("before the first event");
    const struct tp_text what = tp_text_of("no room for %s %s", tp_bytes(size, false).s, when.s);
    tp_str_add(&g->m->description, " %s: %s.", name, what.s);
    if (g->m->chart.mark_count == TP_CHART_MARKS) {
        tp_str_item(&g->m->failing, "; ", "%s: %s", name, what.s);
        return;
    }
    uint32_t index = g->m->chart.mark_count++;
    tp_str_add(&g->m->mark_texts[index], "%s: %s", name, what.s);
    g->m->marks[index] = (struct tp_chart_mark){.line = line, .column = column};
}

static void add_marks(struct chart_making *g)
{
    for (uint32_t i = 0; i < g->m->chart.line_count; i++) {
        const struct tp_result *r = g->of[i];
        const struct tp_captured *c = g->results->captured;
        if (g->m->lines[i].kind == TP_CHART_RECORDED && c->devices[g->device].ooms)
            add_mark(g, i, c->devices[g->device].oom_event, c->devices[g->device].oom_size);
        if (r && device_of(g, r)->failed_allocations)
            add_mark(g, i, device_of(g, r)->first_failed_event,
                     device_of(g, r)->first_failure.size);
    }
}

/* ---- the capacity ---- */

/* A capacity far above all lines would press them down to the axis: it is said below the chart. */
static void add_level(struct chart_making *g, const char *what, uint64_t bytes)
{
    uint64_t top = tp_chart_top(&g->m->chart);
    tp_str_add(&g->m->description, " %s: %s.", what, tp_bytes(bytes, false).s);
    if (bytes / 3 * 2 > top) {
        tp_str_add(&g->m->far, "%s: %s, above this chart.", what, tp_bytes(bytes, false).s);
        return;
    }
    tp_str_add(&g->m->level_name, "%s %s", what, tp_bytes(bytes, false).s);
    g->m->level.bytes = bytes;
    g->m->chart.level_count = 1;
}

static void add_capacity(struct chart_making *g)
{
    const struct tp_captured *c = g->results->captured;
    uint64_t recorded = c ? tp_captured_capacity(c) : 0;
    for (size_t i = 0; i < g->count; i++) {
        uint64_t capacity = device_of(g, &g->results[i])->capacity;
        if (capacity != TP_NONE && capacity) {
            add_level(g, "Capacity", capacity);
            return;
        }
    }
    if (recorded)
        add_level(g, "Recorded device", recorded);
}

/* ---- texts ---- */

static void begin_texts(struct chart_making *g)
{
    const struct tp_result *r = g->results;
    struct tp_memory_chart *m = g->m;
    const char *name = r->trace->meta.name;
    bool cut = tp_text_width(name) > TITLE_NAME;
    tp_str_add(&m->title, "%.*s%s: memory over time", (int)tp_text_bytes(name, TITLE_NAME), name,
               cut ? "\xe2\x80\xa6" : "");
    if (r->facts->devices > 1)
        tp_str_add(&m->title, ", %s %u", tp_part_name(r->trace, "device", "memory space"),
                   g->device);
    tp_str_add(&m->about, "%s in %s. Beside each name its peak.",
               g->count ? "Reserved by each strategy, and requested," : "Requested",
               tp_plural(r->facts->events, "event").s);
    tp_str_add(&m->description, "%s", tp_str_text(&m->about));
}

static void add_note(struct chart_making *g, struct tp_str *text)
{
    if (text->length)
        g->m->notes[g->m->chart.note_count++] = tp_str_text(text);
}

static void end_texts(struct chart_making *g)
{
    struct tp_memory_chart *m = g->m;
    struct tp_str undrawn = m->undrawn, crowded = m->crowded;
    m->undrawn = m->crowded = (struct tp_str){0};
    if (undrawn.length)
        tp_str_add(&m->undrawn, "Not drawn, as nothing says what it holds over time: %s.",
                   tp_str_text(&undrawn));
    if (crowded.length)
        tp_str_add(&m->crowded, "Not drawn, for want of room: %s.", tp_str_text(&crowded));
    add_note(g, &m->undrawn);
    add_note(g, &m->crowded);
    add_note(g, &m->failing);
    add_note(g, &m->far);
    tp_str_item(&m->description, " ", "%s", tp_str_text(&m->undrawn));
    tp_str_item(&m->description, " ", "%s", tp_str_text(&m->crowded));
    tp_str_drop(&undrawn);
    tp_str_drop(&crowded);
}

static struct tp_str *text_of(struct tp_memory_chart *m, size_t i)
{
    struct tp_str *const others[] = {&m->title,   &m->about,   &m->description, &m->level_name,
                                     &m->undrawn, &m->crowded, &m->failing,     &m->far};
    if (i < TP_CHART_LINES)
        return &m->names[i];
    i -= TP_CHART_LINES;
    if (i < TP_CHART_MARKS)
        return &m->mark_texts[i];
    i -= TP_CHART_MARKS;
    return i < sizeof others / sizeof *others ? others[i] : NULL;
}

/* Lets the chart point to its texts, which stay where they are from now on. */
static int finish(struct tp_memory_chart *m, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t i = 0; !status && text_of(m, i); i++)
        status = tp_str_status(text_of(m, i), err);
    for (uint32_t i = 0; i < m->chart.line_count; i++)
        m->lines[i].name = tp_str_text(&m->names[i]);
    for (uint32_t i = 0; i < m->chart.mark_count; i++)
        m->marks[i].text = tp_str_text(&m->mark_texts[i]);
    m->level.name = tp_str_text(&m->level_name);
    m->chart.title = tp_str_text(&m->title);
    m->chart.about = tp_str_text(&m->about);
    m->chart.description = tp_str_text(&m->description);
    return status;
}

/* ---- the whole ---- */

static int fill(struct chart_making *g, uint32_t columns, struct tp_err *err)
{
    struct tp_memory_chart *m = g->m;
    m->chart = (struct tp_chart){.columns = &m->columns,
                                 .lines = m->lines,
                                 .levels = &m->level,
                                 .marks = m->marks,
                                 .notes = m->notes};
    m->at = calloc((TP_CHART_LINES + (size_t)1) * columns, sizeof *m->at);
    int status = m->at ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!status && g->over_events)
        tp_columns_evenly(g->results->facts->events, columns, &m->columns);
    else if (!status)
        status = tp_columns_spread(g->results->trace->program, columns, &m->columns, err);
    if (!status)
        begin_texts(g);
    if (!status)
        status = add_requested(g, err);
    if (!status)
        status = add_recorded(g, err);
    for (size_t i = 0; !status && i < g->count; i++)
        add_strategy(g, &g->results[i]);
    if (!status) {
        add_marks(g);
        add_capacity(g);
        end_texts(g);
        status = finish(m, err);
    }
    return status;
}

static int make(struct chart_making *g, uint32_t columns, struct tp_memory_chart **out,
                struct tp_err *err)
{
    g->m = calloc(1, sizeof *g->m);
    if (!g->m)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    int status = fill(g, columns, err);
    if (status)
        tp_memory_chart_free(g->m);
    else
        *out = g->m;
    return status;
}

int tp_memory_chart_make(const struct tp_result *results, size_t count, uint16_t device,
                         uint32_t columns, struct tp_memory_chart **out, struct tp_err *err)
{
    return make(&(struct chart_making){.results = results, .count = count, .device = device},
                columns, out, err);
}

int tp_memory_chart_still(const struct tp_result *results, size_t count, const struct tp_info *info,
                          uint16_t device, uint32_t columns, struct tp_memory_chart **out,
                          struct tp_err *err)
{
    return make(&(struct chart_making){.results = results,
                                       .count = count,
                                       .device = device,
                                       .info = info,
                                       .over_events = true},
                columns, out, err);
}

void tp_memory_chart_free(struct tp_memory_chart *m)
{
    for (size_t i = 0; m && text_of(m, i); i++)
        tp_str_drop(text_of(m, i));
    if (m)
        free(m->at);
    free(m);
}
