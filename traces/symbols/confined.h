/* A function that runs in a fork of this process, with bounds on its memory and its time, and
 * writes what it finds to a pipe. Whatever it is led to by hostile input, this process goes on. */
#ifndef TP_CONFINED_H
#define TP_CONFINED_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tp_confined_cfg {
    void (*run)(void *ctx, int out); /* the fork ends when it returns */
    void *ctx;
    uint64_t memory;  /* bytes that it may map, beside what this process has */
    uint64_t seconds; /* of processor time, at least 1 */
    uint64_t until;   /* tp_wall_ns at which it ends in any case */
    /* called from time to time while it is waited for; a status other than TP_OK ends the waiting;
     * NULL: nobody is asked */
    int (*stop)(struct tp_err *err);
};

struct tp_confined {
    const struct tp_confined_cfg *cfg; /* borrowed */
    pid_t pid;
    int in;
};

/* TP_EIO: it could not be started, and nothing is to be ended. */
int tp_confined_start(struct tp_confined *c, const struct tp_confined_cfg *cfg, struct tp_err *err);

/* Waits for at most `room` bytes of what it writes. *got is 0 where there will be no more: it
 * returned, was ended by a bound, or crashed. */
int tp_confined_read(struct tp_confined *c, void *into, size_t room, size_t *got,
                     struct tp_err *err);

/* Ends it, if it still runs. Returns the processor time that it took, ns. */
uint64_t tp_confined_end(struct tp_confined *c);

/* For `run`: writes all bytes, or ends the fork. */
void tp_confined_write(int out, const void *bytes, size_t size);

#endif
