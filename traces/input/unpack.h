/* Unpacks gzip and zstd while they are read, in constant memory. */
#ifndef TP_UNPACK_H
#define TP_UNPACK_H

#include "alloc/base/err.h"
#include "traces/input/packing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of an input before unpacking, from a descriptor or from memory. */

struct tp_raw {
    const char *name; /* for messages; borrowed */
    int fd;           /* descriptor; -1: the bytes are in memory */
    /* a regular file at its first byte: read by offset, and can be read again */
    bool again;
    /* bytes read so far; the offset of the next read from memory or with `again` */
    uint64_t at;
    const unsigned char *data;       /* the bytes in memory; borrowed */
    size_t size;                     /* bytes at `data` */
    int (*stop)(struct tp_err *err); /* called while waiting; its status ends reading; or NULL */
};

/* Examines raw->fd and sets raw->again. TP_EINPUT: it is a directory, or fstat(2) fails. */
int tp_raw_look(struct tp_raw *raw, struct tp_err *err);

/* Reads up to `room` bytes with one read(2), and waits if the descriptor is non-blocking. *got is 0
 * only at the end. TP_EIO: reading failed; or the status of raw->stop. */
int tp_raw_read(struct tp_raw *raw, void *into, size_t room, size_t *got, struct tp_err *err);

/* Fails with TP_EINPUT and the message for an open(2) or fstat(2) that set errno to `code`. */
int tp_raw_refuse(const char *name, int code, struct tp_err *err);

struct tp_unpack;

/* The packing of a file that begins with these bytes, at least TP_PACKING_MAGIC of them. NULL: not
 * packed. */
const struct tp_packing *tp_packing_of(const unsigned char *data, size_t size);

/* Unpacked bytes are a bomb when they exceed both max_memory and this multiple of the packed
 * bytes. */
#define TP_BOMB_RATIO 200

struct tp_unpack_cfg {
    const struct tp_packing *how;
    struct tp_raw *raw;        /* borrowed until tp_unpack_free */
    const unsigned char *head; /* bytes that were already read from `raw`; copied */
    size_t head_size;          /* at most TP_UNPACK_HEAD */
    /* bytes, above 0: limit of a window, and of what a bomb unpacks to */
    uint64_t max_memory;
};
#define TP_UNPACK_HEAD ((size_t)256 << 10)

int tp_unpack_new(const struct tp_unpack_cfg *cfg, struct tp_unpack **out, struct tp_err *err);
void tp_unpack_free(struct tp_unpack *z); /* NULL is fine */

/* Reads up to `room` unpacked bytes. *got is 0 only at the end of the last member, with nothing
 * behind it. TP_EINPUT: damaged, cut, followed by other bytes, or a bomb; TP_EIO: reading
 * failed. */
int tp_unpack_read(struct tp_unpack *z, void *into, size_t room, size_t *got, struct tp_err *err);

#endif
