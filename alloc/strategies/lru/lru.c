/* The strategy `lru`: a cache of blocks by exact layout (size and alignment), with a limit on the
 * number of layouts.
 *
 *     alloc(4096, 16):  the newest free block of the key (4096, 16), else the source
 *     free:             on the stack of its key, which becomes the most recent one;
 *                       over a limit, the least recent key gives its oldest block back
 *
 * This is a buffer cache as frameworks have: a program that repeats the same sizes never reaches
 * the source, and a program whose sizes vary by a byte always does, unless `round` makes them
 * equal. Every block is a range of the source, in whole pages, so there are no neighbours to merge.
 * References are counted. With several streams a block goes to another stream only after its fences
 * have passed.
 *
 * Known weaknesses: an object of 64 bytes holds a page. A limit smaller than what a program cycles
 * through makes every call a source call. With several streams, the free blocks of a key are
 * searched from the newest on until one may be used; if that takes long, an index is made
 * (lru_index.c), which slows every call down. Where fences of different streams pass in no order (a
 * real device), a miss queries each stream with pending work. */
#include "alloc/strategies/lru/lru_nodes.h"

struct lru_opts {
    uint64_t capacity_layouts, capacity_bytes, capacity_blocks;
    uint32_t round; /* enum size_round */
};

/* Words in the order of enum size_round. */
static const char *const round_words[] = {"none", "512", "pow2", "eighth", NULL};

static const struct tp_opt lru_rows[] = {
    TP_UINT_ROW(struct lru_opts, capacity_layouts, .def = "100",
                .help = "sizes and alignments with free blocks, 0 = no limit"),
    TP_SIZE_ROW(struct lru_opts, capacity_bytes, .def = "0",
                .help = "bytes of free blocks, 0 = no limit"),
    TP_UINT_ROW(struct lru_opts, capacity_blocks, .def = "0", .help = "free blocks, 0 = no limit"),
    TP_CHOICE_ROW(
        struct lru_opts, round, .def = "none", .choices = round_words, .arg = "HOW",
        .help =
            "sizes that share their blocks\nnone: only equal ones\n512: up to a multiple of 512\n"
            "pow2: up to a power of two\neighth: up to one of 8 steps a doubling"),
    {.name = NULL}};

static uint64_t limit_of(uint64_t option)
{
    return option ? option : UINT64_MAX;
}

static int lru_init(void *state, const struct tp_env *env, const void *options, struct tp_err *err)
{
    struct lru *st = state;
    const struct lru_opts *opts = options;
    if (env->source->page < 2)
        return tp_fail(err, TP_EUSAGE, "strategy 'lru' needs a source with pages");
    st->env = env;
    st->shared = st->several = env->streams > 1;
    st->max_keys = limit_of(opts->capacity_layouts);
    st->max_bytes = limit_of(opts->capacity_bytes);
    st->max_blocks = limit_of(opts->capacity_blocks);
    st->round = opts->round;
    st->head.newer = st->head.older = &st->head;
    for (size_t i = 0; i < sizeof st->near / sizeof st->near[0]; i++)
        st->near[i].key = &st->nobody;
    st->last = &st->nothing;
    meta_map_init(&st->blocks, env);
    meta_map_init(&st->keys, env);
    return TP_OK;
}

static void lru_fini(void *state)
{
    struct lru *st = state;
    const struct tp_env *env = st->env;
    tp_lru_index_drop(st);
    tp_lru_put_all(st);
    for (struct lru_slab *slab = st->oldest_slab, *next; slab; slab = next) {
        next = slab->next;
        for (uint32_t i = 0; slab->works && i < slab->count; i++)
            work_fini(env, &slab->works[i]);
        tp_meta_put(env, slab->works, slab->count * sizeof *slab->works);
        tp_meta_put(env, slab, slab->bytes);
    }
    const struct tp_addr_entry *e;
    for (uint64_t at = 0; (e = tp_addr_map_next(&st->keys, &at));)
        tp_meta_put(env, (struct lru_key *)(uintptr_t)e->value, sizeof(struct lru_key));
    tp_addr_map_fini(&st->keys);
    tp_addr_map_fini(&st->blocks);
}

/* ---- alloc ---- */

