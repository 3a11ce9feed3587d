/* The strategy `bfc`: "best fit with coalescing", the allocator of TensorFlow, JAX and ONNX
 * Runtime, rule by rule.
 *
 *     alloc --> a multiple of 256 bytes --> the smallest free chunk, of equal ones the lowest
 *           --> split if it has twice the size, or 128 MiB more; else all of it serves
 *           --> none fits: a region from the source, each twice as large as the one before, or the
 *               whole limit at once where it is known (tf and jax, unless they grow)
 *     free  --> merged with its free neighbours in the region
 *
 * The flavour ort has chunks of streams: one serves its first request's stream from then on, and is
 * merged with those of the same stream alone. TRIM is its Shrink; tf and jax have none, but tf
 * gives unused regions back before it is out of memory. Numbers are in bfc_rules.h, options in
 * bfc_options.c; requests in bfc_chunks.c, free chunks in bfc_bins.c, regions in bfc_regions.c; a
 * heap that a recording began with is taken by bfc_start.c, or put where it was by bfc_place.c.
 *
 * Known weakness: TensorFlow and JAX compute on one stream. Where a trace has several, the stream
 * that gets a chunk waits for those that freed bytes of it, and chunks serve across streams; in ort
 * they never do, as without its notifications between streams. Their wait of up to 10 seconds for
 * memory that other threads free is not simulated, nor are regions that join because addresses
 * follow each other, nor the two ends of one range that XLA can divide by kind of memory.
 * TensorFlow leaves a part of the device to the system; here mem_fraction has to say so. An
 * alignment above 256 bytes is served by a region whose base is known to be so aligned: regions of
 * 2 MiB or more are to 2 MiB; for more, a region is got. */
#include "alloc/strategies/bfc/bfc_core.h"

static void bfc_fini(void *state)
{
    struct bfc *st = state;
    tp_bfc_put_all(st);
    tp_addr_map_fini(&st->live);
    tp_addr_map_fini(&st->bins_of);
    slab_fini(&st->chunks);
    slab_fini(&st->regions);
    slab_fini(&st->bin_records);
}

static int bfc_init(void *state, const struct tp_env *env, const void *options, struct tp_err *err)
{
    struct bfc *st = state;
    st->env = env;
    int rc = tp_bfc_take_options(st, options, err);
    if (rc)
        return rc;
    tp_link_init(&st->unused);
    slab_init(&st->chunks, env, sizeof(struct bfc_chunk));
    slab_init(&st->regions, env, sizeof(struct bfc_region));
    slab_init(&st->bin_records, env, sizeof(struct bfc_bins));
    meta_map_init(&st->live, env);
    meta_map_init(&st->bins_of, env);
    return TP_OK;
}

static int bfc_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    return tp_bfc_alloc(state, rq, out);
}

static int bfc_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    return tp_bfc_free(state, addr, rq);
}

static int bfc_trim(void *state, uint64_t keep)
{
    struct bfc *st = state;
    if (!st->rules.shrinks)
        return TP_EUNSUP;
    tp_bfc_shrink(st, keep);
    return TP_OK;
}

static int bfc_start(void *state, const struct tp_heap *heap)
{
    return tp_bfc_start(state, heap);
}

static uint64_t bfc_usable(void *state, tp_addr addr)
{
    const struct bfc_chunk *c = bfc_find_live(state, addr);
    return c ? c->size : 0;
}

static void bfc_stats(void *state, struct tp_stats *out)
{
    const struct bfc *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved.now,
                             .peak_carved_bytes = st->carved.peak,
                             .retries = st->retries};
}

const struct tp_strategy tp_strategy_bfc = {
    .name = "bfc",
    .summary = "best fit, merged",
    .resembles = "TensorFlow, JAX, ONNX Runtime",
    .to_use = "TensorFlow's and JAX's default on GPUs; ONNX Runtime's arena.\n"
              "TensorFlow: TF_FORCE_GPU_ALLOW_GROWTH, TF_ENABLE_GPU_GARBAGE_COLLECTION\n"
              "JAX: XLA_PYTHON_CLIENT_PREALLOCATE, XLA_PYTHON_CLIENT_MEM_FRACTION\n"
              "ONNX Runtime: OrtArenaCfg and gpu_mem_limit, with the names of these options\n"
              "Not simulated: waits of up to 10 s for frees before OOM, and regions that join.\n"
              "Tested by hand only, as no public recording has them: rests of 128 MiB, refused\n"
              "and released regions, OOM, and all of ort",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct bfc),
    .opts_size = sizeof(struct bfc_opts),
    .options = tp_bfc_rows,
    .init = bfc_init,
    .fini = bfc_fini,
    .alloc = bfc_alloc,
    .free = bfc_free,
    .trim = bfc_trim,
    .usable = bfc_usable,
    .stats = bfc_stats,
    .walk = tp_bfc_walk,
    .check = tp_bfc_check,
    .start = bfc_start,
};
