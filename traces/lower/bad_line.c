/* See bad_line.h. */
#include "traces/lower/bad_line.h"

int tp_lines_bad_at(const struct tp_lines *l, struct tp_lower *lo, int rc, struct tp_err *err)
{
    const struct tp_event ev = {.op = TP_EV_NOTE, .line = l->number};
    if (l->unended)
        return tp_lower_repaired(lo, &ev, TP_REPAIR_TRUNCATED,
                                 ": the file ends in the middle of this line", err);
    return tp_lines_at_event(l, tp_lower_count(lo) + l->waiting + 1, rc, err);
}
