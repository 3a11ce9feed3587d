/* Every strategy on every source: random programs beside a shadow model, wrong frees, failing
 * sources, failing bookkeeping memory. The seed is fixed and printed; a failure names case, seed
 * and step.
 *
 * To add a strategy: a line in `cases` for each set of options worth having. */
#include "tests/unit/conformance.h"

#define SEED      UINT64_C(20240611)
#define KEPT_SIZE UINT64_C(8192) /* bytes at either end of a block that are filled and verified */

struct strategy_case {
    const struct tp_strategy *strategy;
    const char *options;
};

static const struct strategy_case cases[] = {
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
};
#define CASES (sizeof cases / sizeof cases[0])

struct source_case {
    const char *name;
    const struct tp_source_ops *base;
    enum tp_kind kind;
    bool shuffle;
};

static const struct source_case sources[] = {
    {"host", &tp_source_host, TP_KIND_HOST, false},
    {"virtual, host pages", &tp_source_virtual, TP_KIND_HOST, false},
    {"virtual, device pages", &tp_source_virtual, TP_KIND_DEVICE, false},
    {"shuffle over host", &tp_source_host, TP_KIND_HOST, true},
    {"shuffle over virtual", &tp_source_virtual, TP_KIND_DEVICE, true},
};
#define SOURCES (sizeof sources / sizeof sources[0])

/* ---- contents ---- */

static unsigned char *bytes_at(struct rig *r, tp_addr addr)
{
    if (r->s->caps & TP_CAP_FOREIGN)
        return (unsigned char *)(uintptr_t)addr;
    unsigned char *p = tp_src_host(r->env.source, addr);
    assert_non_null(p);
    return p;
}

static void fill(struct rig *r, struct object *o)
{
    o->fill = (unsigned char)rig_random(r);
    if (!r->host)
        return;
    unsigned char *p = bytes_at(r, o->addr);
    uint64_t n = o->size < KEPT_SIZE ? o->size : KEPT_SIZE;
    memset(p, o->fill, n);
    memset(p + o->size - n, o->fill, n);
}

static void verify(struct rig *r, const struct object *o, uint64_t size)
{
    if (!r->host)
        return;
    const unsigned char *p = bytes_at(r, o->addr);
    uint64_t n = size < KEPT_SIZE ? size : KEPT_SIZE;
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(p[i], o->fill);
    if (size == o->size)
        for (uint64_t i = 1; i <= n; i++)
            assert_int_equal(p[size - i], o->fill);
}

/* ---- the model ---- */

static void check_block(struct rig *r, const struct object *o)
{
    assert_true(o->addr != 0 && o->addr % o->align == 0);
    assert_true(o->granted >= o->size && o->addr + o->granted > o->addr);
    assert_int_equal(r->s->usable(r->st, o->addr), o->granted);
    for (int i = 0; i < RIG_OBJECTS; i++) {
        const struct object *other = &r->objects[i];
        if (other != o && other->addr)
            assert_true(other->addr + other->granted <= o->addr ||
                        o->addr + o->granted <= other->addr);
    }
}

static void check_sums(struct rig *r)
{
    uint64_t granted = 0, live = 0;
    if (!r->s->walk)
        return;
    for (int i = 0; i < RIG_OBJECTS; i++) {
        granted += r->objects[i].addr ? r->objects[i].granted : 0;
        live += r->objects[i].addr != 0;
    }
    struct rig_walk w = rig_walk(r);
    assert_int_equal(w.sums[TP_WALK_LIVE], granted);
    assert_int_equal(w.pieces[TP_WALK_LIVE], live);
    struct tp_stats stats = rig_stats(r);
    assert_true(stats.carved_bytes <= r->account.reserved);
    assert_true(stats.carved_bytes >= granted && stats.peak_carved_bytes >= stats.carved_bytes);
    assert_true(stats.peak_carved_bytes <= r->account.peak_reserved);
}

