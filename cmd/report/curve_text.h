/* Memory over time as dots on a screen.
 *
 *      1.757 MiB  ....''''''''''\     a line that goes to the lowest and the highest value of its
 *                 ..:           :     column; below the first of two, an area
 *            0 B  .................
 *                 0          354 ms
 */
#ifndef TP_CURVE_TEXT_H
#define TP_CURVE_TEXT_H

#include "alloc/numbers/columns.h"
#include "cmd/ui/braille.h"
#include "cmd/ui/text.h"

struct tp_curve_text {
    int name, column; /* where the page has bytes, and where it has dots */
    uint32_t rows;    /* 2..TP_BRAILLE_HEIGHT */
    /* Bytes in each column of dots, tp_curve_text_dots() of them. `line` may be NULL. */
    const struct tp_stretch *area, *line;
    uint64_t low, high;         /* the axis; all bytes are in it */
    struct tp_text left, right; /* below its ends */
};

enum { TP_CURVE_TEXT_DOTS = TP_BRAILLE_WIDTH * TP_BRAILLE_ACROSS };

/* The number of columns of dots on a page, at most TP_CURVE_TEXT_DOTS. */
uint32_t tp_curve_text_dots(const struct tp_page *page, int column);

/* Where the axis of bytes begins: at 0, unless more than half of `peak` is held all the time. Then
 * it is the lowest value, so that differences can be seen. */
uint64_t tp_curve_text_floor(const struct tp_stretch *at, uint32_t count, uint64_t peak);

/* The texts below the ends of the axis of times or events. */
struct tp_text tp_curve_text_left(const struct tp_columns *c);
struct tp_text tp_curve_text_right(const struct tp_columns *c);

/* Draws it on lines of its own. */
void tp_curve_text_print(const struct tp_curve_text *c, struct tp_page *page);

#endif
