/* A line of a text trace that is none of its format. */
#ifndef TP_BAD_LINE_H
#define TP_BAD_LINE_H

#include "traces/input/lines.h"
#include "traces/lower/lower.h"

/* TP_EINPUT with place and the number of the next event. Where the
 * file ends in the middle of it, that is a repair, and TP_OK unless strict. */
int tp_lines_bad(const struct tp_lines *l, struct tp_lower *lo, struct tp_err *err,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
