/* What tests of cuda/ share: the fake driver of tests/fake_libcuda/fake_libcuda.h, and books that
 * balance after every test.
 *
 *   TEST_IN_RIG(a_test)
 *   {
 *       struct cuda_rig *r = cuda_rig(state, NULL);   skips where there is no driver to test on
 *       ...
 *   }
 *
 * With TAPOOL_TEST_REAL_CUDA=1 in the environment the tests run on the real driver: those that need
 * a script are skipped, and there are no books. With TAPOOL_TEST_REAL_CUDA=fake the same tests run
 * on the fake, in real time: what fails there asks a real driver for what none does. */
#ifndef TP_TEST_CUDA_RIG_H
#define TP_TEST_CUDA_RIG_H

#include "alloc/base/clock.h"
#include "alloc/source.h"
#include "cuda/cuda_device.h"
#include "tests/fake_libcuda/fake_libcuda.h"
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <stdlib.h>

extern const struct tp_source_ops tp_source_cuda;

#define MIB               (UINT64_C(1) << 20)
#define LONG_NS           UINT64_C(20000000) /* long for a device, short for who waits for the test */
#define TEST_IN_RIG(name) TEST_WITH(name, cuda_rig_setup, cuda_rig_teardown)

struct cuda_rig {
    void *library; /* the fake's; NULL: the real driver */
    void (*books)(struct fake_cuda_books *out);
    const char *(*last_violation)(void);
    void (*script)(const char *script);
    void (*advance)(uint64_t ns);
    struct fake_cuda_books before; /* what was held when the test began */
};

static inline void cuda_rig_find(struct cuda_rig *r, const char *name, void *function)
{
    void *found = dlsym(r->library, name);
    assert_non_null(found);
    memcpy(function, &found, sizeof found);
}

/* Is TAPOOL_TEST_REAL_CUDA this? */
static inline bool cuda_rig_asked(const char *word)
{
    const char *real = getenv("TAPOOL_TEST_REAL_CUDA");
    return real && strcmp(real, word) == 0;
}

#if defined(TAPOOL_HAS_CUDA) && defined(TAPOOL_FAKE_CUDA_PATH)
/* The fake to test on; NULL: the real driver. A fake that is named as the driver stands for it. */
static inline const char *cuda_rig_fake(void)
{
    const char *named = getenv("TAPOOL_CUDA_DRIVER");
    if (!cuda_rig_asked("1") && !cuda_rig_asked("fake"))
        return TAPOOL_FAKE_CUDA_PATH;
    void *library = named && *named ? dlopen(named, RTLD_NOW | RTLD_LOCAL) : NULL;
    bool simulated = library && dlsym(library, "fake_cuda_simulated");
    if (library)
        dlclose(library);
    if (!simulated)
        return cuda_rig_asked("1") ? NULL : TAPOOL_FAKE_CUDA_PATH;
    setenv("TAPOOL_TEST_REAL_CUDA", "fake", 1);
    return named;
}
#endif

/* *state stays NULL where there is nothing to test on. */
static inline int cuda_rig_setup(void **state)
{
    *state = NULL;
#if defined(TAPOOL_HAS_CUDA) && defined(TAPOOL_FAKE_CUDA_PATH)
    struct cuda_rig *r = test_calloc(1, sizeof *r);
    *state = r;
    unsetenv("TAPOOL_FAKE_CUDA");
    const char *fake = cuda_rig_fake();
    if (!fake)
        return 0;
    r->library = dlopen(fake, RTLD_NOW | RTLD_LOCAL);
    if (!r->library)
        fail_msg("%s", dlerror());
    cuda_rig_find(r, "fake_cuda_books", &r->books);
    cuda_rig_find(r, "fake_cuda_last_violation", &r->last_violation);
    cuda_rig_find(r, "fake_cuda_script", &r->script);
    cuda_rig_find(r, "fake_cuda_advance", &r->advance);
    setenv("TAPOOL_CUDA_DRIVER", fake, 1);
    r->script("");
    r->books(&r->before);
#endif
    return 0;
}