static struct tp_req random_request(struct rig *r)
{
    uint64_t x = rig_random(r);
    unsigned log2 = x % 100 < 90 ? (unsigned)(x >> 8) % 13 : 12 + (unsigned)(x >> 8) % 9;
    struct tp_req rq = {
        .size = 1 + ((UINT64_C(1) << log2) + rig_random(r) % (1u << log2)) % 1500000, .align = 1};
    x = rig_random(r);
    if (x % 8 == 0)
        rq.align = UINT64_C(1) << (x >> 8) % 13;
    else if (x % 100 == 1)
        rq.align = UINT64_C(1) << (x >> 8) % 19;
    return rq;
}

static void *random_thread(struct rig *r)
{
    return r->threads[rig_random(r) % RIG_THREADS];
}

static bool is_refusal(int rc)
{
    return rc == TP_EOOM || rc == TP_ENOMEM;
}

static void place(struct rig *r, struct object *o, const struct tp_req *rq,
                  const struct tp_block *b)
{
    uint64_t granted = b->granted ? b->granted : r->s->usable(r->st, b->addr);
    *o = (struct object){b->addr, rq->size, rq->align, granted, o->fill};
    check_block(r, o);
}

static void step_alloc(struct rig *r, struct object *o)
{
    struct tp_req rq = random_request(r);
    struct tp_block b = {0};
    int rc = r->s->alloc(r->st, random_thread(r), &rq, &b);
    assert_true(rc == TP_OK || is_refusal(rc));
    if (rc)
        return;
    place(r, o, &rq, &b);
    fill(r, o);
}

/* A free may lack bookkeeping memory once; then nothing has changed, and the next one succeeds. */
static void free_object(struct rig *r, struct object *o)
{
    struct tp_req rq = {.size = o->size, .align = o->align};
    void *thr = random_thread(r);
    verify(r, o, o->size);
    int rc = r->s->free(r->st, thr, o->addr, &rq);
    if (rc == TP_ENOMEM) {
        assert_true(r->meta.fail_at != 0);
        rc = r->s->free(r->st, thr, o->addr, &rq);
    }
    assert_int_equal(rc, TP_OK);
    if (!(r->s->caps & TP_CAP_FOREIGN))
        assert_int_equal(r->s->free(r->st, random_thread(r), o->addr, &rq), TP_EINVAL);
    o->addr = 0;
}

/* As the engine does it: in place, else moved, else by hand. */
static void step_realloc(struct rig *r, struct object *o)
{
    struct tp_req rq = {.size = random_request(r).size, .align = o->align};
    struct tp_block b = {0};
    struct object old = *o;
    uint64_t kept = old.size < rq.size ? old.size : rq.size;
    void *thr = random_thread(r);
    int rc = r->s->resize ? r->s->resize(r->st, thr, o->addr, &rq, &b) : TP_EUNSUP;
    if (!rc)
        assert_int_equal(b.addr, old.addr);
    if (rc == TP_EUNSUP && r->s->move)
        rc = r->s->move(r->st, thr, o->addr, &rq, &b);
    if (rc == TP_EUNSUP) {
        struct tp_req first = {.size = rq.size, .align = rq.align};
        rc = r->s->alloc(r->st, thr, &first, &b);
        if (rc == TP_OK) {
            if (r->host)
                memcpy(bytes_at(r, b.addr), bytes_at(r, old.addr), kept);
            free_object(r, o);
        }
    }
    assert_true(rc == TP_OK || is_refusal(rc));
    if (rc)
        return;
    place(r, o, &rq, &b);
    verify(r, o, kept == rq.size && kept == old.size ? kept : kept / 2);
    fill(r, o);
}

