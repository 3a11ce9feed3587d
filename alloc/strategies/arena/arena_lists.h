/* The free lists of `arena`: a cache per thread and class, a central pool per class.
 *
 *     thread cache   | drained | oldest ... newest |    |     each: address, and the word of its
 *                              floor           top ceiling   live bit
 *     central pool   span -> span -> span             each: bits of its pooled blocks
 *                    first          last
 *
 * A cache is an array, never links inside the blocks, so that it also works for memory that the
 * host cannot write; an item knows the word of its block's live bit, so that an allocation need not
 * look for it. A drain only moves `floor` up, and the items slide down when `top` meets the end of
 * the array, which is half as long again as the limit. The pool is not a list of blocks at all but
 * bits in the chunks: a drain and a refill take no memory, a span whose blocks are all pooled is
 * known at once, and a refill allocates neighbours in the order of their addresses, however they
 * were freed.
 *
 * A cache belongs to its thread alone. Where one thread replays everything there is one pool for
 * each class; elsewhere each thread has its own, see arena_owner.h. Bookkeeping memory is got under
 * the heap lock. */
#ifndef TP_ARENA_LISTS_H
#define TP_ARENA_LISTS_H

#include "alloc/base/lock.h"
#include "alloc/strategies/arena/arena_chunks.h"

#include <string.h>

#define LIST_FIRST_ROOM 4u /* items in a thread's first array */

struct arena_item {
    tp_addr addr;
    uint64_t *word; /* of the live bit; NULL without `checks`: it has to be looked for */
};

struct arena_array {
    uint64_t room;
    struct arena_item items[]; /* array of `room` items, oldest first */
};

struct arena_central {
    struct arena_span *first, *last; /* spans with pooled blocks, linked by smaller and greater */
    uint64_t count;                  /* pooled blocks */
    uint64_t pages;                  /* of all spans of the class */
    uint64_t idle;                   /* spans whose blocks are all pooled */
};

/* On the hot path. A free that reaches `ceiling` takes the slow path: ceiling is the end of the
 * array, or the limit. Pointers are NULL until something is cached. */
struct arena_cache {
    struct arena_item *top; /* one past the newest item */
    struct arena_item *floor, *ceiling;
    uint32_t block;   /* bytes */
    uint32_t drained; /* items of the array that lie before `floor` */
};
static_assert(sizeof(struct arena_cache) == 32, "a class is found by a shift");

struct arena_thread {
    struct arena_cache caches[ARENA_MAX_CLASSES];
    uint32_t step[ARENA_MAX_CLASSES];  /* blocks that the next refill brings; 0: one */
    uint32_t limit[ARENA_MAX_CLASSES]; /* blocks that the thread may hold */
    bool drained[ARENA_MAX_CLASSES];   /* since the last refill */
    union {
        struct { /* one OS thread: links all threads that are stocked */
            struct arena_thread *older, *newer;
            bool stocked; /* a cache may hold blocks since the last reclaim emptied it */
        };
        struct arena_owner *owner; /* several: what the thread owns, see arena_owner.h */
    };
};

/* Freed large objects that wait for a request of their length: programs allocate and free buffers
 * of one length again and again. Any other request sends them to the tree first, where they merge,
 * so that the best fit is still found. */
enum { KEPT_SPANS = 8, KEPT_PAGES = (256 << 10) / ARENA_PAGE };
struct arena_kept {
    struct arena_span *spans[KEPT_SPANS]; /* oldest first; their addresses stay in `large` */
    uint64_t pages[KEPT_SPANS];           /* their lengths */
    uint32_t count;
};

/* Where lists get bookkeeping memory. */
struct arena_mem {
    const struct tp_env *env;
    struct tp_lock *heap;
};

/* ---- a thread's cache ---- */

static inline struct arena_array *cache_array(const struct arena_cache *cache)
{
    return cache->floor ? (struct arena_array *)(void *)((char *)(cache->floor - cache->drained) -
                                                         offsetof(struct arena_array, items))
                        : NULL;
}

