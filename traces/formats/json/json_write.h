/* Writes tapool's own JSON in both of its forms, with one event per line. */
#ifndef TP_JSON_WRITE_H
#define TP_JSON_WRITE_H

#include "traces/format.h"

#include <stdio.h>

struct tp_json_write_cfg {
    FILE *out;        /* borrowed until the end */
    const char *path; /* for messages; borrowed until the end */
    bool lines;       /* JSON Lines instead of one document */
    /* like all pointers below, borrowed only during tp_json_write_begin */
    const struct tp_meta *meta;
    struct tp_place_sampling sampling;  /* which events have places; all zero: every one */
    const struct tp_recorded *recorded; /* NULL: none */
    const uint64_t *repairs;            /* an array of TP_REPAIR_COUNT counts; NULL: none */
    uint64_t streams;                   /* number of streams n: 0 to n-1 are declared; 0: none */
    const uint16_t *device_of;          /* device of each stream; NULL: all on device 0 */
    const struct tp_heap *heap;         /* at the start; NULL: none */
};

struct tp_json_writer {
    FILE *out;
    const char *path;
    bool lines, some; /* `some`: at least one event was written */
};

/* Writes everything before the events. Every call returns TP_EIO once a write is known to have
 * failed; the owner of `out` flushes what is still buffered and checks that. */
int tp_json_write_begin(struct tp_json_writer *w, const struct tp_json_write_cfg *cfg,
                        struct tp_err *err);

/* Writes one event, without its absent members. */
int tp_json_write_event(struct tp_json_writer *w, const struct tp_event *ev, struct tp_err *err);
int tp_json_write_end(struct tp_json_writer *w, struct tp_err *err);

#endif
