/* A rig for strategies: a stack of sources, counted bookkeeping memory, one instance, its threads.
 *
 *     strategy -> meter -> [fault] -> [limit] -> [shuffle] -> host | virtual | cuda
 *
 * property_model.h puts a shadow model beside it. */
#ifndef TP_TEST_CONFORMANCE_H
#define TP_TEST_CONFORMANCE_H

#include "alloc/base/opt.h"
#include "alloc/meta.h"
#include "alloc/strategy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

extern const struct tp_source_ops tp_source_host, tp_source_virtual, tp_source_meter,
    tp_source_limit, tp_source_fault, tp_source_shuffle;
extern const struct tp_strategy tp_strategy_arena, tp_strategy_bump, tp_strategy_direct,
    tp_strategy_lru, tp_strategy_stream_pool, tp_strategy_system, tp_strategy_cuda_malloc_async,
    tp_strategy_empty;

#define RIG_LAYERS      5
#define RIG_THREADS     3 /* unless the configuration says otherwise */
#define RIG_MAX_THREADS 8

struct rig;

/* What the base has to complain of so far, NULL: nothing. Asked while it is open, and once more
 * when it is closed (r->depth is 0). */
typedef const char *rig_complaint_fn(const struct rig *r);

/* Lets the device's time pass, as the recorded time does. */
typedef void rig_passes_fn(uint64_t ns);

struct rig_cfg {
    const struct tp_strategy *strategy;
    const char *options;
    const struct tp_source_ops *base; /* NULL for TP_CAP_FOREIGN */
    const char *base_options;         /* NULL = the defaults */
    rig_complaint_fn *complaint;      /* NULL: the base never has any */
    rig_passes_fn *passes;            /* NULL: the base has no time of its own */
    enum tp_kind kind;
    bool shuffle;
    const char *limit, *fault; /* options, NULL = without */
    uint64_t meta_fail_at;     /* 0 = none */
    uint32_t streams;          /* 0 = 1 */
    uint32_t threads;          /* 0 = RIG_THREADS, at most RIG_MAX_THREADS */
    bool concurrent;           /* as in struct tp_env */
};

struct rig {
    const struct tp_strategy *s;
    struct tp_source stack[RIG_LAYERS];
    void *source_opts[RIG_LAYERS];
    unsigned depth;
    struct tp_account account;
    struct tp_meta_heap meta;
    struct tp_env env;
    uint64_t now_ns;
    int lost;          /* what the source says of its device */
    void *current;     /* device of the thread, as the source keeps it */
    struct tp_err err; /* of rig_open, when init failed */
    rig_complaint_fn *complaint;
    rig_passes_fn *passes;
    void *opts, *st;
    void *threads[RIG_MAX_THREADS];
    uint32_t thread_count; /* of those that are ready */
    bool host;
    uint64_t random;
};

