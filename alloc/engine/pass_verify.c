/* The verifying pass: plays the program once beside a shadow of its own and names the event at
 * which the strategy broke its contract: blocks that overlap, a wrong alignment, too few bytes,
 * bytes that are not in one range of the source, contents that changed, a repeated free that was
 * accepted, books that do not add up, bytes kept at the end.
 *
 *     alloc    shadow: nothing of it is live yet        host memory: a pattern is written
 *     free     the pattern is still there, then         a second free must be refused, where
 *                                                       the instance detects invalid frees
 *     window   the strategy's own check, and its walk   live = what the shadow says is handed out
 *
 * What several OS threads can break is looked for by verify_threads.c after that. */
#include "alloc/base/own.h"
#include "alloc/engine/crew.h"
#include "alloc/engine/passes.h"
#include "alloc/engine/shadow.h"
#include "alloc/engine/verify_contents.h"
#include "alloc/engine/verify_threads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct verify {
    struct tp_player *player;
    struct tp_shadow shadow;
    uint64_t *granted; /* bytes by device, at this moment */
    uint64_t event;    /* event of the instruction that is played */
    int status;
    struct tp_err *err;
};

/* Records the first breach; later ones may only follow from it. */
__attribute__((format(printf, 2, 3))) static void broken(struct verify *v, const char *format, ...)
{
    char what[TP_ERR_TEXT / 2];
    va_list args;
    if (v->status || v->player->lost) /* the loss of a device is not the strategy's fault */
        return;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    v->status = tp_fail(v->err, TP_EBROKEN, "event %" PRIu64 ": strategy '%s' %s", v->event,
                        v->player->strategy->name, what);
}

/* ---- contents ---- */

static uint64_t seed_of(const struct tp_shadow_block *b)
{
    return b->event * UINT64_C(0xD1B54A32D192ED03);
}

static void fill(struct verify *v, uint32_t slot)
{
    const struct tp_shadow_block *b = &v->shadow.blocks[slot];
    if (v->player->contents)
        tp_contents_write(b->addr, b->requested, seed_of(b));
}

/* Checks that the first `limit` bytes of `old`, which may have moved to `addr`, still hold the
 * pattern. */
static void check_contents(struct verify *v, const struct tp_shadow_block *old, tp_addr addr,
                           uint64_t limit, const char *when)
{
    if (v->player->contents && !tp_contents_kept(addr, old->requested, limit, seed_of(old)))
        broken(v, "changed the contents of the block of event %" PRIu64 " %s", old->event, when);
}

/* ---- in the order of an instruction ---- */

static void before(struct tp_player *p, const struct tp_window *w, uint32_t index)
{
    struct verify *v = p->observer_state;
    v->event = tp_window_event(w, index);
}

/* Removes the block of a slot, which was freed or replaced. */
static void forget(struct verify *v, uint16_t device, uint32_t slot)
{
    v->granted[device] -= v->shadow.blocks[slot].size;
    tp_shadow_remove(&v->shadow, device, slot);
}

/* Does the block lie in one range of the source? True for a foreign allocator, which has no
 * source. */
static bool is_from_source(const struct verify *v, uint16_t device, tp_addr addr, uint64_t granted)
{
    struct tp_source *src = v->player->instances[device].env.source;
    return !src || tp_src_holds(src, addr, granted);
}

enum { USUAL_ALIGN = 16 };

/* Checks size, alignment and place of a block. False: the block cannot be added to the shadow. */
static bool check_block(struct verify *v, const struct tp_insn *insn, tp_addr addr,
                        uint64_t granted)
{
    uint64_t align = UINT64_C(1) << insn->align_log2;
    /* A malloc need not align a block better than any object that fits into it. */
    while (v->player->strategy->caps & TP_CAP_FOREIGN && align <= USUAL_ALIGN && align > insn->size)
        align /= 2;
    if (granted < insn->size)
        broken(v, "handed out %" PRIu64 " bytes where %" PRIu64 " were asked for", granted,
               insn->size);
    else if (!addr || addr + (granted - 1) < addr)
        broken(v, "handed out an address that no block can have");
    else if (addr % align)
        broken(v, "handed out an address that is not aligned to %" PRIu64, align);
    else if (!is_from_source(v, insn->device, addr, granted))
        broken(v, "handed out memory that is not within one range of its source");
    uint32_t other =
        v->status ? TP_SHADOW_NONE : tp_shadow_overlap(&v->shadow, insn->device, addr, granted);
    if (other != TP_SHADOW_NONE)
        broken(v, "handed out bytes that belong to the block of event %" PRIu64 ", which is live",
               v->shadow.blocks[other].event);
    return !v->status;
}

static void block(struct tp_player *p, const struct tp_insn *insn, const struct tp_block *block,
                  bool both)
{
    struct verify *v = p->observer_state;
    struct tp_shadow_block *b = &v->shadow.blocks[insn->slot], old = *b;
    uint64_t granted = tp_player_granted(p, &p->instances[insn->device], block);
    if (v->status)
        return;
    if (!granted && p->strategy->caps & TP_CAP_FOREIGN) /* it does not tell */
        granted = insn->size;
    if (old.size && !both)
        forget(v, insn->device, insn->slot);
    if (!check_block(v, insn, block->addr, granted))
        return;
    if (old.size) {
        uint64_t kept = old.requested < insn->size ? old.requested : insn->size;
        check_contents(v, &old, block->addr, kept, "when its size changed");
    }
    if (b->size)
        forget(v, insn->device, insn->slot);
    tp_shadow_insert(&v->shadow, insn->device, insn->slot, block->addr, granted);
    v->granted[insn->device] += granted;
    b->event = v->event;
    b->requested = insn->size;
    fill(v, insn->slot);
}

