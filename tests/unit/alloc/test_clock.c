/* The clock, and the latency pass's use of it, against the wall clock: what lies within a stretch
 * of wall time is no longer, and what encloses it is no shorter, however long something else kept
 * the processor. How closely short operations are read is measured by tests/bench/known_cost.c. */
#include "alloc/engine/replay.h"
#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>

/* An operation goes on until so much wall time has passed. Both clocks agree within 1%. */
enum { LONG_NS = 200000, EVENTS = 100 };

TEST(calibration_finds_a_running_clock)
{
    struct tp_clock clock;
    assert_int_equal(tp_clock_calibrate(&clock, NULL), TP_OK);
    assert_true(clock.ns_per_tick > 0.01 && clock.ns_per_tick < 1000);
    assert_true(clock.step_ns >= clock.ns_per_tick * 0.99);
    assert_true(clock.stamp_ns > 0);
    assert_non_null(clock.name);
}

TEST(stamps_advance_with_the_wall_clock)
{
    struct tp_clock clock;
    assert_int_equal(tp_clock_calibrate(&clock, NULL), TP_OK);
    uint64_t outer = tp_wall_ns(), start = tp_stamp(), inner = tp_wall_ns(), inner_end;
    do
        inner_end = tp_wall_ns();
    while (inner_end - inner < 20000000);
    double ticks = (double)(tp_stamp() - start) * clock.ns_per_tick;
    uint64_t outer_end = tp_wall_ns();
    assert_true(ticks > 0.99 * (double)(inner_end - inner));
    assert_true(ticks < 1.01 * (double)(outer_end - outer));
}

/* ---- a strategy whose calls take LONG_NS at least ---- */

static uint64_t calls;

static int no_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)st, (void)env, (void)opts, (void)err;
    return TP_OK;
}

static void no_fini(void *st)
{
    (void)st;
}

static void take_long(void)
{
    uint64_t start = tp_wall_ns();
    while (tp_wall_ns() - start < LONG_NS)
        ;
    calls++;
}

static int long_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)st, (void)thr;
    take_long();
    *out = (struct tp_block){.addr = 64, .allocated = rq->size};
    return TP_OK;
}

static int long_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)st, (void)thr, (void)addr, (void)rq;
    take_long();
    return TP_OK;
}

static const struct tp_strategy slow = {.name = "slow",
                                        .summary = "takes long",
                                        .resembles = "nothing",
                                        .to_use = "a test",
                                        .group = TP_GROUP_REAL,
                                        .caps = TP_CAP_FOREIGN,
                                        .state_size = 8,
                                        .init = no_init,
                                        .fini = no_fini,
                                        .alloc = long_alloc,
                                        .free = long_free};

static struct tp_program *alternating(void)
{
    static struct tp_insn insns[EVENTS];
    for (int i = 0; i < EVENTS; i++)
        insns[i] =
            i % 2 ? (struct tp_insn)FREE_INSN(0, 64, 1) : (struct tp_insn)ALLOC_INSN(0, 64, 1);
    return test_program(insns, EVENTS, true);
}

/* An empty reading is some ten nanoseconds, and interruptions are trimmed off it: nothing here. */
TEST(operations_are_read_as_long_as_they_were)
{
    struct tp_clock clock;
    struct tp_program *program = alternating();
    struct tp_run *run = calloc(1, tp_run_size(1));
    assert_non_null(run);
    assert_int_equal(tp_clock_calibrate(&clock, NULL), TP_OK);
    struct tp_replay_cfg cfg = {.program = program,
                                .strategy = &slow,
                                .clock = &clock,
                                .passes = TP_PASS_LATENCY,
                                .min_time_ns = 1000}; /* one replay after the warm one */
    calls = 0;
    uint64_t start = tp_wall_ns(), counted = 0;
    assert_int_equal(tp_replay(&cfg, run, NULL), TP_OK);
    double within = (double)(tp_wall_ns() - start), read = 0;
    for (int k = TP_LAT_ALLOC; k <= TP_LAT_FREE; k++) {
        const struct tp_latency *l = &run->latency.kinds[k];
        assert_int_equal(l->hist.count, run->latency.replays * EVENTS / 2);
        assert_true((double)l->hist.min >= 0.99 * LONG_NS);
        assert_true(l->raw_sum_ns >= 0.99 * LONG_NS * (double)l->hist.count);
        read += l->raw_sum_ns;
        counted += l->hist.count;
    }
    assert_true(calls > counted); /* a replay is left out, which warms up */
    assert_true(read < 1.01 * (within - (double)LONG_NS * (double)(calls - counted)));
    free(run);
    tp_program_release(program);
}
