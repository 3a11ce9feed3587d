/* --format svg-heap: what each strategy held when the program needed most, as a picture, a chart
 * for each trace and device below the one before, in an SVG file that stands by itself, as those of
 * --format svg do.
 *
 * The more heaps there are the coarser they are drawn, so that a picture stays at some 100 KB. */
#include "cmd/charts/heap_chart.h"
#include "cmd/charts/svg_file.h"
#include "cmd/exports/export_text.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"

#include <stdlib.h>

enum {
    CHARTS = 8,
    MARGIN = 12,           /* pixels between two charts */
    STRETCH_BYTES = 14,    /* of a stretch, about */
    PICTURE_BYTES = 80000, /* of all stretches together, about */
    STRETCHES_LEAST = 300  /* of a heap, even so */
};

struct heap_picture {
    struct tp_heap_chart *charts[CHARTS];
    size_t count;
    uint64_t left_out; /* heaps */
};

static int make_charts(struct heap_picture *p, const struct tp_report *r, struct tp_err *err)
{
    int status = TP_OK;
    for (size_t first = 0, n; !status && first < r->count; first += n) {
        n = tp_results_of_trace(&r->results[first], r->count - first);
        for (uint32_t d = 0; !status && d < r->results[first].facts->devices; d++) {
            if (p->count == CHARTS) {
                p->left_out += n;
                continue;
            }
            status = tp_heap_chart_make(&r->results[first], n, d, &p->charts[p->count], err);
            if (!status)
                p->left_out += p->charts[p->count++]->left_out;
        }
    }
    return status;
}

/* Makes all heaps so coarse that the file stays small. */
static void merge(struct heap_picture *p)
{
    size_t heaps = 0;
    for (size_t i = 0; i < p->count; i++)
        heaps += p->charts[i]->count;
    size_t most = heaps ? PICTURE_BYTES / STRETCH_BYTES / heaps : 0;
    for (size_t i = 0; i < p->count; i++)
        tp_heap_chart_merge(p->charts[i], most > STRETCHES_LEAST ? most : STRETCHES_LEAST);
}

static void write_picture(const struct heap_picture *p, const struct tp_report *r, FILE *out)
{
    char text[160], partial[96];
    const char *missing = tp_export_partial(r, partial, sizeof partial);
    const char *said = tp_svg_remark(missing, p->left_out, "more heap", text, sizeof text);
    uint32_t height = tp_svg_foot(said), y = 0;
    for (size_t i = 0; i < p->count; i++)
        height += tp_heap_chart_height(p->charts[i]) + MARGIN;
    tp_svg_begin(r->theme, p->count ? tp_str_text(&p->charts[0]->title) : NULL, height, out);
    tp_heap_chart_style(out);
    tp_svg_paper(height, out);
    for (size_t i = 0; i < p->count; i++) {
        tp_heap_chart_write(p->charts[i], y, out);
        y += tp_heap_chart_height(p->charts[i]) + MARGIN;
    }
    tp_svg_end(said, height, out);
}

static int write_svg_heap(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    struct heap_picture p = {.count = 0};
    int status = make_charts(&p, r, err);
    if (!status) {
        merge(&p);
        write_picture(&p, r, out);
    }
    for (size_t i = 0; i < p.count; i++)
        tp_heap_chart_free(p.charts[i]);
    return status;
}

static const char about[] =
    "The heap of each strategy at the trace peak, in the style of svg: its\n"
    "ranges in the order they were reserved, with live, cached, free and\n"
    "dead parts. The heaps of a chart share one scale. At most 8 charts of\n"
    "8 strategies.";

const struct tp_exporter tp_replay_svg_heap = {
    .name = "svg-heap",
    .summary = "the heap of each strategy at the peak as a picture",
    .about = about,
    .write = write_svg_heap,
    .frames = 1,
};
