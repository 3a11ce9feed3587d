/* The sizes of blocks that were live when the recording began and are only known by their requests:
 * those that were freed before its end.
 *
 *     | block  rest | next live block     a rest that the rules would have split off is free, else
 *                                         it is part of the block
 *     | block  ?        free       |      where the first request is served from the free bytes
 *              ?| first |          |      while the block is live, they begin: the lowest bytes
 *                                         of a free block always serve */
#ifndef TP_VERIFY_SIZES_H
#define TP_VERIFY_SIZES_H

#include "cmd/verify/verified.h"
#include "traces/formats/pytorch/pytorch_heap.h"

/* Fills in `bytes` of every block of the heap, and counts those that were not known. */
int tp_verify_sizes(const struct tp_pytorch *s, const struct tp_torch_rules *rules,
                    struct tp_pytorch_heap *heap, struct tp_verified *out, struct tp_err *err);

/* Whether a block lies in a segment. */
static inline bool tp_verify_is_in(const struct tp_pytorch_block *b,
                                   const struct tp_pytorch_block *segment)
{
    return b->address >= segment->address && b->address - segment->address < segment->size;
}

#endif
