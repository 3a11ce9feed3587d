/* The free lists of `arena`: a cache per thread and class, a central pool per class.
 *
 *     thread cache   items | oldest ... newest |   run: next address, blocks left
 *                          floor            top        (carved, never handed out)
 *     central pool   segment -> segment -> segment      each: items and a run
 *
 * Lists are arrays of addresses, never links inside the blocks, so they also work for memory that
 * the host cannot write. A freshly carved span is a run: an address and a count, however many
 * blocks it has. A thread's array is a segment of the central pool that the thread owns: when the
 * thread ends, its segment is linked into the pool as it is, which takes no memory and cannot fail.
 *
 * A cache belongs to its thread alone. Every function here that takes a pool requires the pool's
 * lock. Bookkeeping memory is got under the heap lock, which is taken after a pool's lock. */
#ifndef TP_ARENA_LISTS_H
#define TP_ARENA_LISTS_H

#include "alloc/strategies/arena/arena_classes.h"

#include <string.h>

#define LIST_FIRST_ROOM 16u /* addresses in a thread's first array */

struct arena_run {
    tp_addr next;
    uint32_t left; /* blocks */
};

struct arena_segment {
    struct arena_segment *next; /* next segment in the pool */
    uint32_t room, count;
    struct arena_run run; /* used only while the segment is in the pool */
    tp_addr items[];      /* array of `room` addresses, oldest first */
};

struct arena_central {
    struct arena_segment *top; /* blocks are taken from and given to this segment */
    uint64_t count;            /* blocks in all segments, runs included */
    struct arena_span *spans;  /* spans of the class, linked by smaller and greater */
    uint32_t least;            /* lower bound of blocks in a span of the class */
    bool news;                 /* blocks were added since a reclaim last searched for idle spans */
    /* one thread only: caches may hold blocks again since a reclaim emptied them all */
    bool stocked;
};

/* On the hot path. A free that reaches `ceiling` takes the slow path: ceiling is the end of the
 * array, or the limit less the blocks of the run. Pointers are NULL until something is cached. */
struct arena_cache {
    tp_addr *top; /* one past the newest address */
    tp_addr *floor, *ceiling;
    uint64_t block; /* bytes */
};
static_assert(sizeof(struct arena_cache) == 32, "a class is found by a shift");

struct arena_thread {
    struct arena_cache caches[ARENA_MAX_CLASSES];
    struct arena_run runs[ARENA_MAX_CLASSES];
    struct arena_thread *older, *newer; /* links to the other threads of the instance */
};

/* Where lists get bookkeeping memory. */
struct arena_mem {
    const struct tp_env *env;
    struct tp_lock *heap;
};

static inline struct arena_segment *segment_new(const struct arena_mem *mem, uint32_t room)
{
    tp_lock_take(mem->heap);
    struct arena_segment *seg = tp_meta_get(mem->env, sizeof *seg + room * sizeof(tp_addr));
    tp_lock_drop(mem->heap);
    if (seg)
        seg->room = room;
    return seg;
}

static inline void segment_free(const struct arena_mem *mem, struct arena_segment *seg)
{
    if (!seg)
        return;
    tp_lock_take(mem->heap);
    tp_meta_put(mem->env, seg, sizeof *seg + seg->room * sizeof(tp_addr));
    tp_lock_drop(mem->heap);
}

/* ---- a thread's cache ---- */

static inline struct arena_segment *cache_segment(const struct arena_cache *cache)
{
    return cache->floor ? (struct arena_segment *)(void *)((char *)cache->floor -
                                                           offsetof(struct arena_segment, items))
                        : NULL;
}

static inline uint32_t cache_count(const struct arena_cache *cache)
{
    return (uint32_t)(cache->top - cache->floor);
}

static inline uint32_t cache_room(const struct arena_cache *cache)
{
    return cache->floor ? cache_segment(cache)->room : 0;
}

static inline void cache_set_ceiling(struct arena_cache *cache, const struct arena_run *run,
                                     uint32_t limit)
{
    uint32_t room = cache_room(cache), allowed = limit > run->left ? limit - run->left : 0;
    cache->ceiling = cache->floor + (room < allowed ? room : allowed);
}

/* Makes room for at least `count` addresses in all. The caller must set the ceiling. TP_ENOMEM:
 * nothing has changed. */
