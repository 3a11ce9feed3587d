/* The verifying pass: replays the program once beside a shadow of its own and names the event at
 * which the strategy broke its contract: blocks that overlap, a wrong alignment, too few bytes,
 * bytes that are not in one range of the source, contents that changed, a repeated free that was
 * accepted, books that do not add up, bytes kept at the end.
 *
 *     alloc    shadow: nothing of it is live yet        host memory: a pattern is written
 *     free     the pattern is still there, then         a second free must be refused, where
 *                                                       the instance detects invalid frees
 *     window   the strategy's own check, and its walk   live = what the shadow says is allocated
 *
 * What several OS threads can break is looked for by verify_threads.c after that. */
#include "alloc/base/own.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/passes.h"
#include "alloc/engine/replay_cfg.h"
#include "alloc/engine/verify_contents.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

/* ---- verify threads ---- */

/* Internal to the engine: the part of the verifying pass that several OS threads replay. */

/* What init is given as options, and what the pass reads afterwards. */
struct guard_setup {
    const struct tp_strategy *inner;
    const void *opts;
    char what[TP_ERR_TEXT / 2]; /* the first breach; "": none */
    uint64_t event;             /* of it; 0: in the initial heap */
};

struct guard {
    struct guard_setup *setup;
    const struct tp_strategy *inner;
    pthread_mutex_t lock;
    /* blocks; tag_addr: the bytes that were asked for, tag_size: the seed of their contents */
    struct tp_range_table live;
    uint64_t serial;
    bool broken;                        /* atomic */
    _Alignas(16) unsigned char state[]; /* of the inner strategy */
};

/* ---- around each call ---- */

static bool is_broken(struct guard *g)
{
    return __atomic_load_n(&g->broken, __ATOMIC_RELAXED);
}

/* Notes the first breach. */
__attribute__((format(printf, 2, 3))) static int breach(struct guard *g, const char *format, ...)
{
    va_list args;
    pthread_mutex_lock(&g->lock);
    va_start(args, format);
    if (!g->setup->what[0])
        vsnprintf(g->setup->what, sizeof g->setup->what, format, args);
    va_end(args);
    __atomic_store_n(&g->broken, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&g->lock);
    return TP_EBROKEN;
}

/* A block was allocated. */
static int enters(struct guard *g, const struct tp_req *rq, const struct tp_block *got)
{
    struct tp_address_range b = {.addr = got->addr,
                                 .size = got->allocated > rq->size ? got->allocated : rq->size,
                                 .tag_addr = rq->size};
    if (!b.addr || b.addr + (b.size - 1) < b.addr)
        return breach(g, "returned an address that no block can have");
    pthread_mutex_lock(&g->lock);
    bool free_there = !tp_ranges_overlap(&g->live, b.addr, b.size);
    b.tag_size = ++g->serial * UINT64_C(0xD1B54A32D192ED03);
    bool noted = free_there && !tp_ranges_reserve(&g->live);
    if (noted)
        tp_ranges_insert(&g->live, b);
    pthread_mutex_unlock(&g->lock);
    if (!free_there)
        return breach(g, "returned bytes of a live block");
    if (noted)
        tp_contents_write(b.addr, b.tag_addr, b.tag_size);
    return noted ? TP_OK : TP_ENOMEM;
}

/* A block is about to be freed or resized. False: it is not known. */
static bool leaves(struct guard *g, tp_addr addr, struct tp_address_range *out)
{
    pthread_mutex_lock(&g->lock);
    const struct tp_address_range *b = tp_ranges_find(&g->live, addr);
    bool known = b && b->addr == addr;
    if (known) {
        *out = *b;
        tp_ranges_remove(&g->live, b);
    }
    pthread_mutex_unlock(&g->lock);
    return known;
}

static int check_kept(struct guard *g, const struct tp_address_range *old, tp_addr addr,
                      uint64_t limit)
{
    return tp_contents_kept(addr, old->tag_addr, limit, old->tag_size)
               ? TP_OK
               : breach(g, "changed the contents of a block that is live");
}

