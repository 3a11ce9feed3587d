/* The members before the events of a JSON trace, the same in both forms: format, version, meta,
 * streams. */
#ifndef TP_JSON_HEADER_H
#define TP_JSON_HEADER_H

#include "traces/format.h"
#include "traces/input/json_scan.h"

#define TP_JSON_MEMBERS_MAX 64 /* members at the top level, unknown ones included */

enum tp_json_stop {
    TP_JSON_AT_EVENTS, /* the next byte begins the value of "events" */
    TP_JSON_CLOSED     /* the top-level object has ended */
};

struct tp_json_header {
    struct tp_json_scan *scan;
    const struct tp_reading *reading; /* its lowering receives kind and streams */
    unsigned known;                   /* a bit for each known member that was present */
    char *names[TP_JSON_MEMBERS_MAX];
    size_t count;
    bool opened;
};

/* Reads members of the top-level object up to "events" or to its end. After the events, a second
 * call reads the members that follow them. */
int tp_json_header_read(struct tp_json_header *h, enum tp_json_stop *stop, struct tp_err *err);

/* Reads a whole trace: sets up the header reader and calls `all` with it. */
int tp_json_trace_read(const struct tp_reading *r,
                       int (*all)(struct tp_json_header *h, struct tp_err *err),
                       struct tp_err *err);

/* Reads the events of JSON Lines, behind the header. The reader of the one-document form calls it
 * too, when a header was too long for detection to tell the two forms apart. */
int tp_json_lines_read(struct tp_json_header *h, struct tp_err *err);

/* Probe scores, from 0 to 100, of the two forms of a JSON trace. */
struct tp_json_look {
    int document, lines;
};
struct tp_json_look tp_json_look(const unsigned char *data, size_t size);

#endif
