/* Every strategy on a device that is lost in the middle of a program, at one call of the driver
 * after the other, or whose queued work fails: it ends, keeps no bookkeeping, and the source gives
 * everything back. What was reserved then is only in the account: there is nobody left to put it
 * to. */
#include "alloc/conformance/conformance_gen.h"
#include "alloc/conformance/conformance_replay.h"
#include "tests/unit/conformance.h"
#include "tests/unit/fake_driver.h"

#include "cmd/jobs/catalog.h"

#define SEED  UINT64_C(20261121)
#define STEPS 120

struct lost_run {
    struct rig rig;
    struct model model;
    struct gen gen;
};

static void replay_until_lost(struct lost_run *l, uint64_t seed)
{
    tp_gen_start(&l->gen, seed, 60);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct tp_insn in = tp_gen_next(&l->gen);
        if (!tp_model_step(&l->model, &in, i))
            return;
    }
    tp_model_drain(&l->model);
}

/* After a loss there is nobody to put ranges to: the account keeps them, and the source gives them
 * back when it closes. Blocks of a pool are the strategy's alone, so that it must. */
static bool is_account(const struct tp_strategy *s, const char *left)
{
    return !(s->caps & TP_CAP_ASYNC) && !strcmp(left, "fini kept bytes of the source");
}

/* False: the program was over before. */
static bool lose(const struct tp_strategy *s, const char *script, uint64_t seed)
{
    struct lost_run *l = calloc(1, sizeof *l);
    char text[240];
    struct rig_cfg cfg = {.strategy = s,
                          .base = &tp_source_cuda,
                          .kind = TP_KIND_DEVICE,
                          .streams = GEN_STREAMS,
                          .complaint = fake_driver_complaint,
                          .passes = fake_driver_passes};
    assert_non_null(l);
    assert_int_equal(rig_open(&l->rig, &cfg), TP_OK);
    tp_model_open(&l->model, &l->rig);
    fake_driver()->cuda.script(script); /* from now on calls are counted */
    replay_until_lost(l, seed);
    struct tp_err err = {0};
    int fault = tp_src_fault(l->rig.env.source, &err);
    assert_int_equal(fault, l->rig.lost);
    assert_true(!fault || *err.text);
    const char *left = tp_rig_shut(&l->rig, text, sizeof text);
    bool lost = l->rig.lost != TP_OK; /* perhaps only now */
    if (left && !(lost && is_account(s, left)))
        fail_msg("%s with %s: %s", s->name, script, left);
    if (l->model.failure.kind && (!fault || l->model.failure.kind != MODEL_STATUS))
        fail_msg("%s with %s: %s: %s", s->name, script, tp_model_kind_names[l->model.failure.kind],
                 l->model.failure.text);
    assert_int_equal(l->rig.account.metadata, 0);
    assert_int_equal(l->rig.meta.live_bytes, 0);
    tp_model_close(&l->model);
    free(l);
    return lost;
}

static void lose_everywhere(const struct tp_strategy *s, const char *format)
{
    char script[80];
    bool lost = true;
    uint64_t runs = 0;
    for (uint64_t n = 1; lost && n < 100000; n += 1 + n / 8, runs++) {
        snprintf(script, sizeof script, format, (unsigned long long)n);
        lost = lose(s, script, SEED + runs);
    }
    print_message("  %s, %s: %llu runs\n", s->name, format, (unsigned long long)runs);
    assert_true(!lost && runs > 5);
}

static void each_strategy(const char *format)
{
    if (!fake_driver_is_fake())
        skip();
    for (size_t i = 0; tp_strategies[i]; i++)
        if (tp_strategy_takes_source(tp_strategies[i]))
            lose_everywhere(tp_strategies[i], format);
}

TEST(a_device_that_is_lost)
{
    each_strategy("step=0;lost=%llu");
}

/* 700: an illegal address. Strategies that know no streams are given no work, and meet none. */
TEST(work_that_fails)
{
    if (!fake_driver_is_fake())
        skip();
    lose_everywhere(&tp_strategy_stream_pool, "step=100;async=%llu:700");
    lose_everywhere(&tp_strategy_lru, "step=100;async=%llu:700");
    lose_everywhere(&tp_strategy_cuda_malloc_async, "step=100;async=%llu:700");
}