/* Wrong addresses and requests are refused, and nothing changes. */
static void step_wrong(struct rig *r, const struct object *o)
{
    struct tp_req rq = {.size = 64, .align = 16};
    struct tp_block b;
    struct tp_account before = r->account;
    struct tp_stats stats = rig_stats(r), after;
    if (r->s->caps & TP_CAP_FOREIGN)
        return;
    tp_addr wrong[] = {0, 1, UINT64_MAX, UINT64_MAX & ~UINT64_C(15), (uintptr_t)r, rig_random(r)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(r->s->free(r->st, random_thread(r), wrong[i], &rq), TP_EINVAL);
    for (uint64_t off = 1; o->addr && off < o->granted; off *= 2) {
        assert_int_equal(r->s->free(r->st, random_thread(r), o->addr + off, &rq), TP_EINVAL);
        if (r->s->resize)
            assert_int_equal(r->s->resize(r->st, random_thread(r), o->addr + off, &rq, &b),
                             TP_EINVAL);
        assert_int_equal(r->s->usable(r->st, o->addr + off), 0);
    }
    struct tp_req bad[] = {{.size = 0, .align = 16},
                           {.size = 8, .align = 0},
                           {.size = 8, .align = 3},
                           {.size = 8, .align = 48},
                           {.size = 8, .align = UINT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(r->s->alloc(r->st, random_thread(r), &bad[i], &b), TP_EINVAL);
    after = rig_stats(r);
    assert_memory_equal(&before, &r->account, sizeof before);
    assert_memory_equal(&stats, &after, sizeof stats);
}

static void step_rare(struct rig *r, uint64_t choice)
{
    if (choice < 2 && r->s->reset) {
        assert_int_equal(r->s->reset(r->st), TP_OK);
        for (int i = 0; i < RIG_OBJECTS; i++)
            r->objects[i].addr = 0;
    } else if (choice < 6 && r->s->trim) {
        assert_int_equal(r->s->trim(r->st, choice < 4 ? 0 : rig_random(r) % 500000), TP_OK);
    } else if (r->s->thread_fini) {
        void *thr = random_thread(r);
        r->s->thread_fini(r->st, thr);
        memset(thr, 0, r->s->thread_size);
        assert_int_equal(r->s->thread_init(r->st, thr), TP_OK);
    }
}

/* Allocation and freeing in tides, so that there are peaks and everything is freed now and then. */
static void play(struct rig *r, uint64_t seed, unsigned steps, unsigned check_every)
{
    r->random = seed;
    for (unsigned step = 0; step < steps; step++) {
        struct object *o = &r->objects[rig_random(r) % RIG_OBJECTS];
        uint64_t choice = rig_random(r) % 1000;
        bool ebb = step / 300 % 2;
        if (choice < 8)
            step_rare(r, choice);
        else if (choice < 40)
            step_wrong(r, o);
        else if (choice < 160 && o->addr)
            step_realloc(r, o);
        else if (o->addr && (ebb || choice < 600))
            free_object(r, o);
        else if (!o->addr && (!ebb || choice < 150))
            step_alloc(r, o);
        if (step % check_every == 0)
            check_sums(r);
    }
    check_sums(r);
}

static void free_all(struct rig *r)
{
    for (int i = 0; i < RIG_OBJECTS; i++)
        if (r->objects[i].addr)
            free_object(r, &r->objects[i]);
    check_sums(r);
}

/* ---- the tests ---- */

static struct rig_cfg config(size_t c, size_t s)
{
    return (struct rig_cfg){.strategy = cases[c].strategy,
                            .options = cases[c].options,
                            .base = sources[s].base,
                            .kind = sources[s].kind,
                            .shuffle = sources[s].shuffle};
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

static struct outcome run(const struct rig_cfg *cfg, uint64_t seed, unsigned steps)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(rig_open(r, cfg), TP_OK);
    play(r, seed, steps, 25);
    free_all(r);
    play(r, seed + 1, steps / 4, 25);
    struct outcome o = {r->account, rig_stats(r), r->meta.calls};
    rig_close(r);
    free(r);
    return o;
}

static void random_programs(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        for (size_t s = 0; s < SOURCES; s++) {
            announce(c, sources[s].name, SEED + s);
            struct rig_cfg cfg = config(c, s);
            run(&cfg, SEED + s, 2500);
        }
}

static void full_devices(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        for (size_t s = 0; s < SOURCES; s++) {
            announce(c, sources[s].name, SEED + 50);
            struct rig_cfg cfg = config(c, s);
            cfg.limit = "capacity=400KB";
            struct outcome o = run(&cfg, SEED + 50, 1500);
            assert_true(o.account.refused_gets > 0);
            assert_true(o.account.peak_reserved <= 400000);
        }
}

static void addresses_decide_nothing(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        for (int host = 0; host < 2; host++)
            for (int limited = 0; limited < 2; limited++) {
                struct rig_cfg cfg = config(c, host ? 0 : 2);
                announce(c, "plain and shuffle", SEED + 100);
                cfg.limit = limited ? "capacity=1500KB" : NULL;
                struct outcome plain = run(&cfg, SEED + 100, 2000);
                cfg.shuffle = true;
                struct outcome shuffled = run(&cfg, SEED + 100, 2000);
                assert_memory_equal(&plain, &shuffled, sizeof plain);
            }
}

/* Fails one call of a kind after the other until a run is through without meeting the fault. Late
 * ones are like their neighbours: beyond 200 some are left out. */
static void fault_loop(size_t c, size_t s, const char *option, bool meta)
{
    struct rig *r = calloc(1, sizeof *r);
    char spec[64];
    bool hit = true;
    assert_non_null(r);
    announce(c, option, SEED + 200);
    for (uint64_t n = 1; hit; n += 1 + n / 200 * 7) {
        struct rig_cfg cfg = config(c, s);
        snprintf(spec, sizeof spec, "%s=%llu", option, (unsigned long long)n);
        cfg.fault = meta ? NULL : spec;
        cfg.meta_fail_at = meta ? n : 0;
        int rc = rig_open(r, &cfg);
        assert_true(rc == TP_OK || (meta && rc == TP_ENOMEM));
        if (rc)
            continue;
        play(r, SEED + 200, 400, 100);
        free_all(r);
        hit = meta ? r->meta.calls >= n : r->account.refused_gets + r->account.refused_puts > 0;
        rig_close(r); /* puts in fini count as well */
        hit = hit || r->account.refused_puts > 0;
    }
    free(r);
}

static void failing_gets(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        fault_loop(c, 0, "get_at", false);
}

static void failing_puts(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        fault_loop(c, 2, "put_at", false);
}

static void failing_metadata(void **state)
{
    (void)state;
    for (size_t c = 0; c < CASES; c++)
        fault_loop(c, 1, "meta", true);
}

static void foreign_allocators(void **state)
{
    (void)state;
    struct rig_cfg cfg = {.strategy = &tp_strategy_system};
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    play(r, SEED + 300, 4000, 100);
    free_all(r);
    rig_close(r);
    free(r);
}

static void tables_are_sound(void **state)
{
    (void)state;
    struct tp_err err;
    const struct tp_strategy *all[] = {
        &tp_strategy_arena,       &tp_strategy_bump,   &tp_strategy_direct, &tp_strategy_lru,
        &tp_strategy_stream_pool, &tp_strategy_system, &tp_strategy_empty};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (tp_strategy_check(all[i], &err))
            fail_msg("%s", err.text);
        assert_true(all[i]->summary && all[i]->resembles && all[i]->to_use);
    }
    const struct tp_source_ops *ops[] = {&tp_source_host,  &tp_source_virtual, &tp_source_meter,
                                         &tp_source_limit, &tp_source_fault,   &tp_source_shuffle};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (tp_source_check(ops[i], &err))
            fail_msg("%s", err.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_sound), cmocka_unit_test(random_programs),
        cmocka_unit_test(full_devices),     cmocka_unit_test(addresses_decide_nothing),
        cmocka_unit_test(failing_gets),     cmocka_unit_test(failing_puts),
        cmocka_unit_test(failing_metadata), cmocka_unit_test(foreign_allocators),
    };
    return cmocka_run_group_tests_name("conformance", tests, NULL, NULL);
}
