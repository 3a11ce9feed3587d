/* The strategy `torch`: PyTorch's CUDA caching allocator, rule by rule.
 *
 *     alloc --> size rounded up --> small or large pool, own stream --> the smallest free block
 *           --> split where enough is left        none fits --> a segment from the source
 *     free  --> merged with its free neighbours   used on other streams --> when they are past it
 *
 * Segments go back when the source is out of memory, with empty_cache (TRIM), and when garbage is
 * collected. Numbers are in torch_rules.c, settings in torch_conf.c; requests in torch_blocks.c,
 * free blocks in torch_pool.c, segments in torch_segments.c; a heap that a recording began with is
 * taken by torch_start.c, or put where it was by torch_place.c.
 *
 * With expandable_segments a segment is a reserved stretch of addresses where memory is mapped in
 * units (torch_growing.c). The setting is that of new segments: a recorded heap may have others.
 *
 * Known weakness: cached memory of private pools never goes back, because a trace does not say when
 * the graph of a pool is gone. Of alignments above 512 bytes, which PyTorch does not know, more
 * memory is taken. What a pool served because the device was full (use_on_oom) is recorded as that
 * pool's, and is replayed so on a larger device too. */
#include "alloc/strategies/torch/torch_core.h"
#include "alloc/strategies/torch/torch_place.h"

#include <stdio.h>

/* Behind the first, the names of tp_torch_devices. */
static const char *const torch_allocators[] = {"recorded", "cuda", "hip", "xpu", "npu", NULL};

static const struct tp_opt torch_rows[] = {
    TP_TEXT_AT(
        "conf", offsetof(struct torch_opts, conf), .arg = "TEXT",
        .help =
            "value of PYTORCH_CUDA_ALLOC_CONF, in braces if it contains a comma\n"
            "Example: conf={max_split_size_mb:128,backend:native}. With "
            "conf={A;B@PHASE;C@OTHER} the program sets B and C each time that phase of the trace "
            "begins."),
    TP_CHOICE_AT("allocator", offsetof(struct torch_opts, allocator), .def = "recorded",
                 .choices = torch_allocators, .arg = "DEVICE",
                 .help = "allocator variant: npu (Ascend) adds 32 bytes to each request\n"
                         "recorded: as in the trace, cuda if unknown"),
    TP_LIST_AT("no_split", offsetof(struct torch_opts, no_split), .arg = "POOL",
               .help = "private pool whose blocks are never split, as 0.1; repeatable\n"
                       "MemPool(no_split=True); snapshots do not record it."),
    TP_LIST_AT("use_on_oom", offsetof(struct torch_opts, use_on_oom), .arg = "POOL",
               .help = "private pool that serves the default pool on OOM; repeatable\n"
                       "MemPool(use_on_oom=True); snapshots do not record it."),
    TP_TEXT_AT("version", offsetof(struct torch_opts, version), .arg = "X.Y",
               .help = "PyTorch release to model, as 2.9\n"
                       "Default: the newest release that writes such a snapshot."),
    {.name = NULL}};

static int needs_size(const char *key, struct tp_err *err)
{
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE, "strategy 'torch': '%s' needs the device's size", key),
                   "--capacity SIZE");
}

/* The shares of the device that segments may take, and that one which grows reserves. */
static int limit_memory(struct torch *st, struct tp_err *err)
{
    bool share = st->rules.reserve_share > 0;
    for (size_t i = 0; i < st->part_count; i++)
        share |= st->parts[i].settings.values.reserve_share > 0;
    st->allowed = UINT64_MAX;
    bool sized = share || st->rules.memory_fraction > 0; /* else the size is not asked for */
    uint64_t capacity = sized ? tp_src_capacity(st->env->source) : 0;
    if (!capacity && share)
        return needs_size("expandable_segments_reserve", err);
    if (!(st->rules.memory_fraction > 0))
        return TP_OK;
    if (!capacity)
        return needs_size("per_process_memory_fraction", err);
    st->allowed = (uint64_t)(st->rules.memory_fraction * (double)capacity);
    return TP_OK;
}

/* Segments that grow need a source that maps memory. */
static int check_mapping(const struct torch *st, struct tp_err *err)
{
    uint64_t page = tp_src_map_page(st->env->source);
    bool grows = st->rules.expandable;
    for (size_t i = 0; i < st->part_count; i++)
        grows |= st->parts[i].settings.values.expandable;
    if (!grows || (page && st->rules.small_segment % page == 0))
        return TP_OK;
    return tp_hint(err,
                   tp_fail(err, TP_EUSAGE,
                           "strategy 'torch': 'expandable_segments:True' needs memory that is "
                           "mapped in units of 2 MiB, which this source does not have"),
                   "'--source virtual' simulates it");
}

/* The numbers of pools, "0.1". */
static int read_pools(const struct tp_env *env, const struct tp_opt_list *list,
                      struct torch_pools *out, struct tp_err *err)
{
    if (!list->count)
        return TP_OK;
    out->room = list->count;
    out->numbers = tp_meta_get(env, out->room * sizeof *out->numbers);
    if (!out->numbers)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    for (; out->count < list->count; out->count++) {
        const char *text = list->items[out->count];
        unsigned first = 0, second = 0;
        int used = 0;
        if (sscanf(text, "%8u.%8u%n", &first, &second, &used) != 2 || text[used] ||
            first > TP_POOL_MOST || second > TP_POOL_MOST || !(first | second))
            return tp_fail(err, TP_EUSAGE, "'%.63s' is not a private pool such as 0.1", text);
        out->numbers[out->count] = tp_pool_number(first, second);
    }
    return TP_OK;
}

