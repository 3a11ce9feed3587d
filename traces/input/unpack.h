/* Unpacks gzip and zstd on the way in, in flat memory. */
#ifndef TP_UNPACK_H
#define TP_UNPACK_H

#include "traces/input/packing.h"
#include "traces/input/raw.h"

struct tp_unpack;

/* How these first bytes are packed, or NULL. Needs TP_PACKING_MAGIC of them. */
const struct tp_packing *tp_packing_of(const unsigned char *data, size_t size);

/* What is made of a file is a bomb above max_memory and so many times what was taken of it. */
#define TP_BOMB_RATIO 200

struct tp_unpack_cfg {
    const struct tp_packing *how;
    struct tp_raw *raw;        /* borrowed until tp_unpack_free */
    const unsigned char *head; /* what was read of it already; copied */
    size_t head_size;          /* at most TP_UNPACK_HEAD */
    uint64_t max_memory;       /* bytes: of a window, and of what a bomb may unpack to; above 0 */
};
#define TP_UNPACK_HEAD ((size_t)256 << 10)

int tp_unpack_new(const struct tp_unpack_cfg *cfg, struct tp_unpack **out, struct tp_err *err);
void tp_unpack_free(struct tp_unpack *z); /* NULL is fine */

/* Up to `room` unpacked bytes; *got is 0 only at the end of the last member, behind which nothing
 * is. TP_EINPUT: damaged, cut, followed by something else, a bomb; TP_EIO: reading failed. */
int tp_unpack_read(struct tp_unpack *z, void *into, size_t room, size_t *got, struct tp_err *err);

#endif
