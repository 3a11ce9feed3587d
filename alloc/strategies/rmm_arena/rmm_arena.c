/* The strategy `rmm-arena`: RMM's arena_memory_resource, rule by rule.
 *
 *     start --> one range, which never grows: a superblock of the global arena
 *     alloc --> above 1 MiB  --> the first superblock of the global arena with room; an empty one
 *                                is cut to the size
 *           --> up to 1 MiB  --> the first superblock of the stream's own arena with room, else
 *                                one of the global arena, from now on the stream's: 1 MiB if empty
 *           --> no room      --> wait for the device, all superblocks become the global arena's,
 *                                once more
 *     free  --> above 1 MiB, or from another arena: wait for the stream first
 *
 * Superblocks are in rmm_arena_supers.c.
 *
 * Known weakness: every stream has an arena of its own, as without per-thread default streams. One
 * lock stands around every call, where RMM has one for each arena. RMM knows no alignment above 256
 * bytes; for such a request more is taken. */
#include "alloc/strategies/rmm_arena/rmm_arena_core.h"

struct rmm_arena_opts {
    uint64_t arena_size;
    bool size_classes;
};

#define SIZE_HALF    TP_OPT_KEYWORD(0)
#define SIZE_HOST    (UINT64_C(1) << 30)
#define SIZE_UNKNOWN (UINT64_C(40) << 30)

static const char *const size_words[] = {"half", NULL};

static const struct tp_opt rmm_arena_rows[] = {
    TP_SIZE_ROW(struct rmm_arena_opts, arena_size, .def = "half", .min = RMM_ARENA_SUPER,
                .max = RMM_ARENA_MOST, .choices = size_words,
                .help =
                    "bytes reserved at the start; the arena never grows\n"
                    "half: half of the device (40 GiB if its size is unknown), 1 GiB on the host"),
    TP_FLAG_ROW(struct rmm_arena_opts, size_classes, .def = "no",
                .help = "round sizes up to four classes per power of two\n"
                        "RMM does so when built with RMM_ARENA_USE_SIZE_CLASSES"),
    {.name = NULL}};

/* ---- sizes ---- */

#define CLASSES_END (UINT64_C(256) << 30)

/* RMM's table: multiples of 256 bytes to 2 KiB, then four steps a doubling, of which one is not
 * where one would expect it. */
static uint64_t class_of(uint64_t size)
{
    if (size <= 2048)
        return round_up(size, 256);
    uint64_t step = UINT64_C(1) << (61 - __builtin_clzll(size - 1));
    uint64_t up = round_up(size, step);
    if (up == UINT64_C(56) << 10)
        up = size <= UINT64_C(54) << 10 ? UINT64_C(54) << 10 : UINT64_C(64) << 10;
    return up > CLASSES_END ? UINT64_MAX : up;
}

/* ---- waiting ---- */

static int wait_for(struct rmm_arena *st, uint64_t stream)
{
    struct tp_fence fence;
    if (!tp_src_has_fences(st->env->source))
        return TP_OK;
    tp_src_record(st->env->source, (uint16_t)stream, &fence);
    return tp_src_wait(st->env->source, &fence);
}

/* Streams without calls since the last time have no work on what was freed. */
static int wait_for_device(struct rmm_arena *st)
{
    int rc = TP_OK;
    for (struct rmm_arena_owner *o; !rc && (o = st->busy);) {
        rc = wait_for(st, o->stream);
        st->busy = o->next_busy;
        o->busy = false;
    }
    return rc;
}

/* ---- requests ---- */

/* The arena of a stream that makes a call; NULL: out of memory. */
static struct rmm_arena_owner *owner_of(struct rmm_arena *st, uint16_t stream)
{
    struct rmm_arena_owner *o = meta_map_at(&st->owner_of, stream + UINT64_C(1));
    if (!o) {
        if (tp_addr_map_reserve(&st->owner_of, st->owner_of.count + 1) ||
            !(o = slab_take(&st->owners)))
            return NULL;
        o->stream = stream;
        tp_addr_map_insert(&st->owner_of, stream + UINT64_C(1), (uintptr_t)o);
    }
    if (!o->busy) {
        o->next_busy = st->busy;
        st->busy = o;
        o->busy = true;
    }
    return o;
}

/* Makes sure that a request finds records: two blocks, a superblock, and an entry of `live`. */
static int reserve(struct rmm_arena *st)
{
    if (slab_reserve_two(&st->blocks) || slab_reserve(&st->supers))
        return TP_ENOMEM;
    return tp_addr_map_reserve(&st->live, st->live.count + 1);
}

static void hand_out(struct rmm_arena *st, struct rmm_arena_block *b, const struct tp_req *rq)
{
    uint64_t end = b->spot.addr + b->size - st->base;
    b->requested = rq->size;
    b->align = rq->align;
    if (end > st->carved_end)
        st->carved_end = end;
    tp_addr_map_insert(&st->live, b->spot.addr + rmm_arena_lead(b), (uintptr_t)b);
}

