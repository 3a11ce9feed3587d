/* The latency pass against operations of known cost: what it reads must be within 1.5 ns of it.
 *
 *     known_cost    prints a line for each cost: name, ns known, ns by which the reading differs,
 *                   the tries it comes from
 *
 * An operation is a fence and a chain of dependent multiplications, without a loop whose exit could
 * be mispredicted; its true cost is the mean of a long run of it. It starts from the request and
 * ends in the answer, as in an allocator. The fence keeps it from being worked off beside
 * the call that leads to it: without it the same chains read 0.6 ns less.
 *
 *     a try:   run of the chain | replay, its mean | run of the chain
 *                   before          the reading           after
 *
 * Processors change their rate while they run, so a reading is compared with what stood around it,
 * and only where both agree within 1%; the figure is the median of these differences.
 * Weakness: where something else always runs beside it, few tries agree, and it says so. */
#include "alloc/engine/replay.h"
#include "alloc/numbers/series.h"
#include "tests/unit/programs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

#if defined(__x86_64__)
#define CHAIN(n, x) __asm__ volatile("lfence\n\t.rept " #n "\n\timulq %0, %0\n\t.endr" : "+r"(x))
/* 0, but only known when x is */
#define ZERO_OF(x) __asm__ volatile("andq $0, %0" : "+r"(x))
#elif defined(__aarch64__)
#define CHAIN(n, x) __asm__ volatile("isb\n\t.rept " #n "\n\tmul %0, %0, %0\n\t.endr" : "+r"(x))
#define ZERO_OF(x)  __asm__ volatile("and %0, %0, xzr" : "+r"(x))
#endif

/* A try takes 0.2 ms, so that most go by between two ticks of the system's timer: one adds 40 us,
 * which is 2 ns an operation in a try ten times as long. */
enum { RUN = 2000, EVENTS = 2000, TRIES = 1000, TRIES_MAX = 10000, TRIES_MIN = 100 };
static_assert(TRIES <= TP_SERIES_MAX, "each try is a value of its own");

struct cost {
    const struct tp_strategy *strategy;
    double (*run_ns)(void); /* of one operation, now */
};

static int no_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)st, (void)env, (void)opts, (void)err;
    return TP_OK;
}

static void no_fini(void *st)
{
    (void)st;
}

/* One strategy per cost: alloc takes it, free too. */
#define KNOWN_COST(n)                                                                              \
    static double run_ns_##n(void)                                                                 \
    {                                                                                              \
        uint64_t x = 3, start = tp_wall_ns();                                                      \
        for (int i = 0; i < RUN; i++)                                                              \
            CHAIN(n, x);                                                                           \
        return (double)(tp_wall_ns() - start) / RUN;                                               \
    }                                                                                              \
    static int alloc_##n(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)       \
    {                                                                                              \
        (void)st, (void)thr;                                                                       \
        uint64_t x = rq->size;                                                                     \
        CHAIN(n, x);                                                                               \
        ZERO_OF(x);                                                                                \
        *out = (struct tp_block){.addr = 64 + x, .allocated = rq->size};                           \
        return TP_OK;                                                                              \
    }                                                                                              \
    static int free_##n(void *st, void *thr, tp_addr addr, const struct tp_req *rq)                \
    {                                                                                              \
        (void)st, (void)thr, (void)rq;                                                             \
        uint64_t x = addr;                                                                         \
        CHAIN(n, x);                                                                               \
        ZERO_OF(x);                                                                                \
        return (int)x;                                                                             \
    }                                                                                              \
    static const struct tp_strategy cost_##n = {.name = "chain-" #n,                               \
                                                .summary = "a known cost",                         \
                                                .resembles = "nothing",                            \
                                                .to_use = "a measurement",                         \
                                                .group = TP_GROUP_REAL,                            \
                                                .caps = TP_CAP_FOREIGN,                            \
                                                .state_size = 8,                                   \
                                                .init = no_init,                                   \
                                                .fini = no_fini,                                   \
                                                .alloc = alloc_##n,                                \
                                                .free = free_##n};

/* The fence takes about 4 ns, each multiplication 0.8: 5, 10, 20 and 50 ns. */
KNOWN_COST(1)
KNOWN_COST(7)
KNOWN_COST(20)
KNOWN_COST(56)

static const struct cost costs[] = {
    {&cost_1, run_ns_1}, {&cost_7, run_ns_7}, {&cost_20, run_ns_20}, {&cost_56, run_ns_56}};

static struct tp_program *alternating(void)
{
    static struct tp_insn insns[EVENTS];
    for (int i = 0; i < EVENTS; i++)
        insns[i] =
            i % 2 ? (struct tp_insn)FREE_INSN(0, 64, 1) : (struct tp_insn)ALLOC_INSN(0, 64, 1);
    return test_program(insns, EVENTS, true);
}

/* One replay; *mean is that of alloc and free. */
static int read_mean(const struct tp_clock *clock, struct tp_program *program,
                     const struct tp_strategy *strategy, double *mean, struct tp_err *err)
{
    struct tp_run *run = calloc(1, tp_run_size(1));
    struct tp_replay_cfg cfg = {.program = program,
                                .strategy = strategy,
                                .clock = clock,
                                .passes = TP_PASS_LATENCY,
                                .min_time_ns = 1000}; /* one replay */
    if (!run)
        return tp_fail(err, TP_ENOMEM, "no memory for a run");
    int status = tp_replay(&cfg, run, err);
    for (int k = TP_LAT_ALLOC; k <= TP_LAT_FREE; k++)
        *mean += run->latency.kinds[k].raw_sum_ns / (double)run->latency.kinds[k].hist.count / 2;
    free(run);
    return status;
}

static int measure(const struct tp_clock *clock, struct tp_program *program,
                   const struct cost *cost, struct tp_err *err)
{
    static struct tp_series known, apart;
    known = apart = (struct tp_series){0};
    for (int t = 0; t < TRIES_MAX && known.total < TRIES; t++) {
        double mean = 0, before = cost->run_ns();
        int status = read_mean(clock, program, cost->strategy, &mean, err);
        double after = cost->run_ns(), middle = (before + after) / 2;
        if (status)
            return status;
        if (fabs(before - after) > middle / 100)
            continue;
        tp_series_add(&known, middle);
        tp_series_add(&apart, mean - middle);
    }
    if (known.total < TRIES_MIN)
        return tp_fail(err, TP_EUNSUP, "%s took the same time twice in %d of %d tries only",
                       cost->strategy->name, (int)known.total, TRIES_MAX);
    printf("%s %.2f %.2f %d\n", cost->strategy->name, tp_series_median(&known).median,
           tp_series_median(&apart).median, (int)known.total);
    return TP_OK;
}

int main(void)
{
    struct tp_clock clock;
    struct tp_err err = {0};
    struct tp_program *program = alternating();
    int status = tp_clock_calibrate(&clock, &err);
    for (size_t i = 0; !status && i < sizeof costs / sizeof *costs; i++)
        status = measure(&clock, program, &costs[i], &err);
    tp_program_release(program);
    if (status)
        fprintf(stderr, "known_cost: %s\n", err.text);
    return status != TP_OK;
}
