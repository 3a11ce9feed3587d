/* Internal to the engine: the pattern by which the verifying pass knows a block's contents again.
 *
 * Of a long block only the first and last bytes and eight bytes of every page are written; damage
 * to other bytes is not detected. */
#ifndef TP_VERIFY_CONTENTS_H
#define TP_VERIFY_CONTENTS_H

#include "alloc/memory.h"

#include <stdbool.h>
#include <string.h>

enum { TP_CONTENTS_WHOLE = 4096, TP_CONTENTS_STRIDE = 4096, TP_CONTENTS_WORD = sizeof(uint64_t) };

static inline uint64_t tp_contents_word(uint64_t seed, uint64_t offset)
{
    uint64_t z = (seed ^ offset) * UINT64_C(0x9E3779B97F4A7C15);
    return z ^ (z >> 29);
}

/* Called for a piece of a block that carries the pattern. */
typedef bool tp_contents_fn(unsigned char *at, uint64_t offset, size_t length, uint64_t seed);

static inline bool tp_contents_write_piece(unsigned char *at, uint64_t offset, size_t length,
                                           uint64_t seed)
{
    uint64_t word = tp_contents_word(seed, offset);
    memcpy(at + offset, &word, length);
    return true;
}

static inline bool tp_contents_same_piece(unsigned char *at, uint64_t offset, size_t length,
                                          uint64_t seed)
{
    uint64_t word = tp_contents_word(seed, offset);
    return !memcmp(at + offset, &word, length);
}

/* Visits words at multiples of 8 below TP_CONTENTS_WHOLE, one at every page, and the word with the
 * last byte. Pieces beyond `limit` are left out. */
static inline bool tp_contents_visit(tp_addr addr, uint64_t size, uint64_t limit, uint64_t seed,
                                     tp_contents_fn *fn)
{
    unsigned char *at = (unsigned char *)(uintptr_t)addr;
    uint64_t end = size < limit ? size : limit,
             last = (size - 1) / TP_CONTENTS_WORD * TP_CONTENTS_WORD;
    for (uint64_t o = 0; o < end; o += o + TP_CONTENTS_WORD < TP_CONTENTS_WHOLE
                                           ? TP_CONTENTS_WORD
                                           : TP_CONTENTS_STRIDE - o % TP_CONTENTS_STRIDE) {
        size_t length = (size_t)(end - o < TP_CONTENTS_WORD ? end - o : TP_CONTENTS_WORD);
        if (!fn(at, o, length, seed))
            return false;
    }
    return last < TP_CONTENTS_WHOLE || limit < size || fn(at, last, (size_t)(size - last), seed);
}

static inline void tp_contents_write(tp_addr addr, uint64_t size, uint64_t seed)
{
    tp_contents_visit(addr, size, size, seed, tp_contents_write_piece);
}

/* Do the first `limit` bytes of a block, which may have moved to `addr`, still hold the pattern? */
static inline bool tp_contents_kept(tp_addr addr, uint64_t size, uint64_t limit, uint64_t seed)
{
    return tp_contents_visit(addr, size, limit, seed, tp_contents_same_piece);
}

#endif
