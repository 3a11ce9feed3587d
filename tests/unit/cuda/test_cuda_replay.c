/* The engine, the source cuda and a driver together: replays of the samples under load, on the fake
 * driver, which knows what may run beside what. Its books balance after every test.
 *
 *     strategy --> meter --> cuda --> fake driver: a violation for each work that is not ordered
 *
 * What a strategy may do wrong is planted, and seen. */
#include "tests/unit/cuda_rig.h"
#include "tests/unit/one_run.h"

#include "cmd/jobs/catalog.h"
#include "cuda/cuda_options.h"
#ifdef TAPOOL_HAS_CUDA
#include "cuda/driver.h"
#endif
#include "traces/trace.h"

extern const struct tp_strategy tp_strategy_arena, tp_strategy_stream_pool;

/* Those that keep the order of streams, as far as this build has them; NULL behind the last. */
enum { ORDERED = 4 };
static const struct tp_strategy *ordered(size_t index)
{
    static const char *const names[ORDERED] = {"direct", "lru", "stream-pool", "cudaMallocAsync"};
    for (size_t i = 0; index < ORDERED && tp_strategies[i]; i++)
        if (strcmp(tp_strategies[i]->name, names[index]) == 0)
            return tp_strategies[i];
    return NULL;
}

enum { SAMPLE_EVENTS = 4000, ALL_PASSES = TP_PASS_ALL | TP_PASS_VERIFY };

static struct tp_clock test_clock;

static int calibrate(void **state)
{
    (void)state;
    return tp_clock_calibrate(&test_clock, &err);
}

static int setup(void **state)
{
    return new_run() ? -1 : cuda_rig_setup(state);
}

static int end(void **state)
{
    free(run);
    return cuda_rig_teardown(state);
}

/* The spec is of the strategy, and may be NULL. */
static struct tp_replay_cfg on_cuda(const struct tp_strategy *s, const char *spec,
                                    struct tp_program *p, unsigned passes)
{
    struct tp_replay_cfg cfg = run_on(&tp_source_cuda, s, p, passes);
    if (spec && tp_opts_parse(s->options, (void *)cfg.strategy_opts, spec, s->name, &err))
        fail_msg("%s", err.text);
    cfg.clock = &test_clock;
    cfg.occupy = TP_OCCUPY_SPIN;
    cfg.occupy_scale = 1;
    cfg.min_time_ns = 1;
    cfg.min_replays = 1;
    cfg.repeat = 1;
    return cfg;
}

static struct tp_trace open_sample(const char *name)
{
    static const char *const no_dirs[] = {NULL};
    struct tp_trace t;
    struct tp_trace_cfg cfg = {.path = name,
                               .formats = tp_formats,
                               .sample_dirs = no_dirs,
                               .profiles = tp_profiles,
                               .event_limit = SAMPLE_EVENTS};
    if (tp_trace_open(&cfg, &t, &err))
        fail_msg("%s", err.text);
    return t;
}

/* ---- in order ---- */

TEST_WITH(samples_replay_in_order_under_load, setup, end)
{
    static const char *const samples[] = {"sample:training-step", "sample:llm-decode"};
    for (size_t i = 0; i < COUNT(samples); i++)
        for (size_t s = 0; ordered(s); s++) {
            struct cuda_rig *r = cuda_rig_any(state, "memory=80GiB");
            struct tp_trace t = open_sample(samples[i]);
            const struct tp_replay_cfg cfg = on_cuda(ordered(s), NULL, t.program, ALL_PASSES);
            const struct tp_device_run *d = replay(&cfg);
            assert_true(!r->library || cuda_rig_books(r).works > SAMPLE_EVENTS / 4);
            assert_int_equal(d->failed_allocations, 0);
            assert_true(d->measured.driver.works > 0 && d->measured.driver.calls > 0);
            assert_int_equal(run->flags & TP_RUN_DEVICE, TP_RUN_DEVICE);
            assert_true(run->flags & TP_RUN_VERIFIED);
            assert_true(d->peak_reserved >= d->trace_peak_requested);
            tp_trace_close(&t);
            cuda_rig_no_violation(r);
            cuda_rig_balance(r);
        }
}

