/* The resident pass: what it counts, when it looks, and that the engine's own memory is not in it.
 */
#include "tests/unit/random_program.h"
#include "tests/unit/resident_rig.h"

extern const struct tp_source_ops tp_source_virtual;

static const struct tp_resident *resident_of(const struct tp_insn *insns, size_t count)
{
    struct tp_program *p = test_program(insns, count, true);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &tp_strategy_direct, p, TP_PASS_RESIDENT);
    cfg.touch = TP_TOUCH_NONE;
    replay(&cfg);
    tp_program_release(p);
    assert_int_equal(run->resident.passes, 1);
    return &run->resident;
}
#define REPLAY(insns) resident_of(insns, COUNT(insns))

static void assert_about(const struct tp_spread *s, uint64_t bytes)
{
    assert_int_equal(s->low, s->median);
    assert_int_equal(s->high, s->median);
    assert_in_range(s->median, bytes, bytes + FEW);
}

/* Blocks are written wholly, although --touch says nothing is. */
TEST_WITH(a_strategy_that_holds_some_pages_reads_so_many, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1 * MIB, 0), ALLOC_INSN(1, 2 * MIB, 0),
                                    FREE_INSN(1, 2 * MIB, 0), ALLOC_INSN(1, 100, 0)};
    const struct tp_resident *r = REPLAY(insns);
    assert_about(&r->at_peak, 3 * MIB);
    assert_about(&r->peak, 3 * MIB);
    assert_about(&r->end, 1 * MIB + 4096);
}

TEST_WITH(what_a_realloc_adds_is_written_too, setup, teardown)
{
    const struct tp_insn insns[] = {
        ALLOC_INSN(0, 1 * MIB, 0),
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 4 * MIB},
        {.op = TP_REALLOC, .align_log2 = 4, .slot = 0, .size = 2 * MIB}};
    const struct tp_resident *r = REPLAY(insns);
    assert_about(&r->at_peak, 4 * MIB);
    assert_about(&r->end, 2 * MIB);
}

/* ---- the course ---- */

static void assert_read(uint32_t index, uint64_t event, uint64_t bytes)
{
    const struct tp_course_point *p = &run->resident.course.points[index];
    assert_in_range(index, 0, run->resident.course.count - 1);
    assert_int_equal(p->event, event);
    assert_int_equal(p->clock, 10 * event);
    assert_in_range(p->bytes, bytes, bytes + FEW);
}

/* At each step up and down, and not where little changed. */
TEST_WITH(the_course_goes_up_and_down_with_what_is_requested, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 4 * MIB, 10), ALLOC_INSN(1, 100, 10),
                                    FREE_INSN(0, 4 * MIB, 10),  ALLOC_INSN(0, 2 * MIB, 10),
                                    FREE_INSN(1, 100, 10),      FREE_INSN(0, 2 * MIB, 10)};
    const struct tp_resident *r = REPLAY(insns);
    assert_int_equal(r->course.count, 6);
    assert_read(0, 0, 0);
    assert_read(1, 1, 4 * MIB);
    assert_read(2, 2, 4 * MIB + 4096); /* peak demand */
    assert_read(3, 3, 4096);
    assert_read(4, 4, 2 * MIB + 4096);
    assert_read(5, 6, 0);
    assert_about(&r->end, 0);
    assert_about(&r->peak, 4 * MIB + 4096);
}

/* What is live before the first event is one point, although it is read on the way there. */
TEST_WITH(the_course_begins_before_the_first_event, setup, teardown)
{
    const struct tp_insn before[] = {ALLOC_INSN(0, MIB, 0), ALLOC_INSN(1, 2 * MIB, 0)};
    const struct tp_insn insns[] = {ALLOC_INSN(2, MIB, 100), FREE_INSN(1, 2 * MIB, 100)};
    struct tp_program *p = program_of(before, COUNT(before), insns, COUNT(insns));
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &tp_strategy_direct, p, TP_PASS_RESIDENT);
    replay(&cfg);
    tp_program_release(p);
    assert_int_equal(run->resident.course.count, 3);
    assert_read(0, 0, 3 * MIB);
    assert_read(1, 10, 4 * MIB);
    assert_read(2, 20, 2 * MIB);
}

