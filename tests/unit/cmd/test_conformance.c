/* Every strategy on every source: random programs beside a shadow model (conformance_model.h), full
 * devices, shuffled addresses, failing sources, failing bookkeeping memory. The seed is fixed and
 * printed; a failure names case, seed and step.
 *
 * A strategy of the registry is played as it comes; for each further set of options worth having
 * there is a line in `chosen`. */
#include "alloc/conformance/conformance_gen.h"
#include "alloc/conformance/conformance_play.h"
#include "cmd/measure/catalog.h"
#include "tests/unit/async_source.h"
#include "tests/unit/conformance.h"
#include "tests/unit/fake_driver.h"
#include "tests/unit/property_planted.h"

#define SEED  UINT64_C(20240611)
#define SLOTS 300 /* objects of a program */

struct strategy_case {
    const struct tp_strategy *strategy;
    const char *options;
};

static const struct strategy_case chosen[] = {
    {&tp_strategy_direct, ""},
    {&tp_strategy_bump, ""},
    {&tp_strategy_bump, "auto_reset=no"},
    {&tp_strategy_bump, "size=100KB,on_full=grow,alignment=256"},
    {&tp_strategy_bump, "size=64KiB,on_full=fallback,alignment=8"},
    {&tp_strategy_bump, "size=4MiB,on_full=fail"},
    {&tp_strategy_arena, ""},
    {&tp_strategy_arena, "classes=coarse12,alignment=64"},
    {&tp_strategy_arena, "classes=coarse6,alignment=512,arena_size=1MiB"},
    {&tp_strategy_arena, "refill_target=0,local_cache_target=0"},
    {&tp_strategy_arena, "refill_target=300KB,local_cache_target=4KiB,first_range=1MiB"},
    {&tp_strategy_arena, "max_arenas=3"},
    {&tp_strategy_arena, "arena_size=64KiB,refill_target=64KiB,alignment=2048"},
    {&tp_strategy_lru, ""},
    {&tp_strategy_lru, "round=pow2"},
    {&tp_strategy_lru, "round=eighth,capacity_layouts=3,capacity_bytes=100KB"},
    {&tp_strategy_lru, "round=512,capacity_layouts=0,capacity_blocks=40"},
    {&tp_strategy_lru, "capacity_layouts=1,capacity_blocks=1"},
    {&tp_strategy_stream_pool, ""},
    {&tp_strategy_stream_pool, "threshold=0"},
    {&tp_strategy_stream_pool, "threshold=200KB,round=pow2"},
    {&tp_strategy_stream_pool, "max_cached=20,round=eighth"},
    {&tp_strategy_stream_pool, "round=exact,cross_stream=never"},
    {&tp_strategy_stream_pool, "compat=origin"},
    {&tp_strategy_cuda_malloc_async, "pool=own"},
    {&tp_strategy_cuda_malloc_async, ""},
    {&tp_strategy_cuda_malloc_async, "pool=own,max_size=2MiB,release_threshold=max"},
};
#define CHOSEN (sizeof chosen / sizeof chosen[0])

/* Those, and what the registry has beside them. */
static struct strategy_case cases[CHOSEN + 32];
static size_t case_count;

static bool has_case(const struct tp_strategy *s)
{
    for (size_t c = 0; c < case_count; c++)
        if (cases[c].strategy == s)
            return true;
    return false;
}

static void find_cases(void)
{
    memcpy(cases, chosen, sizeof chosen);
    case_count = CHOSEN;
    for (size_t i = 0; tp_strategies[i]; i++)
        if (!(tp_strategies[i]->caps & TP_CAP_FOREIGN) && !has_case(tp_strategies[i])) {
            assert(case_count < sizeof cases / sizeof cases[0]);
            cases[case_count++] = (struct strategy_case){tp_strategies[i], ""};
        }
}

struct source_case {
    const char *name;
    const struct tp_source_ops *base;
    enum tp_kind kind;
    bool shuffle;
    uint32_t streams;
    rig_complaint_fn *complaint;
    rig_passes_fn *passes;
};

