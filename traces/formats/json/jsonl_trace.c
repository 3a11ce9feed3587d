/* tapool's own JSON as JSON Lines: a header line, then one event per line, so that a program can
 * append events while it runs.
 *
 *     {"format": "tapool-trace", "version": 1, "meta": {"name": "web"}}
 *     {"t": 0, "op": "alloc", "id": 1, "size": 4096}
 *
 * Known weakness: a file that was cut between two lines looks whole. */
#include "traces/formats/json/json_header.h"

static int probe_jsonl(const unsigned char *data, size_t size)
{
    return tp_json_look(data, size).lines;
}

static int read_all(struct tp_json_header *h, struct tp_err *err)
{
    enum tp_json_stop stop = TP_JSON_CLOSED;
    int rc = tp_json_header_read(h, &stop, err);
    if (rc != TP_OK)
        return rc;
    if (stop == TP_JSON_AT_EVENTS) {
        h->scan->subject = NULL;
        rc = tp_json_fail(h->scan, tp_input_line(h->scan->in), err, "the header has 'events'");
        return tp_hint(err, rc, "--input-format=json reads the form with a list of events");
    }
    return tp_json_lines_read(h, err);
}

static int read_lines(const struct tp_reading *r, struct tp_err *err)
{
    return tp_json_trace_read(r, read_all, err);
}

const struct tp_format tp_format_jsonl = {
    .name = "jsonl",
    .summary = "tapool's JSON Lines: a header line, then one event per line",
    .own = true,
    .probe = probe_jsonl,
    .read = read_lines,
};
