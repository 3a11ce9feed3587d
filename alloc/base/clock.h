/* The clock that operations are timed with, and what it costs.
 *
 * A stamp is fenced on both sides: an unfenced reading overlaps the operation beside it, and then
 * an empty operation and a 7 ns one read alike. Fenced stamps are additive, which costs 22 ns each
 * on the reference machine and is taken off by subtracting the reading of an empty operation. */
#ifndef TP_CLOCK_H
#define TP_CLOCK_H

#include "alloc/base/err.h"

#include <stdint.h>

struct tp_clock {
    const char *name;   /* "tsc", "cntvct", "clock_gettime"; static */
    double ns_per_tick; /* > 0 */
    double step_ns;     /* the smallest difference that two readings can show */
    double stamp_ns;    /* cost of one fenced stamp, measured */
};

/* Measures the clock against CLOCK_MONOTONIC; takes about 10 ms. TP_EUNSUP: the clock stands still.
 */
int tp_clock_calibrate(struct tp_clock *out, struct tp_err *err);

/* Wall time of this machine, ns; for deadlines, not for operations. */
uint64_t tp_wall_ns(void);

#if defined(__x86_64__)
static inline uint64_t tp_stamp(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
#elif defined(__aarch64__)
static inline uint64_t tp_stamp(void)
{
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(ticks)::"memory");
    return ticks;
}
#else
static inline uint64_t tp_stamp(void)
{
    return tp_wall_ns();
}
#endif

#endif