static const struct source_case sources[] = {
    {"host", &tp_source_host, TP_KIND_HOST, false, 1, NULL, NULL},
    {"virtual, host pages", &tp_source_virtual, TP_KIND_HOST, false, 1, NULL, NULL},
    {"virtual, device pages, 4 streams", &tp_source_virtual, TP_KIND_DEVICE, false, 4, NULL, NULL},
    {"shuffle over host", &tp_source_host, TP_KIND_HOST, true, 1, NULL, NULL},
    {"shuffle over virtual, 4 streams", &tp_source_virtual, TP_KIND_DEVICE, true, 4, NULL, NULL},
    {"a pool's double, 4 streams", &async_double, TP_KIND_DEVICE, false, 4, async_complaint, NULL},
    {"cuda, 1 stream", &tp_source_cuda, TP_KIND_DEVICE, false, 1, fake_driver_complaint,
     fake_driver_passes},
    {"cuda, 4 streams", &tp_source_cuda, TP_KIND_DEVICE, false, 4, fake_driver_complaint,
     fake_driver_passes},
    {"shuffle over cuda, 4 streams", &tp_source_cuda, TP_KIND_DEVICE, true, 4,
     fake_driver_complaint, fake_driver_passes},
};
#define SOURCES (sizeof sources / sizeof sources[0])

enum {
    HOST,
    VIRTUAL_HOST,
    VIRTUAL_DEVICE,
    SHUFFLED_HOST,
    SHUFFLED_DEVICE,
    DOUBLE,
    CUDA_ONE,
    CUDA,
    SHUFFLED_CUDA
};

/* Whether a case can be played on a source: the double has no ranges, others have no pool. */
static bool plays(size_t c, size_t s)
{
    bool pool = cases[c].strategy->caps & TP_CAP_ASYNC;
    if (sources[s].base == &tp_source_cuda && !fake_driver_ready())
        return false;
    return pool ? sources[s].base->get_async != NULL : s != DOUBLE;
}

/* ---- playing ---- */

/* A rig with its model; too large for the stack. */
struct stage {
    struct rig rig;
    struct model model;
    struct gen gen;
};

static struct stage *stage_new(void)
{
    struct stage *b = calloc(1, sizeof *b);
    assert_non_null(b);
    return b;
}

static int stage_open(struct stage *b, const struct rig_cfg *cfg)
{
    int rc = rig_open(&b->rig, cfg);
    if (!rc)
        model_open(&b->model, &b->rig, cfg->options);
    return rc;
}

static void stage_close(struct stage *b)
{
    model_close(&b->model);
    rig_close(&b->rig);
}

static void no_failure(const struct stage *b, uint64_t seed)
{
    const struct model_failure *f = &b->model.failure;
    if (f->kind)
        fail_msg("seed %llu, step %u: %s: %s", (unsigned long long)seed, f->step,
                 model_kind_names[f->kind], f->text);
}

/* One program of a seed's own mix, beginning and ending with nothing live. */
static void play(struct stage *b, uint64_t seed, unsigned steps, bool drain)
{
    struct gen *g = &b->gen;
    gen_start(g, seed, SLOTS);
    if (g->streams > b->rig.env.streams)
        g->streams = b->rig.env.streams;
    for (unsigned i = 0; i < steps; i++) {
        struct tp_insn in = gen_next(g);
        if (!model_step(&b->model, &in, i))
            break;
    }
    if (drain && !b->model.failure.kind)
        model_drain(&b->model);
    no_failure(b, seed);
}

/* ---- the tests ---- */

static struct rig_cfg config(size_t c, size_t s)
{
    return (struct rig_cfg){.strategy = cases[c].strategy,
                            .options = cases[c].options,
                            .base = sources[s].base,
                            .kind = sources[s].kind,
                            .shuffle = sources[s].shuffle,
                            .streams = sources[s].streams,
                            .complaint = sources[s].complaint,
                            .passes = sources[s].passes};
}

static void announce(size_t c, const char *where, uint64_t seed)
{
    print_message("  %s:%s on %s, seed %llu\n", cases[c].strategy->name, cases[c].options, where,
                  (unsigned long long)seed);
}