#define INSN(OP, SLOT, STREAM, SIZE, GAP)                                                          \
    {                                                                                              \
        .op = (OP), .align_log2 = 8, .slot = (SLOT), .stream = (STREAM), .size = (SIZE),           \
        .gap_ns = (GAP)                                                                            \
    }

/* A block that is still worked on when it is freed, and the same size on another stream. */
static struct tp_program *two_streams(void)
{
    const struct tp_insn insns[] = {
        INSN(TP_ALLOC, 0, 0, 4096, 0),      INSN(TP_FREE, 0, 0, 4096, 100),
        INSN(TP_ALLOC, 0, 1, 4096, 100),    INSN(TP_USE, 0, 2, 0, 100000),
        INSN(TP_REALLOC, 0, 1, 8192, 100),  INSN(TP_FREE, 0, 0, 8192, 100000),
        INSN(TP_ALLOC, 0, 1, 8192, 100000), INSN(TP_ALLOC, 1, 2, 8192, 100000)};
    /* on stream 0 nothing comes for long after the first allocation but its free */
    return test_program(insns, COUNT(insns), true);
}

TEST_WITH(the_order_of_the_program_is_enough, setup, end)
{
    struct cuda_rig *r = cuda_rig_any(state, "step=0");
    struct tp_program *p = two_streams();
    for (size_t s = 0; ordered(s); s++) {
        const struct tp_replay_cfg cfg = on_cuda(ordered(s), NULL, p, ALL_PASSES);
        replay(&cfg);
        cuda_rig_no_violation(r);
        cuda_rig_balance(r);
    }
    tp_program_release(p);
}

/* A replay that waits for the device longer than min_time takes, with calls that do not. */
TEST_WITH(waiting_makes_no_time_a_cold_one, setup, end)
{
    enum { PAIRS = 30, WORK = TP_OCCUPY_MAX_NS };
    struct tp_insn insns[2 * PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        insns[2 * i] = (struct tp_insn)INSN(TP_ALLOC, 0, 0, 4096, 0);
        insns[2 * i + 1] = (struct tp_insn)INSN(TP_FREE, 0, 0, 4096, WORK);
    }
    cuda_rig_any(state, "clock=real");
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    struct tp_replay_cfg cfg = on_cuda(ordered(2), NULL, p, TP_PASS_THROUGHPUT);
    cfg.min_time_ns = (uint64_t)WORK * PAIRS / 2;
    replay(&cfg);
    assert_false(run->flags & TP_RUN_REPLAYED_ONCE);
    assert_int_equal(run->throughput.replays, run->throughput.runs.total);
    cfg.min_time_ns = 1; /* and two calls that are longer than that */
    replay(&cfg);
    assert_true(run->flags & TP_RUN_REPLAYED_ONCE);
    assert_int_equal(run->throughput.runs.total, 1);
    tp_program_release(p);
}

TEST_WITH(reuse_without_order_is_caught, setup, end)
{
    struct cuda_rig *r = cuda_rig(state, "step=0");
    struct tp_program *p = two_streams();
    const struct tp_replay_cfg cfg = on_cuda(&tp_strategy_arena, NULL, p, TP_PASS_USAGE);
    replay(&cfg);
    tp_program_release(p);
    cuda_rig_expect_violation(r, "races with work");
}

/* ---- what goes wrong ---- */

TEST_WITH(a_lost_device_ends_the_replay, setup, end)
{
    struct cuda_rig *r = cuda_rig(state, ""); /* skips before there is anything to give back */
    struct tp_program *p = two_streams();
    for (size_t s = 0; ordered(s); s++)
        for (unsigned n = 1, through = 0; !through; n += 1 + n / 64) {
            char script[32];
            snprintf(script, sizeof script, "lost=%u", n);
            r->script(script);
            const struct tp_replay_cfg cfg = on_cuda(ordered(s), NULL, p, ALL_PASSES);
            memset(run, 0, tp_run_size(RUN_DEVICES));
            int status = tp_replay(&cfg, run, &err);
            through = status == TP_OK;
            if (!through && status != TP_EDEVICE)
                fail_msg("lost with call %u: %d, %s", n, status, err.text);
            if (!through && (strstr(err.text, "refused") || strstr(err.text, "leaks")))
                fail_msg("lost with call %u: %s", n, err.text);
            assert_true(n < 1000000);
        }
    tp_program_release(p);
}

