/* The rig of alloc/conformance for tests: what goes wrong in it fails the test. */
#ifndef TP_TEST_CONFORMANCE_H
#define TP_TEST_CONFORMANCE_H

#include "alloc/conformance/conformance_rig.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct tp_source_ops tp_source_host, tp_source_virtual;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bump, tp_strategy_direct,
    tp_strategy_bfc, tp_strategy_lru, tp_strategy_planned, tp_strategy_rmm_arena,
    tp_strategy_rmm_pool, tp_strategy_stitch, tp_strategy_stream_pool, tp_strategy_torch,
    tp_strategy_torch_pinned, tp_strategy_system, tp_strategy_cuda_malloc_async, tp_strategy_empty,
    tp_strategy_empty_malloc;

static inline void *rig_opts(const struct tp_opt *rows, size_t size, const char *spec)
{
    struct tp_err err;
    void *opts = tp_rig_make_opts(rows, size, spec, &err);
    if (!opts)
        fail_msg("%s", err.text);
    return opts;
}

static inline void rig_push(struct rig *r, const struct tp_source_ops *ops, const char *spec,
                            const struct rig_cfg *cfg)
{
    if (tp_rig_add_source(r, ops, spec, cfg))
        fail_msg("%s", r->err.text);
}

static inline void rig_sources(struct rig *r, const struct rig_cfg *cfg)
{
    if (tp_rig_add_sources(r, cfg))
        fail_msg("%s", r->err.text);
}

/* Returns what init, or the first thread_init to fail, said; after a failure everything is closed
 * again and nothing leaked. */
static inline int rig_open(struct rig *r, const struct rig_cfg *cfg)
{
    int rc = tp_rig_start(r, cfg);
    if (rc == TP_EBROKEN)
        fail_msg("%s", r->err.text);
    return rc;
}

static inline void rig_close(struct rig *r)
{
    char text[240];
    const char *left = tp_rig_shut(r, text, sizeof text);
    if (left)
        fail_msg("%s", left);
}

/* One that must open; ends with rig_end. */
static inline struct rig *rig_new(struct rig_cfg cfg)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    if (rig_open(r, &cfg))
        fail_msg("%s", r->err.text);
    return r;
}

/* ---- plain calls, for the tests of single rules ---- */

static inline int rig_try(struct rig *r, int thread, uint64_t size, uint64_t align,
                          struct tp_block *out)
{
    struct tp_req rq = {.size = size, .align = align};
    *out = (struct tp_block){0};
    return r->s->alloc(r->st, r->threads[thread], &rq, out);
}

static inline tp_addr rig_alloc(struct rig *r, int thread, uint64_t size)
{
    struct tp_block b;
    assert_int_equal(rig_try(r, thread, size, 1, &b), TP_OK);
    assert_true(b.allocated >= size || r->s->usable(r->st, b.addr) >= size);
    return b.addr;
}

static inline int rig_free(struct rig *r, int thread, tp_addr addr, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 1};
    return r->s->free(r->st, r->threads[thread], addr, &rq);
}

static inline void rig_check(struct rig *r)
{
    struct tp_err err = {0};
    if (r->s->check && r->s->check(r->st, &err))
        fail_msg("%s", err.text);
}

struct rig_walk {
    uint64_t sums[TP_WALK_COUNT];
    uint64_t pieces[TP_WALK_COUNT];
    uint64_t largest_span;
    tp_addr lowest; /* of all pieces */
};

static inline void rig_count(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct rig_walk *w = ctx;
    assert_true(addr != 0 && size != 0);
    w->sums[kind] += size;
    w->pieces[kind]++;
    if (!w->lowest || addr < w->lowest)
        w->lowest = addr;
    if (kind == TP_WALK_SPAN && size > w->largest_span)
        w->largest_span = size;
}

/* check() holds and the walk adds up to what is reserved. */
static inline struct rig_walk rig_walk(struct rig *r)
{
    struct rig_walk w = {0};
    uint64_t sum = 0;
    rig_check(r);
    assert_int_equal(r->s->walk(r->st, rig_count, &w), TP_OK);
    for (int i = 0; i < TP_WALK_COUNT; i++)
        sum += w.sums[i];
    assert_int_equal(sum, tp_account_ranges(&r->account));
    return w;
}

/* What it holds adds up, and it leaves nothing behind. */
static inline void rig_end(struct rig *r)
{
    rig_walk(r);
    rig_close(r);
    free(r);
}

/* A test on an instance `r`, which is closed behind it. */
#define TEST_OPENED(name, opened)                                                                  \
    static void name##_opened(struct rig *r);                                                      \
    TEST(name)                                                                                     \
    {                                                                                              \
        struct rig *r = opened;                                                                    \
        name##_opened(r);                                                                          \
        rig_end(r);                                                                                \
    }                                                                                              \
    static void name##_opened(struct rig *r)

#endif
