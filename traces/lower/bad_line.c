/* See bad_line.h. */
#include "traces/lower/bad_line.h"

int tp_lines_bad(const struct tp_lines *l, struct tp_lower *lo, struct tp_err *err,
                 const char *format, ...)
{
    const struct tp_event ev = {.op = TP_EV_NOTE, .line = l->number};
    if (l->unended)
        return tp_lower_repaired(lo, &ev, TP_REPAIR_TRUNCATED,
                                 ": the file ends in the middle of this line", err);
    va_list args;
    va_start(args, format);
    int rc = tp_lines_fail_va(l, tp_lower_count(lo) + l->waiting + 1, err, format, args);
    va_end(args);
    return rc;
}
