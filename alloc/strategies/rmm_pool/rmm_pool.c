/* The strategy `rmm-pool`: RMM's pool_memory_resource, rule by rule, over what stands for
 * cudaMalloc.
 *
 *     alloc --> a multiple of 256 bytes --> the smallest free block of the own stream that fits
 *           --> one of another stream, in the order of their first calls; the own stream waits
 *           --> the lists of other streams become part of the own one until something fits
 *           --> the pool grows: by its own size, or by half of what is left to its maximum
 *     free  --> the list of the stream that frees, merged with free neighbours in that list
 *
 * The rest of a block stays in the list that it came from. What the source refuses is asked for
 * again at half the size, down to the request. The pool never shrinks. Lists are in
 * rmm_pool_lists.c.
 *
 * Known weakness: RMM goes through other streams in the order of the handles of their events, which
 * is nowhere recorded; and its stream waits for the last free of the other one, here for all that
 * was queued there. As RMM, it does not hear of other streams that use a block: the program orders
 * them before its free. RMM knows no alignment above 256 bytes; for such a request more is taken.
 * Versions of RMM that give whole ranges back below a maximum are not reproduced. */
#include "alloc/strategies/rmm_pool/rmm_pool_core.h"

struct rmm_pool_opts {
    uint64_t initial_pool_size, maximum_pool_size;
};

#define INITIAL_HALF TP_OPT_KEYWORD(0)
#define MAXIMUM_NONE TP_OPT_KEYWORD(0)

static const char *const initial_words[] = {"half", NULL};
static const char *const maximum_words[] = {"none", NULL};

static const struct tp_opt rmm_pool_rows[] = {
    TP_SIZE_ROW(
        struct rmm_pool_opts, initial_pool_size, .def = "half", .max = RMM_POOL_MOST,
        .choices = initial_words,
        .help =
            "bytes reserved at the start, a multiple of 256\n"
            "half: half of the device, at most maximum_pool_size; 0 if the device size is unknown"),
    TP_SIZE_ROW(
        struct rmm_pool_opts, maximum_pool_size, .def = "none", .max = RMM_POOL_MOST,
        .choices = maximum_words,
        .help = "max size of the pool, a multiple of 256 bytes\n"
                "With a limit, the pool grows by half of the rest; without one, by its own size."),
    {.name = NULL}};

/* ---- ranges ---- */

/* Makes sure that a request finds records: of a range, two blocks, and an entry of `live`. */
static int reserve(struct rmm_pool *st)
{
    if (slab_reserve_two(&st->blocks) || slab_reserve(&st->ranges))
        return TP_ENOMEM;
    return tp_addr_map_reserve(&st->live, st->live.count + 1);
}

/* Gets a range from the source, as one free block of `list`. The caller has reserved records. */
static int get_range(struct rmm_pool *st, uint64_t size, struct rmm_pool_list *list)
{
    uint64_t page = st->env->source->page, bytes = round_up(size, page);
    tp_addr base = 0;
    int rc =
        tp_src_get(st->env->source, bytes, page > RMM_POOL_GRAIN ? page : RMM_POOL_GRAIN, &base);
    if (rc)
        return rc;
    struct rmm_pool_range *range = slab_take(&st->ranges);
    struct rmm_pool_block *b = slab_take(&st->blocks);
    assert(range && b);
    range->base = b->addr = base;
    range->size = b->size = size;
    range->bytes = bytes;
    range->order = st->newest ? st->newest->order + 1 : 0;
    range->first = b;
    b->range = range;
    if (st->newest)
        st->newest->next = range;
    else
        st->oldest = range;
    st->newest = range;
    st->size += size;
    tp_rmm_pool_add(st, list, b);
    return TP_OK;
}

/* By how much the pool should grow for a request; 0: not at all. Half of the rest is a multiple of
 * 256 here; RMM halves to the byte, and may so exceed its maximum by up to 255 bytes. */
static uint64_t growth(const struct rmm_pool *st, uint64_t size)
{
    if (!st->bounded)
        return size > st->size ? size : st->size;
    uint64_t rest = st->most - st->size, half = round_up(rest / 2, RMM_POOL_GRAIN);
    if (size > rest)
        return 0;
    return size > half ? size : half;
}

