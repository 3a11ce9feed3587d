/* The strategy `cudaMallocAsync`: the driver's own stream-ordered pool.
 *
 *     alloc on s         --> one call: allocate on s
 *     use on x           --> remembered
 *     free on s          --> s waits for the streams that the block was allocated and used on, as
 *                            far as they are others (an event each); then one call: free on s
 *
 * Programs that use this pool do the same, because the driver trusts that a free comes after all
 * work on the block. All decisions are the driver's. This file only keeps a table of live blocks,
 * so that wrong frees are detected before the driver sees them, and the streams that `use` named. A
 * block with more alignment than the driver gives lies inside a larger one.
 *
 * An allocation that is out of memory is not tried again. Before the driver answers so, it has
 * searched the memory that other streams freed; with reuse_allow_internal_dependencies it makes the
 * allocating stream wait for a pending free; and it can map the pool's idle memory again. A trim
 * would only give back memory that the driver could have used itself, and cannot free memory whose
 * free is pending. PyTorch's backend and RMM's resource pass the failure on as well.
 *
 * Known weakness: each use of a block searches the block's streams one by one, which is slow for
 * very many streams; and a free waits for a stream that used the block even if the host has
 * synchronised with that stream since. */
#include "alloc/base/opt.h"
#include "alloc/strategies/common/chores.h"
#include "alloc/strategies/common/record_slab.h"

#define POOL_ALIGN     UINT64_C(512)       /* bytes; alignment of every block from the driver */
#define MAX_BYTES      (UINT64_C(1) << 60) /* larger requests fail without a driver call */
#define INLINE_STREAMS 6u
#define MORE_STREAMS   27u

enum pool_kind { POOL_DEFAULT, POOL_OWN };

struct async_opts {
    uint32_t pool;
    uint64_t max_size, release_threshold, preload;
    bool reuse_follow_event_dependencies, reuse_allow_opportunistic;
    bool reuse_allow_internal_dependencies;
};

static const char *const pool_words[] = {"default", "own", NULL};
static const char *const max_words[] = {"max", NULL};

#define REUSE_ROW(member, text) TP_FLAG_ROW(struct async_opts, member, .def = "yes", .help = text)

static const struct tp_opt async_rows[] = {
    TP_CHOICE_ROW(struct async_opts, pool, .def = "default", .choices = pool_words, .arg = "WHICH",
                  .help = "memory pool to use\n"
                          "default: the device's default pool\n"
                          "own: a new pool for this replay"),
    TP_SIZE_ROW(struct async_opts, max_size, .def = "0", .max = MAX_BYTES,
                .help = "max bytes of the pool with pool=own; 0: the limit of CUDA"),
    TP_SIZE_ROW(struct async_opts, release_threshold, .def = "0", .choices = max_words,
                .help = "reserved bytes to keep when a stream, an event or the device syncs\n"
                        "0: release all free memory, the default of CUDA\n"
                        "max: release nothing"),
    REUSE_ROW(reuse_follow_event_dependencies,
              "reuse blocks of another stream if an event orders the allocation after the free"),
    REUSE_ROW(reuse_allow_opportunistic,
              "reuse blocks of another stream if it happens to have passed the free"),
    REUSE_ROW(reuse_allow_internal_dependencies,
              "let the stream wait for a pending free rather than reserve more memory"),
    TP_SIZE_ROW(struct async_opts, preload, .def = "0", .max = MAX_BYTES,
                .help = "bytes to allocate and free once at the start, to fill the pool\n"
                        "release_threshold decides whether the pool keeps them"),
    {.name = NULL}};

/* Further streams of a block that has more than fit into struct async_block. */
struct more_streams {
    struct more_streams *next; /* older entry, which is full */
    uint16_t count;
    uint16_t streams[MORE_STREAMS];
};