/* What must not depend on addresses. */
struct outcome {
    struct tp_account account;
    struct tp_stats stats;
    uint64_t meta_calls;
};

/* `programs` programs on one instance, each of another mix; what the last leaves live is fini's. */
static struct outcome run(const struct rig_cfg *cfg, uint64_t seed, unsigned programs,
                          unsigned steps, unsigned check_every)
{
    struct stage *b = stage_new();
    bool foreign = cfg->strategy->caps & TP_CAP_FOREIGN; /* nobody else frees what is its own */
    assert_int_equal(stage_open(b, cfg), TP_OK);
    b->model.check_every = check_every;
    for (unsigned i = 0; i < programs; i++)
        play(b, seed * 1000 + i, steps, foreign || i + 1 < programs);
    struct outcome o = {b->rig.account, rig_stats(&b->rig), b->rig.meta.calls};
    stage_close(b);
    free(b);
    return o;
}

static void random_programs(void **state)
{
    (void)state;
    for (size_t c = 0; c < case_count; c++)
        for (size_t s = 0; s < SOURCES; s++) {
            if (!plays(c, s))
                continue;
            announce(c, sources[s].name, SEED + s);
            struct rig_cfg cfg = config(c, s);
            unsigned share = sources[s].base == &tp_source_cuda ? 2 : 1; /* each call is slower */
            run(&cfg, SEED + s, 6 / share, 200, 1);
            run(&cfg, SEED + s + 10, 2 / share, 1500, 100); /* more of all, looked at less */
        }
    assert_true(!fake_driver_is_fake() || fake_driver()->works > 10000);
}

/* The default pool of a device takes no limit. */
static bool takes_limit(size_t c)
{
    return !(cases[c].strategy->caps & TP_CAP_ASYNC) || strstr(cases[c].options, "pool=own");
}

static void full_devices(void **state)
{
    (void)state;
    for (size_t c = 0; c < case_count; c++)
        for (size_t s = 0; s < SOURCES; s++) {
            if (!plays(c, s) || !takes_limit(c) || s == CUDA_ONE)
                continue;
            announce(c, sources[s].name, SEED + 50);
            struct rig_cfg cfg = config(c, s);
            bool pages = cfg.kind == TP_KIND_DEVICE; /* of 2 MiB, so it has at least one */
            cfg.limit = pages ? "capacity=2MiB" : "capacity=400KB";
            struct outcome o = run(&cfg, SEED + 50, 5, 200, 1);
            assert_true(o.account.refused_gets > 0);
            if (s != SHUFFLED_CUDA) /* there a decoy that is kept can lie in another page */
                assert_true(o.account.peak_reserved <= (pages ? 2 << 20 : 400000));
        }
}

/* Those of a pool are the driver's own: no decorator moves them. */
static void addresses_decide_nothing(void **state)
{
    (void)state;
    for (size_t c = 0; c < case_count; c++)
        for (int host = 0; host < 2; host++)
            for (int limited = 0; limited < 2; limited++) {
                struct rig_cfg cfg = config(c, host ? HOST : VIRTUAL_DEVICE);
                if (!plays(c, HOST))
                    continue;
                announce(c, "plain and shuffle", SEED + 100);
                cfg.limit = limited ? "capacity=5MiB" : NULL;
                struct outcome plain = run(&cfg, SEED + 100, 4, 500, 100);
                cfg.shuffle = true;
                struct outcome shuffled = run(&cfg, SEED + 100, 4, 500, 100);
                assert_memory_equal(&plain, &shuffled, sizeof plain);
            }
}

/* One run with the n-th call of a kind failing. False: no call was the n-th. */
static bool fault_run(struct stage *b, const struct rig_cfg *cfg, uint64_t n)
{
    int rc = stage_open(b, cfg);
    if (rc) {
        assert_true(cfg->meta_fail_at && rc == TP_ENOMEM);
        return true;
    }
    play(b, SEED + 200, 60, true);
    play(b, SEED + 201, 60, true);
    play(b, SEED + 202, 60, false);
    stage_close(b); /* puts in fini count as well */
    return cfg->meta_fail_at ? b->rig.meta.calls >= n
                             : b->rig.account.refused_gets + b->rig.account.refused_puts > 0;
}