static int guard_alloc(void *st, void *thr, const struct tp_req *rq, struct tp_block *out)
{
    struct guard *g = st;
    int status = is_broken(g) ? TP_EOOM : g->inner->alloc(g->state, thr, rq, out);
    return status ? status : enters(g, rq, out);
}

static int guard_adopt(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                       struct tp_block *out)
{
    struct guard *g = st;
    int status = is_broken(g) ? TP_EOOM : g->inner->adopt(g->state, thr, addr, rq, out);
    return status ? status : enters(g, rq, out);
}

static int guard_free(void *st, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct guard *g = st;
    struct tp_address_range old;
    if (is_broken(g))
        return TP_OK;
    int status = leaves(g, addr, &old) ? check_kept(g, &old, addr, old.tag_addr) : TP_OK;
    return status ? status : g->inner->free(g->state, thr, addr, rq);
}

typedef int change_fn(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                      struct tp_block *out);

/* A block that stays as it was enters the shadow again. */
static int change(struct guard *g, change_fn *fn, void *thr, tp_addr addr, const struct tp_req *rq,
                  struct tp_block *out)
{
    struct tp_address_range old;
    if (is_broken(g) || !leaves(g, addr, &old))
        return is_broken(g) ? TP_EOOM : TP_EINVAL;
    int status = check_kept(g, &old, addr, old.tag_addr);
    if (status)
        return status;
    status = fn(g->state, thr, addr, rq, out);
    if (!status) {
        uint64_t kept = old.tag_addr < rq->size ? old.tag_addr : rq->size;
        status = check_kept(g, &old, out->addr, kept);
        return status ? status : enters(g, rq, out);
    }
    struct tp_req was = {.size = old.tag_addr};
    int noted = enters(g, &was, &(struct tp_block){addr, old.size});
    return noted ? noted : status;
}

static int guard_resize(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                        struct tp_block *out)
{
    return change(st, ((struct guard *)st)->inner->resize, thr, addr, rq, out);
}

static int guard_move(void *st, void *thr, tp_addr addr, const struct tp_req *rq,
                      struct tp_block *out)
{
    return change(st, ((struct guard *)st)->inner->move, thr, addr, rq, out);
}

/* ---- calls that change no block ---- */

#define PASSED_ON(member, parameters, ...)                                                         \
    static int guard_##member parameters                                                           \
    {                                                                                              \
        struct guard *g = st;                                                                      \
        return is_broken(g) ? TP_OK : g->inner->member(__VA_ARGS__);                               \
    }
PASSED_ON(retain, (void *st, void *thr, tp_addr addr), g->state, thr, addr)
PASSED_ON(release, (void *st, void *thr, tp_addr addr), g->state, thr, addr)
PASSED_ON(use, (void *st, void *thr, tp_addr addr, uint16_t stream), g->state, thr, addr, stream)
PASSED_ON(sync, (void *st, void *thr, uint16_t stream), g->state, thr, stream)
PASSED_ON(trim, (void *st, uint64_t keep), g->state, keep)
PASSED_ON(thread_init, (void *st, void *thr), g->state, thr)
PASSED_ON(check, (void *st, struct tp_err *err), g->state, err)

static void guard_thread_fini(void *st, void *thr)
{
    struct guard *g = st;
    g->inner->thread_fini(g->state, thr);
}

static void guard_choose_pool(void *st, void *thr, uint64_t pool)
{
    struct guard *g = st;
    g->inner->choose_pool(g->state, thr, pool);
}

static int guard_phases(void *st, const char *const *names, uint32_t count, struct tp_err *err)
{
    struct guard *g = st;
    return g->inner->phases(g->state, names, count, err);
}

static void guard_phase(void *st, uint32_t index)
{
    struct guard *g = st;
    g->inner->phase(g->state, index);
}

