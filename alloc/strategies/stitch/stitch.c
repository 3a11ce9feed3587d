/* The strategy `stitch`: the memory stitching of GMLake (Guo and others, ASPLOS 2024, arXiv
 * 2401.08156), with the constants of its published code for PyTorch 2.0.
 *
 *     up to 1 MiB        the strategy `torch`, whose small pool is all that is used of it
 *     more, in 2 MiB     S1  a free block of this size, primitive or stitched
 *                        S2  a larger primitive block, split; or a larger stitched one, in part
 *                        S3  free blocks of the stream, the largest first, stitched to one
 *                        S4  new memory for what is missing, stitched to what is free
 *     device is full     memory that is free as a whole goes back, then once more
 *     free               primitive blocks merge with their neighbours; a stitched block keeps its
 *                        addresses until all of them together are too many
 *
 * Memory, split and merged, is in stitch_primitives.c, stitching in stitch_joined.c, and what
 * several streams use in stitch_streams.c.
 *
 * Known weakness: no recording of GMLake has been compared. At most 1,024 blocks are stitched to
 * one, and a request gives up after 128 pieces of kept ones that are in use, where GMLake has no
 * limit. Private pools of CUDA graphs are served as all else. */
#include "alloc/base/opt.h"
#include "alloc/strategies/stitch/stitch_core.h"

#define BATCH       10 /* chunks, taken at once for requests below BATCH_BELOW */
#define BATCH_BELOW 5

static const struct tp_opt stitch_rows[] = {
    TP_FLAG_ROW(struct stitch_opts, vmm_defragment, .def = "yes",
                .help = "stitch blocks; no: the strategy torch serves every request\n"
                        "GMLake: vmmDefragment."),
    TP_SIZE_ROW(struct stitch_opts, frag_limit, .def = "512MiB",
                .help = "smallest request that is served by stitching blocks\n"
                        "GMLake: fragLimit. Its tutorial sets 256 MiB for a small model."),
    TP_REAL_AT("reuse_limit", offsetof(struct stitch_opts, reuse_limit), .def = "10", .arg = "X",
               .help = "use stitched blocks of up to X times the request; 1: of its size only\n"
                       "GMLake: reuseLimit. Its paper describes 1."),
    TP_UINT_ROW(struct stitch_opts, defrag_level, .def = "0", .max = 2,
                .help = "when to stitch: 0: as soon as free blocks suffice\n"
                        "1: if the device is full; 2: after free segments have been returned\n"
                        "GMLake: defragLevel."),
    TP_SIZE_ROW(struct stitch_opts, auto_gc, .def = "1000GiB",
                .help = "addresses that all stitched blocks may reserve\n"
                        "Above it the least recently freed ones are dropped, as in the paper. "
                        "GMLake: autoGC, which drops all free ones."),
    TP_FLAG_ROW(struct stitch_opts, re_alloc, .def = "yes",
                .help = "get only the missing memory from the device and stitch it to free blocks\n"
                        "GMLake: reAlloc, by default off in its code; its paper describes yes."),
    TP_SIZE_ROW(struct stitch_opts, small_limit, .def = "1MiB", .max = STITCH_MOST,
                .help = "largest request that the strategy torch serves\n"
                        "GMLake's code: 1 MiB, and larger requests are rounded up to 2 MiB. Its "
                        "paper: 2 MiB."),
    TP_SIZE_ROW(struct stitch_opts, chunk, .def = "2MiB", .min = 4096, .max = UINT64_C(1) << 30,
                .help = "bytes mapped at a time, a power of two\n"
                        "At least the granularity of the source. GMLake: 2 MiB."),
    {.name = NULL}};

/* ---- a block for a request ---- */

static int take_primitive(struct stitch *st, struct stitch_primitive *p, uint64_t size,
                          struct stitch_block **out)
{
    if (slab_reserve_two(&st->primitives))
        return TP_ENOMEM;
    *out = &tp_stitch_cut(st, p, p->b.addr, size)->b;
    return TP_OK;
}

static int reuse_joined(struct stitch *st, struct stitch_joined *j, uint64_t size,
                        struct stitch_block **out)
{
    *out = &j->b;
    return tp_stitch_use(st, j, size);
}

