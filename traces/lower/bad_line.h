/* Error of a line of a text trace that does not follow its format. */
#ifndef TP_BAD_LINE_H
#define TP_BAD_LINE_H

#include "traces/input/lines.h"
#include "traces/lower/lower.h"

/* Puts the place and the number of the next event before the message in `err`, and returns
 * TP_EINPUT. If the file ends in the middle of the line, counts a repair instead and returns TP_OK,
 * unless strict. */
int tp_lines_bad_at(const struct tp_lines *l, struct tp_lower *lo, int rc, struct tp_err *err);
#define tp_lines_bad(l, lo, err, ...)                                                              \
    tp_lines_bad_at(l, lo, tp_fail(err, TP_EINPUT, __VA_ARGS__), err)

#endif
