/* The size classes of `arena`.
 *
 *     fine   16 32 48 ... 128 | 144 160 ... 256 | 288 320 ... 512 | ... | 18K 20K ... 32K
 *            16-byte steps      then 8 classes a doubling: waste at most 15 bytes, then 12.5%
 *
 * A byte table gives the class of sizes up to 32 KiB; larger sizes, which only the coarse tables
 * have, are searched. Each class has three counts: blocks that a refill brings,
 * blocks that a thread may hold, and blocks that it hands over when it holds too many. */
#ifndef TP_ARENA_CLASSES_H
#define TP_ARENA_CLASSES_H

#include "alloc/strategies/common/chores.h"

#define ARENA_MAX_CLASSES 72u
#define ARENA_DIRECT      32768u /* bytes that the table covers */
#define ARENA_STEP        16u    /* bytes per entry of the table: the finest class */
#define ARENA_PAGE        2048u  /* bytes: spans begin at multiples of it */
#define ARENA_NO_CLASS    UINT32_MAX

/* A cache that was drained and had to be refilled may hold twice as many blocks from then on, up to
 * so many times its target. In bytes, because two large blocks may be more than that already. */
enum { LIMIT_GROWTH = 16 };

enum arena_table { ARENA_FINE, ARENA_COARSE6, ARENA_COARSE12 };

struct arena_classes {
    uint64_t direct;    /* sizes up to this are in `of`, bytes */
    uint64_t alignment; /* of every block, bytes */
    uint64_t largest;   /* size of the largest class, bytes */
    uint32_t count;
    uint32_t cache_target;                 /* bytes of each class that a thread keeps at first */
    uint64_t size[ARENA_MAX_CLASSES];      /* bytes, rising */
    uint32_t refill[ARENA_MAX_CLASSES];    /* blocks, >= 1 */
    uint32_t limit[ARENA_MAX_CLASSES];     /* blocks in a thread at first, >= 2 */
    uint32_t drain[ARENA_MAX_CLASSES];     /* blocks, >= 1 */
    uint8_t of[ARENA_DIRECT / ARENA_STEP]; /* class by (size - 1) / 16 */
};

/* Fills in the classes and their counts. Both targets are in bytes. */
void tp_arena_classes_init(struct arena_classes *t, enum arena_table table, uint64_t alignment,
                           uint64_t refill_target, uint32_t cache_target);

/* Whether a cache of a class may ever hold so many blocks. */
static inline bool classes_may_hold(const struct arena_classes *t, uint32_t size_class,
                                    uint64_t blocks)
{
    return blocks <= t->limit[size_class] ||
           blocks * t->size[size_class] <= (uint64_t)t->cache_target * LIMIT_GROWTH;
}

/* The class of a size from 1 to `largest`. */
static inline uint32_t classes_of_size(const struct arena_classes *t, uint64_t size)
{
    if (size <= t->direct)
        return t->of[(size - 1) / ARENA_STEP];
    uint32_t c = t->of[(t->direct - 1) / ARENA_STEP];
    while (t->size[c] < size)
        c++;
    return c;
}

/* The class for a request; ARENA_NO_CLASS: the request is large. Blocks lie at multiples of their
 * size from the start of a page, so any class whose size is a multiple of the alignment will do. */
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