/* It is known with the first call after the work was due, and named with that event. The first two
 * load the kernel, for the empty strategy and for this one. */
TEST_WITH(work_that_fails_is_reported_with_an_event, setup, end)
{
    struct cuda_rig *r = cuda_rig(state, "async=4:700;step=1000000");
    struct tp_program *p = two_streams();
    const struct tp_replay_cfg cfg = on_cuda(&tp_strategy_stream_pool, NULL, p, TP_PASS_LATENCY);
    unsigned event;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EDEVICE);
    if (sscanf(err.text, "event %u: ", &event) != 1)
        fail_msg("%s", err.text);
    assert_in_range(event, 3, 5);
    assert_non_null(strstr(err.text, "ILLEGAL_ADDRESS"));
    r->script("");
    tp_program_release(p);
}

TEST_WITH(without_a_kernel_only_memset_keeps_it_busy, setup, end)
{
    struct cuda_rig *r = cuda_rig(state, "missing=cuLaunchKernel");
    struct tp_program *p = two_streams();
    struct tp_replay_cfg cfg = on_cuda(&tp_strategy_stream_pool, NULL, p, TP_PASS_USAGE);
    cfg.occupy = TP_OCCUPY_SPIN;
    assert_int_equal(tp_replay(&cfg, run, &err), TP_EDEVICE);
    assert_string_equal(err.text, "event 1: there is no kernel here that could keep a device busy");
    assert_string_equal(err.hint, "'--occupy memset' needs none");
    cfg.occupy = TP_OCCUPY_MEMSET;
    replay(&cfg);
    assert_true(cuda_rig_books(r).works > 0);
    tp_program_release(p);
}

/* Bytes that are free on device 0. */
static uint64_t free_bytes(void)
{
    struct cuda_bench b;
    uint64_t left, total;
    bench_open(&b, NULL);
    assert_int_equal(tp_src_memory(&b.src, &left, &total), TP_OK);
    cuda_bench_close(&b);
    return left;
}

/* Of blocks of five eighths of the device the second finds no room. */
TEST_WITH(a_full_device_is_data, setup, end)
{
    cuda_rig_any(state, "memory=64MiB");
    const uint64_t left = free_bytes(), size = left / (8 * MIB) * (5 * MIB);
    const struct tp_insn insns[] = {INSN(TP_ALLOC, 0, 0, size, 0), INSN(TP_ALLOC, 1, 0, size, 100),
                                    INSN(TP_FREE, 0, 0, size, 100),
                                    INSN(TP_ALLOC, 0, 1, size, 100)};
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    for (size_t s = 0; ordered(s); s++) {
        const struct tp_replay_cfg cfg = on_cuda(ordered(s), NULL, p, TP_PASS_ALL);
        const struct tp_device_run *d = replay(&cfg);
        assert_int_equal(d->failed_allocations, 1);
        assert_int_equal(d->first_failed_event, 2);
        assert_int_equal(d->failed_by[TP_OOM_DEMAND], 1);
        assert_int_equal(d->measured.failed_allocations.low, 1);
        assert_int_equal(d->measured.failed_allocations.high, 1);
        assert_true(d->measured.free_at_failure <= left - size);
        assert_true(d->measured.missing_at_peak >= size);
    }
    tp_program_release(p);
}