static int grow(struct rmm_pool *st, struct rmm_pool_queue *queue, uint64_t size)
{
    uint64_t next = growth(st, size);
    int rc = TP_EOOM;
    while (rc == TP_EOOM && next >= size) {
        rc = get_range(st, next, queue->list);
        if (next == size)
            next = 0; /* there is no less to try */
        else
            next = next / 2 > size ? round_up(next / 2, RMM_POOL_GRAIN) : size;
    }
    return rc;
}

/* ---- requests ---- */

/* The free block that serves a request; it is in the list of a queue still. */
static int find_block(struct rmm_pool *st, struct rmm_pool_queue *queue, uint64_t size,
                      struct rmm_pool_block **out)
{
    int rc = TP_OK;
    if ((*out = tp_rmm_pool_fit(queue->list, size)))
        return TP_OK;
    const struct rmm_pool_queue *other = tp_rmm_pool_first_queue(st, size);
    if (other) {
        *out = tp_rmm_pool_fit(other->list, size);
        return tp_src_follow(st->env->source, (uint16_t)queue->stream, (uint16_t)other->stream);
    }
    rc = tp_rmm_pool_merge(st, queue, size, out);
    if (rc || *out)
        return rc;
    rc = grow(st, queue, size);
    *out = rc ? NULL : tp_rmm_pool_fit(queue->list, size);
    return rc;
}

static void hand_out(struct rmm_pool *st, struct rmm_pool_block *b, const struct tp_req *rq)
{
    uint64_t end = b->addr + b->size - b->range->base;
    b->requested = rq->size;
    b->align = rq->align;
    b->stream = rq->stream;
    if (end > b->range->carved) {
        carved_add(&st->carved, end - b->range->carved);
        b->range->carved = end;
    }
    tp_addr_map_insert(&st->live, b->addr + rmm_pool_lead(b), (uintptr_t)b);
}

static int rmm_pool_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    struct rmm_pool *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint64_t lead = rq->align > RMM_POOL_GRAIN ? rq->align - RMM_POOL_GRAIN : 0;
    if (rq->size > RMM_POOL_MOST || lead > RMM_POOL_MOST)
        return TP_EOOM;
    struct rmm_pool_queue *queue = tp_rmm_pool_queue(st, rq->stream);
    struct rmm_pool_block *b = NULL;
    uint64_t size = round_up(rq->size + lead, RMM_POOL_GRAIN);
    int rc = queue ? reserve(st) : TP_ENOMEM;
    if (!rc)
        rc = find_block(st, queue, size, &b);
    if (rc)
        return rc;
    tp_rmm_pool_take(st, b, size);
    hand_out(st, b, rq);
    *out = (struct tp_block){b->addr + rmm_pool_lead(b), rmm_pool_allocated(b)};
    return TP_OK;
}

/* A program orders the streams of a block, but knows nothing of the bytes around it that an
 * alignment above 256 takes: these are ordered here. */
static int order_slack(const struct rmm_pool *st, const struct rmm_pool_block *b, uint16_t stream)
{
    if (b->align <= RMM_POOL_GRAIN || b->stream == stream)
        return TP_OK;
    return tp_src_follow(st->env->source, stream, (uint16_t)b->stream);
}

static int rmm_pool_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct rmm_pool *st = state;
    struct rmm_pool_block *b = meta_map_at(&st->live, addr);
    if (!b || b->requested != rq->size || b->align != rq->align)
        return TP_EINVAL;
    struct rmm_pool_queue *queue = tp_rmm_pool_queue(st, rq->stream);
    if (!queue)
        return TP_ENOMEM; /* the block is still live */
    int rc = order_slack(st, b, rq->stream);
    if (rc)
        return rc;
    tp_addr_map_remove(&st->live, addr, NULL);
    tp_rmm_pool_add(st, queue->list, b);
    return TP_OK;
}

/* ---- start and end ---- */

static int check_sizes(uint64_t initial, const struct rmm_pool *st, struct tp_err *err)
{
    const char *name = NULL;
    if (initial % RMM_POOL_GRAIN)
        name = "initial_pool_size";
    else if (st->bounded && st->most % RMM_POOL_GRAIN)
        name = "maximum_pool_size";
    if (name)
        return tp_fail(err, TP_EUSAGE, "strategy 'rmm-pool': '%s' must be a multiple of 256 bytes",
                       name);
    if (st->bounded && initial > st->most)
        return tp_fail(err, TP_EUSAGE,
                       "strategy 'rmm-pool': 'initial_pool_size' is larger than "
                       "'maximum_pool_size'");
    return TP_OK;
}

