/* The members before the events of a JSON trace, the same in both forms: format, version, meta,
 * streams. */
#ifndef TP_JSON_HEADER_H
#define TP_JSON_HEADER_H

#include "traces/format.h"
#include "traces/input/json_scan.h"

#define TP_JSON_MEMBERS_MAX 64 /* at the top level, unknown ones included */

enum tp_json_stop {
    TP_JSON_AT_EVENTS, /* the next byte begins the value of "events" */
    TP_JSON_CLOSED     /* the object is over */
};

struct tp_json_header {
    struct tp_json_scan *scan;
    const struct tp_reading *reading; /* its lowering is told kind and streams */
    unsigned known;                   /* bit per known member that was there */
    char *names[TP_JSON_MEMBERS_MAX];
    size_t count;
    bool opened;
};

/* Reads members of the top-level object up to "events" or its end; once more after the events. */
int tp_json_header_read(struct tp_json_header *h, enum tp_json_stop *stop, struct tp_err *err);

/* A whole trace, as `all` reads it. */
int tp_json_trace_read(const struct tp_reading *r,
                       int (*all)(struct tp_json_header *h, struct tp_err *err),
                       struct tp_err *err);

/* JSON Lines, from behind the header. For the form with a list of events it is the way out where
 * the header is so long that detection could not tell the two. */
int tp_json_lines_read(struct tp_json_header *h, struct tp_err *err);

/* How much the first bytes look like a trace of tapool, from 0 to 100, in each form. */
struct tp_json_look {
    int document, lines;
};
struct tp_json_look tp_json_look(const unsigned char *data, size_t size);

#endif
