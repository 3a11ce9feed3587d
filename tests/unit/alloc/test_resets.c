/* What a RESET lets go of: the slots that looking at all of them would find, in steps that do not
 * grow with those that are not live. The loop and the lists are compiled into this test, so that
 * their steps are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/engine/replay_loop.c"
#include "alloc/engine/resets.c"

#include "alloc/engine/passes.h"
#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stddef.h>

extern const struct tp_source_ops tp_source_virtual;
extern const struct tp_strategy tp_strategy_bump, tp_strategy_direct;

/* Many slots that lived once; then one object and a RESET, again and again, over several windows.
 */
TEST(many_resets)
{
    enum { MANY = 40000, COUNT = 4 * MANY };
    static struct tp_insn insns[COUNT];
    static uint64_t source_options[16], bump_options[32];
    const struct tp_strategy *both[] = {&tp_strategy_bump, &tp_strategy_direct};
    for (uint32_t i = 0; i < MANY; i++) {
        insns[i] = (struct tp_insn)ALLOC_INSN(i, 64, 0);
        insns[MANY + i] = (struct tp_insn)FREE_INSN(i, 64, 0);
        insns[2 * MANY + 2 * i] = (struct tp_insn)ALLOC_INSN(i, 64, 0);
        insns[2 * MANY + 2 * i + 1] = (struct tp_insn){.op = TP_RESET};
    }
    struct tp_program *program = test_program(insns, COUNT, true);
    assert_int_equal(tp_opts_defaults(tp_source_virtual.options, source_options, NULL), TP_OK);
    assert_int_equal(tp_opts_defaults(tp_strategy_bump.options, bump_options, NULL), TP_OK);
    for (int i = 0; i < 2; i++) {
        struct tp_replay_cfg cfg = {.program = program,
                                    .strategy = both[i],
                                    .strategy_opts = i ? NULL : bump_options,
                                    .layers = {{&tp_source_virtual, source_options}},
                                    .layer_count = 1};
        struct tp_replayer p;
        assert_int_equal(tp_replayer_open(&p, &cfg, both[i], NULL), TP_OK);
        for (int replay = 0; replay < 2; replay++) {
            uint64_t ticks;
            steps = 0;
            assert_int_equal(tp_replay_once(&p, tp_replay_untimed, NULL, NULL, &ticks, NULL),
                             TP_OK);
            print_message("%s: %llu steps\n", both[i]->name, steps);
            assert_true(steps < 40ull * MANY);
        }
        assert_int_equal(p.instances[0].account.gets, i ? 4 * MANY : p.instances[0].account.gets);
        assert_int_equal(tp_replayer_close(&p, NULL), TP_OK);
    }
    tp_program_release(program);
}

/* ---- the lists ---- */

enum { SLOTS = 700, DEVICES = 3, LENGTH = 2000, WINDOWS = 40 };

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (uint32_t)((z ^ (z >> 31)) % n);
}

/* How many of a window are of all slots, and how often a RESET comes, differ. */
static struct tp_insn some_insn(uint16_t *device_of, uint32_t window)
{
    uint32_t slot = random_below(window % 3 ? SLOTS : 20), resets = window % 2 ? 10 : 400;
    struct tp_insn in = {.op = TP_RESET, .device = (uint16_t)random_below(DEVICES + 1)};
    if (random_below(resets) == 0) {
        in.device = in.device == DEVICES ? TP_ALL_DEVICES : in.device;
        return in;
    }
    in.op = TP_FREE;
    if (!device_of[slot])
        in.op = random_below(2) ? TP_ALLOC : TP_ADOPT;
    in.slot = slot;
    in.device = device_of[slot] ? device_of[slot] - 1 : (uint16_t)random_below(DEVICES);
    device_of[slot] = device_of[slot] ? 0 : (uint16_t)(in.device + 1);
    return in;
}

static void check_reset(struct tp_resets *r, const struct tp_insn *in, uint16_t *live)
{
    uint32_t count = 0, at = 0;
    const uint32_t *slots = tp_resets_next(r, &count);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (live[slot] && (in->device == TP_ALL_DEVICES || live[slot] == in->device + 1)) {
            assert_true(at < count);
            assert_int_equal(slots[at++], slot);
            live[slot] = 0;
        }
    assert_int_equal(at, count);
}

TEST(the_same_slots)
{
    static struct tp_insn insns[LENGTH];
    struct tp_program_facts facts = {.slots = SLOTS, .devices = DEVICES, .ops[TP_RESET] = 1};
    struct tp_resets *r = NULL;
    assert_int_equal(tp_resets_open(&facts, &r, NULL), TP_OK);
    for (uint64_t replay = 0; replay < 3; replay++) {
        uint16_t made[SLOTS] = {0}, live[SLOTS] = {0};
        seed = replay;
        tp_resets_begin(r);
        for (uint32_t window = 0; window < WINDOWS; window++) {
            struct tp_window w = {.insns = insns, .count = LENGTH};
            for (uint32_t i = 0; i < LENGTH; i++) {
                insns[i] = some_insn(made, window);
                for (uint32_t s = 0; insns[i].op == TP_RESET && s < SLOTS; s++)
                    if (insns[i].device == TP_ALL_DEVICES || made[s] == insns[i].device + 1)
                        made[s] = 0;
            }
            assert_int_equal(tp_resets_window(r, &w, NULL), TP_OK);
            for (uint32_t i = 0; i < LENGTH; i++) {
                if (insns[i].op == TP_RESET)
                    check_reset(r, &insns[i], live);
                else
                    live[insns[i].slot] =
                        insns[i].op == TP_FREE ? 0 : (uint16_t)(insns[i].device + 1);
            }
        }
    }
    tp_resets_close(r);
}

TEST(a_program_without_one_has_no_lists)
{
    struct tp_program_facts facts = {.slots = SLOTS, .devices = DEVICES};
    struct tp_resets *r = NULL;
    assert_int_equal(tp_resets_open(&facts, &r, NULL), TP_OK);
    assert_null(r);
    tp_resets_close(r);
}