TEST_WITH(two_devices_of_a_trace_are_two_devices, setup, end)
{
    struct cuda_rig *r = cuda_rig_any(state, "devices=2");
    struct tp_insn insns[] = {INSN(TP_ALLOC, 0, 0, 4096, 0), INSN(TP_ALLOC, 1, 1, 8192, 100),
                              INSN(TP_FREE, 0, 1, 4096, 100), INSN(TP_ALLOC, 0, 1, 4096, 100),
                              INSN(TP_FREE, 1, 0, 8192, 100)};
    insns[1].device = insns[4].device = 1;
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    for (size_t s = 0; ordered(s); s++) {
        struct tp_replay_cfg cfg = on_cuda(ordered(s), NULL, p, ALL_PASSES);
        struct cuda_opts map = *(const struct cuda_opts *)cfg.layers[0].opts;
        map.map = "1=0"; /* a real machine may have one device */
        if (!r->library)
            cfg.layers[0].opts = &map;
        replay(&cfg);
        assert_int_equal(run->devices[0].measured.driver.works, 2);
        assert_int_equal(run->devices[1].measured.driver.works, 1);
        cuda_rig_no_violation(r);
    }
    tp_program_release(p);
}

#ifdef TAPOOL_HAS_CUDA
/* Of the default pool, in a context that is held. */
static uint64_t release_threshold(void)
{
    struct cuda_driver d;
    CUmemoryPool pool;
    cuuint64_t threshold = 0;
    assert_int_equal(tp_cuda_driver_load(&d, &err), TP_OK);
    assert_int_equal(d.DeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    assert_int_equal(d.MemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold),
                     CUDA_SUCCESS);
    tp_cuda_driver_unload(&d);
    return threshold;
}

TEST_WITH(a_default_pool_of_two_devices_is_left_as_it_was, setup, end)
{
    struct cuda_rig *r = cuda_rig_any(state, "threshold=3MiB");
    struct tp_insn insns[] = {INSN(TP_ALLOC, 0, 0, 4096, 0), INSN(TP_ALLOC, 1, 1, 8192, 100)};
    insns[1].device = 1;
    struct tp_program *p = test_program(insns, COUNT(insns), true);
    const struct tp_replay_cfg cfg = on_cuda(ordered(3), "release_threshold=max", p, ALL_PASSES);
    struct cuda_opts map = *(const struct cuda_opts *)cfg.layers[0].opts;
    map.map = "1=0";
    struct tp_replay_cfg mapped = cfg;
    mapped.layers[0].opts = &map;
    struct tp_cuda *c;
    assert_int_equal(tp_cuda_open(&c, &err), TP_OK);
    assert_int_equal(tp_cuda_hold(c, 0, &err), TP_OK);
    const uint64_t before = release_threshold();
    assert_true(!r->library || before == 3 * MIB);
    replay(&mapped);
    assert_int_equal(release_threshold(), before);
    tp_cuda_close(c);
    cuda_rig_no_violation(r);
    tp_program_release(p);
}
#else
TEST_WITH(a_default_pool_of_two_devices_is_left_as_it_was, setup, end)
{
    skip();
}
#endif

static volatile sig_atomic_t flag;

static void stop_now(void *ctx, const char *pass, double fraction)
{
    (void)ctx, (void)pass, (void)fraction;
    flag = 1;
}

TEST_WITH(an_interrupted_replay_gives_everything_back, setup, end)
{
    struct cuda_rig *r = cuda_rig(state, NULL);
    struct tp_program *p = two_streams();
    static const unsigned passes[] = {TP_PASS_USAGE | TP_PASS_THROUGHPUT, TP_PASS_THROUGHPUT,
                                      TP_PASS_LATENCY};
    for (size_t i = 0; i < COUNT(passes); i++) {
        struct tp_replay_cfg cfg = on_cuda(&tp_strategy_stream_pool, NULL, p, passes[i]);
        cfg.min_time_ns = 1000000000;
        cfg.interrupted = &flag;
        cfg.progress = stop_now;
        flag = 0;
        assert_int_equal(tp_replay(&cfg, run, &err), TP_ESTOP);
        assert_string_equal(err.text, "interrupted");
        cuda_rig_balance(r);
    }
    tp_program_release(p);
}

GROUP(calibrate, NULL)