/* A live block. A free record is zero except for its first word. */
struct async_block {
    uint64_t size; /* bytes asked for */
    /* address that the driver gave; the block's own address is its key in the table */
    tp_addr base;
    struct more_streams *more;
    uint16_t stream;               /* stream of the allocation */
    uint16_t used_count;           /* valid entries of `used` */
    uint16_t used[INLINE_STREAMS]; /* other streams that used the block, each once */
};
static_assert(sizeof(struct async_block) == 40 && sizeof(struct more_streams) == 64,
              "bookkeeping per block");

struct async {
    const struct tp_env *env;
    struct tp_addr_map live; /* address -> struct async_block * */
    struct slab blocks, more;
};

/* ---- further streams ---- */

static bool has_stream(const uint16_t *streams, uint32_t count, uint16_t stream)
{
    for (uint32_t i = 0; i < count; i++)
        if (streams[i] == stream)
            return true;
    return false;
}

static bool is_known_stream(const struct async_block *b, uint16_t stream)
{
    if (stream == b->stream || has_stream(b->used, b->used_count, stream))
        return true;
    for (const struct more_streams *m = b->more; m; m = m->next)
        if (has_stream(m->streams, m->count, stream))
            return true;
    return false;
}

static int remember_stream(struct async *st, struct async_block *b, uint16_t stream)
{
    if (b->used_count < INLINE_STREAMS) {
        b->used[b->used_count++] = stream;
        return TP_OK;
    }
    if (!b->more || b->more->count == MORE_STREAMS) {
        struct more_streams *fresh = slab_take(&st->more);
        if (!fresh)
            return TP_ENOMEM;
        fresh->next = b->more;
        b->more = fresh;
    }
    b->more->streams[b->more->count++] = stream;
    return TP_OK;
}

static int follow_all(struct tp_source *src, uint16_t stream, const uint16_t *after, uint32_t count)
{
    int rc = TP_OK;
    for (uint32_t i = 0; i < count && !rc; i++)
        if (after[i] != stream)
            rc = tp_src_follow(src, stream, after[i]);
    return rc;
}

/* Makes later work of `stream` wait for all work on the block so far. */
static int order_after_uses(struct async *st, const struct async_block *b, uint16_t stream)
{
    struct tp_source *src = st->env->source;
    int rc = follow_all(src, stream, &b->stream, 1);
    if (!rc)
        rc = follow_all(src, stream, b->used, b->used_count);
    for (const struct more_streams *m = b->more; m && !rc; m = m->next)
        rc = follow_all(src, stream, m->streams, m->count);
    return rc;
}

static void forget(struct async *st, struct async_block *b)
{
    for (struct more_streams *m = b->more, *next; m; m = next) {
        next = m->next;
        slab_give(&st->more, m);
    }
    slab_give(&st->blocks, b);
}

/* ---- from init to fini ---- */

/* The text of an option as it was given: "64MiB". */
struct option_text {
    char text[64];
};

static struct option_text text_of(const struct async_opts *opts, const char *name)
{
    struct option_text out;
    tp_opt_format(tp_opt_find(async_rows, name), opts, out.text, sizeof out.text);
    return out;
}

static int fail_preload(struct tp_source *src, const struct async_opts *opts, int status,
                        struct tp_err *err)
{
    if (status == TP_EOOM)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "strategy 'cudaMallocAsync': there is no room for 'preload=%s'",
                               text_of(opts, "preload").text),
                       "a smaller 'preload', or none");
    int rc = tp_src_fault(src, err);
    return rc ? rc
              : tp_fail(err, (enum tp_status)status, "strategy 'cudaMallocAsync': 'preload': %s",
                        tp_status_text(status));
}

static int preload(struct tp_source *src, const struct async_opts *opts, struct tp_err *err)
{
    tp_addr addr = 0;
    if (!opts->preload)
        return TP_OK;
    int rc = tp_src_get_async(src, opts->preload, 0, &addr);
    if (!rc)
        rc = tp_src_put_async(src, addr, 0);
    return rc ? fail_preload(src, opts, rc, err) : TP_OK;
}

