/* The clock that times operations, and the cost of reading it.
 *
 * A stamp is fenced on both sides. An unfenced reading overlaps the operation beside it, so that an
 * empty operation and one of 7 ns give the same reading. A fenced stamp costs 22 ns on the
 * reference machine; that cost adds to every reading alike, and subtracting the reading of an empty
 * operation removes it. */
#ifndef TP_CLOCK_H
#define TP_CLOCK_H

#include "alloc/base/err.h"

#include <stdint.h>
#include <time.h>

struct tp_clock {
    const char *name;   /* "tsc", "cntvct", "clock_gettime"; static */
    double ns_per_tick; /* > 0 */
    double step_ns;     /* smallest difference between two readings */
    double stamp_ns;    /* cost of one fenced stamp, measured */
};

/* Measures the clock against CLOCK_MONOTONIC; takes about 10 ms. TP_EUNSUP: the clock stands still.
 */
int tp_clock_calibrate(struct tp_clock *out, struct tp_err *err);

/* Wall time of this machine, ns; for deadlines, not for operations. */
uint64_t tp_wall_ns(void);

/* A time of the system in ns. */
uint64_t tp_timespec_ns(const struct timespec *t);

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