static inline uint64_t rig_random(struct rig *r)
{
    uint64_t z = r->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static inline void *rig_opts(const struct tp_opt *rows, size_t size, const char *spec)
{
    struct tp_err err;
    void *opts = calloc(1, size ? size : 1);
    assert_non_null(opts);
    assert_int_equal(tp_opts_defaults(rows, opts, &err), TP_OK);
    if (spec && tp_opts_parse(rows, opts, spec, "test", &err))
        fail_msg("%s", err.text);
    return opts;
}

static inline void rig_push(struct rig *r, const struct tp_source_ops *ops, const char *spec,
                            const struct rig_cfg *cfg)
{
    struct tp_err err;
    void *opts = rig_opts(ops->options, ops->opts_size, spec);
    struct tp_source_cfg sc = {.opts = opts,
                               .inner = r->depth ? &r->stack[r->depth - 1] : NULL,
                               .account = &r->account,
                               .now_ns = &r->now_ns,
                               .kind = cfg->kind,
                               .streams = cfg->streams,
                               .lost = &r->lost,
                               .current = &r->current};
    r->source_opts[r->depth] = opts;
    if (tp_source_open(&r->stack[r->depth], ops, &sc, &err))
        fail_msg("%s", err.text);
    r->depth++;
}

static inline void rig_sources(struct rig *r, const struct rig_cfg *cfg)
{
    rig_push(r, cfg->base, cfg->base_options, cfg);
    if (cfg->shuffle)
        rig_push(r, &tp_source_shuffle, "seed=7", cfg);
    if (cfg->limit)
        rig_push(r, &tp_source_limit, cfg->limit, cfg);
    if (cfg->fault)
        rig_push(r, &tp_source_fault, cfg->fault, cfg);
    rig_push(r, &tp_source_meter, NULL, cfg);
}

static inline const char *rig_complaint(const struct rig *r)
{
    return r->complaint ? r->complaint(r) : NULL;
}

static inline void rig_close_sources(struct rig *r)
{
    while (r->depth) {
        tp_source_close(&r->stack[--r->depth]);
        free(r->source_opts[r->depth]);
    }
    free(r->opts);
}

static inline void rig_close_instance(struct rig *r)
{
    while (r->thread_count) {
        void *thr = r->threads[--r->thread_count];
        if (r->s->thread_fini)
            r->s->thread_fini(r->st, thr);
        free(thr);
    }
    r->s->fini(r->st);
}

static inline int rig_open_threads(struct rig *r, uint32_t threads)
{
    while (r->thread_count < threads) {
        void *thr = calloc(1, r->s->thread_size ? r->s->thread_size : 1);
        assert_non_null(thr);
        int rc = r->s->thread_init ? r->s->thread_init(r->st, thr) : TP_OK;
        if (rc) {
            free(thr);
            return rc;
        }
        r->threads[r->thread_count++] = thr;
    }
    return TP_OK;
}

/* Returns what init, or the first thread_init to fail, said; after a failure everything is closed
 * again and nothing leaked. */
static inline int rig_open(struct rig *r, const struct rig_cfg *cfg)
{
    uint32_t threads = cfg->threads ? cfg->threads : RIG_THREADS;
    assert_true(threads <= RIG_MAX_THREADS);
    *r = (struct rig){.s = cfg->strategy, .complaint = cfg->complaint, .passes = cfg->passes};
    bool foreign = cfg->strategy->caps & TP_CAP_FOREIGN;
    if (!foreign)
        rig_sources(r, cfg);
    r->host = foreign || cfg->base->flags & TP_SRC_HOST;
    r->meta = (struct tp_meta_heap){.account = &r->account, .fail_at = cfg->meta_fail_at};
    r->env = (struct tp_env){.source = foreign ? NULL : &r->stack[r->depth - 1],
                             .account = &r->account,
                             .meta = &r->meta,
                             .streams = cfg->streams ? cfg->streams : 1,
                             .concurrent = cfg->concurrent};
    r->opts = rig_opts(r->s->options, r->s->opts_size, cfg->options);
    r->st = calloc(1, r->s->state_size);
    assert_non_null(r->st);
    int rc = r->s->init(r->st, &r->env, r->opts, &r->err);
    if (!rc) {
        rc = rig_open_threads(r, threads);
        if (rc)
            rig_close_instance(r);
    }
    if (rc) {
        assert_int_equal(r->meta.live_bytes, 0);
        assert_int_equal(r->account.reserved, 0);
        free(r->st);
        const char *before = rig_complaint(r);
        if (before)
            fail_msg("%s", before);
        rig_close_sources(r);
        const char *after = rig_complaint(r);
        if (after)
            fail_msg("%s", after);
    }
    return rc;
}

/* Takes the instance down with whatever is live in it. Says what it kept, or what the source
 * complains of; NULL when nothing. */
static inline const char *rig_shut(struct rig *r, char *text, size_t size)
{
    const char *left = NULL;
    rig_close_instance(r);
    if (rig_complaint(r))
        left = rig_complaint(r);
    else if (r->account.reserved)
        left = "fini kept bytes of the source";
    else if (r->account.metadata || r->meta.live_bytes || r->meta.live_blocks)
        left = "fini kept bookkeeping memory";
    snprintf(text, size, "%s", left ? left : ""); /* a complaint goes with its source */
    free(r->st);
    rig_close_sources(r);
    const char *after = rig_complaint(r); /* asked in any case: the base begins anew */
    if (after)                            /* what is left below says more than an account */
        snprintf(text, size, "%s", after);
    return left || after ? text : NULL;
}

static inline void rig_close(struct rig *r)
{
    char text[240];
    const char *left = rig_shut(r, text, sizeof text);
    if (left)
        fail_msg("%s", left);
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
    assert_true(b.granted >= size || r->s->usable(r->st, b.addr) >= size);
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
};

static inline void rig_count(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct rig_walk *w = ctx;
    assert_true(addr != 0 && size != 0);
    w->sums[kind] += size;
    w->pieces[kind]++;
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

static inline struct tp_stats rig_stats(struct rig *r)
{
    struct tp_stats stats = {0};
    r->s->stats(r->st, &stats);
    return stats;
}

#endif
