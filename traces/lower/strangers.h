/* Files that are no trace but are taken for one: what each is, why it is not played, and the way
 * out. Looked for only where no reader is sure of the bytes. */
#ifndef TP_STRANGERS_H
#define TP_STRANGERS_H

#include <stdbool.h>
#include <stddef.h>

/* The sentence is "FILE is NAME, WHY". */
struct tp_stranger {
    bool (*is)(const unsigned char *data, size_t size);
    const char *mark; /* instead of `is`: what it begins with */
    size_t mark_size;
    const char *name; /* "a massif profile" */
    const char *why;  /* "which holds ..." */
    const char *hint;
};

/* NULL: none of them. Looks at the first bytes, up to TP_PROBE_BYTES. */
const struct tp_stranger *tp_stranger_of(const unsigned char *data, size_t size);

#endif
