/* What all pictures are made of: lengths, texts, and the file around charts. */
#ifndef TP_SVG_PARTS_H
#define TP_SVG_PARTS_H

#include "cmd/measure/result.h"
#include "cmd/ui/text.h"

#include <stdio.h>

/* A length in tenths of a pixel as text: "72.5", "72". Coordinates are integers of tenths: the same
 * figures give the same bytes on every machine. */
struct tp_text tp_svg_px(uint32_t tenths);

/* Writes a text, escaped, of at most `most` characters; a longer one ends in an ellipsis. */
void tp_svg_short(FILE *out, const char *text, int most);

enum { TP_SVG_TEXT = 136 }; /* characters of a line across a whole chart */

/* Writes an element of one line of text, cut at TP_SVG_TEXT; x and y in tenths of a pixel. */
void tp_svg_text(FILE *out, const char *classes, uint32_t x, uint32_t y, const char *text);

/* A file of charts that are TP_CHART_WIDTH wide, `height` pixels in all:
 *
 *     tp_svg_begin    the head, and the styles of all charts; a chart's own ones may follow
 *     tp_svg_paper    what lies below them; the charts follow
 *     tp_svg_end      the remark, which takes tp_svg_foot pixels at the bottom; NULL: none */
void tp_svg_begin(const struct tp_report *r, const char *title, uint32_t height, FILE *out);
void tp_svg_paper(uint32_t height, FILE *out);
uint32_t tp_svg_foot(const char *remark);
void tp_svg_end(const char *remark, uint32_t height, FILE *out);

/* What is to be said of a picture as a whole: so many of `what` ("device") were left out, results
 * are missing. Returns `text`; NULL: nothing. */
const char *tp_svg_remark(const struct tp_report *r, uint64_t left_out, const char *what,
                          char *text, size_t size);

#endif
