/* Reads an event by the short way and by cJSON alone: both must come to the same, to the sentence
 * and to the byte. Shared by the unit test and the fuzz target. */
#ifndef TP_JSON_EVENT_TWICE_H
#define TP_JSON_EVENT_TWICE_H

#include "traces/formats/json/json_event.h"

#include <string.h>

typedef int event_reader(struct tp_json_scan *s, struct tp_json_event *out, struct tp_err *err);

/* All that a reader of an event leaves behind. */
struct event_end {
    int rc;
    struct tp_err err;
    struct tp_json_event read;
    uint64_t scan_line, line, offset;
};

/* `text` is not empty. The event must be released. */
static inline struct event_end read_event_by(event_reader *read, const void *text, size_t size,
                                             bool one_line)
{
    struct event_end end = {0};
    struct tp_input *in = NULL;
    end.rc = tp_input_memory("x", text, size, 0, &in, &end.err);
    if (end.rc != TP_OK)
        return end;
    struct tp_json_scan scan = {.in = in, .line = 1, .event = 1, .one_line = one_line};
    end.rc = read(&scan, &end.read, &end.err);
    end.scan_line = scan.line;
    end.line = tp_input_line(in);
    end.offset = tp_input_offset(in);
    tp_json_scan_release(&scan);
    tp_input_close(in);
    return end;
}

static inline bool same_fields(const struct tp_event *a, const struct tp_event *b)
{
    return a->op == b->op && a->has_time == b->has_time && a->has_size == b->has_size &&
           a->has_align == b->has_align && a->has_stream == b->has_stream &&
           a->has_offset == b->has_offset && a->has_free == b->has_free && a->note == b->note &&
           a->id == b->id && a->size == b->size && a->align == b->align && a->thread == b->thread &&
           a->stream == b->stream && a->time_ns == b->time_ns && a->free_bytes == b->free_bytes &&
           a->line == b->line && a->offset == b->offset && !a->name == !b->name &&
           (!a->name || strcmp(a->name, b->name) == 0);
}

/* NULL: the same; else what differs. */
static inline const char *differs_twice(const void *text, size_t size, bool one_line)
{
    struct event_end a = read_event_by(tp_json_event_read, text, size, one_line);
    struct event_end b = read_event_by(tp_json_event_by_tree, text, size, one_line);
    const char *what = NULL;
    if (a.rc != b.rc)
        what = "status";
    else if (strcmp(a.err.text, b.err.text) != 0 || strcmp(a.err.hint, b.err.hint) != 0)
        what = "sentence";
    else if (a.scan_line != b.scan_line || a.line != b.line || a.offset != b.offset)
        what = "position";
    else if (a.rc == TP_OK && !same_fields(&a.read.event, &b.read.event))
        what = "event";
    tp_json_event_release(&a.read);
    tp_json_event_release(&b.read);
    return what;
}

#endif