/* All blocks go at once; no other thread is there. */
static int guard_reset(void *st)
{
    struct guard *g = st;
    for (const struct tp_address_range *b; (b = tp_ranges_any(&g->live));) {
        int status = check_kept(g, b, b->addr, b->tag_addr);
        if (status)
            return status;
        tp_ranges_remove(&g->live, b);
    }
    return is_broken(g) ? TP_OK : g->inner->reset(g->state);
}

static int guard_init(void *st, const struct tp_env *env, const void *opts, struct tp_err *err)
{
    struct guard *g = st;
    g->setup = *(struct guard_setup *const *)opts;
    g->inner = g->setup->inner;
    g->live.own = true;
    pthread_mutex_init(&g->lock, NULL);
    int status = g->inner->init(g->state, env, g->setup->opts, err);
    if (status)
        pthread_mutex_destroy(&g->lock);
    return status;
}

static void guard_fini(void *st)
{
    struct guard *g = st;
    g->inner->fini(g->state);
    pthread_mutex_destroy(&g->lock);
    tp_ranges_fini(&g->live);
}

/* ---- the pass ---- */

/* Members that the inner strategy lacks stay NULL. */
static struct tp_strategy guard_of(const struct tp_strategy *inner)
{
    struct tp_strategy s = {.name = inner->name,
                            .summary = inner->summary,
                            .group = inner->group,
                            .caps = inner->caps,
                            .options = inner->options,
                            .opts_size = inner->opts_size,
                            .state_size = sizeof(struct guard) + inner->state_size,
                            .thread_size = inner->thread_size,
                            .init = guard_init,
                            .fini = guard_fini,
                            .alloc = guard_alloc,
                            .free = guard_free};
#define GUARD(member) s.member = inner->member ? guard_##member : NULL
    GUARD(resize);
    GUARD(move);
    GUARD(retain);
    GUARD(release);
    GUARD(adopt);
    GUARD(use);
    GUARD(sync);
    GUARD(reset);
    GUARD(trim);
    GUARD(thread_init);
    GUARD(thread_fini);
    GUARD(check);
    GUARD(choose_pool);
    GUARD(phases);
    GUARD(phase);
#undef GUARD
    return s;
}

/* Looks at what a window has shown, while no thread replays. */
static int replay_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                         struct tp_err *err)
{
    struct guard_setup *setup = ctx;
    struct tp_err why = {0};
    tp_replay_untimed(p, w);
    if (p->broken_insn)
        setup->event = tp_window_event(w, (uint32_t)(p->broken_insn - w->insns));
    int status = setup->what[0] ? TP_EBROKEN : tp_replayer_check(p, w, err);
    if (status || !p->strategy->check || !p->strategy->check(p->instances[0].state, &why))
        return status;
    setup->event = tp_window_event(w, w->count - 1);
    snprintf(setup->what, sizeof setup->what, "finds its own state broken (%.160s)", why.text);
    return TP_EBROKEN;
}

/* The sentence of the guard in place of the status that it ended the replay with. */
static int told(const struct tp_replay_cfg *cfg, const struct guard_setup *setup, bool drained,
                struct tp_err *err)
{
    char when[40] = "after the last event";
    if (!drained)
        snprintf(when, sizeof when, "event %llu", (unsigned long long)setup->event);
    return tp_fail(err, TP_EBROKEN, "%s: strategy '%s' %s, replayed by %u threads", when,
                   cfg->strategy->name, setup->what, tp_crew_threads(cfg));
}

static int replay_guarded(const struct tp_replay_cfg *cfg, struct guard_setup *setup,
                          struct tp_err *err)
{
    struct tp_replayer p;
    int status = tp_replayer_open(&p, cfg, cfg->strategy, err);
    if (status)
        return status;
    status = tp_replay_watched(&p, "verify", replay_window, setup, err);
    const bool drained = !status;
    if (drained)
        tp_replayer_drain(&p);
    if (setup->what[0])
        status = told(cfg, setup, drained, err);
    return tp_replayer_end(&p, status, err);
}

/* Replays the program once by cfg->threads threads. TP_EBROKEN with the event at which the strategy
 * broke its contract. */