static inline struct fake_cuda_books cuda_rig_books(const struct cuda_rig *r)
{
    struct fake_cuda_books b = {0};
    if (r->library)
        r->books(&b);
    return b;
}

/* What is held is what was held when the test began. */
static inline void cuda_rig_balance(const struct cuda_rig *r)
{
    if (!r->library)
        return;
    struct fake_cuda_books now = cuda_rig_books(r);
    assert_int_equal(now.contexts, r->before.contexts);
    assert_int_equal(now.streams, r->before.streams);
    assert_int_equal(now.events, r->before.events);
    assert_int_equal(now.pools, r->before.pools);
    assert_int_equal(now.ranges, r->before.ranges);
    assert_int_equal(now.blocks, r->before.blocks);
    assert_int_equal(now.modules, r->before.modules);
    assert_int_equal(now.works_pending, 0);
}

static inline void cuda_rig_no_violation(const struct cuda_rig *r)
{
    if (cuda_rig_books(r).violations)
        fail_msg("%s", r->last_violation());
}

static inline int cuda_rig_teardown(void **state)
{
    struct cuda_rig *r = *state;
    if (!r)
        return 0;
    if (r->library) {
        cuda_rig_no_violation(r);
        cuda_rig_balance(r);
        r->script(NULL);
        dlclose(r->library);
    }
    test_free(r);
    *state = NULL;
    return 0;
}

/* The rig, for a test that every driver passes. The script, which may be NULL, makes a fake that
 * the test can be run on; where the fake stands for a real driver its time is the machine's. */
static inline struct cuda_rig *cuda_rig_any(void **state, const char *script)
{
    struct cuda_rig *r = *state;
    char text[160];
    if (!r) {
        print_message("skipped: built without the CUDA Toolkit\n");
        skip();
    } else if (r->library && cuda_rig_asked("fake")) {
        snprintf(text, sizeof text, "%s;clock=real", script ? script : "");
        r->script(text);
    } else if (r->library && script) {
        r->script(script);
    }
    return r;
}

/* The rig, with this script in force; the real driver follows none. Skips what cannot be run. */
static inline struct cuda_rig *cuda_rig(void **state, const char *script)
{
    const struct cuda_rig *r = *state;
    if (r && script && (!r->library || cuda_rig_asked("fake"))) {
        print_message("skipped: the real driver follows no script\n");
        skip();
    }
    return cuda_rig_any(state, script);
}

/* A violation was planted: there is one, and it is forgotten. */
static inline void cuda_rig_expect_violation(struct cuda_rig *r, const char *words)
{
    assert_int_not_equal(cuda_rig_books(r).violations, 0);
    if (!strstr(r->last_violation(), words))
        fail_msg("'%s' is not in '%s'", words, r->last_violation());
    r->script("");
}

/* ---- a source ---- */

struct cuda_bench {
    struct tp_source src;
    struct tp_err err;
    void *opts;
    uint64_t now_ns;
    int lost;
    void *current;
};

/* What tp_source_open said; `spec` are options of the source, `cfg` the rest, both may be NULL. */
static inline int cuda_bench_open(struct cuda_bench *b, const char *spec,
                                  const struct tp_source_cfg *cfg)
{
    struct tp_source_cfg full = cfg ? *cfg : (struct tp_source_cfg){.streams = 3};
    *b = (struct cuda_bench){.lost = TP_OK};
    b->opts = calloc(1, tp_source_cuda.opts_size);
    assert_non_null(b->opts);
    assert_int_equal(tp_opts_defaults(tp_source_cuda.options, b->opts, &b->err), TP_OK);
    if (spec)
        assert_int_equal(
            tp_opts_parse(tp_source_cuda.options, b->opts, spec, "source 'cuda'", &b->err), TP_OK);
    full.opts = b->opts;
    full.kind = TP_KIND_DEVICE;
    full.now_ns = &b->now_ns;
    full.lost = &b->lost;
    if (!full.current)
        full.current = &b->current;
    b->err = (struct tp_err){0};
    int rc = tp_source_open(&b->src, &tp_source_cuda, &full, &b->err);
    if (rc) {
        tp_opts_release(tp_source_cuda.options, b->opts);
        free(b->opts);
        b->opts = NULL;
    }
    return rc;
}

