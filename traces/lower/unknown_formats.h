/* Files that are not traces but are often taken for one: what each is, why it cannot be replayed,
 * and what to do instead. They are looked for only if no format is sure of a file. */
#ifndef TP_UNKNOWN_FORMATS_H
#define TP_UNKNOWN_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

/* One kind of such a file. The message is "FILE is NAME, WHY". */
struct tp_unknown_format {
    bool (*is)(const unsigned char *data, size_t size);
    const char *mark; /* the first bytes of the file, if `is` is NULL */
    size_t mark_size;
    const char *name; /* "a massif profile" */
    const char *why;  /* "which holds ..." */
    const char *hint;
};

/* Recognises a file by its first bytes, at most TP_PROBE_BYTES. NULL: not one of them. */
const struct tp_unknown_format *tp_unknown_format_of(const unsigned char *data, size_t size);

#endif
