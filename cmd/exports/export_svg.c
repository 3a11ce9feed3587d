/* --format svg: memory over time as a picture, a chart for each trace and device below the one
 * before, in an SVG file that stands by itself: no script, no font, no image, no link.
 *
 * A picture has at most CHARTS charts, and the more lines there are the coarser they are drawn, so
 * that it stays below 200 KB. */
#include "cmd/charts/memory_chart.h"
#include "cmd/charts/svg_file.h"
#include "cmd/exports/export_text.h"
#include "cmd/results/figures.h"
#include "cmd/results/replay_exports.h"

#include <stdlib.h>

enum {
    CHARTS = 8,
    MARGIN = 12,        /* pixels between two charts */
    COLUMN_BYTES = 24,  /* of a column of a line, at most */
    LINE_BYTES = 150000 /* of all lines together */
};

struct picture {
    struct tp_memory_chart *charts[CHARTS];
    size_t count, left_out;
};

/* How many columns each line has, so that the file stays small. */
static uint32_t columns_of(const struct tp_report *r)
{
    size_t lines = 0, charts = 0;
    for (size_t first = 0, n; first < r->count; first += n) {
        n = tp_results_of_trace(&r->results[first], r->count - first);
        size_t each = n + 3 < TP_CHART_LINES ? n + 3 : TP_CHART_LINES; /* 2 requested, 1 recorded */
        for (uint32_t d = 0; d < r->results[first].facts->devices && charts < CHARTS; d++, charts++)
            lines += each;
    }
    size_t most = lines ? LINE_BYTES / COLUMN_BYTES / lines : TP_CHART_COLUMNS;
    uint32_t columns = TP_CHART_COLUMNS, halves = 1;
    while (columns > most)
        columns = TP_CHART_COLUMNS / ++halves;
    return columns;
}

static int make_charts(struct picture *p, const struct tp_report *r, struct tp_err *err)
{
    uint32_t columns = columns_of(r);
    int status = TP_OK;
    for (size_t first = 0, n; !status && first < r->count; first += n) {
        n = tp_results_of_trace(&r->results[first], r->count - first);
        for (uint16_t d = 0; !status && d < r->results[first].facts->devices; d++) {
            if (p->count == CHARTS) {
                p->left_out++;
                continue;
            }
            status =
                tp_memory_chart_make(&r->results[first], n, d, columns, &p->charts[p->count], err);
            p->count += !status;
        }
    }
    return status;
}

static void write_picture(struct picture *p, const struct tp_report *r, FILE *out)
{
    char text[160], partial[96];
    const char *missing = tp_export_partial(r, partial, sizeof partial);
    const char *said = tp_svg_remark(missing, p->left_out, "more device", text, sizeof text);
    uint32_t height = 0;
    for (size_t i = 0; i < p->count; i++) {
        p->charts[i]->chart.y = height;
        height += tp_chart_height(&p->charts[i]->chart) + MARGIN;
    }
    height += tp_svg_foot(said);
    tp_svg_begin(r->theme, p->count ? p->charts[0]->chart.title : NULL, height, out);
    tp_svg_paper(height, out);
    for (size_t i = 0; i < p->count; i++)
        tp_chart_write(&p->charts[i]->chart, out);
    tp_svg_end(said, height, out);
}

static int write_svg(const void *of, FILE *out, struct tp_err *err)
{
    const struct tp_report *r = of;
    struct picture p = {.count = 0};
    int status = make_charts(&p, r, err);
    if (!status)
        write_picture(&p, r, out);
    for (size_t i = 0; i < p.count; i++)
        tp_memory_chart_free(p.charts[i]);
    return status;
}

static const char about[] = "Memory over time as a picture: requested bytes and\n"
                            "reserved by each strategy on one axis, and if known those of the\n"
                            "recorded allocator, the capacity, and the first failed request. One\n"
                            "chart per trace and device, at most 8, with at most 16 lines each.\n"
                            "Each line covers the minimum and maximum of its pixel column. Plain\n"
                            "SVG without scripts, fonts or links, below 200 KB.\n"
                            "By default one file has light and dark colors, follows the reader's\n"
                            "preference and has its own background, so it works in a comment on a\n"
                            "pull request. A theme set on GitHub itself does not reach into a\n"
                            "picture: for a README write two files with --svg-theme light and\n"
                            "--svg-theme dark and let GitHub choose:\n"
                            "  <picture><source media=\"(prefers-color-scheme: dark)\"\n"
                            "  srcset=\"dark.svg\"><img alt=\"memory over time\"\n"
                            "  src=\"light.svg\"></picture>";

const struct tp_exporter tp_replay_svg = {
    .name = "svg",
    .summary = "memory over time as a picture",
    .about = about,
    .write = write_svg,
};
