/* Cuts single JSON values out of a stream of bytes; json_span.h walks over them. */
#ifndef TP_JSON_SCAN_H
#define TP_JSON_SCAN_H

#include "traces/input/input.h"
#include "traces/input/json_span.h"

#include <stdbool.h>

struct tp_json_scan {
    struct tp_input *in;
    /* name in messages of what is being read: "'meta'"; not used inside events */
    const char *subject;
    uint64_t event; /* number of the event being read, from 1; 0: not in events */
    bool one_line;  /* a value that continues on the next line is an error */

    /* what tp_json_next saw; valid as long as the bytes of tp_input_block are */
    const unsigned char *block;
    size_t shown; /* bytes at `block`; 0: end of the input */

    /* the value that was cut last */
    char *text; /* ends with a NUL that `size` does not count */
    size_t size, room;
    uint64_t line; /* line on which the value begins */

    char *words; /* for the reader: texts of a value, with their escapes resolved */
};

void tp_json_scan_release(struct tp_json_scan *s);

/* Fails with TP_EINPUT and the message "FILE:LINE: event N" with the formatted text behind it (":
 * no size", " is too long"). Outside events s->subject replaces "event N"; NULL: nothing does. */
int tp_json_fail(const struct tp_json_scan *s, uint64_t line, struct tp_err *err,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Skips white space, and a byte order mark at the very start, and looks at the next byte. *byte is
 * -1 at the end of the input. */
int tp_json_next(struct tp_json_scan *s, int *byte, struct tp_err *err);

/* Does the same as tp_json_next, but fails at the end of the input. */
int tp_json_need(struct tp_json_scan *s, int *byte, struct tp_err *err);

/* Takes the next byte that is no white space, which must be two[0] or two[1] (they may be equal),
 * and sets *which to it. `where` is the end of the message when it is missing: " before it". */
int tp_json_take(struct tp_json_scan *s, const char *two, const char *where, int *which,
                 struct tp_err *err);

/* Fails with "the file ends after event 56: truncated?". */
int tp_json_ends(const struct tp_json_scan *s, struct tp_err *err);

/* Cuts the value that begins at the next byte into s->text. TP_EINPUT: longer than `limit` bytes,
 * nested deeper than TP_JSON_DEPTH_MAX, cut off by the end of the input, or with brackets that do
 * not match. */
int tp_json_cut(struct tp_json_scan *s, size_t limit, struct tp_err *err);

/* Skips the value that begins at the next byte, of any length. Inside brackets only strings and
 * brackets are checked. */
int tp_json_skip(struct tp_json_scan *s, struct tp_err *err);

/* Enters a list. *byte is the next byte in it; "]" if the list is empty. */
int tp_json_open_list(struct tp_json_scan *s, int *byte, struct tp_err *err);

#endif