static int tp_verify_threads(const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    struct guard_setup setup = {.inner = cfg->strategy, .opts = cfg->strategy_opts};
    struct guard_setup *shared = &setup;
    const struct tp_strategy guard = guard_of(cfg->strategy);
    struct tp_replay_cfg own = *cfg;
    own.strategy = &guard;
    own.strategy_opts = &shared;
    own.touch = TP_TOUCH_NONE; /* the pattern is in the blocks */
    return replay_guarded(&own, &setup, err);
}

struct verify_block {
    tp_addr addr;
    uint64_t size;  /* allocated, bytes; 0: not live */
    uint64_t event; /* event that made the block */
};

struct verify_device {
    struct tp_range_table live; /* blocks; tag_addr: their slots */
    uint64_t allocated;         /* bytes, at this moment */
};

struct verify {
    struct tp_replayer *replayer;
    struct verify_block *blocks; /* by slot */
    struct verify_device *devices;
    uint64_t event; /* event of the instruction that is replayed */
    int status;
    struct tp_err *err;
};

/* Records the first breach; later ones may only follow from it. */
__attribute__((format(printf, 2, 3))) static void broken(struct verify *v, const char *format, ...)
{
    char what[TP_ERR_TEXT / 2];
    va_list args;
    if (v->status || v->replayer->lost) /* the loss of a device is not the strategy's fault */
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    v->status = tp_fail(v->err, TP_EBROKEN, "event %" PRIu64 ": strategy '%s' %s", v->event,
                        v->replayer->strategy->name, what);
}

/* ---- contents ---- */

static uint64_t seed_of(const struct verify_block *b)
{
    return b->event * UINT64_C(0xD1B54A32D192ED03);
}

/* Checks that the first `limit` bytes of the block of a slot, which may have moved to `addr`, still
 * hold the pattern. */
static void check_contents(struct verify *v, uint32_t slot, tp_addr addr, uint64_t limit,
                           const char *when)
{
    const struct verify_block *old = &v->blocks[slot];
    uint64_t requested = tp_slot_size(&v->replayer->slots[slot]);
    if (v->replayer->contents && !tp_contents_kept(addr, requested, limit, seed_of(old)))
        broken(v, "changed the contents of the block of event %" PRIu64 " %s", old->event, when);
}

/* ---- in the order of an instruction ---- */

static void before(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct verify *v = p->observer_state;
    v->event = tp_window_event(w, index);
}

/* Removes the block of a slot, which was freed or replaced. */
static void forget(struct verify *v, uint16_t device, uint32_t slot)
{
    struct verify_device *d = &v->devices[device];
    struct verify_block *b = &v->blocks[slot];
    d->allocated -= b->size;
    tp_ranges_remove(&d->live, tp_ranges_find(&d->live, b->addr));
    tp_aliases_disclaim(&v->replayer->aliases[device], b->addr);
    b->size = 0;
}

/* Does the block lie in one range of the source? True for a foreign allocator, which has no
 * source. */
static bool is_from_source(const struct verify *v, uint16_t device, tp_addr addr,
                           uint64_t allocated)
{
    const struct tp_replayer *p = v->replayer;
    return !p->instances[device].env.source || tp_ranges_hold(&p->ranges[device], addr, allocated);
}

enum { USUAL_ALIGN = 16 };

