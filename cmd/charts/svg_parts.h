/* What all pictures are made of: lengths and texts. */
#ifndef TP_SVG_PARTS_H
#define TP_SVG_PARTS_H

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

#endif