static int lru_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    struct lru *st = state;
    (void)thread;
    if (UNLIKELY(st->shared))
        return tp_lru_alloc_any(st, rq, out);
    const struct lru_near *near = near_of(st, rq->size);
    struct lru_key *key = near->key;
    struct lru_node *node = key->top;
    if (UNLIKELY(near->size != rq->size || near->align != rq->align || !node))
        return tp_lru_alloc_slow(st, rq, out);
    stack_pop(st, key, node);
    key_touch(st, key);
    hand_out(node, rq, out);
    st->last = node;
    return TP_OK;
}

/* ---- free ---- */

static inline struct lru_node *find_live(const struct lru *st, tp_addr addr)
{
    struct lru_node *node = node_find(st, addr);
    return LIKELY(node && node->refs) ? node : NULL;
}

/* Drops a reference of a user that worked on `stream`. Needs no memory. */
static int drop_reference(struct lru *st, struct lru_node *node, uint16_t stream)
{
    if (st->several && node->refs > 1)
        work_add(node->work, stream);
    else if (st->several)
        work_record(st->env->source, node->work, stream);
    if (--node->refs)
        return TP_OK;
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_dead(st, node);
    stack_push(st, node->key, node);
    if (UNLIKELY(st->index != NULL))
        tp_lru_index_free(st, node);
    return tp_lru_shrink(st);
}

static inline bool is_request_of(const struct lru_node *node, const struct tp_req *rq)
{
    return node->size == rq->size && node->key->align == rq->align;
}

/* free for several streams or references, and for wrong addresses. */
static int free_slow(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct lru *st = state;
    struct lru_node *node = find_live(st, addr);
    return node && is_request_of(node, rq) ? drop_reference(st, node, rq->stream) : TP_EINVAL;
}

/* A block that is freed right after it was handed out needs no look-up. The node itself says
 * whether it still holds this address; it can always be read, because slabs are kept. */
static int lru_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    struct lru *st = state;
    if (UNLIKELY(st->shared))
        return free_slow(st, thread, addr, rq);
    struct lru_node *node = st->last;
    if (node->addr != addr) {
        node = node_find(st, addr);
        if (UNLIKELY(!node))
            return TP_EINVAL;
    }
    if (UNLIKELY(node->refs != 1 || !is_request_of(node, rq)))
        return free_slow(st, thread, addr, rq);
    node->refs = 0;
    stack_push(st, node->key, node);
    return LIKELY(!lru_is_over(st)) ? TP_OK : tp_lru_shrink(st);
}

/* A release names no stream, so the stream of the allocation is used. */
static int lru_release(void *state, void *thread, tp_addr addr)
{
    (void)thread;
    struct lru *st = state;
    struct lru_node *node = find_live(st, addr);
    if (!node)
        return TP_EINVAL;
    return drop_reference(st, node, node->work ? node->work->stream : 0);
}

/* ---- retain, adopt, use, resize, move ---- */

/* Reserves room for streams: dropping a reference may add one to the list, at a time when no memory
 * may be requested. */
static int reserve_streams(const struct lru *st, const struct lru_node *node, uint64_t refs,
                           uint64_t further)
{
    if (!st->several)
        return TP_OK;
    return work_reserve(st->env, node->work, node->work->count + further + (refs - 1));
}

static int lru_retain(void *state, void *thread, tp_addr addr)
{
    (void)thread;
    struct lru *st = state;
    struct lru_node *node = find_live(st, addr);
    int rc = node ? reserve_streams(st, node, node->refs + 1, 0) : TP_EINVAL;
    if (!rc)
        node->refs++;
    return rc;
}

static int lru_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    (void)thread;
    struct lru *st = state;
    struct lru_node *node = find_live(st, addr);
    int rc = node ? reserve_streams(st, node, node->refs, 1) : TP_EINVAL;
    if (!rc && st->several)
        work_add(node->work, stream);
    return rc;
}

/* The adopted block may be smaller than blocks of the request's key are. Then it gets the largest
 * key that it can serve. */
static int lru_adopt(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                     struct tp_block *out)
{
    (void)thread;
    struct lru *st = state;
    if (!request_is_sound(rq) || rq->size > LRU_MAX_BYTES || !addr || addr & (rq->align - 1) ||
        addr & (st->env->source->page - 1) || node_find(st, addr))
        return TP_EINVAL;
    uint64_t bytes = page_size(st, rq->size), size = round_size(st, rq->size);
    struct lru_key *key = key_acquire(st, size <= bytes ? size : round_down(st, bytes), rq->align);
    if (!key)
        return TP_ENOMEM;
    struct lru_node *node = NULL;
    int rc = tp_lru_enter(st, key, addr, bytes, rq->stream, &node);
    if (rc) {
        key_release(st, key);
        return rc;
    }
    hand_out_known(st, node, rq, out);
    return TP_OK;
}

