/* The strategy `planned`: blocks of a step lie where a plan of an earlier step says, and all others
 * where PyTorch's caching allocator puts them. After STAlloc (arXiv 2507.16274).
 *
 *     alloc --> which request of the plan?     none: it deviates -------+
 *           --> has it a place?                no: kept beyond a step --+--> the rules of `torch`
 *           --> are its bytes free now?        no: it deviates ---------+
 *           --> its place in the pool, which is taken from the source with the first one
 *     free  --> its place is free, once no other stream works on it
 *
 * The plan is a file (planned_plan.h, `tapool plan`); requests are told apart by their order
 * (planned_match.c), and what lies in the pool is a tree (planned_pool.c), so that a wrong plan
 * costs memory and is never unsafe. Cached memory goes back before the pool is taken, and once more
 * when a whole step has followed the plan. The pool goes back when memory is short, or with
 * empty_cache (TRIM), if none of it is live. Without a plan this is `torch`.
 *
 * Known weakness: the pool stays reserved in parts of a program that have no steps. Requests of
 * private pools (CUDA graphs) and the heap that a recording began with are never planned. Threads
 * share one order. STAlloc also puts requests of mixture-of-experts layers into gaps of its pool,
 * and small ones into a pool of their own; here they deviate, or are planned as all others. */
#include "alloc/strategies/planned/planned_core.h"

extern const struct tp_strategy tp_strategy_torch;

struct planned_opts {
    char *plan;
    uint64_t skip;
    struct torch_opts torch;
};

#define SKIP_UNKNOWN TP_OPT_KEYWORD(0)
static const char *const skip_words[] = {"auto", NULL};

static const struct tp_opt planned_rows[] = {
    TP_FILE_AT("plan", offsetof(struct planned_opts, plan),
               .help = "plan of a step, made by 'tapool plan'\n"
                       "Without one every request is served as by torch."),
    TP_UINT_AT("skip", offsetof(struct planned_opts, skip), .def = "auto", .choices = skip_words,
               .help =
                   "requests before the first step, initial heap included\n"
                   "auto: the mark of the plan begins it, or its first three requests in a row."),
    TP_TEXT_AT("conf", offsetof(struct planned_opts, torch.conf), .arg = "TEXT",
               .help = "setting of the caching allocator, as conf of torch"),
    {.name = NULL}};

/* ---- start and end ---- */

static void release_plan(struct planned *st)
{
    tp_planned_release(st->env, &st->plan);
    tp_meta_put(st->env, st->begins, st->phases);
    slab_fini(&st->pool.blocks);
    slab_fini(&st->pool.uses);
}

/* Where the first step is known, nothing before it is taken for a part of one. */
static void begin_program(struct planned *st)
{
    tp_planned_begin(&st->match, &st->plan);
    st->requests = 0;
    if (st->skip != SKIP_UNKNOWN)
        st->match.on = false;
}

static int planned_init(void *state, const struct tp_env *env, const void *options,
                        struct tp_err *err)
{
    const struct planned_opts *opts = options;
    struct planned *st = state;
    int rc = TP_OK;
    st->env = env;
    st->pool.source = env->source;
    slab_init(&st->pool.blocks, env, sizeof(struct planned_block));
    slab_init(&st->pool.uses, env, sizeof(struct stream_use));
    if (opts->plan && *opts->plan)
        rc = tp_planned_read(env, opts->plan, &st->plan, err);
    if (!rc)
        rc = tp_strategy_torch.init(&st->torch, env, &opts->torch, err);
    if (rc)
        release_plan(st);
    st->skip = opts->skip;
    begin_program(st);
    return rc;
}

/* Two rounds: what the source refuses at first may go once the rest is gone. */
static void planned_fini(void *state)
{
    struct planned *st = state;
    put_once(st->env->source, &st->pool.base, st->pool.bytes);
    tp_strategy_torch.fini(&st->torch);
    put_once(st->env->source, &st->pool.base, st->pool.bytes);
    release_plan(st);
}

static int planned_start(void *state, const struct tp_heap *heap)
{
    struct planned *st = state;
    return tp_strategy_torch.start(&st->torch, heap);
}

/* ---- steps ---- */

