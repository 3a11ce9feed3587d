/* What the empty strategies share, which are replayed to find tapool's own share of a time. All
 * blocks of a thread are the same EMPTY_SCRATCH bytes, its handle, so only the first bytes of a
 * block may be touched, and threads do not share them.
 *
 * Their results depend on their arguments, as those of every allocator do. Otherwise the processor
 * would execute the engine's loop in parallel with the call, and the reading of an empty call would
 * be too short. */
#ifndef TP_STRATEGY_EMPTY_H
#define TP_STRATEGY_EMPTY_H

#include "alloc/strategy.h"

enum { EMPTY_SCRATCH = 64 }; /* bytes of a thread's handle */

/* Always 0, because no size and no host address has this bit, but the compiler cannot know it. */
static inline uint64_t zero_of(uint64_t value)
{
    return value >> 63;
}

static inline int empty_init(void *state, const struct tp_env *env, const void *opts,
                             struct tp_err *err)
{
    (void)state, (void)env, (void)opts, (void)err;
    return TP_OK;
}

static inline void empty_fini(void *state)
{
    (void)state;
}

static inline int empty_thread_init(void *state, void *thread)
{
    (void)state, (void)thread;
    return TP_OK;
}

static inline void empty_thread_fini(void *state, void *thread)
{
    (void)state, (void)thread;
}

#endif
