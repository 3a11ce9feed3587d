/* Helpers that every strategy needs besides its placement rules: checking and rounding requests,
 * tables in bookkeeping memory, and giving ranges back to the source. */
#ifndef TP_STRATEGY_CHORES_H
#define TP_STRATEGY_CHORES_H

#include "alloc/base/addr_map.h"
#include "alloc/strategy.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INLINE      static inline __attribute__((always_inline))
#define OUT_OF_LINE static __attribute__((noinline))

/* ---- requests ---- */

/* Is the request valid? If not, alloc returns TP_EINVAL. */
INLINE bool request_is_sound(const struct tp_req *rq)
{
    return rq->size && rq->align && !(rq->align & (rq->align - 1));
}

/* Rounds n up to a multiple of `power`, a power of two. */
INLINE uint64_t round_up(uint64_t n, uint64_t power)
{
    return (n + power - 1) & ~(power - 1);
}

/* How request sizes are rounded; requests of equal rounded size share blocks. */
enum size_round { SIZE_EXACT, SIZE_512, SIZE_POW2, SIZE_EIGHTH };

/* The step that a size is rounded up to a multiple of, bytes. SIZE_EIGHTH has 8 steps per
 * doubling. */
INLINE uint64_t size_step(enum size_round how, uint64_t size)
{
    unsigned log2 = 63 - (unsigned)__builtin_clzll(size);
    if (how == SIZE_EXACT)
        return 1;
    if (how == SIZE_512)
        return 512;
    if (how == SIZE_POW2)
        return UINT64_C(1) << log2;
    return UINT64_C(1) << (log2 < 3 ? 0 : log2 - 3);
}

/* ---- carved bytes (struct tp_stats): now and at their peak ---- */

struct carved {
    uint64_t now, peak;
};

static inline void carved_add(struct carved *c, uint64_t bytes)
{
    c->now += bytes;
    if (c->now > c->peak)
        c->peak = c->now;
}

/* ---- tables ---- */

static inline void *meta_map_get(void *ctx, size_t size)
{
    return tp_meta_get(ctx, size);
}

static inline void meta_map_put(void *ctx, void *p, size_t size)
{
    tp_meta_put(ctx, p, size);
}

/* Initialises a map in bookkeeping memory. Casting const away is safe: `env` is only passed to
 * tp_meta_get, which takes it as const. */
static inline void meta_map_init(struct tp_addr_map *map, const struct tp_env *env)
{
    tp_addr_map_init(map, meta_map_get, meta_map_put, (void *)(uintptr_t)env);
}

/* The pointer that a map holds for a key, or NULL. */
INLINE void *meta_map_at(const struct tp_addr_map *map, uint64_t key)
{
    const uint64_t *found = tp_addr_map_find(map, key);
    return found ? (void *)(uintptr_t)*found : NULL;
}

/* ---- walks ---- */

/* Visits a live block of which only `allocated` bytes, `lead` bytes from its beginning, are handed
 * out, because more alignment was asked for than blocks have or its size was rounded up. */
static inline void walk_handed_out(tp_walk_fn *fn, void *ctx, tp_addr addr, uint64_t size,
                                   uint64_t lead, uint64_t allocated)
{
    tp_addr behind = addr + lead + allocated;
    if (lead)
        fn(ctx, TP_WALK_INTERNAL, addr, lead);
    fn(ctx, TP_WALK_LIVE, addr + lead, allocated);
    if (lead + allocated < size)
        fn(ctx, TP_WALK_INTERNAL, behind, size - lead - allocated);
}

/* ---- giving back ---- */

/* Waits for all that is queued on any stream. */
static inline void wait_for_streams(const struct tp_env *env)
{
    for (uint32_t i = 0; tp_src_has_fences(env->source) && i < env->streams; i++) {
        struct tp_fence fence;
        tp_src_record(env->source, (uint16_t)i, &fence);
        tp_src_wait(env->source, &fence);
    }
}

/* Gives a range back and sets its address to 0; an address of 0 is skipped. A caller that runs over
 * all ranges twice tries refused ones again after the others are gone. */
static inline void put_once(struct tp_source *source, tp_addr *addr, uint64_t bytes)
{
    if (*addr && !tp_src_put(source, *addr, bytes))
        *addr = 0;
}

/* Link of a block that the source refused to take back. Such a put is tried again when memory is
 * short. */
struct refused {
    struct refused *next;
};

/* Tries to put one block. True: the source took it, and the block no longer exists. */
typedef bool refused_put_fn(void *st, struct refused *r);

/* Tries every block of a list again. True: the source took at least one. */
static inline bool refused_retry(struct refused **list, refused_put_fn *put, void *st)
{
    bool took = false;
    for (struct refused *r = *list; r; r = *list) {
        struct refused *next = r->next;
        bool gone = put(st, r);
        if (gone)
            *list = next;
        else
            list = &r->next;
        took |= gone;
    }
    return took;
}

#endif
