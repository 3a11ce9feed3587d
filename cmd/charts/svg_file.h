/* The file around charts, which stands by itself. */
#ifndef TP_SVG_FILE_H
#define TP_SVG_FILE_H

#include <stdint.h>
#include <stdio.h>

/* A file of charts that are TP_CHART_WIDTH wide, `height` pixels in all:
 *
 *     tp_svg_begin    the head, and the styles of all charts; a chart's own ones may follow.
 *                     `theme`: index of the keyword of --svg-theme
 *     tp_svg_paper    what lies below them; the charts follow
 *     tp_svg_end      the remark, which takes tp_svg_foot pixels at the bottom; NULL: none */
void tp_svg_begin(uint32_t theme, const char *title, uint32_t height, FILE *out);
void tp_svg_paper(uint32_t height, FILE *out);
uint32_t tp_svg_foot(const char *remark);
void tp_svg_end(const char *remark, uint32_t height, FILE *out);

/* What is to be said of a picture as a whole: so many of `what` ("device") were left out, results
 * are missing (`partial`, as of tp_export_partial). Returns `text`; NULL: nothing. */
const char *tp_svg_remark(const char *partial, uint64_t left_out, const char *what, char *text,
                          size_t size);

#endif