static void release_options(struct torch *st)
{
    tp_torch_phases_release(st);
    tp_meta_put(st->env, st->whole.numbers, st->whole.room * sizeof *st->whole.numbers);
    tp_meta_put(st->env, st->spares.numbers, st->spares.room * sizeof *st->spares.numbers);
}

static int take_options(struct torch *st, const struct torch_opts *opts, struct tp_err *err)
{
    int rc =
        opts->version && *opts->version ? tp_torch_version(&st->rules, opts->version, err) : TP_OK;
    if (!rc)
        rc = read_pools(st->env, &opts->no_split, &st->whole, err);
    if (!rc)
        rc = read_pools(st->env, &opts->use_on_oom, &st->spares, err);
    if (!rc)
        rc = tp_torch_phases_read(st, opts->conf ? opts->conf : "", err);
    return rc ? tp_prefix(err, rc, "strategy 'torch'") : TP_OK;
}

static int torch_init(void *state, const struct tp_env *env, const void *options,
                      struct tp_err *err)
{
    const struct torch_opts *opts = options;
    struct torch *st = state;
    st->env = env;
    st->rules = tp_torch_rules_for(
        tp_torch_device(opts->allocator ? torch_allocators[opts->allocator] : NULL));
    int rc = take_options(st, opts, err);
    if (!rc)
        rc = limit_memory(st, err);
    if (!rc)
        rc = check_mapping(st, err);
    if (rc) {
        release_options(st);
        return rc;
    }
    st->small.small = true;
    st->fenced = tp_src_has_fences(env->source);
    tp_link_init(&st->segments);
    slab_init(&st->blocks, env, sizeof(struct torch_block));
    slab_init(&st->segment_records, env, sizeof(struct torch_segment));
    slab_init(&st->queue_records, env, sizeof(struct fence_queue));
    slab_init(&st->uses, env, sizeof(struct stream_use));
    meta_map_init(&st->live, env);
    meta_map_init(&st->queue_of, env);
    meta_map_init(&st->private_of, env);
    slab_init(&st->private_records, env, sizeof(struct torch_private));
    return TP_OK;
}

static void torch_fini(void *state)
{
    struct torch *st = state;
    tp_torch_put_all(st);
    tp_addr_map_fini(&st->live);
    tp_addr_map_fini(&st->queue_of);
    tp_addr_map_fini(&st->private_of);
    slab_fini(&st->private_records);
    slab_fini(&st->blocks);
    slab_fini(&st->segment_records);
    slab_fini(&st->queue_records);
    slab_fini(&st->uses);
    release_options(st);
}

static void torch_choose_pool(void *state, void *thread, uint64_t pool)
{
    struct torch_thread *t = thread;
    (void)state;
    t->pool = pool;
}

/* `t` is NULL where a comparison has chosen the pool (torch_place.h). */
static int torch_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    struct torch *st = state;
    struct torch_thread *t = thread;
    if (__builtin_expect(!t || !t->pool, 1))
        return tp_torch_alloc(st, rq, out);
    if (!request_is_sound(rq))
        return TP_EINVAL;
    int rc = tp_torch_choose_pool(st, t->pool);
    if (rc == TP_OK)
        rc = tp_torch_alloc(st, rq, out);
    st->chosen = NULL;
    if (rc != TP_ENOMEM)
        t->pool = 0;
    return rc;
}

static int torch_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    return tp_torch_free(state, addr, rq);
}

static int torch_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    return tp_torch_use(state, addr, stream);
}

/* empty_cache() */
static int torch_trim(void *state, uint64_t keep)
{
    return tp_torch_release_cached(state, keep);
}

static int torch_start(void *state, const struct tp_heap *heap)
{
    return tp_torch_start(state, heap);
}

static uint64_t torch_usable(void *state, tp_addr addr)
{
    const struct torch_block *b = torch_find_live(state, addr);
    return b ? torch_allocated(b) : 0;
}

static void torch_stats(void *state, struct tp_stats *out)
{
    const struct torch *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved.now,
                             .peak_carved_bytes = st->carved.peak,
                             .retries = st->retries};
}

const struct tp_strategy tp_strategy_torch = {
    .name = "torch",
    .summary = "best fit, split",
    .resembles = "PyTorch's CUDA caching allocator",
    .to_use = "PyTorch's default, unless PYTORCH_CUDA_ALLOC_CONF has backend:cudaMallocAsync;\n"
              "conf takes the value of that variable",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct torch),
    .thread_size = sizeof(struct torch_thread),
    .opts_size = sizeof(struct torch_opts),
    .options = torch_rows,
    .init = torch_init,
    .fini = torch_fini,
    .alloc = torch_alloc,
    .free = torch_free,
    .use = torch_use,
    .trim = torch_trim,
    .choose_pool = torch_choose_pool,
    .phases = tp_torch_phases,
    .phase = tp_torch_phase,
    .usable = torch_usable,
    .stats = torch_stats,
    .walk = tp_torch_walk,
    .check = tp_torch_check,
    .start = torch_start,
};