/* S1 and S2. TP_EOOM: no block has the size. */
static int fit(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_block **out)
{
    struct stitch_primitive *p = tp_stitch_fit(st, stream, size);
    struct stitch_joined *j = NULL;
    double most = st->opts.reuse_limit * (double)size;
    if (p && p->b.size == size)
        return take_primitive(st, p, size, out);
    if ((j = tp_stitch_find(st, stream, size, size)))
        return reuse_joined(st, j, size, out);
    if (p)
        return take_primitive(st, p, size, out);
    j = tp_stitch_find(st, stream, size + st->unit,
                       most < (double)STITCH_MOST ? (uint64_t)most : STITCH_MOST);
    return j ? reuse_joined(st, j, size, out) : TP_EOOM;
}

/* S3. TP_EOOM: free blocks do not suffice, or the request is below the limit. */
static int join(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_block **out)
{
    struct stitch_joined *j = NULL;
    int rc = size < st->opts.frag_limit ? TP_EOOM : tp_stitch_join(st, stream, size, &j);
    if (rc)
        return rc;
    *out = &j->b;
    tp_stitch_drop(st, st->opts.auto_gc);
    return TP_OK;
}

/* Bytes that the largest free blocks of a stream have, as many as one more may be stitched to. */
static uint64_t free_bytes(const struct stitch *st, uint16_t stream)
{
    uint64_t bytes = 0;
    uint32_t count = 1;
    for (struct stitch_primitive *p = tp_stitch_largest(st, stream); p && count < STITCH_PIECES;
         p = tp_stitch_smaller(p), count++) {
        TP_STEP();
        bytes += p->b.size;
    }
    return bytes;
}

/* S4. */
static int grow(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_block **out)
{
    struct stitch_primitive *p = NULL;
    uint64_t missing = size;
    if (st->opts.re_alloc && !st->opts.defrag_level && size >= st->opts.frag_limit)
        missing -= free_bytes(st, stream);
    int rc = tp_stitch_grow(st, stream,
                            missing < BATCH_BELOW * st->unit ? BATCH * st->unit : missing, &p);
    if (rc)
        return rc;
    return p->b.size < size ? join(st, stream, size, out) : take_primitive(st, p, size, out);
}

/* The device is full: gives back what is free as a whole, here and in the small pool. */
static int release(struct stitch *st, uint64_t keep)
{
    int rc = tp_stitch_shrink(st, keep);
    uint64_t left = keep > st->whole_bytes ? keep - st->whole_bytes : 0;
    return rc ? rc : tp_strategy_torch.trim(st->torch, left);
}

static int find_block(struct stitch *st, uint16_t stream, uint64_t size, struct stitch_block **out)
{
    int rc = fit(st, stream, size, out);
    if (rc == TP_EOOM && !st->opts.defrag_level)
        rc = join(st, stream, size, out);
    if (rc == TP_EOOM)
        rc = grow(st, stream, size, out);
    if (rc == TP_EOOM && st->opts.defrag_level == 1)
        rc = join(st, stream, size, out);
    if (rc != TP_EOOM)
        return rc;
    rc = release(st, 0);
    if (rc)
        return rc == TP_ENOMEM ? rc : TP_EOOM;
    st->retries++;
    rc = fit(st, stream, size, out);
    if (rc == TP_EOOM)
        rc = grow(st, stream, size, out);
    return rc == TP_EOOM ? join(st, stream, size, out) : rc;
}

static int alloc_large(struct stitch *st, const struct tp_req *rq, uint64_t size,
                       struct tp_block *out)
{
    struct stitch_block *b = NULL;
    int rc = tp_stitch_queue(st, rq->stream)
                 ? tp_addr_map_reserve(&st->live, st->live.count + UINT64_C(1))
                 : TP_ENOMEM;
    if (!rc) {
        tp_stitch_poll(st);
        rc = find_block(st, rq->stream, size, &b);
    }
    if (rc)
        return rc;
    b->state = STITCH_LIVE;
    b->requested = rq->size;
    b->align = rq->align;
    tp_addr_map_insert(&st->live, b->addr + stitch_lead(b), (uintptr_t)b);
    *out = (struct tp_block){b->addr + stitch_lead(b), stitch_allocated(b)};
    return TP_OK;
}

