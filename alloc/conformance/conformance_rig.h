/* A rig for strategies: a stack of sources, counted bookkeeping memory, one instance, its threads.
 *
 *     strategy -> meter -> follows -> [fault] -> [limit] -> [shuffle] -> host | virtual | cuda
 *
 * conformance_model.h puts a shadow model beside it. Nothing here jumps out or ends the process:
 * what goes wrong is a status and a sentence in `err`. */
#ifndef TP_CONFORMANCE_RIG_H
#define TP_CONFORMANCE_RIG_H

#include "alloc/base/opt.h"
#include "alloc/conformance/conformance_follow.h"
#include "alloc/sources/common/meta_heap.h"
#include "alloc/strategy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

extern const struct tp_source_ops tp_source_meter, tp_source_limit, tp_source_fault,
    tp_source_shuffle;

#define RIG_LAYERS      6
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
    struct tp_err err; /* of what failed */
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

/* Makes an option struct of the defaults and `spec`, which may be NULL; NULL: `err` says why. */
static inline void *rig_make_opts(const struct tp_opt *rows, size_t size, const char *spec,
                                  struct tp_err *err)
{
    void *opts = calloc(1, size ? size : 1);
    int rc = opts ? tp_opts_defaults(rows, opts, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!rc && spec && *spec)
        rc = tp_opts_parse(rows, opts, spec, "the strategy", err);
    if (!rc)
        return opts;
    if (opts)
        tp_opts_release(rows, opts);
    free(opts);
    return NULL;
}

static inline int rig_add_source(struct rig *r, const struct tp_source_ops *ops, const char *spec,
                                 const struct rig_cfg *cfg)
{
    void *opts = rig_make_opts(ops->options, ops->opts_size, spec, &r->err);
    struct tp_source_cfg sc = {.opts = opts,
                               .inner = r->depth ? &r->stack[r->depth - 1] : NULL,
                               .account = &r->account,
                               .keeps_ranges = true,
                               .now_ns = &r->now_ns,
                               .kind = cfg->kind,
                               .streams = cfg->streams,
                               .lost = &r->lost,
                               .current = &r->current};
    int rc = opts ? tp_source_open(&r->stack[r->depth], ops, &sc, &r->err) : (int)r->err.status;
    if (rc)
        free(opts);
    else
        r->source_opts[r->depth++] = opts;
    return rc;
}

static inline int rig_add_sources(struct rig *r, const struct rig_cfg *cfg)
{
    int rc = rig_add_source(r, cfg->base, cfg->base_options, cfg);
    if (!rc && cfg->shuffle)
        rc = rig_add_source(r, &tp_source_shuffle, "seed=7", cfg);
    if (!rc && cfg->limit)
        rc = rig_add_source(r, &tp_source_limit, cfg->limit, cfg);
    if (!rc && cfg->fault)
        rc = rig_add_source(r, &tp_source_fault, cfg->fault, cfg);
    if (!rc)
        rc = rig_add_source(r, &follows_source, NULL, cfg);
    return rc ? rc : rig_add_source(r, &tp_source_meter, NULL, cfg);
}

/* What the strategy made wait since the model looked last; there are sources. */
static inline struct follows *rig_follows(const struct rig *r)
{
    return r->stack[r->depth - 2].state;
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
    if (r->opts)
        tp_opts_release(r->s->options, r->opts);
    free(r->opts);
    r->opts = NULL;
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

static inline int rig_start_threads(struct rig *r, uint32_t threads)
{
    while (r->thread_count < threads) {
        void *thr = calloc(1, r->s->thread_size ? r->s->thread_size : 1);
        int rc = !thr                ? tp_fail(&r->err, TP_ENOMEM, "out of memory")
                 : r->s->thread_init ? r->s->thread_init(r->st, thr)
                                     : TP_OK;
        if (rc) {
            free(thr);
            return rc;
        }
        r->threads[r->thread_count++] = thr;
    }
    return TP_OK;
}

/* What an init or thread_init that failed, with `rc`, has left; TP_EBROKEN if anything. */
static inline int rig_give_up(struct rig *r, int rc)
{
    const char *left = r->meta.live_bytes    ? "an init that failed has kept bookkeeping memory"
                       : r->account.reserved ? "an init that failed has kept bytes of the source"
                                             : rig_complaint(r);
    if (left)
        rc = tp_fail(&r->err, TP_EBROKEN, "%s", left);
    free(r->st);
    rig_close_sources(r);
    if (!left && rig_complaint(r))
        rc = tp_fail(&r->err, TP_EBROKEN, "%s", rig_complaint(r));
    return rc;
}

static inline int rig_start_instance(struct rig *r, const struct rig_cfg *cfg)
{
    uint32_t threads = cfg->threads ? cfg->threads : RIG_THREADS;
    assert(threads <= RIG_MAX_THREADS);
    r->opts = rig_make_opts(r->s->options, r->s->opts_size, cfg->options, &r->err);
    r->st = calloc(1, r->s->state_size);
    if (!r->opts || !r->st)
        return r->opts ? tp_fail(&r->err, TP_ENOMEM, "out of memory") : (int)r->err.status;
    int rc = r->s->init(r->st, &r->env, r->opts, &r->err);
    if (rc)
        return rc;
    rc = rig_start_threads(r, threads);
    if (rc)
        rig_close_instance(r);
    return rc;
}

/* Returns what init, or the first thread_init to fail, said; after a failure everything is closed
 * again. TP_EBROKEN: something was left nevertheless. */
static inline int rig_start(struct rig *r, const struct rig_cfg *cfg)
{
    bool foreign = cfg->strategy->caps & TP_CAP_FOREIGN;
    *r = (struct rig){.s = cfg->strategy, .complaint = cfg->complaint, .passes = cfg->passes};
    int rc = foreign ? TP_OK : rig_add_sources(r, cfg);
    r->host = foreign || cfg->base->flags & TP_SRC_HOST;
    r->meta = (struct tp_meta_heap){.account = &r->account, .fail_at = cfg->meta_fail_at};
    r->env = (struct tp_env){.source = foreign || rc ? NULL : &r->stack[r->depth - 1],
                             .account = &r->account,
                             .meta = &r->meta,
                             .streams = cfg->streams ? cfg->streams : 1,
                             .concurrent = cfg->concurrent};
    if (!rc)
        rc = rig_start_instance(r, cfg);
    return rc ? rig_give_up(r, rc) : TP_OK;
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

/* What the strategy says of itself; zeros where it says nothing. */
static inline struct tp_stats rig_stats(struct rig *r)
{
    struct tp_stats stats = {0};
    if (r->s->stats)
        r->s->stats(r->st, &stats);
    return stats;
}

#endif
