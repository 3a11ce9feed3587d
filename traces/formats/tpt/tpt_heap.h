/* HEAP blocks of a .tpt file: the heap of the recorded allocator when the recording began.
 *
 *     segment: device | stream | flags | pool, 2 numbers | base | size | blocks
 *         that many blocks: at | requested | bytes | behind
 *
 * A base is counted from the end of the segment before it on the device, a place from the end of
 * what the block before it requested, or from the base. `bytes` is how many more than requested,
 * plus 1; `behind` is where it lies behind what was requested, plus 1; 0: not known. Segments and
 * blocks are the items of a HEAP block, which may end between any two of them. */
#ifndef TP_TPT_HEAP_H
#define TP_TPT_HEAP_H

#include "traces/formats/tpt/tpt_block.h"

enum { TP_TPT_HEAP_NUMBERS = 8 }; /* of a segment */

#define TP_TPT_HEAP_MAX (TP_TPT_HEAP_ITEMS * TP_TPT_HEAP_NUMBERS * 9u) /* bytes of a payload */

/* Where the list of items has come to, zeroed at first. */
struct tp_tpt_heap_place {
    uint64_t segment, block;
    uint64_t left;   /* blocks of the last segment that are still to come */
    uint64_t end;    /* of the last segment */
    uint64_t so_far; /* end of what the last block requested, or the segment's base */
};

/* Makes the next block and its payload, which the caller frees. *payload is NULL when the whole
 * heap is written; `heap` may be NULL. */
int tp_tpt_heap_put(struct tp_tpt_heap_place *at, const struct tp_heap *heap,
                    struct tp_tpt_block *block, uint8_t **payload, struct tp_err *err);

/* Zeroed at first. */
struct tp_tpt_heap {
    struct tp_heap_segment *segments;
    struct tp_heap_block *blocks;
    size_t segment_room, block_room;
    struct tp_tpt_heap_place at;
};

/* Reads a block whose header was checked. 16 bytes behind the end of `payload` must be readable.
 * TP_EINPUT: the message names no place. That the heap is sound is checked with the program. */
int tp_tpt_heap_get(struct tp_tpt_heap *h, const struct tp_tpt_block *block, const uint8_t *payload,
                    struct tp_err *err);
void tp_tpt_heap_release(struct tp_tpt_heap *h);

/* The heap that was read, without segments if there is none. Borrows the arrays. */
struct tp_heap tp_tpt_heap_of(const struct tp_tpt_heap *h);

#endif
