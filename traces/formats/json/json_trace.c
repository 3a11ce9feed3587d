/* tapool's own JSON, whole-document form: one object whose "events" is a list, read event by event.
 *
 *     { "format": "tapool-trace", "version": 1, "meta": {...}, "streams": [...],
 *       "events": [ {"t": 0, "op": "alloc", "id": 1, "size": 4096}, ... ] }
 *
 * Known weakness: single-threaded. */
#include "traces/formats/json/json_event.h"
#include "traces/formats/json/json_header.h"

static int probe_json(const unsigned char *data, size_t size)
{
    return tp_json_look(data, size).document;
}

static int read_events(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err)
{
    int byte = 0;
    bool more = true;
    s->subject = "'events'";
    int rc = tp_json_open_list(s, &byte, err);
    if (rc == TP_OK && byte == ']') {
        tp_input_take(s->in, 1);
        return TP_OK;
    }
    for (s->event = 1; rc == TP_OK && more;) {
        rc = tp_json_event_lower(s, r, err);
        s->event = tp_lower_count(r->lower) + 1;
        if (rc == TP_OK)
            rc = tp_json_take(s, ",]", " before it", &byte, err);
        more = byte == ',';
        if (rc == TP_OK && more)
            rc = tp_json_next(s, &byte, err);
    }
    s->event = 0;
    return rc;
}

/* Checks that only white space follows. */
static int read_end(struct tp_json_scan *s, struct tp_err *err)
{
    int byte = 0;
    int rc = tp_json_next(s, &byte, err);
    if (rc != TP_OK || byte < 0)
        return rc;
    s->subject = NULL;
    return tp_json_fail(s, tp_input_line(s->in), err, "something follows the end of the trace");
}

static int read_all(struct tp_json_header *h, struct tp_err *err)
{
    enum tp_json_stop stop = TP_JSON_CLOSED;
    int rc = tp_json_header_read(h, &stop, err);
    if (rc != TP_OK)
        return rc;
    if (stop != TP_JSON_AT_EVENTS && tp_input_offset(h->scan->in) > TP_PROBE_BYTES)
        return tp_json_lines_read(h, err);
    if (stop != TP_JSON_AT_EVENTS) {
        h->scan->subject = NULL;
        rc = tp_json_fail(h->scan, tp_input_line(h->scan->in), err, "there is no 'events' in it");
        return tp_hint(err, rc, "'tapool help format' shows the format");
    }
    rc = read_events(h->scan, h->reading, err);
    if (rc == TP_OK)
        rc = tp_json_header_read(h, &stop, err);
    return rc == TP_OK ? read_end(h->scan, err) : rc;
}

static int read_document(const struct tp_reading *r, struct tp_err *err)
{
    return tp_json_trace_read(r, read_all, err);
}

const struct tp_format tp_format_json = {
    .name = "json",
    .summary = "tapool's JSON, one document: for people and scripts",
    .own = true,
    .probe = probe_json,
    .read = read_document,
};
