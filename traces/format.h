/* A trace format: a front end that turns bytes into events.
 *
 * To add a format: one file in traces/formats/ that exports one `const struct tp_format`, and one
 * line in cmd/registry.c. Nothing else knows that it exists. */
#ifndef TP_FORMAT_H
#define TP_FORMAT_H

#include "traces/input.h"
#include "traces/lower.h"

struct tp_meta {
    char *name;    /* of the trace; owned; NULL: none given */
    char *program; /* what was recorded; owned; NULL: none given */
    enum tp_kind kind;
};
void tp_meta_release(struct tp_meta *meta);

/* Sets *field to a copy that is valid UTF-8 without control characters: traces are hostile, and
 * this text reaches terminals and JSON. At most 1,000 bytes are kept. */
int tp_meta_set(char **field, const char *text, struct tp_err *err);

struct tp_format {
    const char *name;    /* for --input-format */
    const char *summary; /* one line for `tapool help formats` */
    bool own;            /* tapool's own: strict by default */

    /* 0 = not this format, 100 = certain. Looks at the first bytes (up to 64 KiB). */
    int (*probe)(const unsigned char *data, size_t size);

    /* Reads to the end. Errors name file, line and event. */
    int (*read)(struct tp_input *in, struct tp_lower *lo, struct tp_meta *meta, struct tp_err *err);
};

#endif
