/* The short way for events in their plain shape. */
#ifndef TP_JSON_PLAIN_H
#define TP_JSON_PLAIN_H

#include "traces/event.h"

/* Reads the event at data[0] if it is plain and lies whole in the bytes; *used is its length.
 * False: not plain, which says nothing about it, and *ev is not set. In `one_line` an event that
 * goes on after a line's end is not plain. */
bool tp_json_plain(const unsigned char *data, size_t size, bool one_line, struct tp_event *ev,
                   size_t *used);

#endif