static int check_mark(const struct planned *st, const char *const *names, uint32_t count,
                      struct tp_err *err)
{
    bool some = !st->plan.mark[0];
    for (uint32_t i = 0; i < count; i++)
        some |= st->begins[i] != 0;
    if (some)
        return TP_OK;
    const char *near = count ? tp_nearest(st->plan.mark, names) : NULL;
    int rc =
        tp_fail(err, TP_EUSAGE,
                "strategy 'planned': the trace has no phase '%.63s', which begins the steps of "
                "the plan",
                st->plan.mark);
    return near ? tp_hint(err, rc, "its nearest is '%.63s'", near)
                : tp_hint(err, rc, "'tapool info TRACE' lists its phases");
}

static int planned_phases(void *state, const char *const *names, uint32_t count, struct tp_err *err)
{
    struct planned *st = state;
    int rc = tp_strategy_torch.phases(&st->torch, names, count, err);
    if (rc || !st->plan.mark[0])
        return rc;
    st->begins = tp_meta_get(st->env, count);
    if (!st->begins && count)
        return tp_fail(err, TP_ENOMEM, "out of memory");
    st->phases = count;
    for (uint32_t i = 0; i < count; i++)
        st->begins[i] = planned_same_mark(names[i], st->plan.mark);
    return check_mark(st, names, count, err);
}

static void planned_phase(void *state, uint32_t index)
{
    struct planned *st = state;
    tp_strategy_torch.phase(&st->torch, index);
    if (index == UINT32_MAX)
        begin_program(st);
    else if (index < st->phases && st->begins[index])
        tp_planned_step(&st->match);
}

/* ---- requests ---- */

/* What is cached goes back first: the pool serves what it served. */
static bool get_pool(struct planned *st)
{
    struct planned_pool *p = &st->pool;
    if (p->base)
        return true;
    st->settled = st->in_first_step = false;
    if (tp_strategy_torch.trim(&st->torch, 0))
        return false;
    p->bytes = round_up(st->plan.pool, st->env->source->page);
    p->base = 0;
    return !tp_src_get(st->env->source, p->bytes, st->plan.align, &p->base);
}

/* Gives a request its place. TP_EUNSUP: the place is taken, or there is no memory for the pool. */
static int place(struct planned *st, const struct planned_row *row, const struct tp_req *rq,
                 struct tp_block *out)
{
    uint64_t bytes = round_up(row->size, TP_PLAN_GRAIN);
    if (!tp_planned_is_free(&st->pool, row->offset, bytes) || !get_pool(st))
        return TP_EUNSUP;
    if (slab_reserve(&st->pool.blocks))
        return TP_ENOMEM;
    struct planned_block *b = tp_planned_enter(&st->pool, row->offset, bytes);
    b->requested = rq->size;
    b->align = rq->align;
    b->stream = rq->stream;
    *out = (struct tp_block){st->pool.base + b->offset, bytes};
    return TP_OK;
}

static void count(struct planned *st, bool followed, uint64_t size)
{
    struct tp_account *a = st->env->account;
    a->planned += followed;
    a->planned_bytes += followed ? size : 0;
    a->unplanned += !followed;
    a->unplanned_bytes += followed ? 0 : size;
}

/* By the caching allocator; the pool makes room for it if nothing else does. */
static int alloc_cached(struct planned *st, void *thread, const struct tp_req *rq,
                        struct tp_block *out)
{
    int rc = tp_strategy_torch.alloc(&st->torch, thread, rq, out);
    if (rc == TP_EOOM && st->pool.base && tp_planned_give_back(&st->pool))
        rc = tp_strategy_torch.alloc(&st->torch, thread, rq, out);
    return rc;
}

static void note_carved(struct planned *st)
{
    uint64_t now = st->torch.carved.now + st->pool.carved;
    st->peak_carved = now > st->peak_carved ? now : st->peak_carved;
}

/* With the first request of the plan. Once a whole step has followed it, what blocks from before
 * left in the cache goes back too. */
static void begin_step(struct planned *st)
{
    if (st->settled || !st->pool.base)
        return;
    if (st->in_first_step && st->deviated == st->env->account->unplanned)
        st->settled = !tp_strategy_torch.trim(&st->torch, 0);
    st->in_first_step = true;
    st->deviated = st->env->account->unplanned;
}

