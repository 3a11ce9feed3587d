/* How several threads replay a window, without any thread: a plan is replayed by a scheduler that
 * picks any worker whose next step may go on.
 *
 * Whatever the instructions are, even those that no program has (a free of what is not live, an
 * alloc into a live slot), some worker can always go on: so no program has an order that is
 * impossible, and no replay hangs. */
#include "alloc/base/random.h"
#include "alloc/engine/thread_plan.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

enum { LANES_MAX = 9, SLOTS = 12, COUNT = 3000, ROUNDS = 60 };

static struct tp_insn insns[COUNT];
static bool live[SLOTS];
static struct tp_slot slots[SLOTS];

/* `sound`: as a program has it; else anything. */
static void make_window(struct tp_random *r, bool sound, uint32_t threads)
{
    memset(live, 0, sizeof live);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t slot = (uint32_t)tp_random_below(r, SLOTS);
        static const uint8_t any[] = {TP_ALLOC, TP_FREE, TP_REALLOC, TP_USE, TP_RETAIN, TP_ADOPT};
        uint8_t op = any[tp_random_below(r, sizeof any)];
        if (sound && !live[slot])
            op = TP_ALLOC;
        else if (sound)
            op = tp_random_below(r, 3) == 0 ? TP_REALLOC : TP_FREE;
        if (tp_random_below(r, 40) == 0)
            op = tp_random_below(r, 2) ? TP_MARK : TP_THREAD_END;
        if (op == TP_ALLOC || op == TP_FREE)
            live[slot] = op == TP_ALLOC;
        insns[i] = (struct tp_insn){
            .op = op, .slot = slot, .size = i + 1, .thread = (uint16_t)tp_random_below(r, threads)};
    }
}

static uint64_t turn_of(const struct tp_thread_plan *plan, const struct tp_insn *step)
{
    return plan->cells[step->slot + 1].packed;
}

static bool may_go_on(const struct tp_thread_plan *plan, const struct tp_insn *step)
{
    return !(step->gap_ns & TP_TURN_WAIT) || turn_of(plan, step) == (step->gap_ns & TP_TURN_NUMBER);
}

/* Steps over one step: blocks are the number of the instruction that made them. */
static void step_over(struct tp_thread_plan *plan, const struct tp_insn *step)
{
    if (tp_op_is(step->op, TP_IS_NEW))
        plan->cells[step->slot].addr = step->size;
    else if (step->op == TP_FREE)
        plan->cells[step->slot].addr = 0;
    if (step->gap_ns & TP_TURN_PASS)
        plan->cells[step->slot + 1].packed = (step->gap_ns & TP_TURN_NUMBER) + 1;
}

/* Replays the plan in a random order; returns how many steps were replayed before none could go on.
 */
static uint32_t replay(struct tp_thread_plan *plan, struct tp_random *r, uint32_t *when)
{
    uint32_t next[LANES_MAX] = {0}, replayed = 0, stuck = 0;
    while (stuck < plan->worker_count) {
        uint32_t first = (uint32_t)tp_random_below(r, plan->worker_count);
        for (stuck = 0; stuck < plan->worker_count; stuck++) {
            uint32_t l = (first + stuck) % plan->worker_count;
            const struct tp_worker *worker = &plan->workers[l];
            const struct tp_insn *step = &plan->steps[worker->first + next[l]];
            if (next[l] == worker->count || !may_go_on(plan, step))
                continue;
            step_over(plan, step);
            when[plan->origin[worker->first + next[l]++]] = ++replayed;
            break;
        }
    }
    return replayed;
}

static uint32_t operations(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < COUNT; i++)
        count += tp_op_is_operation(insns[i].op);
    return count;
}

/* Instructions of one thread were replayed in the order of the program, and those of one object
 * where the program is sound. */
static void check_order(const uint32_t *when, uint32_t workers, bool sound)
{
    uint32_t by_lane[LANES_MAX] = {0}, by_slot[SLOTS] = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        if (!tp_op_is_operation(insns[i].op))
            continue;
        uint32_t worker = insns[i].thread % workers;
        assert_true(when[i] > by_lane[worker]);
        by_lane[worker] = when[i];
        if (!sound || !tp_op_is(insns[i].op, TP_IS_NEW | TP_IS_LIVE))
            continue;
        if (tp_op_is(insns[i].op, TP_IS_LIVE))
            assert_true(when[i] > by_slot[insns[i].slot]);
        by_slot[insns[i].slot] = when[i];
    }
}

static void one_round(struct tp_random *r, bool sound, uint32_t workers)
{
    static uint32_t when[COUNT];
    static struct tp_program_facts facts = {.slots = SLOTS, .devices = 1};
    const struct tp_window w = {.insns = insns, .count = COUNT};
    struct tp_thread_plan plan;
    make_window(r, sound, 2 * LANES_MAX);
    assert_int_equal(tp_plan_open(&plan, &facts, workers, NULL), TP_OK);
    memset(slots, 0, sizeof slots);
    memset(when, 0, sizeof when);
    tp_plan_part(&plan, &w, 0, COUNT);
    tp_plan_load(&plan, slots);
    assert_int_equal(replay(&plan, r, when), operations());
    check_order(when, workers, sound);
    tp_plan_store(&plan, slots);
    for (uint32_t s = 0; sound && s < SLOTS; s++)
        assert_int_equal(slots[s].addr != 0, live[s]);
    tp_plan_close(&plan);
}

TEST(some_thread_can_always_go_on)
{
    struct tp_random r;
    tp_random_seed(&r, 7);
    for (uint32_t i = 0; i < ROUNDS; i++)
        one_round(&r, true, 1 + i % LANES_MAX);
}

/* What the builder and every reader of a file refuse. */
TEST(not_even_an_impossible_program_hangs)
{
    struct tp_random r;
    tp_random_seed(&r, 8);
    for (uint32_t i = 0; i < ROUNDS; i++)
        one_round(&r, false, 1 + i % LANES_MAX);
}

/* An object of one thread costs no turn, even where its slot goes from thread to thread. */
TEST(only_shared_objects_have_turns)
{
    const struct tp_insn own[] = {
        {.op = TP_ALLOC, .thread = 0, .size = 1}, {.op = TP_FREE, .thread = 0},
        {.op = TP_ALLOC, .thread = 1, .size = 2}, {.op = TP_FREE, .thread = 1},
        {.op = TP_ALLOC, .thread = 0, .size = 3}, {.op = TP_FREE, .thread = 1}};
    const struct tp_program_facts facts = {.slots = 1, .devices = 1};
    const struct tp_window w = {.insns = own, .count = 6};
    struct tp_thread_plan plan;
    assert_int_equal(tp_plan_open(&plan, &facts, 2, NULL), TP_OK);
    tp_plan_part(&plan, &w, 0, 6);
    const struct tp_insn *a = plan.steps + plan.workers[0].first;
    const struct tp_insn *b = plan.steps + plan.workers[1].first;
    assert_int_equal(a[0].gap_ns | a[1].gap_ns | b[0].gap_ns | b[1].gap_ns, 0);
    assert_int_equal(a[2].gap_ns, TP_TURN_PASS);
    assert_int_equal(b[2].gap_ns, TP_TURN_WAIT | 1);
    assert_int_equal(a[2].slot, b[2].slot);
    assert_int_equal(a[2].slot % 4, 0); /* a cache line of its own */
    assert_int_not_equal(a[0].slot / 4, b[0].slot / 4);
    tp_plan_close(&plan);
}