static uint64_t half_of_device(const struct rmm_pool *st)
{
    uint64_t half = tp_src_capacity(st->env->source) / 2;
    if (st->bounded && half > st->most)
        half = st->most;
    return half & ~(RMM_POOL_GRAIN - 1);
}

/* The initial pool belongs to the default stream. Where RMM cannot begin for lack of memory, every
 * request fails: nothing can be had, and the pool cannot grow. */
static int get_initial(struct rmm_pool *st, uint64_t size, struct tp_err *err)
{
    if (!size)
        return TP_OK;
    struct rmm_pool_queue *queue = tp_rmm_pool_queue(st, 0);
    int rc = queue ? reserve(st) : TP_ENOMEM;
    if (!rc)
        rc = get_range(st, size, queue->list);
    if (rc == TP_EOOM) {
        st->bounded = true;
        st->most = 0;
        return TP_OK;
    }
    return rc ? tp_fail(err, (enum tp_status)rc, "strategy 'rmm-pool' cannot begin: %s",
                        tp_status_text(rc))
              : TP_OK;
}

/* RMM waits for the streams before it gives the pool back. Two rounds: what the source refuses at
 * first may go once the rest is gone. */
static void rmm_pool_fini(void *state)
{
    struct rmm_pool *st = state;
    wait_for_streams(st->env);
    for (int round = 0; round < 2; round++)
        for (struct rmm_pool_range *r = st->oldest; r; r = r->next)
            put_once(st->env->source, &r->base, r->bytes);
    tp_addr_map_fini(&st->live);
    tp_addr_map_fini(&st->queue_of);
    slab_fini(&st->blocks);
    slab_fini(&st->ranges);
    slab_fini(&st->queue_records);
}

static int rmm_pool_init(void *state, const struct tp_env *env, const void *options,
                         struct tp_err *err)
{
    const struct rmm_pool_opts *opts = options;
    struct rmm_pool *st = state;
    st->env = env;
    st->bounded = opts->maximum_pool_size != MAXIMUM_NONE;
    st->most = opts->maximum_pool_size;
    uint64_t initial = opts->initial_pool_size;
    if (initial == INITIAL_HALF)
        initial = half_of_device(st);
    int rc = check_sizes(initial, st, err);
    if (rc)
        return rc;
    slab_init(&st->blocks, env, sizeof(struct rmm_pool_block));
    slab_init(&st->ranges, env, sizeof(struct rmm_pool_range));
    slab_init(&st->queue_records, env, sizeof(struct rmm_pool_queue));
    meta_map_init(&st->live, env);
    meta_map_init(&st->queue_of, env);
    rc = get_initial(st, initial, err);
    if (rc)
        rmm_pool_fini(st);
    return rc;
}

/* ---- never timed ---- */

static uint64_t rmm_pool_usable(void *state, tp_addr addr)
{
    const struct rmm_pool *st = state;
    const struct rmm_pool_block *b = meta_map_at(&st->live, addr);
    return b ? rmm_pool_allocated(b) : 0;
}

static void rmm_pool_stats(void *state, struct tp_stats *out)
{
    const struct rmm_pool *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved.now, .peak_carved_bytes = st->carved.peak};
}

const struct tp_strategy tp_strategy_rmm_pool = {
    .name = "rmm-pool",
    .summary = "growing pool",
    .resembles = "RMM's pool_memory_resource",
    .to_use = "rmm.reinitialize(pool_allocator=True), or rmm::mr::pool_memory_resource;\n"
              "the options have the same names in RMM",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct rmm_pool),
    .opts_size = sizeof(struct rmm_pool_opts),
    .options = rmm_pool_rows,
    .init = rmm_pool_init,
    .fini = rmm_pool_fini,
    .alloc = rmm_pool_alloc,
    .free = rmm_pool_free,
    .usable = rmm_pool_usable,
    .stats = rmm_pool_stats,
    .walk = tp_rmm_pool_walk,
    .check = tp_rmm_pool_check,
};
