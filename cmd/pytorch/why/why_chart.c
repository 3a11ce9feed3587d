/* See why_chart.h. */
#include "cmd/pytorch/why/why_chart.h"

#include "alloc/base/numbers.h"
#include "cmd/charts/chart.h"
#include "cmd/pytorch/why/why_picture.h"

#include <stdlib.h>

enum { LINES = 2 };

static struct tp_text mark_text(const struct tp_why_moment *m)
{
    struct tp_text when =
        m->event ? tp_text_of("event %s", tp_count(m->event).s) : tp_text_of("the beginning");
    if (m->failed)
        return tp_text_of("%s: no room for %s", when.s, tp_bytes(m->what.size, false).s);
    return tp_text_of("%s: looked at here", when.s);
}

static void draw(const struct tp_why *w, const struct tp_columns *columns, struct tp_stretch *at,
                 void (*write)(const struct tp_chart *chart, FILE *out), FILE *out)
{
    const struct tp_why_moment *m = &w->moment;
    const struct tp_text text = mark_text(m), capacity = tp_bytes(w->room.capacity, false);
    const struct tp_text level = tp_text_of("could have %s", capacity.s);
    const struct tp_chart_line lines[LINES] = {
        {.kind = TP_CHART_REQUESTED, .name = "live", .at = at},
        {.kind = TP_CHART_RECORDED, .name = "reserved", .at = at + columns->count}};
    const struct tp_chart_mark mark = {
        .text = text.s, .line = 1, .column = tp_columns_find(columns, m->event)};
    const struct tp_chart_level levels = {level.s, w->room.capacity};
    const struct tp_chart chart = {.title = "Memory over time",
                                   .about = "What the recorded allocator reserved, and what the "
                                            "program had asked for and not freed.",
                                   .description = text.s,
                                   .columns = columns,
                                   .lines = lines,
                                   .line_count = LINES,
                                   .levels = &levels,
                                   .level_count = w->room.capacity != 0,
                                   .marks = &mark,
                                   .mark_count = 1};
    write(&chart, out);
}

int tp_why_chart(const struct tp_why *w, uint32_t count,
                 void (*write)(const struct tp_chart *chart, FILE *out), FILE *out,
                 struct tp_err *err)
{
    struct tp_columns *columns = calloc(1, sizeof *columns);
    struct tp_stretch *at = calloc(LINES * (size_t)count, sizeof *at);
    int rc = columns && at ? TP_OK : tp_fail(err, TP_ENOMEM, "out of memory while drawing a chart");
    if (rc == TP_OK && w->moment.events) {
        tp_columns_evenly(w->moment.events, count, columns);
        tp_columns_thin(columns, &w->picture->curve, TP_CURVE_REQUESTED, at);
        tp_columns_thin(columns, &w->picture->curve, TP_CURVE_RESERVED, at + columns->count);
        draw(w, columns, at, write, out);
    }
    free(columns);
    free(at);
    return rc;
}
