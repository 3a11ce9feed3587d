/* The strategy `direct`: every call goes to the source.
 *
 * The yardstick: cudaMalloc and cudaFree, or mmap and munmap, at every call. A block is a range of
 * its own, rounded up to the source's page, which is also what the caller may use. The only
 * bookkeeping is a table of what is held and how much of it was asked for, so that a free with
 * another size is found out. Known weakness: that is the point. */
#include "alloc/strategies/common/chores.h"

#define DIRECT_REFUSED   UINT64_C(1) /* in a table's value: freed, but the source kept it */
#define DIRECT_MAX_BYTES (UINT64_C(1) << 60)

struct direct {
    const struct tp_env *env;
    struct tp_addr_map held;      /* address -> size as asked for, times 2 | DIRECT_REFUSED */
    uint64_t carved, peak_carved; /* bytes */
    struct tp_lock lock;
};

static int direct_init(void *state, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    (void)opts;
    struct direct *st = state;
    st->env = env;
    if (env->source->page < 2)
        return tp_fail(err, TP_EUSAGE, "strategy 'direct' needs a source with pages");
    meta_map_init(&st->held, env);
    tp_lock_init(&st->lock, env->concurrent);
    return TP_OK;
}

/* Whole pages: what is held for a size. */
static uint64_t pages_for(const struct direct *st, uint64_t size)
{
    return round_up(size, st->env->source->page);
}

static uint64_t bytes_of(const struct direct *st, uint64_t value)
{
    return pages_for(st, value >> 1);
}

/* What the source refuses to take back is tried once more, after everything else. */
static void direct_fini(void *state)
{
    struct direct *st = state;
    struct tp_addr_entry *e;
    for (unsigned again = 0; again < 2; again++)
        for (uint64_t at = 0; (e = tp_addr_map_next(&st->held, &at));)
            if (e->value && (again || !(e->value & DIRECT_REFUSED)) &&
                !tp_src_put(st->env->source, e->key, bytes_of(st, e->value)))
                e->value = 0;
    tp_addr_map_fini(&st->held);
    tp_lock_fini(&st->lock);
}

static int alloc_block(struct direct *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > DIRECT_MAX_BYTES)
        return TP_EOOM;
    int rc = tp_addr_map_reserve(&st->held, st->held.count + 1);
    if (rc)
        return rc;
    uint64_t bytes = pages_for(st, rq->size);
    tp_addr addr = 0;
    rc = tp_src_get(st->env->source, bytes, rq->align, &addr);
    if (rc)
        return rc;
    tp_addr_map_insert(&st->held, addr, rq->size << 1);
    st->carved += bytes;
    if (st->carved > st->peak_carved)
        st->peak_carved = st->carved;
    *out = (struct tp_block){addr, bytes};
    return TP_OK;
}

LOCKED_ALLOC(direct_alloc, struct direct, alloc_block)

static int free_block(struct direct *st, tp_addr addr, const struct tp_req *rq)
{
    uint64_t size = rq->size, *value = tp_addr_map_find(&st->held, addr);
    if (!value || size > DIRECT_MAX_BYTES || *value != size << 1)
        return TP_EINVAL;
    uint64_t bytes = pages_for(st, size);
    if (tp_src_put(st->env->source, addr, bytes)) {
        *value |= DIRECT_REFUSED;
        return TP_OK;
    }
    st->carved -= bytes;
    tp_addr_map_remove(&st->held, addr, NULL);
    return TP_OK;
}

LOCKED_FREE(direct_free, struct direct, free_block)

static uint64_t direct_usable(void *state, tp_addr addr)
{
    struct direct *st = state;
    const uint64_t *value = tp_addr_map_find(&st->held, addr);
    return value && !(*value & DIRECT_REFUSED) ? bytes_of(st, *value) : 0;
}

static int resize(struct direct *st, tp_addr addr, const struct tp_req *rq, struct tp_block *out)
{
    uint64_t *value = tp_addr_map_find(&st->held, addr);
    if (!request_is_sound(rq) || !value || *value & DIRECT_REFUSED)
        return TP_EINVAL;
    uint64_t bytes = bytes_of(st, *value);
    if (rq->size > DIRECT_MAX_BYTES || pages_for(st, rq->size) != bytes || addr & (rq->align - 1))
        return TP_EUNSUP;
    *value = rq->size << 1;
    *out = (struct tp_block){addr, bytes};
    return TP_OK;
}

LOCKED_RESIZE(direct_resize, struct direct, resize)

static void direct_stats(void *state, struct tp_stats *out)
{
    const struct direct *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved, .peak_carved_bytes = st->peak_carved};
}

static int direct_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct direct *st = state;
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&st->held, &at));)
        fn(ctx, e->value & DIRECT_REFUSED ? TP_WALK_DEAD : TP_WALK_LIVE, e->key,
           bytes_of(st, e->value));
    return TP_OK;
}

static int direct_check(void *state, struct tp_err *err)
{
    const struct direct *st = state;
    const struct tp_addr_entry *e;
    uint64_t sum = 0, count = 0;
    for (uint64_t at = 0; (e = tp_addr_map_next(&st->held, &at)); count++)
        sum += bytes_of(st, e->value);
    if (sum != st->carved || count != st->held.count || st->carved > st->peak_carved)
        return tp_fail(err, TP_EBROKEN, "strategy 'direct': the table does not add up");
    return TP_OK;
}

const struct tp_strategy tp_strategy_direct = {
    .name = "direct",
    .summary = "no policy",
    .resembles = "cudaMalloc or mmap at every call",
    .to_use = "PYTORCH_NO_CUDA_MEMORY_CACHING=1 makes PyTorch do this; slow, for finding errors",
    .group = TP_GROUP_YARDSTICK,
    .caps = TP_CAP_THREADS | TP_CAP_ALIGN,
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
