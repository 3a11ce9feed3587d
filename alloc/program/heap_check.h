/* What a heap must be, and the part of one device. */
#ifndef TP_HEAP_CHECK_H
#define TP_HEAP_CHECK_H

#include "alloc/program/heap.h"
#include "alloc/program/program.h"

/* Checks a heap by itself: NULL, or what is wrong. Streams and devices must be below these. */
const char *tp_heap_wrong(const struct tp_heap *h, uint32_t streams, uint32_t devices);

/* Where a comparison with the initial heap has come to; zeroed at first. */
struct tp_heap_place {
    uint64_t segment, block;
    uint64_t left; /* blocks of the segment that are still to come */
};

/* Compares the next ALLOC of the initial heap with the next block: NULL, or what is wrong. */
const char *tp_heap_differs(const struct tp_heap *h, struct tp_heap_place *at,
                            const struct tp_insn *insn);

/* The heap of one device. Borrows the arrays. */
struct tp_heap tp_heap_of(const struct tp_heap *h, uint16_t device);

#endif
