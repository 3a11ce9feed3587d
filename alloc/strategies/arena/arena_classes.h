/* The size classes of `arena`.
 *
 *     fine   16 32 48 ... 128 | 144 160 ... 256 | 288 320 ... 512 | ... | 18K 20K ... 32K
 *            16-byte steps      then 8 classes a doubling: waste at most 15 bytes, then 12.5 %
 *
 * A table of bytes finds the class of anything up to 32 KiB; above that (only the coarse tables go
 * so far) a search does. With each class go the three counts of the policy: how many blocks a
 * refill brings, how many a thread may hold, how many it hands over when it holds too many. */
#ifndef TP_ARENA_CLASSES_H
#define TP_ARENA_CLASSES_H

#include "alloc/strategies/common/chores.h"

#define ARENA_MAX_CLASSES 72u
#define ARENA_DIRECT      32768u /* bytes that the table covers */
#define ARENA_STEP        16u    /* bytes per entry of the table: the finest class */
#define ARENA_PAGE        2048u  /* bytes: spans begin at multiples of it */
#define ARENA_NO_CLASS    UINT32_MAX

enum arena_table { ARENA_FINE, ARENA_COARSE6, ARENA_COARSE12 };

struct arena_classes {
    uint64_t direct;    /* sizes up to this are in `of`, bytes */
    uint64_t alignment; /* of every block, bytes */
    uint64_t largest;   /* class, bytes */
    uint32_t count;
    uint64_t size[ARENA_MAX_CLASSES];          /* bytes, rising */
    uint32_t refill[ARENA_MAX_CLASSES];        /* blocks, >= 1 */
    uint32_t limit[ARENA_MAX_CLASSES];         /* blocks in a thread, >= 2 */
    uint32_t drain[ARENA_MAX_CLASSES];         /* blocks, >= 1 */
    uint8_t of[ARENA_DIRECT / ARENA_STEP + 1]; /* class by size / 16, rounded up */
};

/* Adds a class unless rounding to the alignment made it equal to the one before. */
static inline void classes_add(struct arena_classes *t, uint64_t size)
{
    size = round_up(size, t->alignment);
    if (t->count && t->size[t->count - 1] == size)
        return;
    assert(t->count < ARENA_MAX_CLASSES);
    t->size[t->count++] = size;
}

static inline void classes_list(struct arena_classes *t, enum arena_table table)
{
    static const uint64_t coarse6[] = {64, 256, 4 << 10, 256 << 10, 1 << 20, 16 << 20, 0};
    static const uint64_t coarse12[] = {64,       256,      4 << 10,  6 << 10,   8 << 10,
                                        16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10,
                                        1 << 20,  16 << 20, 0};
    if (table != ARENA_FINE) {
        for (const uint64_t *size = table == ARENA_COARSE6 ? coarse6 : coarse12; *size; size++)
            classes_add(t, *size);
        return;
    }
    for (uint64_t size = 16; size <= 128; size += 16)
        classes_add(t, size);
    for (uint64_t base = 128; base < 32768; base *= 2)
        for (uint64_t eighth = 1; eighth <= 8; eighth++)
            classes_add(t, base + base / 8 * eighth);
}

/* Both targets in bytes. */
static inline void classes_init(struct arena_classes *t, enum arena_table table, uint64_t alignment,
                                uint64_t refill_target, uint64_t cache_target)
{
    t->alignment = alignment;
    classes_list(t, table);
    t->largest = t->size[t->count - 1];
    t->direct = t->largest < ARENA_DIRECT ? t->largest : ARENA_DIRECT;
    for (uint32_t c = 0, step = 0; step <= t->direct / ARENA_STEP; step++) {
        if (step * UINT64_C(1) * ARENA_STEP > t->size[c])
            c++;
        t->of[step] = (uint8_t)c;
    }
    for (uint32_t c = 0; c < t->count; c++) {
        uint64_t refill = refill_target / t->size[c];
        uint64_t limit = cache_target / t->size[c];
        t->refill[c] = (uint32_t)(refill ? refill : 1);
        t->limit[c] = (uint32_t)(limit > 2 ? limit : 2);
        t->drain[c] = t->refill[c] > 3 ? t->refill[c] / 2 : 1;
    }
}

/* The class of a size from 1 to `largest`. */
static inline uint32_t classes_of_size(const struct arena_classes *t, uint64_t size)
{
    if (size <= t->direct)
        return t->of[(size + ARENA_STEP - 1) / ARENA_STEP];
    uint32_t c = t->of[t->direct / ARENA_STEP];
    while (t->size[c] < size)
        c++;
    return c;
}

/* The class for a request, or ARENA_NO_CLASS: it is large. Blocks lie at multiples of their size
 * from a page on, so any class whose size is a multiple of the alignment will do. */
static inline uint32_t classes_of(const struct arena_classes *t, const struct tp_req *rq)
{
    if (rq->size > t->largest || rq->align > ARENA_PAGE)
        return ARENA_NO_CLASS;
    uint32_t c = classes_of_size(t, rq->size);
    while (c < t->count && t->size[c] & (rq->align - 1))
        c++;
    return c < t->count ? c : ARENA_NO_CLASS;
}

#endif
