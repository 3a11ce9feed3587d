/* The events of tapool's JSON Lines, one object a line. */
#include "traces/formats/json/json_event.h"
#include "traces/formats/json/json_header.h"

/* What stands behind a value on its line must be white space; `line` is where the value began. */
static int end_line(struct tp_json_scan *s, const char *what, struct tp_err *err)
{
    uint64_t line = tp_input_line(s->in);
    int byte = 0;
    int rc = tp_json_next(s, &byte, err);
    if (rc != TP_OK || byte < 0 || tp_input_line(s->in) != line)
        return rc;
    return tp_json_fail(s, line, err, "%s", what);
}

static int read_events(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err)
{
    s->one_line = true;
    for (s->event = 1;; s->event = tp_lower_count(r->lower) + 1) {
        int byte = 0;
        int rc = tp_json_next(s, &byte, err);
        if (rc == TP_OK && byte >= 0)
            rc = tp_json_event_lower(s, r, err);
        if (rc == TP_OK && byte >= 0)
            rc = end_line(s, " is followed by more on its line", err);
        if (rc != TP_OK || byte < 0)
            return rc;
    }
}

int tp_json_lines_read(struct tp_json_header *h, struct tp_err *err)
{
    h->scan->subject = NULL;
    int rc = end_line(h->scan, "something follows the header on its line", err);
    return rc == TP_OK ? read_events(h->scan, h->reading, err) : rc;
}