/* Both give back on a full device what the other may need. */
static int alloc_small(struct stitch *st, const struct tp_req *rq, struct tp_block *out)
{
    int rc = tp_strategy_torch.alloc(st->torch, NULL, rq, out);
    uint64_t before = st->bytes;
    if (rc != TP_EOOM)
        return rc;
    rc = tp_stitch_shrink(st, 0);
    if (rc == TP_ENOMEM)
        return rc;
    return st->bytes < before ? tp_strategy_torch.alloc(st->torch, NULL, rq, out) : TP_EOOM;
}

static struct tp_stats stats_of_torch(const struct stitch *st)
{
    struct tp_stats stats = {0};
    tp_strategy_torch.stats(st->torch, &stats);
    return stats;
}

static int stitch_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    struct stitch *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint64_t lead = rq->align > STITCH_GRAIN ? rq->align - STITCH_GRAIN : 0;
    if (rq->size > STITCH_MOST || lead > STITCH_MOST)
        return TP_EOOM;
    uint64_t size = rq->size + lead;
    int rc = size <= st->small_most ? alloc_small(st, rq, out)
                                    : alloc_large(st, rq, round_up(size, st->unit), out);
    st->carved.now = 0;
    carved_add(&st->carved, st->bytes + stats_of_torch(st).carved_bytes);
    return rc;
}

static int stitch_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct stitch *st = state;
    struct stitch_block *b = meta_map_at(&st->live, addr);
    if (!b)
        return tp_strategy_torch.free(st->torch, NULL, addr, rq);
    if (b->requested != rq->size || b->align != rq->align)
        return TP_EINVAL;
    int rc = tp_stitch_note(st, b, rq->stream);
    if (rc)
        return rc; /* the block is still live */
    tp_addr_map_remove(&st->live, addr, NULL);
    if (b->uses)
        tp_stitch_fence(st, b);
    else
        tp_stitch_release(st, b);
    return TP_OK;
}

static int stitch_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    struct stitch *st = state;
    struct stitch_block *b = meta_map_at(&st->live, addr);
    return b ? tp_stitch_note(st, b, stream) : tp_strategy_torch.use(st->torch, NULL, addr, stream);
}

/* empty_cache(), which drops the stitched blocks too. */
static int stitch_trim(void *state, uint64_t keep)
{
    struct stitch *st = state;
    int rc = release(st, keep);
    return rc || keep ? rc : tp_stitch_drop(st, 0);
}

/* ---- start and end ---- */

/* Two rounds: what the source refuses at first may go once the rest is gone. */
static void put_all(struct stitch *st)
{
    struct tp_link *lists[] = {&st->idle, &st->busy}, *next = NULL;
    wait_for_streams(st->env);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++)
            for (struct tp_link *l = lists[i]->behind; l != lists[i]; l = next) {
                next = l->behind;
                tp_stitch_undo(st, stitch_in_list(l));
            }
        for (struct tp_link *l = st->stretches.behind; l != &st->stretches; l = next) {
            next = l->behind;
            if (tp_stitch_put(st, stitch_stretch_of(l)))
                tp_link_out(l);
        }
    }
}

static void drop_tables(struct stitch *st)
{
    tp_addr_map_fini(&st->live);
    tp_addr_map_fini(&st->queue_of);
    slab_fini(&st->primitives);
    slab_fini(&st->joined_records);
    slab_fini(&st->stretch_records);
    slab_fini(&st->queue_records);
    slab_fini(&st->uses);
    tp_meta_put(st->env, st->picked, STITCH_PIECES * sizeof *st->picked);
    tp_meta_put(st->env, st->torch, tp_strategy_torch.state_size);
}

static void stitch_fini(void *state)
{
    struct stitch *st = state;
    put_all(st);
    tp_strategy_torch.fini(st->torch);
    drop_tables(st);
}

