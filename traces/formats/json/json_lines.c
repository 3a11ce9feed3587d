/* Reads the events of tapool's JSON Lines, one object per line. */
#include "traces/formats/json/json_event.h"
#include "traces/formats/json/json_header.h"

/* Checks that only white space follows a value on its line. *byte is the next byte behind it, -1 at
 * the end of the input. */
static int end_line(struct tp_json_scan *s, const char *what, int *byte, struct tp_err *err)
{
    uint64_t line = tp_input_line(s->in);
    int rc = tp_json_next(s, byte, err);
    if (rc != TP_OK || *byte < 0 || tp_input_line(s->in) != line)
        return rc;
    return tp_json_fail(s, line, err, "%s", what);
}

int tp_json_lines_read(struct tp_json_header *h, struct tp_err *err)
{
    struct tp_json_scan *s = h->scan;
    int byte = 0;
    s->subject = NULL;
    int rc = end_line(s, "something follows the header on its line", &byte, err);
    s->one_line = true;
    while (rc == TP_OK && byte >= 0) {
        s->event = tp_lower_count(h->reading->lower) + 1;
        rc = tp_json_event_lower(s, h->reading, err);
        if (rc == TP_OK)
            rc = end_line(s, " is followed by more on its line", &byte, err);
    }
    return rc;
}
