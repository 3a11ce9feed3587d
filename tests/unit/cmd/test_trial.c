/* Settings that are tried on a program: figures derived by hand, and one that fails among others.
 */
#include "cmd/jobs/trial.h"

#include "cmd/jobs/catalog.h"
#include "tests/unit/one_run.h"

#define MIB (UINT64_C(1) << 20)

enum { TRIALS = 5 };

static struct tp_trial trials[TRIALS];

static int setup(void **state)
{
    (void)state;
    memset(trials, 0, sizeof trials);
    return new_run();
}

static int release(void **state)
{
    tp_trials_release(trials, TRIALS);
    return teardown(state);
}

static int replay_settings(const struct tp_insn *insns, size_t count, uint64_t capacity,
                           size_t settings)
{
    struct tp_program *p = test_program(insns, count, true);
    const struct tp_trial_cfg cfg = {.program = p, .capacity = capacity, .memory = 1 << 30};
    int status = tp_trials_replay(&cfg, trials, settings, &err);
    tp_program_release(p);
    return status;
}

TEST_WITH(each_setting_has_its_own_figures, setup, release)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 2 * MIB, 0), ALLOC_INSN(1, 19 * MIB, 0)};
    static const char *const confs[] = {"", "large_segment_size_mb:32",
                                        "roundup_power2_divisions:1,max_split_size_mb:64",
                                        "roundup_power2_divisions:[>:2]"};
    static const uint64_t peaks[] = {40, 32, 40, 44};
    for (size_t i = 0; i < COUNT(confs); i++)
        trials[i].conf = confs[i];
    assert_int_equal(replay_settings(insns, COUNT(insns), 0, COUNT(confs)), TP_OK);
    for (size_t i = 0; i < COUNT(confs); i++) {
        assert_fields(trials[i], status, TP_OK, device_count, 1, devices[0].peak_reserved,
                      peaks[i] * MIB, devices[0].first_failed_event, TP_NONE);
    }
    assert_int_equal(trials[0].devices[0].gets, 2);
    assert_int_equal(trials[1].devices[0].gets, 1);
}

/* 38 MiB find room once the free 30 go back; 4 more than the device has left never do. */
TEST_WITH(a_small_device_costs_retries_and_requests, setup, release)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, 30 * MIB, 0), FREE_INSN(0, 30 * MIB, 0),
                                    ALLOC_INSN(0, 38 * MIB, 0), ALLOC_INSN(1, 4 * MIB, 0)};
    trials[0].conf = "";
    assert_int_equal(replay_settings(insns, COUNT(insns), 40 * MIB, 1), TP_OK);
    const struct tp_trial_device *d = trials[0].devices;
    assert_fields(*d, peak_reserved, 38 * MIB, peak_reserved_event, 3, gets, 2, puts, 1, retries, 2,
                  failed, 1, first_failed_event, 4);
    assert_true(d->too_big);
}

TEST_WITH(what_is_refused_leaves_the_others, setup, release)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, MIB, 0)};
    static const char *const confs[] = {"max_split:40", "", "roundup_power2_divisions:[>:2",
                                        "per_process_memory_fraction:0.5", "max_split_size_mb:20}"};
    static const char *const said[] = {"PyTorch has no setting 'max_split'", NULL, "not a power",
                                       "needs the device's size", "do not match"};
    for (size_t i = 0; i < COUNT(confs); i++)
        trials[i].conf = confs[i];
    assert_int_equal(replay_settings(insns, COUNT(insns), 0, COUNT(confs)), TP_OK);
    for (size_t i = 0; i < COUNT(confs); i++) {
        assert_int_equal(trials[i].status, said[i] ? TP_EUSAGE : TP_OK);
        assert_true(!trials[i].devices == !!said[i]);
        if (said[i])
            assert_non_null(strstr(trials[i].err.text, said[i]));
    }
}

/* A strategy without such an option has its own options as settings. */
TEST_WITH(any_strategy_can_be_tried, setup, release)
{
    const struct tp_insn insns[] = {ALLOC_INSN(0, MIB, 0)};
    const struct tp_recorded_strategy by = {.strategy = tp_find_strategy("arena", &err)};
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    const struct tp_trial_cfg cfg = {
        .program = p, .by = &by, .allocator = "cuda", .release = "2.9", .memory = 1 << 30};
    trials[0].conf = "";
    trials[1].conf = "first_range:8MiB,classes:coarse6";
    trials[2].conf = "arena:64MiB";
    assert_int_equal(tp_trials_replay(&cfg, trials, 3, &err), TP_OK);
    tp_program_release(p);
    assert_fields(trials[0], status, TP_OK, devices[0].failed, 0);
    assert_fields(trials[1], status, TP_OK, devices[0].peak_reserved, 8 * MIB);
    assert_true(trials[0].devices[0].peak_reserved < 8 * MIB);
    assert_int_equal(trials[2].status, TP_EUSAGE);
    assert_non_null(strstr(trials[2].err.text, "'arena'"));
}

TEST_WITH(an_interrupt_ends_all, setup, release)
{
    static const volatile sig_atomic_t asked = 1;
    const struct tp_insn insns[] = {ALLOC_INSN(0, MIB, 0)};
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    const struct tp_trial_cfg cfg = {.program = p, .memory = 1 << 30, .interrupted = &asked};
    trials[0].conf = trials[1].conf = "";
    assert_int_equal(tp_trials_replay(&cfg, trials, 2, &err), TP_ESTOP);
    tp_program_release(p);
}