static int lru_resize(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                      struct tp_block *out)
{
    (void)thread;
    struct lru *st = state;
    struct lru_node *node = find_live(st, addr);
    if (!node || !request_is_sound(rq))
        return TP_EINVAL;
    if (rq->size > node->bytes || rq->align != node->key->align ||
        round_size(st, rq->size) != node->key->size)
        return TP_EUNSUP;
    node->size = rq->size;
    *out = (struct tp_block){addr, node->bytes};
    return TP_OK;
}

/* Makes a new block that takes over the references of the old one, whose number only the cache
 * knows. With a single reference it returns TP_EUNSUP, because the caller's alloc and free do as
 * well. */
static int lru_move(void *state, void *thread, tp_addr addr, const struct tp_req *rq,
                    struct tp_block *out)
{
    (void)thread;
    struct lru *st = state;
    struct lru_node *old = find_live(st, addr);
    if (!old || !request_is_sound(rq))
        return TP_EINVAL;
    if (old->refs == 1)
        return TP_EUNSUP;
    int rc = tp_lru_alloc_slow(st, rq, out);
    if (rc)
        return rc;
    struct lru_node *node = node_find(st, out->addr);
    rc = reserve_streams(st, node, old->refs, 0);
    if (rc) {
        drop_reference(st, node, rq->stream);
        return rc;
    }
    void *to = tp_src_host(st->env->source, out->addr), *from = tp_src_host(st->env->source, addr);
    if (to && from)
        memcpy(to, from, old->size < rq->size ? old->size : rq->size);
    node->refs = old->refs;
    old->refs = 1;
    return drop_reference(st, old, rq->stream);
}

/* ---- reset, trim, usable ---- */

static void free_wholly(struct lru *st, struct lru_node *node)
{
    node->refs = 1;
    drop_reference(st, node, node->work ? node->work->stream : 0);
}

/* Frees every live block, in slab order, on the stream of its allocation. */
static int lru_reset(void *state)
{
    struct lru *st = state;
    uint64_t looks = 0, freed = 0;
    for (struct lru_node *n; st->index && (n = tp_lru_index_first(st));)
        free_wholly(st, n);
    struct lru_cursor c = {st->index ? NULL : st->oldest_slab, 0};
    for (struct lru_node *n; (n = node_next(&c)); looks++) {
        TP_STEP();
        if (n->refs) {
            free_wholly(st, n);
            freed++;
        }
    }
    if (looks > LRU_LOOK * (1 + freed))
        tp_lru_index_make(st);
    return TP_OK;
}

/* Tells the index about fences that have passed, because it does not query them otherwise. */
static int lru_sync(void *state, void *thread, uint16_t stream)
{
    (void)thread;
    struct lru *st = state;
    if (st->index && st->several)
        tp_lru_index_synced(st, stream);
    return TP_OK;
}

static uint64_t lru_usable(void *state, tp_addr addr)
{
    const struct lru_node *node = find_live(state, addr);
    return node ? node->bytes : 0;
}

static void lru_stats(void *state, struct tp_stats *out)
{
    const struct lru *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved.now, .peak_carved_bytes = st->carved.peak};
}

const struct tp_strategy tp_strategy_lru = {
    .name = "lru",
    .summary = "exact-size cache",
    .resembles = "a framework's buffer cache",
    .to_use = "a model; a cache of buffers by shape in front of cudaMalloc or mmap, as frameworks\n"
              "and inference servers keep, does this; it pays where the same shapes come again",
    .group = TP_GROUP_POLICY,
    .caps = TP_CAP_STREAMS | TP_CAP_ALIGN | TP_CAP_RETAINS,
    .state_size = sizeof(struct lru),
    .opts_size = sizeof(struct lru_opts),
    .options = lru_rows,
    .init = lru_init,
    .fini = lru_fini,
    .alloc = lru_alloc,
    .free = lru_free,
    .resize = lru_resize,
    .move = lru_move,
    .retain = lru_retain,
    .release = lru_release,
    .adopt = lru_adopt,
    .use = lru_use,
    .sync = lru_sync,
    .reset = lru_reset,
    .trim = tp_lru_trim,
    .usable = lru_usable,
    .stats = lru_stats,
    .walk = tp_lru_walk,
    .check = tp_lru_check,
};