static inline int cache_reserve(const struct arena_mem *mem, struct arena_cache *cache,
                                uint32_t count)
{
    uint32_t room = cache_room(cache), held = cache_count(cache);
    if (room >= count)
        return TP_OK;
    uint32_t wanted = room ? room * 2 : LIST_FIRST_ROOM;
    struct arena_segment *seg = segment_new(mem, wanted < count ? count : wanted);
    if (!seg)
        return TP_ENOMEM;
    if (held)
        memcpy(seg->items, cache->floor, held * sizeof *cache->floor);
    segment_free(mem, cache_segment(cache));
    cache->floor = seg->items;
    cache->top = cache->ceiling = seg->items + held;
    return TP_OK;
}

/* Moves the next blocks of the run into the array, the lowest on top, so that most allocations of a
 * growing program take the fast path too. The cache must be empty and have an array. */
static inline void cache_unroll(struct arena_cache *cache, struct arena_run *run, uint32_t limit)
{
    uint32_t count = run->left < LIST_FIRST_ROOM ? run->left : LIST_FIRST_ROOM;
    assert(cache->top == cache->floor && cache_room(cache) >= count);
    for (uint32_t i = count; i-- > 0;)
        *cache->top++ = run->next + i * cache->block;
    run->next += count * cache->block;
    run->left -= count;
    cache_set_ceiling(cache, run, limit);
}

/* ---- the central pool ---- */

/* Makes sure that the top segment has room for `count` addresses. TP_ENOMEM. */
static inline int central_reserve(const struct arena_mem *mem, struct arena_central *pool,
                                  uint32_t count)
{
    struct arena_segment *top = pool->top;
    if (top && top->room - top->count >= count)
        return TP_OK;
    uint32_t room = top && top->room < UINT32_MAX / 4 ? top->room * 2 : LIST_FIRST_ROOM;
    struct arena_segment *seg = segment_new(mem, room > count ? room : count);
    if (!seg)
        return TP_ENOMEM;
    seg->next = top;
    pool->top = seg;
    return TP_OK;
}

/* Moves the oldest `count` blocks of a cache into the pool, which must have room for them. */
static inline void central_give(struct arena_central *pool, struct arena_cache *cache,
                                struct arena_run *run, uint32_t count)
{
    struct arena_segment *top = pool->top;
    uint32_t held = cache_count(cache), listed = count < held ? count : held;
    if (listed) {
        memcpy(&top->items[top->count], cache->floor, listed * sizeof *cache->floor);
        memmove(cache->floor, cache->floor + listed, (held - listed) * sizeof *cache->floor);
        cache->top -= listed;
        top->count += listed;
    }
    for (uint32_t i = listed; i < count; i++, run->left--) {
        top->items[top->count++] = run->next;
        run->next += cache->block;
    }
    pool->count += count;
    pool->news = true;
}

/* Frees empty segments at the top, except the last one. */
static inline void central_tidy(const struct arena_mem *mem, struct arena_central *pool)
{
    struct arena_segment *top = pool->top;
    while (top && top->next && !top->count && !top->run.left) {
        pool->top = top->next;
        segment_free(mem, top);
        top = pool->top;
    }
}

/* Moves up to `count` blocks, newest first, into a cache that has room for them. */
static inline void central_take(const struct arena_mem *mem, struct arena_central *pool,
                                struct arena_cache *cache, uint32_t count)
{
    while (count && pool->count) {
        central_tidy(mem, pool);
        struct arena_segment *top = pool->top;
        uint32_t listed = count < top->count ? count : top->count;
        top->count -= listed;
        memcpy(cache->top, &top->items[top->count], listed * sizeof(tp_addr));
        cache->top += listed;
        count -= listed;
        pool->count -= listed;
        for (; count && top->run.left; count--, pool->count--, top->run.left--) {
            *cache->top++ = top->run.next;
            top->run.next += cache->block;
        }
    }
    central_tidy(mem, pool); /* now, because a segment linked later would hide the empty one */
}

/* Moves all blocks of a cache, with its segment, into the pool. A cache without blocks keeps its
 * segment. Cannot fail. */
static inline void central_adopt(struct arena_central *pool, struct arena_cache *cache,
                                 struct arena_run *run)
{
    struct arena_segment *seg = cache_segment(cache);
    if (cache->top == cache->floor && !run->left)
        return;
    assert(seg);
    seg->count = cache_count(cache);
    seg->run = *run;
    seg->next = pool->top;
    pool->top = seg;
    pool->count += seg->count + UINT64_C(1) * run->left;
    pool->news = true;
    *cache = (struct arena_cache){.block = cache->block};
    *run = (struct arena_run){0};
}

static inline void central_fini(const struct arena_mem *mem, struct arena_central *pool)
{
    for (struct arena_segment *seg = pool->top, *next; seg; seg = next) {
        next = seg->next;
        segment_free(mem, seg);
    }
    pool->top = NULL;
}

#endif
