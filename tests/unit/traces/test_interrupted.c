/* How soon the user is heard: the work that is still done after a signal was noted, counted. */
#include "tests/unit/one_run.h"

#include "alloc/base/clock.h"
#include "traces/input/input.h"
#include "traces/lower/lower.h"

#include <unistd.h>

extern const struct tp_source_ops tp_source_host;

enum { BLOCKS = 30000, MOST_AFTER = 4096 };

/* A strategy that hands out numbers, and notes a signal at one of its calls. */
static struct {
    uint64_t calls, signal_at, after; /* calls in all, the signal's, calls since */
} heard;
static volatile sig_atomic_t flag;

static void count(void)
{
    heard.after += flag != 0;
    flag = flag || ++heard.calls == heard.signal_at;
}

static int numbers_init(void *st, const struct tp_env *env, const void *o, struct tp_err *e)
{
    (void)st, (void)env, (void)o, (void)e;
    return TP_OK;
}

static void numbers_fini(void *st)
{
    (void)st;
}

static int numbers_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    (void)thr;
    count();
    *out = (struct tp_block){*(uint64_t *)st += 1 << 20, rq->size};
    return TP_OK;
}

static int numbers_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    (void)st, (void)thr, (void)addr, (void)rq;
    count();
    return TP_OK;
}

static const struct tp_strategy numbers = {.name = "numbers",
                                           .summary = "addresses, and no memory behind them",
                                           .state_size = sizeof(uint64_t),
                                           .init = numbers_init,
                                           .fini = numbers_fini,
                                           .alloc = numbers_alloc,
                                           .free = numbers_free};

/* Everything is allocated, then freed but for a half, all in one window. */
static struct tp_program *one_window(void)
{
    struct tp_insn *insns = calloc(2 * BLOCKS, sizeof *insns);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        insns[i] = (struct tp_insn){.op = TP_ALLOC, .align_log2 = 4, .slot = i, .size = 64};
        insns[BLOCKS + i / 2] =
            (struct tp_insn){.op = TP_FREE, .align_log2 = 4, .slot = i / 2, .size = 64};
    }
    struct tp_program *p = test_program(insns, BLOCKS + BLOCKS / 2, false);
    free(insns);
    return p;
}

TEST(passes_end_within_a_part)
{
    static const unsigned passes[] = {TP_PASS_USAGE, TP_PASS_THROUGHPUT, TP_PASS_LATENCY,
                                      TP_PASS_COUNT, TP_PASS_FITS};
    struct tp_clock clock;
    assert_int_equal(tp_clock_calibrate(&clock, NULL), TP_OK);
    struct tp_program *p = one_window();
    for (size_t i = 0; i < COUNT(passes); i++)
        for (uint64_t at = 1; at < 2 * BLOCKS; at += 9999) {
            struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &numbers, p, passes[i]);
            cfg.clock = &clock;
            cfg.interrupted = &flag;
            flag = 0;
            heard.calls = heard.after = 0;
            heard.signal_at = at;
            memset(run, 0, tp_run_size(RUN_DEVICES));
            int status = tp_replay(&cfg, run, &err);
            if (!flag)
                continue; /* the pass makes fewer calls */
            if (status != TP_ESTOP && at < BLOCKS - MOST_AFTER)
                fail_msg("pass %u, call %u: not interrupted", passes[i], (unsigned)at);
            if (heard.after > MOST_AFTER)
                fail_msg("pass %u, call %u: %u calls after it", passes[i], (unsigned)at,
                         (unsigned)heard.after);
        }
    tp_program_release(p);
}

/* How much is still done after a signal shows where a part of a window ends. */
static uint64_t done_after(struct tp_program *p, unsigned pass, double ns_per_tick)
{
    const struct tp_clock clock = {.ns_per_tick = ns_per_tick};
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &numbers, p, pass);
    cfg.clock = &clock;
    cfg.interrupted = &flag;
    flag = 0;
    heard.calls = heard.after = 0;
    heard.signal_at = BLOCKS / 2;
    memset(run, 0, tp_run_size(RUN_DEVICES));
    assert_int_equal(tp_replay(&cfg, run, &err), TP_ESTOP);
    return heard.after;
}

/* A machine that is busy makes parts slow: a pass whose instructions are counted replays the same
 * ones all the same. */
TEST(a_slow_machine_cuts_no_other_parts)
{
    struct tp_program *p = one_window();
    uint64_t fast = done_after(p, TP_PASS_COUNT, 1e-9), slow = done_after(p, TP_PASS_COUNT, 1e12);
    assert_true(fast > 100);
    assert_int_equal(fast, slow);
    assert_true(done_after(p, TP_PASS_USAGE, 1e12) < fast);
    tp_program_release(p);
}

/* ---- reading ---- */

static uint64_t asked, stop_at;

static int stop(struct tp_err *e)
{
    return ++asked >= stop_at ? tp_fail(e, TP_EIO, "stopped by signal 15") : TP_OK;
}

TEST(lowering_asks_now_and_then)
{
    const struct tp_lower_cfg cfg = {.path = "x.json", .stop = stop};
    const struct tp_event ev = {.op = TP_EV_SYNC};
    struct tp_lower *lo = NULL;
    uint64_t taken = 0;
    asked = 0;
    stop_at = 3;
    assert_int_equal(tp_lower_new(&cfg, &lo, &err), TP_OK);
    while (taken < 100000 && tp_lower_event(lo, &ev, &err) == TP_OK)
        taken++;
    assert_true(taken <= 3 * MOST_AFTER);
    assert_string_equal(err.text, "stopped by signal 15");
    tp_lower_free(lo);
}

/* A pipe to which nobody writes. */
TEST(waiting_for_bytes_ends)
{
    struct tp_input *in = NULL;
    int ends[2], before = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    asked = 0;
    stop_at = 2;
    assert_int_equal(tp_input_open("-", 0, stop, &in, &err), TP_EIO);
    assert_string_equal(err.text, "stopped by signal 15");
    dup2(before, STDIN_FILENO);
    close(before);
    close(ends[0]);
    close(ends[1]);
}

static int setup(void **state)
{
    (void)state;
    return new_run();
}

GROUP(setup, teardown)
