/* The lives of a program's objects: when each began, when it ended, and how large it was. */
#ifndef TP_LIVES_H
#define TP_LIVES_H

#include "alloc/program/program.h"

/* An object lives from one instruction up to, but not including, another. */
struct tp_life {
    uint64_t begin, end;             /* instructions of the program, the initial heap's included */
    uint64_t begin_event, end_event; /* 0: in the initial heap; facts.events + 1: live at the end */
    uint64_t size;                   /* bytes */
    uint16_t stream;                 /* of the request */
    uint8_t align_log2;
    bool pooled; /* requested of a private pool */
};

/* What it returns other than TP_OK ends the walk. */
typedef int tp_take_life(void *ctx, const struct tp_life *life, struct tp_err *err);

/* Hands every life of one device to `take`, in the order in which they end. A realloc ends one life
 * and begins another. */
int tp_program_lives(struct tp_program *p, uint16_t device, tp_take_life *take, void *ctx,
                     struct tp_err *err);

#endif
