/* Random numbers: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64 (Steele, Lea and
 * Flood, 2014). Where one word of state must do, splitmix64 is used alone.
 *
 * Integers only: libm rounds differently on different machines, and a seed must give the same trace
 * and the same verdict on all of them. Not for secrets. */
#ifndef TP_RANDOM_H
#define TP_RANDOM_H

#include <assert.h>
#include <stdint.h>

/* Added to the state for every number: state + n * TP_RANDOM_STEP is the state n numbers later. */
#define TP_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* The next number of splitmix64; every value of `*state` is a valid state. */
static inline uint64_t tp_random_split(uint64_t *state)
{
    uint64_t z = *state += TP_RANDOM_STEP;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

struct tp_random {
    uint64_t s[4];
};

static inline void tp_random_seed(struct tp_random *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        r->s[i] = tp_random_split(&seed);
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

/* A number from 0 to n-1, for n below 2^48. The bias is below 2^-16. */
static inline uint64_t tp_random_below(struct tp_random *r, uint64_t n)
{
    assert(n > 0 && n < UINT64_C(1) << 48);
    if (n <= UINT32_MAX)
        return (tp_random_next(r) >> 32) * n >> 32;
    return tp_random_next(r) % n;
}

#endif