static int async_init(void *state, const struct tp_env *env, const void *options,
                      struct tp_err *err)
{
    const struct async_opts *opts = options;
    struct async *st = state;
    const struct tp_pool_cfg cfg = {
        .own = opts->pool == POOL_OWN,
        .max_size = opts->max_size,
        .release_threshold = opts->release_threshold, /* the keyword `max` is UINT64_MAX */
        .reuse_follow_event_dependencies = opts->reuse_follow_event_dependencies,
        .reuse_allow_opportunistic = opts->reuse_allow_opportunistic,
        .reuse_allow_internal_dependencies = opts->reuse_allow_internal_dependencies};
    if (cfg.max_size && !cfg.own)
        return tp_hint(err,
                       tp_fail(err, TP_EUSAGE,
                               "strategy 'cudaMallocAsync': 'max_size' is for a pool of its own, "
                               "the device's default pool has no limit"),
                       "cudaMallocAsync:pool=own,max_size=%s", text_of(opts, "max_size").text);
    int rc = tp_src_pool_open(env->source, &cfg, err);
    if (rc)
        return rc;
    rc = preload(env->source, opts, err);
    if (rc) {
        tp_src_pool_close(env->source);
        return rc;
    }
    st->env = env;
    slab_init(&st->blocks, env, sizeof(struct async_block));
    slab_init(&st->more, env, sizeof(struct more_streams));
    meta_map_init(&st->live, env);
    return TP_OK;
}

/* Errors of the driver are not returned here; the source records them as its fault. */
static void async_fini(void *state)
{
    struct async *st = state;
    struct slab_cursor c = slab_first(&st->blocks);
    for (const struct async_block *b; (b = slab_next(&c));) {
        if (!b->base)
            continue;
        order_after_uses(st, b, b->stream);
        tp_src_put_async(st->env->source, b->base, b->stream);
    }
    tp_src_pool_close(st->env->source);
    tp_addr_map_fini(&st->live);
    slab_fini(&st->blocks);
    slab_fini(&st->more);
}

/* ---- operations ---- */

/* Gets a block with the requested alignment. The driver promises 256 bytes and has always given
 * 512. Where it gives less than assumed, the block is given back, and a larger one with room for
 * any alignment is got instead. */
static int get_aligned(struct tp_source *src, const struct tp_req *rq, tp_addr *base, tp_addr *addr)
{
    uint64_t room = rq->align > POOL_ALIGN ? rq->align - POOL_ALIGN : 0;
    for (;;) {
        int rc = tp_src_get_async(src, rq->size + room, rq->stream, base);
        if (rc)
            return rc;
        *addr = (*base + rq->align - 1) & ~(rq->align - 1);
        if (__builtin_expect(*addr - *base <= room, 1))
            return TP_OK;
        rc = tp_src_put_async(src, *base, rq->stream);
        if (rc)
            return rc;
        room = rq->align;
    }
}

static int async_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    struct async *st = state;
    tp_addr base = 0, addr = 0;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > MAX_BYTES || rq->align > MAX_BYTES)
        return TP_EOOM;
    int rc = slab_reserve(&st->blocks); /* reserved first, so that nothing has to be undone later */
    if (!rc)
        rc = tp_addr_map_reserve(&st->live, st->live.count + 1);
    if (!rc)
        rc = get_aligned(st->env->source, rq, &base, &addr);
    if (rc)
        return rc;
    struct async_block *b = slab_take(&st->blocks);
    b->size = rq->size;
    b->base = base;
    b->stream = rq->stream;
    tp_addr_map_insert(&st->live, addr, (uintptr_t)b);
    *out = (struct tp_block){addr, rq->size};
    return TP_OK;
}

static struct async_block *find(const struct async *st, tp_addr addr)
{
    return meta_map_at(&st->live, addr);
}