static inline uint32_t cache_count(const struct arena_cache *cache)
{
    return (uint32_t)(cache->top - cache->floor);
}

/* Items from `floor` to the end of the array. */
static inline uint32_t cache_room(const struct arena_cache *cache)
{
    return cache->floor ? (uint32_t)cache_array(cache)->room - cache->drained : 0;
}

static inline void cache_set_ceiling(struct arena_cache *cache, uint32_t limit)
{
    uint32_t room = cache_room(cache);
    cache->ceiling = cache->floor + (room < limit ? room : limit);
}

static inline size_t array_bytes(uint64_t room)
{
    return sizeof(struct arena_array) + room * sizeof(struct arena_item);
}

static inline void array_free(const struct arena_mem *mem, struct arena_array *array)
{
    if (!array)
        return;
    tp_lock_take(mem->heap);
    tp_meta_put(mem->env, array, array_bytes(array->room));
    tp_lock_drop(mem->heap);
}

/* Slides all items to the start of the array. The caller must set the ceiling. */
static inline void cache_slide(struct arena_cache *cache)
{
    uint32_t held = cache_count(cache);
    if (!cache->drained) /* there may be no array */
        return;
    struct arena_item *first = cache->floor - cache->drained;
    memmove(first, cache->floor, held * sizeof *first);
    cache->floor = first;
    cache->top = cache->ceiling = first + held;
    cache->drained = 0;
}

/* Makes room for at least `count` items in all, and for twice as many as before if that is no more
 * than half as many again as `limit`. The caller must set the ceiling. TP_ENOMEM: nothing has
 * changed. */
static inline int cache_reserve(const struct arena_mem *mem, struct arena_cache *cache,
                                uint32_t count, uint32_t limit)
{
    uint32_t room = cache_room(cache), held = cache_count(cache), most = limit + limit / 2;
    if (room >= count)
        return TP_OK;
    uint32_t wanted = room ? (room + cache->drained) * 2 : LIST_FIRST_ROOM;
    wanted = wanted < most ? wanted : most;
    wanted = wanted < count ? count : wanted;
    tp_lock_take(mem->heap);
    struct arena_array *array = tp_meta_get(mem->env, array_bytes(wanted));
    tp_lock_drop(mem->heap);
    if (!array)
        return TP_ENOMEM;
    array->room = wanted;
    if (held)
        memcpy(array->items, cache->floor, held * sizeof *cache->floor);
    array_free(mem, cache_array(cache));
    cache->floor = array->items;
    cache->top = cache->ceiling = array->items + held;
    cache->drained = 0;
    return TP_OK;
}

/* Makes room for one more item than the cache holds: by sliding where a third of the array or more
 * is drained, so that each item is moved about once, else in a longer array. False: out of memory,
 * and nothing is drained. */
static inline bool cache_open(const struct arena_mem *mem, struct arena_cache *cache,
                              uint32_t limit)
{
    uint32_t held = cache_count(cache);
    if (cache_room(cache) > held)
        return true;
    bool slides = cache->drained != 0;
    if ((!slides || cache->drained < held / 2) && !cache_reserve(mem, cache, held + 1, limit))
        return true;
    cache_slide(cache);
    return slides;
}

/* Forgets the oldest `count` items. */
static inline void cache_drop_oldest(struct arena_cache *cache, uint32_t count)
{
    cache->floor += count;
    cache->drained += count;
}

/* ---- the spans of a pool ---- */

/* A span got its first pooled block: it is the last one that a refill comes to. */
static inline void pool_link(struct arena_central *pool, struct arena_span *s)
{
    s->next = NULL;
    s->previous = pool->last;
    if (pool->last)
        pool->last->next = s;
    else
        pool->first = s;
    pool->last = s;
}

static inline void pool_unlink(struct arena_central *pool, struct arena_span *s)
{
    if (s->previous)
        s->previous->next = s->next;
    else
        pool->first = s->next;
    if (s->next)
        s->next->previous = s->previous;
    else
        pool->last = s->previous;
    s->previous = s->next = NULL;
}

#endif
