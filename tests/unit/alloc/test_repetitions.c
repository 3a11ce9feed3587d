/* How often the timed passes repeat: after a large initial_heap, and where there is nothing to
 * time. Repetitions are counted, nothing is timed here. */
#include "alloc/base/clock.h"
#include "tests/unit/ranges.h"

enum {
    BLOCK = 4096,
    OLD_BLOCK = 8192, /* of the initial heap: each takes OLD_NS to place */
    OLD_NS = 200000,
    MIN_TIME_NS = 10000000, /* timed calls of some 50 ns would need 200,000 repetitions */
    TOO_MANY = 2000         /* placements: the replay is then stopped */
};

static uint64_t placed; /* blocks of the initial heap */
static volatile sig_atomic_t enough;

/* What is old takes long to place. */
static void place(const struct tp_req *rq)
{
    uint64_t begin = tp_wall_ns();
    if (rq->size != OLD_BLOCK)
        return;
    enough = ++placed > TOO_MANY;
    while (tp_wall_ns() - begin < OLD_NS)
        continue;
}

/* ---- running ---- */

static struct tp_clock test_clock;

static int set_up_clock(void **state)
{
    placed = 0;
    enough = 0;
    return setup(state) ? -1 : tp_clock_calibrate(&test_clock, NULL);
}

/* One block that was there before, then these. */
static struct tp_program *after_an_old_block(const struct tp_insn *insns, size_t count)
{
    const struct tp_insn before = ALLOC_INSN(0, OLD_BLOCK, 0);
    return program_of(&before, 1, insns, count, 0, false);
}

static struct tp_replay_cfg timed(struct tp_program *p, unsigned passes)
{
    struct tp_replay_cfg cfg = run_on(&tp_source_virtual, &ranges_unwalked, p, passes);
    how.allocated = place;
    cfg.clock = &test_clock;
    cfg.min_time_ns = MIN_TIME_NS;
    cfg.min_replays = 5;
    cfg.repeat = 1;
    cfg.interrupted = &enough;
    return cfg;
}

/* What the repetitions may last, and the one that was under way when that was over; the cold one or
 * the warm one before them. */
enum { AT_MOST = MIN_TIME_NS * 4 / OLD_NS + 12 };

TEST_WITH(placing_the_initial_heap_again_counts, set_up_clock, teardown)
{
    static const unsigned passes[] = {TP_PASS_THROUGHPUT, TP_PASS_LATENCY};
    const struct tp_insn insns[] = {ALLOC_INSN(1, BLOCK, 0), FREE_INSN(1, BLOCK, 0)};
    struct tp_program *p = after_an_old_block(insns, COUNT(insns));
    for (size_t i = 0; i < COUNT(passes); i++) {
        struct tp_replay_cfg cfg = timed(p, passes[i]);
        placed = 0;
        replay(&cfg);
        assert_in_range(placed, 1, AT_MOST);
    }
}

/* However long one takes: an interval needs some. */
TEST_WITH(so_many_repetitions_as_an_interval_needs_there_are, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(1, BLOCK, 0), FREE_INSN(1, BLOCK, 0)};
    struct tp_replay_cfg cfg = timed(after_an_old_block(insns, COUNT(insns)), TP_PASS_THROUGHPUT);
    cfg.min_replays = 3 * AT_MOST;
    replay(&cfg);
    assert_true(run->throughput.runs.total >= 3 * AT_MOST);
}

TEST_WITH(where_nothing_can_be_timed_nothing_is_repeated, set_up_clock, teardown)
{
    const struct tp_insn idle[] = {{.op = TP_IDLE, .gap_ns = 1000}};
    struct tp_program *p = after_an_old_block(idle, COUNT(idle));
    struct tp_replay_cfg cfg = timed(p, TP_PASS_THROUGHPUT | TP_PASS_LATENCY);
    assert_int_equal(tp_program_facts(p)->operations, 0);
    replay(&cfg);
    assert_int_equal(placed, 1);
    assert_int_equal(run->throughput.runs.total, 0);
    assert_int_equal(run->throughput.replays, 0);
    assert_true(isnan(run->throughput.cold_ns_per_op));
    assert_int_equal(run->latency.replays, 0);
}

/* There are calls, and none of them can take place: all are about a block that was refused. */
TEST_WITH(skipped_calls_are_no_time, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {FREE_INSN(0, OLD_BLOCK, 0)};
    struct limit_options limit = {BLOCK};
    struct tp_replay_cfg cfg = timed(after_an_old_block(insns, COUNT(insns)), TP_PASS_ALL);
    cfg.layers[cfg.layer_count++] = (struct tp_source_layer){&tp_source_limit, &limit};
    replay(&cfg);
    assert_int_equal(run->skipped_operations, 1);
    assert_int_equal(run->throughput.runs.total, 0);
    assert_true(isnan(run->throughput.cold_ns_per_op));
}

/* Passes of one replay may come one call after the other. */
TEST_WITH(a_second_call_adds_its_passes, set_up_clock, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(1, BLOCK, 0), FREE_INSN(1, BLOCK, 0)};
    struct tp_replay_cfg cfg =
        timed(after_an_old_block(insns, COUNT(insns)), TP_PASS_USAGE | TP_PASS_FITS);
    uint64_t fits = replay(&cfg)->min_capacity;
    assert_int_equal(fits, OLD_BLOCK + BLOCK);
    cfg.passes = TP_PASS_THROUGHPUT;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_OK);
    assert_int_equal(run->passes, TP_PASS_USAGE | TP_PASS_FITS | TP_PASS_THROUGHPUT);
    assert_int_equal(run->devices[0].min_capacity, fits);
    assert_int_equal(run->devices[0].gets, 1);
    assert_true(run->throughput.runs.total > 0);
}
