/* A way of packing bytes: the decoder of one member of a packed file.
 *
 * A packed file is a row of members (gzip) or frames (zstd), one behind the other. unpack.c walks
 * along the row; a decoder sees one member at a time.
 *
 * To add a way of packing: one file traces/input/packing_NAME.c that exports one `const struct
 * tp_packing`, and one line in the table of unpack.c. */
#ifndef TP_PACKING_H
#define TP_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_unpacked {
    TP_UNPACKED_SOME,       /* went as far as input and room allow */
    TP_UNPACKED_MEMBER,     /* and the member is at its end, all of it is in `out` */
    TP_UNPACKED_DAMAGED,    /* no such data, or its checksum is wrong */
    TP_UNPACKED_WINDOW,     /* it needs a window above max_memory */
    TP_UNPACKED_DICTIONARY, /* it was packed with a dictionary, which is not here */
    TP_UNPACKED_NOMEM,
    TP_UNPACKED_COUNT
};

/* Bytes that a decoder takes, and room that it fills; it moves both. */
struct tp_packed_bytes {
    const unsigned char *at;
    size_t size;
};
struct tp_packed_room {
    unsigned char *at;
    size_t size;
};

#define TP_PACKING_MAGIC 4 /* bytes that tell whether a member begins */

struct tp_packing {
    const char *name;  /* "gzip" */
    const char *tool;  /* what unpacks it by hand: "gzip -d" */
    bool zeros_follow; /* zeros behind the last member are padding */

    /* Whether a member begins with these bytes; fewer than TP_PACKING_MAGIC only at the end. */
    bool (*begins)(const unsigned char *data, size_t size);

    /* NULL: out of memory. The decoder itself takes at most about max_memory bytes. */
    void *(*open)(uint64_t max_memory);
    void (*close)(void *state);

    /* Decodes as far as it goes. After TP_UNPACKED_MEMBER the next call begins a new member. */
    enum tp_unpacked (*step)(void *state, struct tp_packed_bytes *in, struct tp_packed_room *out);
};

#endif
