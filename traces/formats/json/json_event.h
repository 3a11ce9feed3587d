/* One event of a JSON trace. */
#ifndef TP_JSON_EVENT_H
#define TP_JSON_EVENT_H

#include "traces/event.h"
#include "traces/format.h"
#include "traces/input/json_scan.h"

struct cJSON;

struct tp_json_event {
    struct tp_event event; /* its name is borrowed from the tree */
    struct cJSON *tree;    /* NULL where none was needed */
};

/* Reads the event at the next byte. `tree` must be released, also after an error. */
int tp_json_event_read(struct tp_json_scan *s, struct tp_json_event *out, struct tp_err *err);

/* The same, always by cutting it and by cJSON: what tp_json_event_read falls back to, and what
 * tests hold it against. */
int tp_json_event_by_tree(struct tp_json_scan *s, struct tp_json_event *out, struct tp_err *err);
/* Reads the event at the next byte and hands it on: to the lowering, and its place to the places.
 */
int tp_json_event_lower(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err);
void tp_json_event_release(struct tp_json_event *e);

#endif
