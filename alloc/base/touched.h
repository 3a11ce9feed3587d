/* How much of its large blocks a program has written: a program that asks for 16 MiB may use two.
 * By size, in octaves from 16 KiB on; smaller blocks count as written wholly. */
#ifndef TP_TOUCHED_H
#define TP_TOUCHED_H

#include <stdint.h>

enum {
    TP_TOUCHED_LOG2 = 14,   /* of the least size */
    TP_TOUCHED_OCTAVES = 20 /* the last one has all larger sizes */
};
#define TP_TOUCHED_LEAST (UINT64_C(1) << TP_TOUCHED_LOG2)

/* Parts of 1,000 that are written, by octave. */
struct tp_touched {
    uint16_t parts[TP_TOUCHED_OCTAVES];
};

/* The octave of a size of TP_TOUCHED_LEAST or more. */
static inline unsigned tp_touched_octave(uint64_t size)
{
    unsigned octave = 63u - (unsigned)__builtin_clzll(size) - TP_TOUCHED_LOG2;
    return octave < TP_TOUCHED_OCTAVES ? octave : TP_TOUCHED_OCTAVES - 1;
}

/* How much of a block is written, in bytes from its begin. NULL: all blocks are written wholly. */
static inline uint64_t tp_touched_bytes(const struct tp_touched *t, uint64_t size)
{
    if (!t || size < TP_TOUCHED_LEAST)
        return size;
    return size / 1000 * t->parts[tp_touched_octave(size)];
}

#endif
