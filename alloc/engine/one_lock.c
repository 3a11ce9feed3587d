/* See crew.h. Only members that the inner strategy has are replaced, so that the engine still
 * finds NULL where a member is absent. Members that are called while no other thread replays are
 * wrapped too, because they need the inner state. */
#include "alloc/engine/crew.h"

#define UNDER_LOCK(type, member, parameters, ...)                                                  \
    static type locked_##member parameters                                                         \
    {                                                                                              \
        struct tp_one_lock *l = state;                                                             \
        pthread_mutex_lock(&l->mutex);                                                             \
        type result = l->inner->member(__VA_ARGS__);                                               \
        pthread_mutex_unlock(&l->mutex);                                                           \
        return result;                                                                             \
    }

UNDER_LOCK(int, alloc, (void *state, void *thr, const struct tp_req *rq, struct tp_block *out),
           l->state, thr, rq, out)
UNDER_LOCK(int, free, (void *state, void *thr, tp_addr addr, const struct tp_req *rq), l->state,
           thr, addr, rq)
UNDER_LOCK(int, resize,
           (void *state, void *thr, tp_addr addr, const struct tp_req *rq, struct tp_block *out),
           l->state, thr, addr, rq, out)
UNDER_LOCK(int, move,
           (void *state, void *thr, tp_addr addr, const struct tp_req *rq, struct tp_block *out),
           l->state, thr, addr, rq, out)
UNDER_LOCK(int, retain, (void *state, void *thr, tp_addr addr), l->state, thr, addr)
UNDER_LOCK(int, release, (void *state, void *thr, tp_addr addr), l->state, thr, addr)
UNDER_LOCK(int, adopt,
           (void *state, void *thr, tp_addr addr, const struct tp_req *rq, struct tp_block *out),
           l->state, thr, addr, rq, out)
UNDER_LOCK(int, use, (void *state, void *thr, tp_addr addr, uint16_t stream), l->state, thr, addr,
           stream)
UNDER_LOCK(int, sync, (void *state, void *thr, uint16_t stream), l->state, thr, stream)
UNDER_LOCK(int, reset, (void *state), l->state)
UNDER_LOCK(int, trim, (void *state, uint64_t keep), l->state, keep)
UNDER_LOCK(int, thread_init, (void *state, void *thr), l->state, thr)
UNDER_LOCK(uint64_t, usable, (void *state, tp_addr addr), l->state, addr)
UNDER_LOCK(bool, detects, (void *state), l->state)

static void locked_thread_fini(void *state, void *thr)
{
    struct tp_one_lock *l = state;
    pthread_mutex_lock(&l->mutex);
    l->inner->thread_fini(l->state, thr);
    pthread_mutex_unlock(&l->mutex);
}

static void locked_choose_pool(void *state, void *thr, uint64_t pool)
{
    struct tp_one_lock *l = state;
    pthread_mutex_lock(&l->mutex);
    l->inner->choose_pool(l->state, thr, pool);
    pthread_mutex_unlock(&l->mutex);
}

static void locked_phase(void *state, uint32_t index)
{
    struct tp_one_lock *l = state;
    pthread_mutex_lock(&l->mutex);
    l->inner->phase(l->state, index);
    pthread_mutex_unlock(&l->mutex);
}

void tp_one_lock_open(struct tp_one_lock *l, const struct tp_strategy *inner, void *state)
{
    l->inner = inner;
    l->state = state;
    l->outer = *inner;
    pthread_mutex_init(&l->mutex, NULL);
#define REPLACE(member) l->outer.member = inner->member ? locked_##member : NULL
    REPLACE(alloc);
    REPLACE(free);
    REPLACE(resize);
    REPLACE(move);
    REPLACE(retain);
    REPLACE(release);
    REPLACE(adopt);
    REPLACE(use);
    REPLACE(sync);
    REPLACE(reset);
    REPLACE(trim);
    REPLACE(choose_pool);
    REPLACE(phase);
    REPLACE(thread_init);
    REPLACE(thread_fini);
    REPLACE(usable);
    REPLACE(detects);
#undef REPLACE
    l->outer.phases = NULL; /* was told */
    l->outer.stats = NULL;  /* asked for in serial passes only */
    l->outer.walk = NULL;
    l->outer.check = NULL;
}

void tp_one_lock_close(struct tp_one_lock *l)
{
    if (l->inner)
        pthread_mutex_destroy(&l->mutex);
    l->inner = NULL;
}
