/* A chart of memory as an <svg> element: lines over columns of equal times or events, or over
 * values of a setting.
 *
 *     title                                        One element without script, font, image or link,
 *     what is seen                                 so it can stand in a file of its own or in an
 *       4 GiB |- - - - - - - - - capacity          HTML page. Sizes are pixels of a page that is
 *             |      ___/~~~~~\____  4.2 GiB lru    TP_CHART_WIDTH wide, and scale with it.
 *       2 GiB |  ___/ x             3.9 GiB torch
 *           0 +-------------------   a peak, a name; at the end of each line
 *             0      20 ms     40 ms
 *     notes
 *
 * Colours are classes, which tp_chart_style defines; beside its colour each line has its own dashes
 * and its name at its end. Texts are escaped when they are written, so they may come from anywhere.
 */
#ifndef TP_CHART_H
#define TP_CHART_H

#include "alloc/numbers/columns.h"

#include <stdio.h>

/* In the order of tp_theme_words. */
enum tp_chart_theme {
    TP_CHART_AUTO, /* light, or dark where the reader prefers that (prefers-color-scheme) */
    TP_CHART_LIGHT,
    TP_CHART_DARK
};

enum {
    TP_CHART_WIDTH = 880,
    TP_CHART_COLUMNS = 560, /* the most; a chart of fewer is drawn coarser */
    TP_CHART_LINES = 16,    /* with more of them labels would not fit below each other */
    TP_CHART_MARKS = 4      /* with more of them labels would take too much room */
};

enum tp_chart_kind {
    TP_CHART_REQUESTED, /* by the program: filled below */
    TP_CHART_RECORDED,  /* by the allocator that was recorded */
    TP_CHART_STRATEGY
};

/* Memory at a value of a setting. */
struct tp_chart_point {
    uint64_t at, bytes;
    bool measured; /* drawn larger: it was recorded */
};

/* Steps over columns, or straight lines from point to point. */
struct tp_chart_line {
    enum tp_chart_kind kind;
    const char *name;
    const struct tp_stretch *at; /* bytes: an element for each column of the chart; or NULL */
    uint32_t shown; /* columns that are drawn; 0: all. A line ends where its first request failed */
    const struct tp_chart_point *points; /* by `at` ascending, 1 or more; or NULL */
    uint32_t point_count;
};

/* A level that holds throughout, such as the capacity. */
struct tp_chart_level {
    const char *name;
    uint64_t bytes;
};

/* Something that happened: a cross on a line, and a text above the chart. */
struct tp_chart_mark {
    const char *text;
    uint32_t line; /* its index */
    uint32_t column;
};

/* All is borrowed. */
struct tp_chart {
    const char *title, *about; /* two lines at the top */
    const char *description;   /* what those read or hear who do not see it: all of its figures */
    const struct tp_columns *columns; /* at most TP_CHART_COLUMNS; NULL: lines have points */
    uint64_t across_most;             /* without columns: the last value across */
    const char *across_name;          /* and what it is of: "batch" */
    const struct tp_chart_line *lines;
    uint32_t line_count; /* 0..TP_CHART_LINES */
    const struct tp_chart_level *levels;
    uint32_t level_count;
    const struct tp_chart_mark *marks;
    uint32_t mark_count;      /* 0..TP_CHART_MARKS; without columns 0 */
    const char *const *notes; /* a line each, at the bottom */
    uint32_t note_count;
    uint32_t y; /* where the element lies within an outer <svg>, in pixels from its top */
};

/* The height of a chart in pixels. */
uint32_t tp_chart_height(const struct tp_chart *c);

/* The bytes at the top of the axis, above all lines and levels. */
uint64_t tp_chart_top(const struct tp_chart *c);

/* Writes the chart as one element. */
void tp_chart_write(const struct tp_chart *c, FILE *out);

/* Writes the rules of CSS for all charts of a page, to stand in its <style>. */
void tp_chart_style(enum tp_chart_theme theme, FILE *out);

#endif