/* Checks size, alignment and place of a block. False: it cannot be added to those that are live. */
static bool check_block(struct verify *v, const struct tp_insn *insn, tp_addr addr,
                        uint64_t allocated)
{
    uint64_t align = UINT64_C(1) << insn->align_log2;
    struct tp_range_table *live = &v->devices[insn->device].live;
    /* A malloc need not align a block better than any object that fits into it. */
    while (!tp_strategy_takes_source(v->replayer->strategy) && align <= USUAL_ALIGN &&
           align > insn->size)
        align /= 2;
    if (allocated < insn->size)
        broken(v, "allocated %" PRIu64 " bytes where %" PRIu64 " were requested", allocated,
               insn->size);
    else if (!addr || addr + (allocated - 1) < addr)
        broken(v, "returned an address that no block can have");
    else if (addr % align)
        broken(v, "returned an address that is not aligned to %" PRIu64, align);
    else if (!is_from_source(v, insn->device, addr, allocated))
        broken(v, "returned memory that is not within one range of its source");
    const struct tp_address_range *other =
        v->status ? NULL : tp_ranges_overlap(live, addr, allocated);
    if (other)
        broken(v, "returned bytes of the live block of event %" PRIu64,
               v->blocks[other->tag_addr].event);
    int claimed =
        v->status ? TP_OK : tp_aliases_claim(&v->replayer->aliases[insn->device], addr, allocated);
    if (claimed == TP_EINVAL)
        broken(v, "returned memory that a live block has at another address");
    if (!v->status && (claimed || tp_ranges_reserve(live)))
        v->status = tp_fail(v->err, TP_ENOMEM, "tapool itself ran out of memory");
    return !v->status;
}

static void block(struct tp_replayer *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both)
{
    struct verify *v = p->observer_state;
    struct verify_device *d = &v->devices[insn->device];
    struct verify_block *b = &v->blocks[insn->slot];
    uint64_t had = b->size ? tp_slot_size(&p->slots[insn->slot]) : 0;
    uint64_t allocated = tp_replayer_allocated(p, &p->instances[insn->device], block);
    if (v->status)
        return;
    if (!allocated && !tp_strategy_takes_source(p->strategy)) /* it does not tell */
        allocated = insn->size;
    if (had && !both)
        forget(v, insn->device, insn->slot);
    if (!check_block(v, insn, block->addr, allocated))
        return;
    if (had)
        check_contents(v, insn->slot, block->addr, had < insn->size ? had : insn->size,
                       "when its size changed");
    if (b->size)
        forget(v, insn->device, insn->slot);
    tp_ranges_insert(&d->live, (struct tp_address_range){
                                   .addr = block->addr, .size = allocated, .tag_addr = insn->slot});
    d->allocated += allocated;
    *b = (struct verify_block){block->addr, allocated, v->event};
    if (p->contents)
        tp_contents_write(b->addr, insn->size, seed_of(b));
}

static void leaving(struct tp_replayer *p, uint32_t slot)
{
    struct verify *v = p->observer_state;
    const struct tp_slot *s = &p->slots[slot];
    if (!v->status)
        check_contents(v, slot, v->blocks[slot].addr, tp_slot_size(s), "while it was live");
}

/* Tries a second free, which must be refused. */
static void free_again(struct verify *v, const struct tp_insn *insn, uint32_t slot,
                       const struct verify_block *b)
{
    const struct tp_replayer *p = v->replayer;
    struct tp_instance *in = &p->instances[insn->device];
    if (!tp_strategy_detects(p->strategy, in->state))
        return;
    const struct tp_slot *s = &p->slots[slot];
    struct tp_req rq = {.size = tp_slot_size(s), .align = tp_slot_align(s), .stream = insn->stream};
    void *thr = tp_replayer_thread(p, in, insn->thread);
    int status = p->strategy->free(in->state, thr, b->addr, &rq);
    if (status != TP_EINVAL)
        broken(v, "accepted a second free of the block of event %" PRIu64, b->event);
}

static void gone(struct tp_replayer *p, uint32_t slot, const struct tp_insn *insn)
{
    struct verify *v = p->observer_state;
    struct verify_block b = v->blocks[slot];
    if (v->status || p->broken)
        return;
    forget(v, tp_slot_device(&p->slots[slot]), slot);
    if (insn->op == TP_FREE)
        free_again(v, insn, slot, &b);
}

static void failed(struct tp_replayer *p, const struct tp_insn *insn)
{
    (void)p, (void)insn;
}

static void after(struct tp_replayer *p, const struct tp_window *w, uint32_t index)
{
    struct verify *v = p->observer_state;
    (void)w, (void)index;
    /* later findings would only follow from this one */
    p->stop = p->stop || v->status || p->broken;
}

static const struct tp_observer verify_observer = {before, block, leaving, gone, failed, after};

