/* The chart of the heaps of a trace: what each strategy held when the program needed most.
 *
 *     title
 *     the moment, and what was asked for
 *     [live] [cached] [free] ...                       those kinds that there are
 *     arena    3.705 GiB in 6 ranges: 3.585 GiB live, 123 MiB free
 *     |========||=====|  ||||  |                       lines of ranges (heap_lines.h)
 *     0        512 MiB    1 GiB
 *     notes
 *
 * Kinds differ by their form as well as by their colour: full height, half height, upright bars,
 * dots, a thin line. All heaps share one scale, so that lengths can be compared. */
#ifndef TP_HEAP_CHART_H
#define TP_HEAP_CHART_H

#include "cmd/charts/heap_lines.h"
#include "cmd/results/result.h"

#include "alloc/base/str.h"

enum { TP_HEAPS = 8 }; /* of a chart */

/* The heap of one strategy. */
struct tp_heap_drawn {
    const struct tp_result *of;
    struct tp_heap_lines lines;
    struct tp_str figures; /* what it holds, in words */
};

struct tp_heap_chart {
    struct tp_heap_drawn heaps[TP_HEAPS];
    size_t count, left_out; /* strategies */
    bool kinds[TP_WALK_COUNT];
    struct tp_str title, about, description;
    struct tp_str undrawn; /* a note; "": none */
};

/* Makes the chart of a device of the trace of `results`, `count` of them, all of one trace. It
 * borrows the results; the caller frees it with tp_heap_chart_free. TP_ENOMEM. */
int tp_heap_chart_make(const struct tp_result *results, size_t count, uint32_t device,
                       struct tp_heap_chart **out, struct tp_err *err);
void tp_heap_chart_free(struct tp_heap_chart *c); /* NULL is fine */

/* Makes the chart coarser, until at most `most` stretches of each heap are drawn. */
void tp_heap_chart_merge(struct tp_heap_chart *c, size_t most);

uint32_t tp_heap_chart_height(const struct tp_heap_chart *c); /* pixels */

/* Writes the chart as one element, `y` pixels from the top of the outer one. */
void tp_heap_chart_write(const struct tp_heap_chart *c, uint32_t y, FILE *out);

/* Writes its rules of CSS, beside those of tp_chart_style. */
void tp_heap_chart_style(FILE *out);

#endif
