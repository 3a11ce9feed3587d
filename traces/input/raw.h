/* Where the bytes of an input lie, as they lie there: a descriptor or memory. */
#ifndef TP_RAW_H
#define TP_RAW_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_raw {
    const char *name;          /* for messages; borrowed */
    int fd;                    /* -1: memory */
    bool again;                /* a regular file from its first byte: read by offset, also anew */
    uint64_t at;               /* bytes read: where the next one lies in memory and `again` */
    const unsigned char *data; /* memory, borrowed */
    size_t size;               /* of the memory, in bytes */
    int (*stop)(struct tp_err *err); /* asked while waiting; its status ends the reading; or NULL */
};

/* Finds out about the descriptor that is set. TP_EINPUT: it is a directory or cannot be asked. */
int tp_raw_look(struct tp_raw *raw, struct tp_err *err);

/* Reads up to `room` bytes, one read(2), waiting where the descriptor does not block. *got is 0
 * only at the end. TP_EIO when reading fails, and what raw->stop says. */
int tp_raw_read(struct tp_raw *raw, void *into, size_t room, size_t *got, struct tp_err *err);

/* TP_EINPUT, with the sentence for an open(2) or fstat(2) that set errno to `code`. */
int tp_raw_refuse(const char *name, int code, struct tp_err *err);

#endif