/* ---- between windows ---- */

static void count_live(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    uint64_t *sums = ctx;
    (void)addr;
    sums[0] += kind == TP_WALK_LIVE ? size : 0;
    sums[1] += size;
}

static int check_instance(struct verify *v, uint16_t device)
{
    const struct tp_strategy *s = v->replayer->strategy;
    struct tp_instance *in = &v->replayer->instances[device];
    struct tp_err err = {0};
    uint64_t sums[2] = {0, 0};
    if (s->check && s->check(in->state, &err))
        broken(v, "finds its own state broken: %s", err.text);
    if (!s->walk || !tp_strategy_has_ranges(s) || s->walk(in->state, count_live, sums))
        return v->status;
    if (sums[0] != v->devices[device].allocated)
        broken(v, "names %" PRIu64 " bytes as live where %" PRIu64 " are", sums[0],
               v->devices[device].allocated);
    if (sums[1] != tp_account_ranges(&in->account))
        broken(v, "accounts for %" PRIu64 " of %" PRIu64 " bytes of its ranges", sums[1],
               tp_account_ranges(&in->account));
    return v->status;
}

static int verify_window(void *ctx, struct tp_replayer *p, const struct tp_window *w,
                         struct tp_err *err)
{
    struct verify *v = ctx;
    tp_replay_observed(p, w);
    int status = v->status ? v->status : tp_replayer_check(p, w, err);
    for (uint16_t d = 0; !status && d < p->facts->devices; d++)
        status = check_instance(v, d);
    return status;
}

/* Checks the blocks that the trace leaves live. */
static void check_end(struct verify *v)
{
    for (uint32_t slot = 0; !v->status && slot < v->replayer->facts->slots; slot++)
        if (v->blocks[slot].size)
            leaving(v->replayer, slot);
}

static int verify_open(struct verify *v, struct tp_replayer *p, struct tp_err *err)
{
    *v = (struct verify){.replayer = p, .err = err};
    v->blocks = tp_own_zeroed(p->facts->slots + UINT64_C(1), sizeof *v->blocks);
    v->devices = tp_own_zeroed(p->facts->devices, sizeof *v->devices);
    if (!v->blocks || !v->devices)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    for (uint16_t d = 0; d < p->facts->devices; d++)
        v->devices[d].live.own = true;
    p->observer = &verify_observer;
    p->observer_state = v;
    p->contents = p->host_memory;
    p->touch = TP_TOUCH_NONE; /* the engine must not write to a block before it was checked */
    return TP_OK;
}

static void verify_close(struct verify *v, uint16_t devices)
{
    for (uint16_t d = 0; v->devices && d < devices; d++)
        tp_ranges_fini(&v->devices[d].live);
    tp_own_free(v->devices);
    tp_own_free(v->blocks);
}

static int verify_serially(const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    struct tp_replayer p;
    struct verify v = {0};
    struct tp_replay_cfg watched = *cfg;
    watched.shared.keeps_ranges = true;
    watched.threads = 1;
    int status = tp_replayer_open(&p, &watched, cfg->strategy, err);
    if (status)
        return status;
    status = verify_open(&v, &p, err);
    if (!status)
        status = tp_replay_watched(&p, "verify", verify_window, &v, err);
    if (!status)
        check_end(&v);
    status = status ? status : v.status;
    p.observer = NULL;
    if (!v.status) /* a broken strategy's blocks cannot be trusted */
        tp_replayer_drain(&p);
    status = status ? status : tp_replayer_lost(&p, "after the last event", err);
    status = tp_replayer_end(&p, status, err);
    verify_close(&v, tp_program_facts(cfg->program)->devices);
    return status;
}

int tp_pass_verify(const struct tp_replay_cfg *cfg, struct tp_run *out, struct tp_err *err)
{
    int status = verify_serially(cfg, err);
    if (!status && tp_crew_threads(cfg) > 1)
        status = tp_verify_threads(cfg, err);
    if (!status)
        out->flags |= TP_RUN_VERIFIED;
    return status;
}