/* An instance of `torch` with its defaults. */
static int open_torch(struct stitch *st, struct tp_err *err)
{
    void *opts = tp_meta_get(st->env, tp_strategy_torch.opts_size);
    st->torch = tp_meta_get(st->env, tp_strategy_torch.state_size);
    int rc = opts && st->torch ? tp_opts_defaults(tp_strategy_torch.options, opts, err)
                               : tp_fail(err, TP_ENOMEM, "out of memory");
    if (!rc) {
        rc = tp_strategy_torch.init(st->torch, st->env, opts, err);
        tp_opts_release(tp_strategy_torch.options, opts);
    }
    tp_meta_put(st->env, opts, tp_strategy_torch.opts_size);
    return rc;
}

static int check_source(struct stitch *st, struct tp_err *err)
{
    struct tp_source *source = st->env->source;
    uint64_t page = tp_src_map_page(source), chunk = st->opts.chunk;
    st->unit = chunk > page ? chunk : page;
    if (chunk & (chunk - 1))
        return tp_fail(err, TP_EUSAGE, "strategy 'stitch': 'chunk' must be a power of two");
    if (!st->opts.vmm_defragment || (page && st->unit % page == 0 && tp_src_has_aliases(source)))
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE,
                           "strategy 'stitch' needs memory that can be mapped at two addresses, "
                           "which this source does not have"),
                   "'--source virtual' simulates it");
}

static int stitch_init(void *state, const struct tp_env *env, const void *options,
                       struct tp_err *err)
{
    struct stitch *st = state;
    st->env = env;
    st->opts = *(const struct stitch_opts *)options;
    st->small_most = st->opts.vmm_defragment ? st->opts.small_limit : UINT64_MAX;
    st->fenced = tp_src_has_fences(env->source);
    int rc = check_source(st, err);
    if (rc)
        return rc;
    tp_link_init(&st->stretches);
    tp_link_init(&st->wholes);
    tp_link_init(&st->idle);
    tp_link_init(&st->busy);
    slab_init(&st->primitives, env, sizeof(struct stitch_primitive));
    slab_init(&st->joined_records, env, sizeof(struct stitch_joined));
    slab_init(&st->stretch_records, env, sizeof(struct stitch_stretch));
    slab_init(&st->queue_records, env, sizeof(struct stitch_queue));
    slab_init(&st->uses, env, sizeof(struct stream_use));
    meta_map_init(&st->live, env);
    meta_map_init(&st->queue_of, env);
    st->picked = tp_meta_get(env, STITCH_PIECES * sizeof *st->picked);
    rc = st->picked ? open_torch(st, err) : tp_fail(err, TP_ENOMEM, "out of memory");
    if (rc)
        drop_tables(st);
    return rc;
}

/* ---- never timed ---- */

static uint64_t stitch_usable(void *state, tp_addr addr)
{
    const struct stitch *st = state;
    const struct stitch_block *b = meta_map_at(&st->live, addr);
    return b ? stitch_allocated(b) : tp_strategy_torch.usable(st->torch, addr);
}

static void stitch_stats(void *state, struct tp_stats *out)
{
    const struct stitch *st = state;
    const struct tp_stats torch = stats_of_torch(st);
    *out = (struct tp_stats){.carved_bytes = st->bytes + torch.carved_bytes,
                             .peak_carved_bytes = st->carved.peak,
                             .retries = st->retries + torch.retries};
}

const struct tp_strategy tp_strategy_stitch = {
    .name = "stitch",
    .summary = "stitched blocks",
    .resembles = "GMLake's memory stitching for PyTorch",
    .to_use = "GMLake's libc10_cuda.so in place of PyTorch's; the options are environment\n"
              "variables there",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS | TP_CAP_ALIASES,
    .state_size = sizeof(struct stitch),
    .opts_size = sizeof(struct stitch_opts),
    .options = stitch_rows,
    .init = stitch_init,
    .fini = stitch_fini,
    .alloc = stitch_alloc,
    .free = stitch_free,
    .use = stitch_use,
    .trim = stitch_trim,
    .usable = stitch_usable,
    .stats = stitch_stats,
    .walk = tp_stitch_walk,
    .check = tp_stitch_check,
};
