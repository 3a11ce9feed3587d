/* See conformance_rig.h. */
#include "alloc/conformance/conformance_rig.h"

static int follows_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    (void)err;
    ((struct follows *)state)->inner = cfg->inner;
    return TP_OK;
}

static int follows_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    return tp_src_get(((struct follows *)state)->inner, size, align, out);
}

static int follows_put(void *state, tp_addr addr, uint64_t size)
{
    return tp_src_put(((struct follows *)state)->inner, addr, size);
}

static int follows_follow(void *state, uint16_t stream, uint16_t after)
{
    struct follows *s = state;
    if (s->count < FOLLOWS_MAX) {
        s->pairs[s->count][0] = stream;
        s->pairs[s->count++][1] = after;
    }
    return tp_src_follow(s->inner, stream, after);
}

static const struct tp_source_ops follows_source = {
    .name = "follows",
    .summary = "notes which streams wait for which",
    .flags = TP_SRC_WRAPPER,
    .state_size = sizeof(struct follows),
    .init = follows_init,
    .get = follows_get,
    .put = follows_put,
    .follow = follows_follow,
};

uint64_t tp_rig_random(struct rig *r)
{
    uint64_t z = r->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void *tp_rig_make_opts(const struct tp_opt *rows, size_t size, const char *spec, struct tp_err *err)
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

int tp_rig_add_source(struct rig *r, const struct tp_source_ops *ops, const char *spec,
                      const struct rig_cfg *cfg)
{
    void *opts = tp_rig_make_opts(ops->options, ops->opts_size, spec, &r->err);
    struct tp_source_cfg sc = {.opts = opts,
                               .inner = r->depth ? &r->stack[r->depth - 1] : NULL,
                               .account = &r->account,
                               .ranges = &r->ranges,
                               .aliases = &r->aliases,
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

int tp_rig_add_sources(struct rig *r, const struct rig_cfg *cfg)
{
    tp_aliases_init(&r->aliases);
    int rc = tp_rig_add_source(r, cfg->base, cfg->base_options, cfg);
    if (!rc && cfg->shuffle)
        rc = tp_rig_add_source(r, &tp_source_shuffle, "seed=7", cfg);
    if (!rc && cfg->limit)
        rc = tp_rig_add_source(r, &tp_source_limit, cfg->limit, cfg);
    if (!rc && cfg->fault)
        rc = tp_rig_add_source(r, &tp_source_fault, cfg->fault, cfg);
    if (!rc)
        rc = tp_rig_add_source(r, &follows_source, NULL, cfg);
    return rc ? rc : tp_rig_add_source(r, &tp_source_meter, NULL, cfg);
}

struct follows *tp_rig_follows(const struct rig *r)
{
    return r->stack[r->depth - 2].state;
}

const char *tp_rig_complaint(const struct rig *r)
{
    return r->complaint ? r->complaint(r) : NULL;
}

void tp_rig_close_sources(struct rig *r)
{
    while (r->depth) {
        tp_source_close(&r->stack[--r->depth]);
        free(r->source_opts[r->depth]);
    }
    tp_ranges_fini(&r->ranges);
    tp_aliases_fini(&r->aliases);
    if (r->opts)
        tp_opts_release(r->s->options, r->opts);
    free(r->opts);
    r->opts = NULL;
}

static void rig_close_instance(struct rig *r)
{
    while (r->thread_count) {
        void *thr = r->threads[--r->thread_count];
        if (r->s->thread_fini)
            r->s->thread_fini(r->st, thr);
        free(thr);
    }
    r->s->fini(r->st);
}

static int rig_start_threads(struct rig *r, uint32_t threads)
{
    while (r->thread_count < threads) {
        void *thr = calloc(1, r->s->thread_size ? r->s->thread_size : 1);
        int rc = TP_OK;
        if (!thr)
            rc = tp_fail(&r->err, TP_ENOMEM, "out of memory");
        else if (r->s->thread_init)
            rc = r->s->thread_init(r->st, thr);
        if (rc) {
            free(thr);
            return rc;
        }
        r->threads[r->thread_count++] = thr;
    }
    return TP_OK;
}

/* What an init or thread_init that failed, with `rc`, has left; TP_EBROKEN if anything. */
static int rig_give_up(struct rig *r, int rc)
{
    const char *left = tp_rig_complaint(r);
    if (r->meta.live_bytes)
        left = "an init that failed has kept bookkeeping memory";
    else if (r->account.reserved)
        left = "an init that failed has kept bytes of the source";
    if (left)
        rc = tp_fail(&r->err, TP_EBROKEN, "%s", left);
    free(r->st);
    tp_rig_close_sources(r);
    if (!left && tp_rig_complaint(r))
        rc = tp_fail(&r->err, TP_EBROKEN, "%s", tp_rig_complaint(r));
    return rc;
}

static int rig_start_instance(struct rig *r, const struct rig_cfg *cfg)
{
    uint32_t threads = cfg->threads ? cfg->threads : RIG_THREADS;
    assert(threads <= RIG_MAX_THREADS);
    r->opts = tp_rig_make_opts(r->s->options, r->s->opts_size, cfg->options, &r->err);
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

int tp_rig_start(struct rig *r, const struct rig_cfg *cfg)
{
    *r = (struct rig){.s = cfg->strategy, .complaint = cfg->complaint, .passes = cfg->passes};
    int rc = cfg->base ? tp_rig_add_sources(r, cfg) : TP_OK;
    r->host = !cfg->base || cfg->base->flags & TP_SRC_HOST;
    r->meta = (struct tp_meta_heap){.account = &r->account, .fail_at = cfg->meta_fail_at};
    r->env = (struct tp_env){.source = !cfg->base || rc ? NULL : &r->stack[r->depth - 1],
                             .account = &r->account,
                             .meta = &r->meta,
                             .streams = cfg->streams ? cfg->streams : 1,
                             .concurrent = cfg->concurrent};
    if (!rc)
        rc = rig_start_instance(r, cfg);
    return rc ? rig_give_up(r, rc) : TP_OK;
}

const char *tp_rig_shut(struct rig *r, char *text, size_t size)
{
    const char *left = NULL;
    rig_close_instance(r);
    if (tp_rig_complaint(r))
        left = tp_rig_complaint(r);
    else if (r->account.reserved)
        left = "fini kept bytes of the source";
    else if (r->account.metadata || r->meta.live_bytes || r->meta.live_blocks)
        left = "fini kept bookkeeping memory";
    snprintf(text, size, "%s", left ? left : ""); /* a complaint goes with its source */
    free(r->st);
    tp_rig_close_sources(r);
    const char *after = tp_rig_complaint(r); /* asked in any case: the base begins anew */
    if (after)                               /* what is left below says more than an account */
        snprintf(text, size, "%s", after);
    return left || after ? text : NULL;
}

struct tp_stats tp_rig_stats(struct rig *r)
{
    struct tp_stats stats = {0};
    if (r->s->stats)
        r->s->stats(r->st, &stats);
    return stats;
}
