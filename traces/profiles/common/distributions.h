/* Distributions of the random numbers of the profiles: sizes, counts and waiting times.
 *
 * They use whole numbers only, as alloc/base/random.h does, because a seed must give the same trace
 * on all machines. */
#ifndef TP_PROFILE_DISTRIBUTIONS_H
#define TP_PROFILE_DISTRIBUTIONS_H

#include "alloc/base/random.h"

#include <stdbool.h>

/* A uniform number from `low` to `high`, both included. */
static inline uint64_t tp_random_from(struct tp_random *r, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + tp_random_below(r, high - low + 1);
}

static inline bool tp_random_one_in(struct tp_random *r, uint64_t n)
{
    return tp_random_below(r, n) == 0;
}

/* A number from `low` to `high`, both included. Each range between two powers of two is equally
 * likely, so small numbers are frequent. The first and the last range may be cut short; a power of
 * two belongs to the range above it and to the one below it. */
static inline uint64_t tp_random_doubling(struct tp_random *r, uint64_t low, uint64_t high)
{
    assert(low > 0 && low <= high);
    uint64_t below = high > low ? high - 1 : high; /* 16 to 32 is one doubling, not two */
    uint64_t first = 63 - (uint64_t)__builtin_clzll(low);
    uint64_t last = 63 - (uint64_t)__builtin_clzll(below);
    uint64_t from = UINT64_C(1) << tp_random_from(r, first, last), to = from * 2;
    return tp_random_from(r, from < low ? low : from, to > high ? high : to);
}

/* A size close to log-normal: `least` is doubled once for each head among `spread` tossed coins (at
 * most 32), then up to one doubling is added uniformly. Most sizes lie around least * 2^(spread/2),
 * few near either end. */
static inline uint64_t tp_random_bell(struct tp_random *r, uint64_t least, unsigned spread)
{
    assert(least > 0 && spread <= 32);
    uint64_t draw = tp_random_next(r), coins = draw & ((UINT64_C(1) << spread) - 1);
    uint64_t from = least << __builtin_popcountll(coins);
    return from + ((draw >> 32) * from >> 32);
}

/* A waiting time between random arrivals, `mean` on average (below 2^40). Close to exponential: the
 * logarithm of the draw is interpolated linearly between powers of two. */
static inline uint64_t tp_random_wait(struct tp_random *r, uint64_t mean)
{
    assert(mean < UINT64_C(1) << 40);
    uint64_t draw = tp_random_next(r) | 1, zeros = (uint64_t)__builtin_clzll(draw);
    uint64_t below_top = draw << zeros << 1 >> 48;          /* 16 bits */
    uint64_t doublings = (zeros << 16) + 65536 - below_top; /* 1.5 * 65536 on average */
    return doublings * mean / 98304;
}

#endif