/* A hundred thousand swings by half of peak demand: readings are bounded, and it stays in order. */
TEST_WITH(many_swings_do_not_make_many_readings, setup, teardown)
{
    enum { SWINGS = 100000 };
    struct tp_insn *insns = calloc(1 + 2 * SWINGS, sizeof *insns);
    assert_non_null(insns);
    insns[0] = (struct tp_insn)ALLOC_INSN(0, 8192, 10);
    for (uint32_t i = 0; i < SWINGS; i++) {
        insns[1 + 2 * i] = (struct tp_insn)ALLOC_INSN(1, 8192, 10);
        insns[2 + 2 * i] = (struct tp_insn)FREE_INSN(1, 8192, 10);
    }
    const struct tp_resident *r = resident_of(insns, 1 + 2 * SWINGS);
    free(insns);
    const struct tp_course *c = &r->course;
    uint64_t most = 0;
    /* fewer where readings take long, but one for each step that is doubled */
    assert_in_range(c->count, 8, TP_COURSE_POINTS);
    for (uint32_t i = 0; i < c->count; i++) {
        assert_true(!i || c->points[i].event >= c->points[i - 1].event);
        most = c->points[i].bytes > most ? c->points[i].bytes : most;
    }
    assert_int_equal(c->points[c->count - 1].event, 1 + 2 * SWINGS);
    assert_int_equal(most, r->peak.median);
}

/* A million slots are 16 MiB of the engine's, of which the program uses the last. */
TEST_WITH(memory_of_the_engine_is_not_in_it, setup, teardown)
{
    enum { SLOTS = 1 << 20 };
    struct tp_insn *insns = calloc((size_t)2 * SLOTS, sizeof *insns);
    assert_non_null(insns);
    for (uint32_t i = 0; i < SLOTS; i++) {
        insns[i] = (struct tp_insn)ALLOC_INSN(i, 16, 0);
        insns[SLOTS + i] = (struct tp_insn)FREE_INSN(i, 16, 0);
    }
    struct tp_program *p = test_program(insns, (size_t)2 * SLOTS, true);
    free(insns);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &tp_strategy_empty, p, TP_PASS_RESIDENT);
    replay(&cfg);
    tp_program_release(p);
    assert_about(&run->resident.at_peak, 0);
    assert_about(&run->resident.peak, 0);
    assert_about(&run->resident.end, 0);
}

/* `direct` with a state of a MiB, all of it written: it is the strategy's. */
static struct tp_strategy heavy;

static int heavy_init(void *state, const struct tp_env *env, const void *opts, struct tp_err *e)
{
    memset((char *)state + tp_strategy_direct.state_size, 1, MIB);
    return tp_strategy_direct.init(state, env, opts, e);
}

TEST_WITH(the_state_of_a_strategy_is_in_it, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1 * MIB, 0)};
    heavy = tp_strategy_direct;
    heavy.state_size += MIB;
    heavy.init = heavy_init;
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &heavy, p, TP_PASS_RESIDENT);
    replay(&cfg);
    tp_program_release(p);
    assert_about(&run->resident.at_peak, 2 * MIB);
}

TEST_WITH(nothing_is_known_where_memory_is_not_of_the_host, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1 * MIB, 0)};
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    struct tp_replay_cfg cfg =
        run_on(&tp_source_virtual, &tp_strategy_direct, p, TP_PASS_RESIDENT | TP_PASS_USAGE);
    replay(&cfg);
    tp_program_release(p);
    assert_int_equal(run->resident.passes, 0);
    assert_int_equal(run->resident.course.count, 0);
    assert_true(run->resident.at_peak.median == TP_NONE && run->resident.end.high == TP_NONE);
}

/* A replay that stops before peak demand has no figure there. */
TEST_WITH(a_peak_that_is_not_reached_is_not_known, setup, teardown)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 1 * MIB, 0), ALLOC_INSN(1, UINT64_C(1) << 46, 0)};
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    struct tp_replay_cfg cfg = run_on(&tp_source_host, &tp_strategy_direct, p, TP_PASS_RESIDENT);
    cfg.stop_on_oom = true;
    cfg.guard = true;
    replay(&cfg);
    tp_program_release(p);
    assert_int_equal(run->resident.passes, 1);
    assert_in_range(run->resident.end.median, 1 * MIB, 1 * MIB + FEW);
}
