/* The bytes of an input before unpacking, from a descriptor or from memory. */
#ifndef TP_RAW_H
#define TP_RAW_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
