/* Random numbers of the profiles: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64.
 *
 * Whole numbers only: what libm rounds differs between machines, and a seed must mean the same
 * trace on all of them. */
#ifndef TP_PROFILE_RANDOM_H
#define TP_PROFILE_RANDOM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct tp_random {
    uint64_t s[4];
};

static inline void tp_random_seed(struct tp_random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        r->s[i] = z ^ z >> 31;
    }
}

static inline uint64_t tp_random_turn(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t tp_random_next(struct tp_random *r)
{
    uint64_t *s = r->s, out = tp_random_turn(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = tp_random_turn(s[3], 45);
    return out;
}

/* 0 to n-1, n below 2^48. The bias of the short way is below 2^-16. */
static inline uint64_t tp_random_below(struct tp_random *r, uint64_t n)
{
    assert(n > 0 && n < UINT64_C(1) << 48);
    if (n <= UINT32_MAX)
        return (tp_random_next(r) >> 32) * n >> 32;
    return tp_random_next(r) % n;
}

/* low to high, both included. */
static inline uint64_t tp_random_from(struct tp_random *r, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + tp_random_below(r, high - low + 1);
}

static inline bool tp_random_one_in(struct tp_random *r, uint64_t n)
{
    return tp_random_below(r, n) == 0;
}

/* low to high, both included: each doubling as likely as the next, so small ones are many. The
 * first and the last may be cut; a power of two counts to both of its doublings. */
static inline uint64_t tp_random_doubling(struct tp_random *r, uint64_t low, uint64_t high)
{
    assert(low > 0 && low <= high);
    uint64_t below = high > low ? high - 1 : high; /* 16 to 32 is one doubling, not two */
    uint64_t first = 63 - (uint64_t)__builtin_clzll(low);
    uint64_t last = 63 - (uint64_t)__builtin_clzll(below);
    uint64_t from = UINT64_C(1) << tp_random_from(r, first, last), to = from * 2;
    return tp_random_from(r, from < low ? low : from, to > high ? high : to);
}

/* A size whose doubling is that of `least` plus as many of `spread` coins as fell on one side, at
 * most 32: close to log-normal, most around least * 2^(spread/2), few near either end. */
static inline uint64_t tp_random_bell(struct tp_random *r, uint64_t least, unsigned spread)
{
    assert(least > 0 && spread <= 32);
    uint64_t draw = tp_random_next(r), coins = draw & ((UINT64_C(1) << spread) - 1);
    uint64_t from = least << __builtin_popcountll(coins);
    return from + ((draw >> 32) * from >> 32);
}

/* A time to wait for what comes at random, `mean` on average (below 2^40): close to exponential,
 * its logarithm going straight from one power of two to the next. */
static inline uint64_t tp_random_wait(struct tp_random *r, uint64_t mean)
{
    assert(mean < UINT64_C(1) << 40);
    uint64_t draw = tp_random_next(r) | 1, zeros = (uint64_t)__builtin_clzll(draw);
    uint64_t below_top = draw << zeros << 1 >> 48;          /* 16 bits */
    uint64_t doublings = (zeros << 16) + 65536 - below_top; /* 1.5 * 65536 on average */
    return doublings * mean / 98304;
}

#endif
