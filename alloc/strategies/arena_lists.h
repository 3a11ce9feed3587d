/* The free lists of `arena`: a cache per thread and class, a central pool per class.
 *
 *     thread cache   items | oldest ... newest |   run: next address, blocks left
 *                            ^ drained     ^ popped     (carved, never handed out)
 *     central pool   segment -> segment -> segment      each: items and a run
 *
 * Lists are arrays of addresses, never links inside the blocks, so they work without memory. A span
 * that was just carved is a run: an address and a count, whatever it holds. A thread's array is a
 * segment of the central pool that it owns: when the thread ends, its segment is linked into the
 * pool as it is, which takes no memory and cannot fail.
 *
 * A lock per class will protect `struct arena_central`; a cache belongs to its thread alone. */
#ifndef TP_ARENA_LISTS_H
#define TP_ARENA_LISTS_H

#include "alloc/strategies/arena_classes.h"

#include <string.h>

#define LIST_FIRST_ROOM 16u /* addresses in a thread's first array */

struct arena_segment {
    struct arena_segment *next; /* in the pool */
    uint32_t room, count;
    uint32_t run_left; /* only while it is in the pool */
    tp_addr run_next;
    tp_addr items[]; /* `room` of them, oldest first */
};

struct arena_central {
    struct arena_segment *top; /* taken from and given to */
    uint64_t count;            /* blocks in all segments, runs included */
};

/* Hot: 32 bytes a class. `bound` is how many items there may be before a free has to look closer:
 * the array's room, or the limit less what the run holds. */
struct arena_cache {
    struct arena_segment *segment; /* NULL: nothing was ever cached */
    uint32_t count;                /* items in the segment */
    uint32_t bound;
    tp_addr run_next;
    uint32_t run_left;
};
static_assert(sizeof(struct arena_cache) == 32, "a class is found by a shift");

struct arena_chunk;

struct arena_thread {
    struct arena_thread *older, *newer; /* all threads of the instance */
    struct arena_chunk *last_chunk;     /* of the last free, NULL: none; saves a look-up */
    uint64_t last_index;                /* its addresses >> CHUNK_SHIFT */
    struct arena_cache caches[ARENA_MAX_CLASSES];
};

static inline size_t segment_size(uint32_t room)
{
    return sizeof(struct arena_segment) + room * sizeof(tp_addr);
}

static inline struct arena_segment *segment_new(const struct tp_env *env, uint32_t room)
{
    struct arena_segment *seg = tp_meta_get(env, segment_size(room));
    if (seg)
        seg->room = room;
    return seg;
}

static inline void segment_free(const struct tp_env *env, struct arena_segment *seg)
{
    if (seg)
        tp_meta_put(env, seg, segment_size(seg->room));
}

static inline void cache_set_bound(struct arena_cache *cache, uint32_t limit)
{
    uint32_t room = cache->segment ? cache->segment->room : 0;
    uint32_t allowed = limit > cache->run_left ? limit - cache->run_left : 0;
    cache->bound = room < allowed ? room : allowed;
}

/* Room for at least `count` addresses in all. TP_ENOMEM: unchanged. */
static inline int cache_reserve(const struct tp_env *env, struct arena_cache *cache, uint32_t count,
                                uint32_t limit)
{
    uint32_t room = cache->segment ? cache->segment->room : 0;
    if (room >= count)
        return TP_OK;
    uint32_t wanted = room ? room * 2 : LIST_FIRST_ROOM;
    if (wanted < count)
        wanted = count;
    struct arena_segment *seg = segment_new(env, wanted);
    if (!seg)
        return TP_ENOMEM;
    if (cache->count)
        memcpy(seg->items, cache->segment->items, cache->count * sizeof *cache->segment->items);
    segment_free(env, cache->segment);
    cache->segment = seg;
    cache_set_bound(cache, limit);
    return TP_OK;
}

/* Makes sure that the pool takes `count` addresses in one piece. */
static inline int central_reserve(const struct tp_env *env, struct arena_central *pool,
                                  uint32_t count)
{
    struct arena_segment *top = pool->top;
    if (top && top->room - top->count >= count)
        return TP_OK;
    uint32_t room = top && top->room < UINT32_MAX / 4 ? top->room * 2 : LIST_FIRST_ROOM;
    struct arena_segment *seg = segment_new(env, room > count ? room : count);
    if (!seg)
        return TP_ENOMEM;
    seg->next = top;
    pool->top = seg;
    return TP_OK;
}

/* Hands the oldest `count` blocks of a cache over; the pool has room for them. */
static inline void central_give(struct arena_central *pool, struct arena_cache *cache,
                                uint32_t count, uint64_t block)
{
    struct arena_segment *top = pool->top;
    uint32_t listed = count < cache->count ? count : cache->count;
    if (listed) {
        memcpy(&top->items[top->count], cache->segment->items,
               listed * sizeof *cache->segment->items);
        memmove(cache->segment->items, cache->segment->items + listed,
                (cache->count - listed) * sizeof *cache->segment->items);
        cache->count -= listed;
        top->count += listed;
    }
    for (uint32_t i = listed; i < count; i++) {
        top->items[top->count++] = cache->run_next;
        cache->run_next += block;
        cache->run_left--;
    }
    pool->count += count;
}

/* Takes an empty top segment away, unless it is the last one. */
static inline void central_tidy(const struct tp_env *env, struct arena_central *pool)
{
    struct arena_segment *top = pool->top;
    while (top && top->next && !top->count && !top->run_left) {
        pool->top = top->next;
        segment_free(env, top);
        top = pool->top;
    }
}

/* Moves up to `count` blocks, newest first, into a cache that has room for them. */
static inline uint32_t central_take(const struct tp_env *env, struct arena_central *pool,
                                    struct arena_cache *cache, uint32_t count, uint64_t block)
{
    uint32_t moved = 0;
    while (moved < count && pool->count) {
        central_tidy(env, pool);
        struct arena_segment *top = pool->top;
        uint32_t listed = count - moved < top->count ? count - moved : top->count;
        top->count -= listed;
        memcpy(&cache->segment->items[cache->count], &top->items[top->count],
               listed * sizeof(tp_addr));
        cache->count += listed;
        moved += listed;
        pool->count -= listed;
        for (; moved < count && top->run_left; moved++, pool->count--) {
            cache->segment->items[cache->count++] = top->run_next;
            top->run_next += block;
            top->run_left--;
        }
    }
    return moved;
}

/* Links everything that a cache has into the pool, its segment included; a cache that has nothing
 * keeps its segment. Cannot fail. */
static inline void central_adopt(struct arena_central *pool, struct arena_cache *cache)
{
    struct arena_segment *seg = cache->segment;
    if (!cache->count && !cache->run_left)
        return;
    assert(seg);
    seg->count = cache->count;
    seg->run_next = cache->run_next;
    seg->run_left = cache->run_left;
    seg->next = pool->top;
    pool->top = seg;
    pool->count += seg->count + UINT64_C(1) * seg->run_left;
    *cache = (struct arena_cache){0};
}

static inline void central_fini(const struct tp_env *env, struct arena_central *pool)
{
    for (struct arena_segment *seg = pool->top, *next; seg; seg = next) {
        next = seg->next;
        segment_free(env, seg);
    }
    *pool = (struct arena_central){0};
}

#endif
