/* What every strategy does beside its policy: the check of a request, rounding, a lock around its
 * members, tables in bookkeeping memory, and giving back what the source refused before. */
#ifndef TP_STRATEGY_CHORES_H
#define TP_STRATEGY_CHORES_H

#include "alloc/base/addr_map.h"
#include "alloc/base/lock.h"
#include "alloc/strategy.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define INLINE      static inline __attribute__((always_inline))
#define OUT_OF_LINE static __attribute__((noinline))

/* ---- requests ---- */

/* Of any other an alloc says TP_EINVAL. */
INLINE bool request_is_sound(const struct tp_req *rq)
{
    return rq->size && rq->align && !(rq->align & (rq->align - 1));
}

/* To a multiple of a power of two. */
INLINE uint64_t round_up(uint64_t n, uint64_t power)
{
    return (n + power - 1) & ~(power - 1);
}

/* Which sizes share their blocks. */
enum size_round { SIZE_EXACT, SIZE_512, SIZE_POW2, SIZE_EIGHTH };

/* What a size is rounded to a multiple of: an eighth is one of 8 steps a doubling. */
INLINE uint64_t size_step(enum size_round how, uint64_t size)
{
    unsigned log2 = 63 - (unsigned)__builtin_clzll(size);
    if (how == SIZE_EXACT)
        return 1;
    if (how == SIZE_512)
        return 512;
    return UINT64_C(1) << (how == SIZE_POW2 ? log2 : log2 < 3 ? 0 : log2 - 3);
}

/* ---- what was carved: bytes that were ever part of a block, and the most of them ---- */

struct carved {
    uint64_t now, peak;
};

static inline void carved_add(struct carved *c, uint64_t bytes)
{
    c->now += bytes;
    if (c->now > c->peak)
        c->peak = c->now;
}

/* ---- one lock around everything ---- */

/* A member of a strategy's table: `inner` under the lock of the state, a `type` with a `lock`.
 *
 *     LOCKED_RESIZE(lru_resize, struct lru, resize)
 */
#define LOCKED(name, type, inner, params, args)                                                    \
    OUT_OF_LINE int name params                                                                    \
    {                                                                                              \
        (void)thread;                                                                              \
        type *st = state;                                                                          \
        tp_lock_take(&st->lock);                                                                   \
        int rc = inner args;                                                                       \
        tp_lock_drop(&st->lock);                                                                   \
        return rc;                                                                                 \
    }
#define LOCKED_ALLOC(name, type, inner)                                                            \
    LOCKED(name, type, inner,                                                                      \
           (void *state, void *thread, const struct tp_req *rq, struct tp_block *out),             \
           (st, rq, out))
#define LOCKED_FREE(name, type, inner)                                                             \
    LOCKED(name, type, inner, (void *state, void *thread, tp_addr addr, const struct tp_req *rq),  \
           (st, addr, rq))
#define LOCKED_RESIZE(name, type, inner) /* move and adopt too */                                  \
    LOCKED(                                                                                        \
        name, type, inner,                                                                         \
        (void *state, void *thread, tp_addr addr, const struct tp_req *rq, struct tp_block *out),  \
        (st, addr, rq, out))
#define LOCKED_USE(name, type, inner)                                                              \
    LOCKED(name, type, inner, (void *state, void *thread, tp_addr addr, uint16_t stream),          \
           (st, addr, stream))
#define LOCKED_RETAIN(name, type, inner) /* release too */                                         \
    LOCKED(name, type, inner, (void *state, void *thread, tp_addr addr), (st, addr))

/* ---- tables ---- */

static inline void *meta_map_get(void *ctx, size_t size)
{
    return tp_meta_get(ctx, size);
}

static inline void meta_map_put(void *ctx, void *p, size_t size)
{
    tp_meta_put(ctx, p, size);
}

/* A map in bookkeeping memory. It only passes `env` on to tp_meta_get, which takes it as const. */
static inline void meta_map_init(struct tp_addr_map *map, const struct tp_env *env)
{
    tp_addr_map_init(map, meta_map_get, meta_map_put, (void *)(uintptr_t)env);
}

/* What a table of pointers has for a key, or NULL. */
INLINE void *meta_map_at(const struct tp_addr_map *map, uint64_t key)
{
    const uint64_t *found = tp_addr_map_find(map, key);
    return found ? (void *)(uintptr_t)*found : NULL;
}

/* ---- giving back ---- */

/* Gives a range back unless it went before: then its address is 0. Called twice for all of them, it
 * tries once more what the source refused, when the others are gone. */
static inline void put_once(struct tp_source *source, tp_addr *addr, uint64_t bytes)
{
    if (*addr && !tp_src_put(source, *addr, bytes))
        *addr = 0;
}

/* In a block that the source refused to take back; it is tried again when memory is short. */
struct refused {
    struct refused *next;
};

/* True: the source took it, and the block is no more. */
typedef bool refused_put_fn(void *st, struct refused *r);

/* Tries all of a list once more. True: the source took something. */
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
