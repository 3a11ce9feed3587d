/* The strategy `torch-pinned`: PyTorch's allocator of pinned host memory, CachingHostAllocator,
 * rule by rule.
 *
 *     alloc --> events that have passed release their blocks --> size rounded up to a power of two
 *           --> the newest free block of that size --> the reserved segment --> the source
 *     free  --> an event on each stream that used the block --> free when all have passed
 *     trim  --> all free blocks go back (torch._C._host_emptyCache)
 *
 * Blocks are neither split nor merged, free lists belong to no stream, and nothing is tried again
 * where the system has no memory. Events pass in the order of their recording: one that has not
 * passed holds back those behind it. Settings are in torch_pinned_conf.c.
 *
 * With pinned_reserve_segment_size_mb one segment is taken first, and blocks are cut from it until
 * it is used up. It never goes back; a block of it that is given back is lost.
 *
 * Where it is from: pytorch/pytorch, aten/src/ATen/core/CachingHostAllocator.h and
 * aten/src/ATen/cuda/CachingHostAllocator.cpp, and of what is newer (thresholds of rounding and
 * caching, 2.11; the search of a class for a block that is large enough, 2.14 or later) the pull
 * requests 171662 and 192722.
 *
 * Known weakness: PyTorch learns of streams from record_event alone, a trace need not say it. With
 * several streams a block counts as used by those that ask for it and free it. Pools of CUDA graphs
 * are not kept apart. A replay begins without the free blocks that a recording began with. */
#include "alloc/strategies/torch_pinned/torch_pinned_core.h"

struct torch_pinned_opts {
    char *conf;
};

static const struct tp_opt torch_pinned_rows[] = {
    TP_TEXT_AT("conf", offsetof(struct torch_pinned_opts, conf), .arg = "TEXT",
               .help = "value of PYTORCH_ALLOC_CONF, in braces if it contains a comma\n"
                       "Three keys concern pinned memory, the others are ignored:\n"
                       "pinned_max_round_threshold_mb: max size to round\n"
                       "pinned_max_cached_size_mb: max size to cache and round\n"
                       "pinned_reserve_segment_size_mb: segment reserved at the start"),
    {.name = NULL}};

static int refuse_thread(const struct torch_pinned *st, struct tp_err *err)
{
    if (!st->rules.background || !st->fenced)
        return TP_OK;
    return tp_fail(err, TP_EUSAGE,
                   "strategy 'torch-pinned': 'pinned_use_background_threads:True' is not simulated "
                   "for traces with several streams");
}

static int torch_pinned_init(void *state, const struct tp_env *env, const void *options,
                             struct tp_err *err)
{
    const struct torch_pinned_opts *opts = options;
    struct torch_pinned *st = state;
    st->env = env;
    st->rules = tp_torch_pinned_defaults;
    st->page = env->source->page;
    st->grain = st->page < PINNED_GRAIN ? st->page : PINNED_GRAIN;
    st->fenced = env->streams > 1 && tp_src_has_fences(env->source);
    int rc = opts->conf ? tp_torch_pinned_conf(&st->rules, opts->conf, err) : TP_OK;
    if (rc)
        return tp_prefix(err, rc, "strategy 'torch-pinned'");
    rc = refuse_thread(st, err);
    if (rc)
        return rc;
    tp_link_init(&st->queue);
    slab_init(&st->blocks, env, sizeof(struct pinned_block));
    slab_init(&st->uses, env, sizeof(struct stream_use));
    meta_map_init(&st->live, env);
    return TP_OK;
}

/* Two rounds: what the source refuses at first may go once the rest is gone. */
static void torch_pinned_fini(void *state)
{
    struct torch_pinned *st = state;
    wait_for_streams(st->env);
    for (int round = 0; round < 2; round++) {
        struct slab_cursor c = slab_first(&st->blocks);
        for (struct pinned_block *b = slab_next(&c); b; b = slab_next(&c))
            if (b->state != PINNED_NONE && !b->reserved)
                put_once(st->env->source, &b->addr, pinned_bytes(st, b));
        put_once(st->env->source, &st->segment, round_up(st->rules.reserve, st->page));
    }
    tp_addr_map_fini(&st->live);
    slab_fini(&st->blocks);
    slab_fini(&st->uses);
}

/* ---- requests ---- */

static uint64_t pinned_rounded(const struct tp_torch_pinned_rules *rules, uint64_t size)
{
    bool rounds = size <= rules->round_most && size <= rules->cached_most;
    return rounds ? UINT64_C(1) << pinned_class(size) : size;
}

/* Cuts a new block from the reserved segment. False: there is none, or it has no room. */
static bool cut_reserved(struct torch_pinned *st, struct pinned_block *b)
{
    uint64_t bytes = round_up(b->size, PINNED_GRAIN);
    if (!st->segment || bytes > st->rules.reserve - st->handed)
        return false;
    b->addr = st->segment + st->handed;
    b->reserved = true;
    st->handed += bytes;
    carved_add(&st->carved, bytes);
    return true;
}

