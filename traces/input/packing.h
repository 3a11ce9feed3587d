/* A way of packing bytes: the decoder of one member of a packed file.
 *
 * A packed file is a row of members (gzip) or frames (zstd), one behind the other. unpack.c goes
 * from member to member; a decoder sees one at a time.
 *
 * To add a way of packing: one file traces/input/packing_NAME.c that exports one `const struct
 * tp_packing`, and one line in the table of unpack.c. */
#ifndef TP_PACKING_H
#define TP_PACKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_unpacked {
    TP_UNPACKED_SOME,       /* `in` is used up or `out` is full */
    TP_UNPACKED_MEMBER,     /* the member has ended, and all of its bytes are in `out` */
    TP_UNPACKED_DAMAGED,    /* invalid data, or a wrong checksum */
    TP_UNPACKED_WINDOW,     /* the data need a window above max_memory */
    TP_UNPACKED_DICTIONARY, /* the data need a dictionary, which tapool does not have */
    TP_UNPACKED_NOMEM,
    TP_UNPACKED_COUNT
};

/* Bytes that a decoder reads and room that it fills. The decoder advances both. */
struct tp_packed_bytes {
    const unsigned char *at;
    size_t size;
};
struct tp_packed_room {
    unsigned char *at;
    size_t size;
};

#define TP_PACKING_MAGIC 4 /* bytes by which the beginning of a member is recognised */

struct tp_packing {
    const char *name;  /* "gzip" */
    const char *tool;  /* command that unpacks a file: "gzip -d" */
    bool zeros_follow; /* zeros behind the last member are padding */

    /* Whether a member begins with these bytes. `size` is below TP_PACKING_MAGIC only at the end of
     * the input. */
    bool (*begins)(const unsigned char *data, size_t size);

    /* Makes a decoder that takes at most about max_memory bytes. NULL: out of memory. */
    void *(*open)(uint64_t max_memory);
    void (*close)(void *state);

    /* Decodes until `in` is used up, `out` is full or the member ends. After TP_UNPACKED_MEMBER the
     * next call begins a new member. */
    enum tp_unpacked (*step)(void *state, struct tp_packed_bytes *in, struct tp_packed_room *out);
};

#endif
