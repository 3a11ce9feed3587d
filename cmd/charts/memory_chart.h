/* The chart of memory over a trace: what the program requested, and what each strategy reserved, on
 * one axis. Besides, where they are known, what the recorded allocator reserved, the capacity, and
 * the first request that failed.
 *
 *     results of a trace, a device --> tp_memory_chart_make --> tp_chart_write(&m->chart, out)
 *
 * Strategies with the same line share it. What cannot be drawn is named below the chart. */
#ifndef TP_MEMORY_CHART_H
#define TP_MEMORY_CHART_H

#include "cmd/charts/chart.h"
#include "cmd/info/info.h"
#include "cmd/results/result.h"

#include "alloc/base/str.h"

struct tp_memory_chart {
    struct tp_chart chart; /* `y` is the caller's */

    /* What `chart` borrows. */
    struct tp_columns columns;
    struct tp_chart_line lines[TP_CHART_LINES];
    struct tp_chart_level level;
    struct tp_chart_mark marks[TP_CHART_MARKS];
    const char *notes[TP_CHART_MARKS];
    struct tp_stretch *at; /* of each line, and room for one more */
    struct tp_str names[TP_CHART_LINES], mark_texts[TP_CHART_MARKS];
    struct tp_str title, about, description, level_name;
    struct tp_str undrawn, crowded, failing, far; /* notes */
};

/* Makes the chart of a device of the trace of `results`, 1 or more that are all of one trace, with
 * `columns` columns (1..TP_CHART_COLUMNS). Reads the program once, twice if no result says what it
 * requested. It borrows the results; the caller frees it with tp_memory_chart_free. TP_ENOMEM, or
 * an error of reading the program. */
int tp_memory_chart_make(const struct tp_result *results, size_t count, uint16_t device,
                         uint32_t columns, struct tp_memory_chart **out, struct tp_err *err);
/* Likewise, over events in place of times, without reading the program. `count` may be 0: then the
 * trace, its facts and its capture are all that is read of `results`. `info` is of the program,
 * with curves where no result says what it requested. */
int tp_memory_chart_still(const struct tp_result *results, size_t count, const struct tp_info *info,
                          uint16_t device, uint32_t columns, struct tp_memory_chart **out,
                          struct tp_err *err);
void tp_memory_chart_free(struct tp_memory_chart *m); /* NULL is fine */

#endif