static int get_reserved(struct torch_pinned *st)
{
    if (!st->rules.reserve || st->segment)
        return TP_OK;
    return tp_src_get(st->env->source, round_up(st->rules.reserve, st->page), 1, &st->segment);
}

/* A block of `size` bytes that was not there before. */
static int make_block(struct torch_pinned *st, uint64_t size, struct pinned_block **out)
{
    struct pinned_block *b = slab_take(&st->blocks);
    int rc = b ? get_reserved(st) : TP_ENOMEM;
    if (!rc) {
        b->size = size;
        if (!cut_reserved(st, b)) {
            rc = tp_src_get(st->env->source, pinned_bytes(st, b), 1, &b->addr);
            carved_add(&st->carved, rc ? 0 : size);
        }
    }
    if (rc && b)
        slab_give(&st->blocks, b);
    *out = rc ? NULL : b;
    return rc;
}

static void hand_out_pinned(struct torch_pinned *st, struct pinned_block *b,
                            const struct tp_req *rq)
{
    b->state = PINNED_LIVE;
    b->requested = rq->size;
    b->align = rq->align;
    b->stream = rq->stream;
    tp_addr_map_insert(&st->live, b->addr + pinned_lead(st, b), (uintptr_t)b);
}

static int torch_pinned_alloc(void *state, void *thread, const struct tp_req *rq,
                              struct tp_block *out)
{
    (void)thread;
    struct torch_pinned *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint64_t lead = rq->align > st->grain ? rq->align - st->grain : 0;
    if (rq->size > PINNED_MOST || lead > PINNED_MOST)
        return TP_EOOM;
    int rc = tp_addr_map_reserve(&st->live, st->live.count + 1);
    if (!rc)
        rc = st->fenced ? slab_reserve(&st->uses) : TP_OK;
    if (rc)
        return rc;
    tp_torch_pinned_poll(st);
    uint64_t size = pinned_rounded(&st->rules, rq->size + lead);
    struct pinned_block *b = tp_torch_pinned_take(st, size);
    if (!b && (rc = make_block(st, size, &b)))
        return rc;
    hand_out_pinned(st, b, rq);
    tp_torch_pinned_use(st, b, rq->stream);
    *out = (struct tp_block){b->addr + pinned_lead(st, b), pinned_allocated(st, b)};
    return TP_OK;
}

static int torch_pinned_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct torch_pinned *st = state;
    struct pinned_block *b = meta_map_at(&st->live, addr);
    if (!b || b->requested != rq->size || b->align != rq->align)
        return TP_EINVAL;
    int rc = tp_torch_pinned_use(st, b, rq->stream);
    if (rc)
        return rc; /* the block is still live */
    tp_addr_map_remove(&st->live, addr, NULL);
    tp_torch_pinned_free(st, b);
    return TP_OK;
}

static int torch_pinned_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    struct torch_pinned *st = state;
    struct pinned_block *b = meta_map_at(&st->live, addr);
    return b ? tp_torch_pinned_use(st, b, stream) : TP_EINVAL;
}

static int torch_pinned_trim(void *state, uint64_t keep)
{
    tp_torch_pinned_trim(state, keep);
    return TP_OK;
}

/* ---- never timed ---- */

static uint64_t torch_pinned_usable(void *state, tp_addr addr)
{
    const struct torch_pinned *st = state;
    const struct pinned_block *b = meta_map_at(&st->live, addr);
    return b ? pinned_allocated(st, b) : 0;
}

static void torch_pinned_stats(void *state, struct tp_stats *out)
{
    const struct torch_pinned *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved.now, .peak_carved_bytes = st->carved.peak};
}

const struct tp_strategy tp_strategy_torch_pinned = {
    .name = "torch-pinned",
    .summary = "powers of two",
    .resembles = "PyTorch's pinned host memory",
    .to_use = "PyTorch's own, for tensors with pin_memory=True; conf takes the value of\n"
              "PYTORCH_ALLOC_CONF (PYTORCH_CUDA_ALLOC_CONF before PyTorch 2.10)",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct torch_pinned),
    .opts_size = sizeof(struct torch_pinned_opts),
    .options = torch_pinned_rows,
    .init = torch_pinned_init,
    .fini = torch_pinned_fini,
    .alloc = torch_pinned_alloc,
    .free = torch_pinned_free,
    .use = torch_pinned_use,
    .trim = torch_pinned_trim,
    .usable = torch_pinned_usable,
    .stats = torch_pinned_stats,
    .walk = tp_torch_pinned_walk,
    .check = tp_torch_pinned_check,
};
