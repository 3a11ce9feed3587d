/* One event of a JSON trace. */
#ifndef TP_JSON_EVENT_H
#define TP_JSON_EVENT_H

#include "traces/event.h"
#include "traces/format.h"
#include "traces/input/json_scan.h"

/* Reads the event at the next byte, which tp_json_next has shown. Its texts are borrowed until the
 * input is read again. */
int tp_json_event_read(struct tp_json_scan *s, struct tp_event *ev, struct tp_err *err);

/* The same, and hands it on: to the lowering, and its place to the places. */
int tp_json_event_lower(struct tp_json_scan *s, const struct tp_reading *r, struct tp_err *err);

#endif
