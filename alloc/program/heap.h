/* The heap of the recorded allocator when the recording began: its segments, and where in them the
 * blocks of the initial heap lay. A strategy that knows what to do with it begins with this heap;
 * for all others the initial heap is a row of allocations.
 *
 *     segments   | live | free |   | free    |   | live | live |      by device, then by address
 *     blocks       0                               1      2           one for each ALLOC of the
 *                                                                     initial_heap, in its order */
#ifndef TP_HEAP_H
#define TP_HEAP_H

#include <stdbool.h>
#include <stdint.h>

enum tp_heap_flags {
    TP_HEAP_SMALL = 1u << 0,     /* the segment is of the pool of small blocks */
    TP_HEAP_EXPANDABLE = 1u << 1 /* the segment can grow */
};
enum { TP_HEAP_FLAGS = TP_HEAP_SMALL | TP_HEAP_EXPANDABLE };

/* A private pool, which serves the requests of a CUDA graph or the like alone, has two numbers,
 * both from 0 to TP_POOL_MOST. Together they are one number below 2^48; 0: the pool of all others.
 */
enum { TP_POOL_BITS = 24, TP_POOL_MOST = (1 << TP_POOL_BITS) - 1 };

/* Whether it is the number of a private pool. */
static inline bool tp_is_pool(uint64_t number)
{
    return number && number < UINT64_C(1) << (2 * TP_POOL_BITS);
}

static inline uint64_t tp_pool_number(uint64_t first, uint64_t second)
{
    return first << TP_POOL_BITS | second;
}

static inline uint64_t tp_pool_first(uint64_t number)
{
    return number >> TP_POOL_BITS;
}

static inline uint64_t tp_pool_second(uint64_t number)
{
    return number & TP_POOL_MOST;
}

/* Of a segment that grows, each stretch that is mapped is one. */
struct tp_heap_segment {
    uint64_t base; /* where the recording had it */
    uint64_t size; /* bytes */
    uint64_t blocks;
    uint64_t pool[2];        /* the numbers of its pool */
    uint32_t flags;          /* enum tp_heap_flags */
    uint16_t device, stream; /* of the program */
};

/* A live block; between blocks, free ones. */
struct tp_heap_block {
    uint64_t at;        /* address in the recording */
    uint64_t requested; /* bytes that the program asked for */
    uint64_t bytes;     /* of the block itself, with its rounding; 0: not recorded */
    /* where the first block behind it was made while it was live, before the next block of this
     * heap: so far it can reach at most. 0: none was */
    uint64_t behind;
};

/* Whether two stretches, `next` behind `first`, belong to one segment that grows, which reserves so
 * many bytes from the first one on. They do where nothing else lies between them. */
static inline bool tp_heap_reaches(const struct tp_heap_segment *first, uint64_t bytes,
                                   const struct tp_heap_segment *next)
{
    uint64_t before = next->base - first->base;
    return first->flags == next->flags && first->device == next->device &&
           first->stream == next->stream && first->pool[0] == next->pool[0] &&
           first->pool[1] == next->pool[1] && before <= bytes && next->size <= bytes - before;
}

struct tp_heap {
    const struct tp_heap_segment *segments;
    const struct tp_heap_block *blocks;
    uint64_t segment_count, block_count;
};

#endif
