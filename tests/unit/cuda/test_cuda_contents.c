/* Reuse of a block across streams, seen in what lies in the block at the end.
 *
 *     stream 0   |==== writes OLD at its end ====|
 *     stream 1     write NEW        ordered after it: NEW stays; not ordered: OLD comes last
 *
 * A real driver is asked for the bytes. The fake keeps none; it complains of each pair of works
 * that no order keeps apart. */
#include "tests/unit/conformance.h"
#include "tests/unit/fake_driver.h"

#include "cmd/jobs/catalog.h"

#ifdef TAPOOL_HAS_CUDA
#include <cuda.h>

enum { BLOCK = 1 << 20, OLD_BYTE = 0x11, NEW_BYTE = 0x22 };
/* The lowest byte of its time is what a work writes. */
#define OLD_NS ((LONG_NS & ~UINT64_C(0xff)) | OLD_BYTE)
#define NEW_NS ((uint64_t)NEW_BYTE)

/* The first byte of device memory, from the real driver. */
static int first_byte(tp_addr addr)
{
    CUresult (*copy)(void *, CUdeviceptr, size_t);
    const char *path = getenv("TAPOOL_CUDA_DRIVER");
    unsigned char byte = 0;
    void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *found = dlsym(library, "cuMemcpyDtoH_v2");
    assert_non_null(found);
    memcpy(&copy, &found, sizeof copy);
    assert_int_equal(copy(&byte, addr, 1), CUDA_SUCCESS);
    dlclose(library);
    return byte;
}

/* ---- plain works ---- */

TEST_IN_RIG(order_decides_what_a_block_holds)
{
    for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
        struct cuda_rig *r = cuda_rig_any(state, "clock=real");
        struct cuda_bench b;
        bench_open(&b, NULL);
        tp_addr addr = bench_get(&b, BLOCK, 256);
        /* loads the kernel, which may take longer than the works */
        assert_int_equal(tp_src_work(&b.src, 0, 0, 0, 0, TP_OCCUPY_SPIN), TP_OK);
        uint64_t began = tp_wall_ns();
        bench_busy(&b, 0, addr, OLD_NS);
        if (is_ordered)
            assert_int_equal(tp_src_follow(&b.src, 1, 0), TP_OK);
        bench_busy(&b, 1, addr, NEW_NS);
        bool late = bench_is_past(began, 1); /* the test was held up: the first may be over */
        tp_src_synced(&b.src, TP_ALL_STREAMS);
        if (!r->library && (is_ordered || !late))
            assert_int_equal(first_byte(addr), is_ordered ? NEW_BYTE : OLD_BYTE);
        bench_expect_sound(&b);
        cuda_bench_close(&b);
        if (r->library && !is_ordered)
            cuda_rig_expect_violation(r, "races with work");
        cuda_rig_no_violation(r);
    }
}

/* ---- strategies ---- */

static tp_addr take(struct rig *r, uint16_t stream)
{
    struct tp_req rq = {.size = BLOCK, .align = 256, .stream = stream};
    struct tp_block b = {0};
    assert_int_equal(r->s->alloc(r->st, r->threads[0], &rq, &b), TP_OK);
    return b.addr;
}

static void give(struct rig *r, uint16_t stream, tp_addr addr)
{
    struct tp_req rq = {.size = BLOCK, .align = 256, .stream = stream};
    assert_int_equal(r->s->free(r->st, r->threads[0], addr, &rq), TP_OK);
}

static void occupy(struct rig *r, uint16_t stream, tp_addr addr, uint64_t ns)
{
    assert_int_equal(tp_src_work(r->env.source, stream, addr, BLOCK, ns, TP_OCCUPY_SPIN), TP_OK);
}

/* Whether what stream 1 wrote to a block stays, that it got while stream 0 may still be at work on
 * an earlier one. `late`: the test was held up, so that the first work may have been over. */
static bool contents_stay(const struct tp_strategy *s, const char *options, bool *late)
{
    struct rig *r = rig_new((struct rig_cfg){.strategy = s,
                                             .options = options,
                                             .base = &tp_source_cuda,
                                             .kind = TP_KIND_DEVICE,
                                             .streams = 2});
    struct tp_source *source = r->env.source;
    assert_int_equal(tp_src_work(source, 0, 0, 0, 0, TP_OCCUPY_SPIN), TP_OK);
    tp_addr first = take(r, 0);
    uint64_t began = tp_wall_ns();
    occupy(r, 0, first, OLD_NS);
    give(r, 0, first);
    tp_addr second = take(r, 1);
    occupy(r, 1, second, NEW_NS);
    *late = bench_is_past(began, 1);
    tp_src_synced(source, TP_ALL_STREAMS);
    bool stay = fake_driver_is_fake() ? cuda_rig_books(&fake_driver()->cuda).violations == 0
                                      : first_byte(second) == NEW_BYTE;
    give(r, 1, second);
    rig_close(r);
    free(r);
    return stay;
}

TEST(strategies_keep_what_a_stream_wrote)
{
    bool late;
    if (!fake_driver_ready())
        skip();
    for (size_t i = 0; tp_strategies[i]; i++)
        if (tp_strategies[i]->caps & TP_CAP_STREAMS &&
            !contents_stay(tp_strategies[i], NULL, &late))
            fail_msg("%s handed out a block that another stream was at work on",
                     tp_strategies[i]->name);
}

/* What a strategy without order does is seen. */
TEST(a_block_without_order_is_overwritten)
{
    bool late;
    if (!fake_driver_ready())
        skip();
    bool stay = contents_stay(&tp_strategy_arena, NULL, &late);
    assert_true(!stay || (late && !fake_driver_is_fake()));
    if (fake_driver_is_fake())
        fake_driver()->cuda.script(FAKE_DRIVER_SCRIPT); /* forgets the violation */
}

#else
#include "tests/unit/no_toolkit.h"

TEST(built_without_the_cuda_toolkit)
{
    skip_without_toolkit();
}
#endif