/* Frees a block. If the driver refuses, the block stays live. */
static int async_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct async *st = state;
    struct async_block *b = find(st, addr);
    if (!b || b->size != rq->size)
        return TP_EINVAL;
    int rc = order_after_uses(st, b, rq->stream);
    if (!rc)
        rc = tp_src_put_async(st->env->source, b->base, rq->stream);
    if (rc)
        return rc;
    tp_addr_map_remove(&st->live, addr, NULL);
    forget(st, b);
    return TP_OK;
}

static int async_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    struct async *st = state;
    struct async_block *b = find(st, addr);
    if (!b)
        return TP_EINVAL;
    return is_known_stream(b, stream) ? TP_OK : remember_stream(st, b, stream);
}

static int async_trim(void *state, uint64_t keep)
{
    struct async *st = state;
    return tp_src_pool_trim(st->env->source, keep);
}

/* ---- never timed ---- */

static uint64_t async_usable(void *state, tp_addr addr)
{
    const struct async_block *b = find(state, addr);
    return b ? b->size : 0;
}

static void async_stats(void *state, struct tp_stats *out)
{
    (void)state;
    *out = (struct tp_stats){0};
}

/* NULL, or what is wrong with the streams of a block. Adds the number of its struct more_streams to
 * *pages. */
static const char *streams_fault(const struct async_block *b, uint64_t *pages)
{
    if (b->used_count > INLINE_STREAMS || (b->more && b->used_count != INLINE_STREAMS))
        return "the further streams of a block do not add up";
    for (uint32_t i = 0; i < b->used_count; i++)
        if (b->used[i] == b->stream || has_stream(b->used, i, b->used[i]))
            return "a stream of a block is remembered twice";
    for (const struct more_streams *m = b->more; m; m = m->next, ++*pages) {
        if (!m->count || m->count > MORE_STREAMS || (m != b->more && m->count != MORE_STREAMS))
            return "the further streams of a block do not add up";
        for (uint32_t i = 0; i < m->count; i++)
            if (m->streams[i] == b->stream || has_stream(m->streams, i, m->streams[i]) ||
                has_stream(b->used, b->used_count, m->streams[i]))
                return "a stream of a block is remembered twice";
    }
    return NULL;
}

static int async_check(void *state, struct tp_err *err)
{
    const struct async *st = state;
    const struct tp_addr_entry *e;
    uint64_t pages = 0;
    const char *fault = NULL;
    for (uint64_t at = 0; !fault && (e = tp_addr_map_next(&st->live, &at));) {
        const struct async_block *b = (const struct async_block *)(uintptr_t)e->value;
        if (!b->base || !b->size || e->key < b->base)
            fault = "a block lies outside of what the driver gave";
        else
            fault = streams_fault(b, &pages);
    }
    if (!fault && st->blocks.used != st->live.count)
        fault = "the table and the records differ";
    if (!fault && st->more.used != pages)
        fault = "records of streams belong to no block";
    return fault ? tp_fail(err, TP_EBROKEN, "strategy 'cudaMallocAsync': %s", fault) : TP_OK;
}

const struct tp_strategy tp_strategy_cuda_malloc_async = {
    .name = "cudaMallocAsync",
    .summary = "the CUDA driver",
    .resembles = "PyTorch's and RMM's async backends",
    .to_use = "in PyTorch PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync; in C\n"
              "cudaMallocAsync(&p, size, stream) and cudaFreeAsync(p, stream); the options are\n"
              "those of cudaMemPoolCreate and cudaMemPoolSetAttribute",
    .group = TP_GROUP_REAL,
    .caps = TP_CAP_STREAMS | TP_CAP_ALIGN | TP_CAP_ASYNC,
    .state_size = sizeof(struct async),
    .opts_size = sizeof(struct async_opts),
    .options = async_rows,
    .init = async_init,
    .fini = async_fini,
    .alloc = async_alloc,
    .free = async_free,
    .use = async_use,
    .trim = async_trim,
    .usable = async_usable,
    .stats = async_stats,
    .check = async_check,
};
