/* Calibration of the stamp clock: its rate, its step and its cost are all measured. Known weakness:
 * a counter that changes its rate while the machine runs (no constant_tsc) is not noticed. */
#include "alloc/base/clock.h"

#include "alloc/base/numbers.h"

#include <stdlib.h>
#include <time.h>

enum { STEP_READINGS = 20000, COST_READINGS = 20000, COST_TRIES = 5 };

/* Both ends are read to about 30 ns, so the rate is accurate to 1e-5. */
#define RATE_NS UINT64_C(5000000)

#if defined(__x86_64__)
#define CLOCK_NAME "tsc"
#elif defined(__aarch64__)
#define CLOCK_NAME "cntvct"
#else
#define CLOCK_NAME "clock_gettime"
#endif

uint64_t tp_timespec_ns(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * UINT64_C(1000000000) + (uint64_t)t->tv_nsec;
}

uint64_t tp_wall_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return tp_timespec_ns(&ts);
}

/* Reads both clocks several times and keeps the pair with the least time between the two
 * readings. */
static void read_both(uint64_t *ticks, uint64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 10; i++) {
        uint64_t before = tp_stamp(), wall = tp_wall_ns(), after = tp_stamp();
        if (after - before < best) {
            best = after - before;
            *ticks = before + (after - before) / 2;
            *ns = wall;
        }
    }
}

static double measure_rate(void)
{
    uint64_t ticks0 = 0, ns0 = 0, ticks1 = 0, ns1 = 0;
    read_both(&ticks0, &ns0);
    do
        read_both(&ticks1, &ns1);
    while (ns1 - ns0 < RATE_NS);
    return ticks1 > ticks0 ? (double)(ns1 - ns0) / (double)(ticks1 - ticks0) : 0;
}

/* The step of the counter in ticks. Counters behind a hypervisor advance by many ticks at once;
 * every difference of readings is a multiple of the step. */
static uint64_t measure_step_ticks(void)
{
    uint64_t step = 0, last = tp_stamp();
    for (int i = 0; i < STEP_READINGS; i++) {
        uint64_t now = tp_stamp();
        step = tp_common_divisor(now - last, step);
        last = now;
    }
    return step ? step : 1;
}

/* The smallest of several averages, because interruptions only add time. */
static double measure_stamp_ticks(void)
{
    double best = 0;
    for (int t = 0; t < COST_TRIES; t++) {
        uint64_t start = tp_stamp(), end = start;
        for (int i = 0; i < COST_READINGS; i++)
            end = tp_stamp();
        double each = (double)(end - start) / COST_READINGS;
        if (t == 0 || each < best)
            best = each;
    }
    return best;
}

int tp_clock_calibrate(struct tp_clock *out, struct tp_err *err)
{
    double rate = measure_rate();
    if (rate <= 0)
        return tp_fail(err, TP_EUNSUP, "the processor's time counter stands still");
    *out = (struct tp_clock){.name = CLOCK_NAME,
                             .ns_per_tick = rate,
                             .step_ns = (double)measure_step_ticks() * rate,
                             .stamp_ns = measure_stamp_ticks() * rate};
    return TP_OK;
}