static int alloc_in_step(struct planned *st, void *thread, const struct tp_req *rq,
                         struct tp_block *out)
{
    const struct planned_row *row = tp_planned_next(&st->match, rq);
    int rc = TP_EUNSUP;
    if (row == st->plan.rows)
        begin_step(st);
    if (row && row->offset == TP_PLAN_KEPT)
        return alloc_cached(st, thread, rq, out);
    if (row)
        rc = place(st, row, rq, out);
    if (rc == TP_ENOMEM)
        return rc;
    count(st, rc == TP_OK, rq->size);
    return rc ? alloc_cached(st, thread, rq, out) : TP_OK;
}

static int planned_alloc(void *state, void *thread, const struct tp_req *rq, struct tp_block *out)
{
    struct planned *st = state;
    const struct torch_thread *t = thread;
    if (!request_is_sound(rq))
        return TP_EINVAL;
    if (UNLIKELY(st->requests++ == st->skip && st->plan.count))
        tp_planned_step(&st->match);
    bool apart = !st->match.on || st->torch.to_start || (t && t->pool);
    int rc = apart ? alloc_cached(st, thread, rq, out) : alloc_in_step(st, thread, rq, out);
    note_carved(st);
    return rc;
}

static int planned_free(void *state, void *thread, tp_addr addr, const struct tp_req *rq)
{
    struct planned *st = state;
    if (!planned_holds(&st->pool, addr))
        return tp_strategy_torch.free(&st->torch, thread, addr, rq);
    struct planned_block *b = tp_planned_at(&st->pool, addr);
    if (!b || b->requested != rq->size || b->align != rq->align)
        return TP_EINVAL;
    int rc = tp_planned_use(&st->pool, b, rq->stream);
    if (!rc)
        tp_planned_free(&st->pool, b);
    return rc;
}

static int planned_use(void *state, void *thread, tp_addr addr, uint16_t stream)
{
    struct planned *st = state;
    if (!planned_holds(&st->pool, addr))
        return tp_strategy_torch.use(&st->torch, thread, addr, stream);
    struct planned_block *b = tp_planned_at(&st->pool, addr);
    return b ? tp_planned_use(&st->pool, b, stream) : TP_EINVAL;
}

static void planned_choose_pool(void *state, void *thread, uint64_t pool)
{
    struct planned *st = state;
    tp_strategy_torch.choose_pool(&st->torch, thread, pool);
}

/* The pool counts among the bytes that may stay. */
static int planned_trim(void *state, uint64_t keep)
{
    struct planned *st = state;
    uint64_t held = st->pool.base ? st->pool.bytes : 0;
    if (held > keep && tp_planned_give_back(&st->pool))
        held = 0;
    return tp_strategy_torch.trim(&st->torch, held < keep ? keep - held : 0);
}

/* ---- never timed ---- */

static uint64_t planned_usable(void *state, tp_addr addr)
{
    struct planned *st = state;
    if (!planned_holds(&st->pool, addr))
        return tp_strategy_torch.usable(&st->torch, addr);
    const struct planned_block *b = tp_planned_at(&st->pool, addr);
    return b ? b->bytes : 0;
}

static void planned_stats(void *state, struct tp_stats *out)
{
    struct planned *st = state;
    tp_strategy_torch.stats(&st->torch, out);
    out->carved_bytes += st->pool.carved;
    out->peak_carved_bytes = st->peak_carved;
}

const struct tp_strategy tp_strategy_planned = {
    .name = "planned",
    .summary = "plan of a step",
    .resembles = "STAlloc over PyTorch's allocator",
    .to_use = "no release of PyTorch has it; torch.cuda.memory.CUDAPluggableAllocator takes an\n"
              "allocator such as STAlloc's",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS,
    .state_size = sizeof(struct planned),
    .thread_size = sizeof(struct torch_thread),
    .opts_size = sizeof(struct planned_opts),
    .options = planned_rows,
    .init = planned_init,
    .fini = planned_fini,
    .alloc = planned_alloc,
    .free = planned_free,
    .use = planned_use,
    .trim = planned_trim,
    .choose_pool = planned_choose_pool,
    .phases = planned_phases,
    .phase = planned_phase,
    .usable = planned_usable,
    .stats = planned_stats,
    .walk = tp_planned_walk,
    .check = tp_planned_check,
    .start = planned_start,
};