/* One that was not opened is fine. */
static inline void cuda_bench_close(struct cuda_bench *b)
{
    if (!b->opts)
        return;
    tp_source_close(&b->src);
    tp_opts_release(tp_source_cuda.options, b->opts);
    free(b->opts);
    b->opts = NULL;
}

/* ---- calls that must succeed ---- */

static inline void bench_open(struct cuda_bench *b, const char *spec)
{
    if (cuda_bench_open(b, spec, NULL))
        fail_msg("%s", b->err.text);
}

static inline tp_addr bench_get(struct cuda_bench *b, uint64_t size, uint64_t align)
{
    tp_addr addr = 0;
    assert_int_equal(tp_src_get(&b->src, size, align, &addr), TP_OK);
    return addr;
}

static inline void bench_put(struct cuda_bench *b, tp_addr addr, uint64_t size)
{
    assert_int_equal(tp_src_put(&b->src, addr, size), TP_OK);
}

static inline struct tp_fence bench_record(struct cuda_bench *b, uint16_t stream)
{
    struct tp_fence f;
    tp_src_record(&b->src, stream, &f);
    assert_int_equal(f.stream, stream);
    assert_int_not_equal(f.serial, 0);
    return f;
}

/* The stream is busy for so long. */
static inline void bench_busy(struct cuda_bench *b, uint16_t stream, tp_addr addr, uint64_t ns)
{
    assert_int_equal(tp_src_work(&b->src, stream, addr, 512, ns, TP_OCCUPY_SPIN), TP_OK);
}

/* The stream is busy for LONG_NS. When that began, or a little before, of tp_wall_ns. */
static inline uint64_t bench_long(struct cuda_bench *b, uint16_t stream, tp_addr addr)
{
    uint64_t began = tp_wall_ns();
    bench_busy(b, stream, addr, LONG_NS);
    return began;
}

/* In real time: `times` times LONG_NS have passed since then. A tenth less will do, because the
 * clocks of devices tick in steps. */
static inline bool bench_is_past(uint64_t began, unsigned times)
{
    return tp_wall_ns() - began >= times * (LONG_NS - LONG_NS / 10);
}

/* The fence has not passed, unless the test itself was held up for so long that it may have. */
static inline void bench_expect_pending(struct cuda_bench *b, const struct tp_fence *f,
                                        uint64_t began, unsigned times)
{
    if (tp_src_done(&b->src, f))
        assert_true(bench_is_past(began, times));
}

/* The fence passes without a wait. */
static inline void bench_until_done(struct cuda_bench *b, const struct tp_fence *f)
{
    while (!tp_src_done(&b->src, f))
        assert_int_equal(b->lost, TP_OK);
}

static inline void bench_expect_sound(struct cuda_bench *b)
{
    if (tp_src_fault(&b->src, &b->err))
        fail_msg("%s", b->err.text);
    assert_int_equal(b->lost, TP_OK);
}

/* A test of an open source: `rig` is the rig, from `state`, and `spec` are options of the source.
 */
#define TEST_ON_BENCH(name, rig, spec)                                                             \
    static void name##_on(struct cuda_rig *r, struct cuda_bench *b);                               \
    TEST_IN_RIG(name)                                                                              \
    {                                                                                              \
        struct cuda_rig *r = rig;                                                                  \
        struct cuda_bench b;                                                                       \
        bench_open(&b, spec);                                                                      \
        name##_on(r, &b);                                                                          \
        if (b.lost == TP_OK)                                                                       \
            bench_expect_sound(&b);                                                                \
        cuda_bench_close(&b);                                                                      \
    }                                                                                              \
    static void name##_on(__attribute__((unused)) struct cuda_rig *r, struct cuda_bench *b)

static inline void bench_expect_lost(struct cuda_bench *b, const char *words)
{
    assert_int_equal(tp_src_fault(&b->src, &b->err), TP_EDEVICE);
    if (!strstr(b->err.text, words))
        fail_msg("'%s' is not in '%s'", words, b->err.text);
    assert_int_equal(b->lost, TP_EDEVICE);
}

#endif