/* Fails each call of a kind, one after the other, until a run is through without meeting it. */
static void fault_loop(size_t c, size_t s, const char *option, bool meta)
{
    struct stage *b = stage_new();
    struct rig_cfg cfg = config(c, s);
    char spec[64];
    uint64_t n = 0;
    bool hit = true;
    announce(c, option, SEED + 200);
    for (; hit && n < 5000;) {
        n++;
        snprintf(spec, sizeof spec, "%s=%llu", option, (unsigned long long)n);
        cfg.fault = meta ? NULL : spec;
        cfg.meta_fail_at = meta ? n : 0;
        hit = fault_run(b, &cfg, n);
    }
    assert_false(hit);
    print_message("    failed each of %llu calls\n", (unsigned long long)n - 1);
    free(b);
}

static void failing_gets(void **state)
{
    (void)state;
    for (size_t c = 0; c < case_count; c++)
        fault_loop(c, plays(c, HOST) ? HOST : DOUBLE, "get_at", false);
    for (size_t c = 1; c < case_count; c++) { /* once for each that waits for streams */
        bool first = cases[c].strategy != cases[c - 1].strategy;
        if (first && cases[c].strategy->caps & TP_CAP_STREAMS && plays(c, CUDA))
            fault_loop(c, CUDA, "get_at", false);
    }
}

static void failing_puts(void **state)
{
    (void)state;
    for (size_t c = 0; c < case_count;
         c++) /* a pool refuses no free: that is an error of the device */
        if (plays(c, VIRTUAL_DEVICE))
            fault_loop(c, VIRTUAL_DEVICE, "put_at", false);
}

static void failing_metadata(void **state)
{
    (void)state;
    for (size_t c = 0; c < case_count; c++)
        fault_loop(c, plays(c, VIRTUAL_DEVICE) ? VIRTUAL_DEVICE : DOUBLE, "meta", true);
}

static void foreign_allocators(void **state)
{
    (void)state;
    for (size_t i = 0; tp_strategies[i]; i++) {
        struct rig_cfg cfg = {.strategy = tp_strategies[i]};
        if (tp_strategies[i]->caps & TP_CAP_FOREIGN)
            run(&cfg, SEED + 300, 8, 500, 1);
    }
}

static void tables_are_sound(void **state)
{
    (void)state;
    struct tp_err err;
    const struct tp_strategy *own[] = {&tp_strategy_empty, &planted_strategy};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (tp_strategy_check(own[i], &err))
            fail_msg("%s", err.text);
    for (size_t i = 0; tp_strategies[i]; i++) {
        const struct tp_strategy *s = tp_strategies[i];
        if (tp_strategy_check(s, &err))
            fail_msg("%s", err.text);
        assert_true(s->summary && s->resembles && s->to_use);
    }
    const struct tp_source_ops *ops[] = {&tp_source_host,  &tp_source_virtual, &tp_source_meter,
                                         &tp_source_limit, &tp_source_fault,   &tp_source_shuffle};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (tp_source_check(ops[i], &err))
            fail_msg("%s", err.text);
}

/* What is in the registry is tested here. */
static void every_strategy_has_a_case(void **state)
{
    (void)state;
    for (size_t i = 0; tp_strategies[i]; i++) {
        if (!(tp_strategies[i]->caps & TP_CAP_FOREIGN) && !has_case(tp_strategies[i]))
            fail_msg("strategy '%s' is not played", tp_strategies[i]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_sound),
        cmocka_unit_test(every_strategy_has_a_case),
        cmocka_unit_test(random_programs),
        cmocka_unit_test(full_devices),
        cmocka_unit_test(addresses_decide_nothing),
        cmocka_unit_test(failing_gets),
        cmocka_unit_test(failing_puts),
        cmocka_unit_test(failing_metadata),
        cmocka_unit_test(foreign_allocators),
    };
    find_cases();
    return cmocka_run_group_tests_name("conformance", tests, NULL, NULL);
}
