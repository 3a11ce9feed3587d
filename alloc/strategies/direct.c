/* The strategy `direct`: every call goes to the source.
 *
 * A reference: cudaMalloc and cudaFree, or mmap and munmap, at every call. A block is a range of
 * its own, rounded up to the source's page, and the caller may use all of it. The only bookkeeping
 * is a table of blocks and their requested sizes, so that a free with a different size is detected.
 * Known weakness: it is slow and wasteful on purpose. */
#include "alloc/strategies/common/held.h"

#define DIRECT_MAX_BYTES (UINT64_C(1) << 60)

struct direct {
    const struct tp_env *env;
    struct tp_addr_map held; /* address -> requested size (held.h) */
    struct carved carved;
};

static int direct_init(void *state, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)opts;
    struct direct *st = state;
    st->env = env;
    if (env->source->page < 2)
        return tp_fail(err, TP_EUSAGE, "strategy 'direct' needs a source with pages");
    meta_map_init(&st->held, env);
    return TP_OK;
}

/* Ranges that the source refuses to take back are tried once more after all others. */
static void direct_fini(void *state)
{
    struct direct *st = state;
    held_put_all(st->env, &st->held);
    held_put_all(st->env, &st->held);
    tp_addr_map_fini(&st->held);
}

static int direct_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    struct direct *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > DIRECT_MAX_BYTES)
        return TP_EOOM;
    int rc = tp_addr_map_reserve(&st->held, st->held.count + 1);
    if (!rc)
        rc = held_get(st->env, &st->held, rq->size, rq->align, out);
    if (!rc)
        carved_add(&st->carved, out->allocated);
    return rc;
}

static int direct_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct direct *st = state;
    uint64_t *value = held_find(&st->held, addr);
    if (!value || *value >> 1 != rq->size)
        return TP_EINVAL;
    st->carved.now -= held_put(st->env, &st->held, addr, value);
    return TP_OK;
}

static uint64_t direct_usable(void *state, tp_addr addr)
{
    struct direct *st = state;
    return held_usable(st->env, &st->held, addr);
}

static int direct_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                         struct tp_block *out)
{
    (void)thread;
    struct direct *st = state;
    uint64_t *value = held_find(&st->held, addr);
    if (!request_is_sound(rq) || !value)
        return TP_EINVAL;
    uint64_t bytes = held_bytes(st->env, *value);
    if (rq->size > DIRECT_MAX_BYTES || held_bytes(st->env, rq->size << 1) != bytes ||
        addr & (rq->align - 1))
        return TP_EUNSUP;
    *value = rq->size << 1;
    *out = (struct tp_block){addr, bytes};
    return TP_OK;
}

static void direct_stats(void *state, struct tp_stats *out)
{
    const struct direct *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved.now, .peak_carved_bytes = st->carved.peak};
}

static int direct_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct direct *st = state;
    held_walk(st->env, &st->held, fn, ctx);
    return TP_OK;
}

static int direct_check(void *state, struct tp_err *err)
{
    const struct direct *st = state;
    if (held_walk(st->env, &st->held, NULL, NULL) != st->carved.now ||
        st->carved.now > st->carved.peak)
        return tp_fail(err, TP_EBROKEN, "strategy 'direct': the table does not add up");
    return TP_OK;
}

const struct tp_strategy tp_strategy_direct = {
    .name = "direct",
    .summary = "no caching",
    .resembles = "cudaMalloc or mmap per allocation",
    .to_use = "in PyTorch PYTORCH_NO_CUDA_MEMORY_CACHING=1; slow, for debugging",
    .group = TP_GROUP_REFERENCE,
    .caps = TP_CAP_ALIGN,
    .state_size = sizeof(struct direct),
    .init = direct_init,
    .fini = direct_fini,
    .alloc = direct_alloc,
    .free = direct_free,
    .resize = direct_resize,
    .usable = direct_usable,
    .stats = direct_stats,
    .walk = direct_walk,
    .check = direct_check,
};