static int rmm_arena_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    (void)thread;
    struct rmm_arena *st = state;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    uint64_t lead = rq->align > RMM_ARENA_GRAIN ? rq->align - RMM_ARENA_GRAIN : 0;
    if (rq->size > RMM_ARENA_MOST || lead > RMM_ARENA_MOST)
        return TP_EOOM;
    uint64_t bytes = rq->size + lead;
    uint64_t size = st->size_classes ? class_of(bytes) : round_up(bytes, RMM_ARENA_GRAIN);
    struct rmm_arena_owner *owner = owner_of(st, rq->stream);
    int rc = owner ? reserve(st) : TP_ENOMEM;
    if (rc)
        return rc;
    struct rmm_arena_block *b = tp_rmm_arena_take(st, owner, size);
    if (!b) {
        rc = wait_for_device(st);
        if (rc)
            return rc;
        tp_rmm_arena_collect(st);
        b = tp_rmm_arena_take(st, owner, size);
    }
    if (!b)
        return TP_EOOM;
    hand_out(st, b, rq);
    *out = (struct tp_block){b->spot.addr + rmm_arena_lead(b), rmm_arena_allocated(b)};
    return TP_OK;
}

static int rmm_arena_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    (void)thread;
    struct rmm_arena *st = state;
    struct rmm_arena_block *b = meta_map_at(&st->live, addr);
    if (!b || b->requested != rq->size || b->align != rq->align)
        return TP_EINVAL;
    const struct rmm_arena_owner *owner = owner_of(st, rq->stream);
    int rc = owner ? TP_OK : TP_ENOMEM;
    if (!rc && (b->size > RMM_ARENA_SUPER || b->super->owner != owner))
        rc = wait_for(st, rq->stream);
    if (rc)
        return rc; /* the block is still live */
    tp_addr_map_remove(&st->live, addr, NULL);
    tp_rmm_arena_give(st, b);
    return TP_OK;
}

/* ---- start and end ---- */

static uint64_t default_size(const struct tp_source *source, uint64_t capacity)
{
    uint64_t half = capacity / 2;
    if (!capacity)
        return source->flags & TP_SRC_HOST ? SIZE_HOST : SIZE_UNKNOWN;
    return half > RMM_ARENA_SUPER ? half : RMM_ARENA_SUPER;
}

/* Where RMM cannot begin for lack of memory, every request fails. */
static int get_arena(struct rmm_arena *st, struct tp_err *err)
{
    uint64_t page = st->env->source->page;
    int rc = reserve(st);
    if (!rc)
        rc = tp_src_get(st->env->source, st->bytes, page > RMM_ARENA_GRAIN ? page : RMM_ARENA_GRAIN,
                        &st->base);
    if (rc == TP_EOOM) {
        st->size = st->bytes = 0;
        return TP_OK;
    }
    if (rc)
        return tp_fail(err, (enum tp_status)rc, "strategy 'rmm-arena' cannot begin: %s",
                       tp_status_text(rc));
    tp_rmm_arena_begin(st);
    return TP_OK;
}

static void rmm_arena_fini(void *state)
{
    struct rmm_arena *st = state;
    wait_for_streams(st->env);
    for (int round = 0; round < 2; round++)
        put_once(st->env->source, &st->base, st->bytes);
    tp_addr_map_fini(&st->live);
    tp_addr_map_fini(&st->owner_of);
    slab_fini(&st->blocks);
    slab_fini(&st->supers);
    slab_fini(&st->owners);
}

static int rmm_arena_init(void *state, const struct tp_env *env, const void *options,
                          struct tp_err *err)
{
    const struct rmm_arena_opts *opts = options;
    struct rmm_arena *st = state;
    uint64_t size = opts->arena_size;
    if (size == SIZE_HALF)
        size = default_size(env->source, tp_src_capacity(env->source));
    st->env = env;
    st->size_classes = opts->size_classes;
    st->size = size & ~(RMM_ARENA_GRAIN - 1);
    st->bytes = round_up(st->size, env->source->page);
    slab_init(&st->blocks, env, sizeof(struct rmm_arena_block));
    slab_init(&st->supers, env, sizeof(struct rmm_arena_super));
    slab_init(&st->owners, env, sizeof(struct rmm_arena_owner));
    meta_map_init(&st->live, env);
    meta_map_init(&st->owner_of, env);
    int rc = get_arena(st, err);
    if (rc)
        rmm_arena_fini(st);
    return rc;
}

/* ---- never timed ---- */

static uint64_t rmm_arena_usable(void *state, tp_addr addr)
{
    const struct rmm_arena *st = state;
    const struct rmm_arena_block *b = meta_map_at(&st->live, addr);
    return b ? rmm_arena_allocated(b) : 0;
}

static void rmm_arena_stats(void *state, struct tp_stats *out)
{
    const struct rmm_arena *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved_end, .peak_carved_bytes = st->carved_end};
}

const struct tp_strategy tp_strategy_rmm_arena = {
    .name = "rmm-arena",
    .summary = "superblocks",
    .resembles = "RMM's arena_memory_resource",
    .to_use = "rmm::mr::arena_memory_resource; the option has the same name in RMM",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct rmm_arena),
    .opts_size = sizeof(struct rmm_arena_opts),
    .options = rmm_arena_rows,
    .init = rmm_arena_init,
    .fini = rmm_arena_fini,
    .alloc = rmm_arena_alloc,
    .free = rmm_arena_free,
    .usable = rmm_arena_usable,
    .stats = rmm_arena_stats,
    .walk = tp_rmm_arena_walk,
    .check = tp_rmm_arena_check,
};
