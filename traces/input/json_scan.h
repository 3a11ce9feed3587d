/* Cuts single JSON values out of a stream of bytes, for json_span.h to walk over. */
#ifndef TP_JSON_SCAN_H
#define TP_JSON_SCAN_H

#include "traces/input/input.h"
#include "traces/input/json_span.h"

#include <stdbool.h>

struct tp_json_scan {
    struct tp_input *in;
    const char *subject; /* what is being read: "'meta'"; not used inside events */
    uint64_t event;      /* number of the event being read, from 1; 0: not in events */
    bool one_line;       /* values that go on after the end of their line are errors */

    /* what tp_json_next saw, valid as long as tp_input_block has it */
    const unsigned char *block;
    size_t shown; /* 0: the input ends */

    /* the last value cut */
    char *text; /* ended by a NUL that does not count */
    size_t size, room;
    uint64_t line; /* where it begins */

    char *words; /* the reader's: texts of a value, without their escapes */
};

void tp_json_scan_release(struct tp_json_scan *s);

/* Writes "FILE:LINE: event N" and the text that follows it (": no size", " is too long"); outside
 * events the subject stands instead, or nothing when that is NULL. TP_EINPUT. */
int tp_json_fail(const struct tp_json_scan *s, uint64_t line, struct tp_err *err,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Skips white space, and a byte order mark at the very start, and looks at the next byte: -1 at the
 * end of the input. */
int tp_json_next(struct tp_json_scan *s, int *byte, struct tp_err *err);

/* The same where there must be one. */
int tp_json_need(struct tp_json_scan *s, int *byte, struct tp_err *err);

/* The next byte must be one of two, which may be the same; it is taken. `where` it is missing is
 * said behind that: " before it". */
int tp_json_take(struct tp_json_scan *s, const char *two, const char *where, int *which,
                 struct tp_err *err);

/* "the file ends after event 56: truncated?" */
int tp_json_ends(const struct tp_json_scan *s, struct tp_err *err);

/* Cuts the value that begins at the next byte. Longer than `limit` bytes, deeper than
 * TP_JSON_DEPTH_MAX, cut off by the end of the input, brackets that do not match: TP_EINPUT. */
int tp_json_cut(struct tp_json_scan *s, size_t limit, struct tp_err *err);

/* The same without keeping anything, of any length: inside brackets only strings and brackets are
 * checked. */
int tp_json_skip(struct tp_json_scan *s, struct tp_err *err);

/* Goes into a list: *byte is then its next byte, "]" where it is empty. */
int tp_json_open_list(struct tp_json_scan *s, int *byte, struct tp_err *err);

#endif