static void leaving(struct tp_player *p, uint32_t slot)
{
    struct verify *v = p->observer_state;
    const struct tp_shadow_block *b = &v->shadow.blocks[slot];
    if (!v->status)
        check_contents(v, b, b->addr, b->requested, "while it was live");
}

/* Tries a second free, which must be refused. */
static void free_again(struct verify *v, const struct tp_insn *insn, uint32_t slot,
                       const struct tp_shadow_block *b)
{
    const struct tp_player *p = v->player;
    struct tp_instance *in = &p->instances[insn->device];
    if (!tp_strategy_detects(p->strategy, in->state))
        return;
    struct tp_req rq = {
        .size = b->requested, .align = tp_slot_align(&p->slots[slot]), .stream = insn->stream};
    void *thr = tp_player_thread(p, in, insn->thread);
    int status = p->strategy->free(in->state, thr, b->addr, &rq);
    if (status != TP_EINVAL)
        broken(v, "accepted a second free of the block of event %" PRIu64, b->event);
}

static void gone(struct tp_player *p, uint32_t slot, const struct tp_insn *insn)
{
    struct verify *v = p->observer_state;
    struct tp_shadow_block b = v->shadow.blocks[slot];
    if (v->status || p->broken)
        return;
    forget(v, tp_slot_device(&p->slots[slot]), slot);
    if (insn->op == TP_FREE)
        free_again(v, insn, slot, &b);
}

static void failed(struct tp_player *p, const struct tp_insn *insn)
{
    (void)p, (void)insn;
}

static void after(struct tp_player *p, const struct tp_window *w, uint32_t index)
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
    const struct tp_strategy *s = v->player->strategy;
    struct tp_instance *in = &v->player->instances[device];
    struct tp_err err = {0};
    uint64_t sums[2] = {0, 0};
    if (s->check && s->check(in->state, &err))
        broken(v, "finds its own state broken: %s", err.text);
    if (!s->walk || s->caps & (TP_CAP_FOREIGN | TP_CAP_ASYNC) ||
        s->walk(in->state, count_live, sums))
        return v->status;
    if (sums[0] != v->granted[device])
        broken(v, "names %" PRIu64 " bytes as live where %" PRIu64 " are", sums[0],
               v->granted[device]);
    if (sums[1] != tp_account_ranges(&in->account))
        broken(v, "accounts for %" PRIu64 " of %" PRIu64 " bytes of its ranges", sums[1],
               tp_account_ranges(&in->account));
    return v->status;
}

static int verify_window(void *ctx, struct tp_player *p, const struct tp_window *w,
                         struct tp_err *err)
{
    struct verify *v = ctx;
    tp_play_observed(p, w);
    int status = v->status ? v->status : tp_player_check(p, w, err);
    for (uint16_t d = 0; !status && d < p->facts->devices; d++)
        status = check_instance(v, d);
    return status;
}

/* Checks the blocks that the trace leaves live. */
static void check_end(struct verify *v)
{
    for (uint32_t slot = 0; !v->status && slot < v->shadow.slots; slot++)
        if (v->shadow.blocks[slot].size)
            leaving(v->player, slot);
}

static int verify_open(struct verify *v, struct tp_player *p, struct tp_err *err)
{
    *v = (struct verify){.player = p, .err = err};
    int status = tp_shadow_open(&v->shadow, p->facts->slots, p->facts->devices, err);
    if (status)
        return status;
    v->granted = tp_own_zeroed(p->facts->devices, sizeof *v->granted);
    if (!v->granted)
        return tp_fail(err, TP_ENOMEM, "tapool itself ran out of memory");
    p->observer = &verify_observer;
    p->observer_state = v;
    p->contents = p->host_memory;
    p->touch = TP_TOUCH_NONE; /* the engine must not write to a block before it was checked */
    return TP_OK;
}

static int verify_serially(const struct tp_replay_cfg *cfg, struct tp_err *err)
{
    struct tp_player p;
    struct verify v = {0};
    struct tp_replay_cfg watched = *cfg;
    watched.shared.keeps_ranges = true;
    watched.threads = 1;
    int status = tp_player_open(&p, &watched, cfg->strategy, err);
    if (status)
        return status;
    status = verify_open(&v, &p, err);
    if (!status)
        status = tp_play_watched(&p, "verify", verify_window, &v, err);
    if (!status)
        check_end(&v);
    status = status ? status : v.status;
    p.observer = NULL;
    if (!v.status) /* a broken strategy's blocks cannot be trusted */
        tp_player_drain(&p);
    status = status ? status : tp_player_lost(&p, "after the last event", err);
    status = tp_player_end(&p, status, err);
    tp_shadow_close(&v.shadow);
    tp_own_free(v.granted);
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
