/* Writes tapool's own JSON, in both of its forms, one event a line. */
#ifndef TP_JSON_WRITE_H
#define TP_JSON_WRITE_H

#include "traces/format.h"

#include <stdio.h>

struct tp_json_write_cfg {
    FILE *out;                          /* borrowed until the end */
    const char *path;                   /* for messages; borrowed until the end */
    bool lines;                         /* JSON Lines instead of one document */
    const struct tp_meta *meta;         /* borrowed for tp_json_write_begin, as are the others */
    const struct tp_recorded *recorded; /* NULL: none */
    const uint64_t *repairs;            /* TP_REPAIR_COUNT of them; NULL: none */
    uint64_t streams;                   /* 0 to n-1 are declared; 0: none */
    const uint16_t *device_of;          /* of each stream; NULL: all on device 0 */
};

struct tp_json_writer {
    FILE *out;
    const char *path;
    bool lines, some; /* some: an event was written */
};

/* Writes what stands before the events. TP_EIO from each call as soon as a write is known to have
 * failed; what is still buffered is for the owner of `out` to flush and check. */
int tp_json_write_begin(struct tp_json_writer *w, const struct tp_json_write_cfg *cfg,
                        struct tp_err *err);

/* One event. Members that it does not have are left out. */
int tp_json_write_event(struct tp_json_writer *w, const struct tp_event *ev, struct tp_err *err);
int tp_json_write_end(struct tp_json_writer *w, struct tp_err *err);

#endif
