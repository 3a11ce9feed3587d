/* Events of tapool's JSON: a single one, and those of JSON Lines, one object a line. */
#include "traces/json_event.h"
#include "traces/json_header.h"

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

int tp_json_event_lower(struct tp_json_scan *s, struct tp_lower *lo, struct tp_err *err)
{
    struct tp_json_event event;
    int rc = tp_json_event_read(s, &event, err);
    if (rc == TP_OK)
        rc = tp_lower_event(lo, &event.event, err);
    tp_json_event_release(&event);
    return rc;
}

static int read_events(struct tp_json_scan *s, struct tp_lower *lo, struct tp_err *err)
{
    s->one_line = true;
    for (s->event = 1;; s->event = tp_lower_count(lo) + 1) {
        int byte = 0;
        int rc = tp_json_next(s, &byte, err);
        if (rc == TP_OK && byte >= 0)
            rc = tp_json_event_lower(s, lo, err);
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
    return rc == TP_OK ? read_events(h->scan, h->reading->lower, err) : rc;
}
