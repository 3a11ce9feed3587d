/* See conformance_replay.h. */
#include "alloc/conformance/conformance_replay.h"

static struct tp_req replay_request(const struct tp_insn *in)
{
    return (struct tp_req){
        .size = in->size, .align = UINT64_C(1) << in->align_log2, .stream = in->stream};
}

/* A new block into a free object. */
static void replay_new(struct model *m, struct model_object *o, const struct tp_req *rq, int rc,
                       const struct tp_block *b)
{
    o->refs = 1;
    o->stream = rq->stream;
    if (rc) {
        tp_model_refused(m, rc, rq);
        return;
    }
    if (!tp_model_place(m, o, rq, *b) || !tp_model_handed_out(m, o->addr, o->allocated, rq->stream))
        return;
    tp_model_fill(m, o);
    tp_model_work(m, o, rq->stream);
}

static void replay_alloc(struct model *m, const struct tp_insn *in)
{
    struct model_object *o = &m->objects[in->slot];
    struct tp_req rq = replay_request(in);
    struct tp_block b = {0};
    if (o->refs)
        return;
    int rc = m->rig->s->alloc(m->rig->st, tp_model_thread(m, in->thread), &rq, &b);
    replay_new(m, o, &rq, rc, &b);
}

/* Gives back what could not be handed over; a refusal is retried, as no test refuses for ever. */
static void replay_put(struct model *m, tp_addr addr, uint64_t bytes)
{
    int rc = tp_src_put(m->rig->env.source, addr, bytes);
    if (rc == TP_EIO)
        rc = tp_src_put(m->rig->env.source, addr, bytes);
    tp_model_expect(m, rc, "a put by the test");
}

/* A block from elsewhere: straight from the source, then handed to the strategy. */
static void replay_adopt(struct model *m, const struct tp_insn *in)
{
    struct rig *r = m->rig;
    struct model_object *o = &m->objects[in->slot];
    struct tp_req rq = replay_request(in);
    struct tp_block b = {0};
    tp_addr addr = 0;
    if (!r->s->adopt || !r->env.source) {
        replay_alloc(m, in);
        return;
    }
    if (o->refs)
        return;
    uint64_t page = r->env.source->page, bytes = (rq.size + page - 1) & ~(page - 1);
    int rc = tp_src_get(r->env.source, bytes, rq.align > page ? rq.align : page, &addr);
    if (!rc)
        rc = r->s->adopt(r->st, tp_model_thread(m, in->thread), addr, &rq, &b);
    if (rc && addr)
        replay_put(m, addr, bytes);
    if (!rc && b.addr != addr)
        tp_model_fail(m, MODEL_OVERLAP, "adopt answers another address than it was given");
    else if (!rc && b.allocated > bytes)
        tp_model_fail(m, MODEL_ALLOCATED, "adopt allocates %llu bytes for a block of %llu",
                      (unsigned long long)b.allocated, (unsigned long long)bytes);
    else
        replay_new(m, o, &rq, rc, &b);
}

/* RETAIN, RELEASE, USE by op, once more after bookkeeping memory was failed on purpose. */
static int replay_on_address(struct model *m, uint8_t op, const struct tp_insn *in, tp_addr addr)
{
    const struct tp_strategy *s = m->rig->s;
    void *thr = tp_model_thread(m, in->thread);
    int rc = TP_OK;
    for (int tries = 0; tries < 2; tries++) {
        if (op == TP_RETAIN && s->retain)
            rc = s->retain(m->rig->st, thr, addr);
        else if (op == TP_RELEASE && s->release)
            rc = s->release(m->rig->st, thr, addr);
        else if (op == TP_USE && s->use)
            rc = s->use(m->rig->st, thr, addr, in->stream);
        if (!tp_model_again(m, rc))
            break;
    }
    return rc;
}

/* Frees the block of an object whose references are down to one. */
static bool replay_give_back(struct model *m, const struct tp_insn *in, struct model_object *o)
{
    const struct tp_strategy *s = m->rig->s;
    void *st = m->rig->st, *thr = tp_model_thread(m, in->thread);
    struct tp_req rq = {.size = o->size, .align = o->align, .stream = in->stream};
    struct model_object old = *o;
    struct model_fences fences;
    if (!tp_model_verify(m, o, o->addr, o->size) || !tp_model_probe_size(m, thr, o))
        return false;
    tp_model_record(m, o, in->stream, &fences);
    tp_model_order(m, o, in->stream);
    int rc = s->free(st, thr, o->addr, &rq);
    if (tp_model_again(m, rc))
        rc = s->free(st, thr, o->addr, &rq);
    if (!tp_model_expect(m, rc, "free"))
        return false;
    tp_model_remove(m, o);
    tp_model_freed(m, old.addr, old.allocated, &fences);
    if (!m->probes || !m->detects)
        return true;
    thr = tp_model_thread(m, in->thread + 1);
    return tp_model_einval(m, s->free(st, thr, old.addr, &rq), "a second free") &&
           tp_model_wrong_address(m, thr, old.addr, "a freed");
}

static void replay_free(struct model *m, const struct tp_insn *in)
{
    struct model_object *o = &m->objects[in->slot];
    if (o->refs != 1)
        return;
    if (o->addr)
        replay_give_back(m, in, o);
    *o = (struct model_object){0};
}

/* In place. What a smaller block no longer holds was in use on the stream until now. */
static void replay_resized(struct model *m, struct model_object *o, const struct tp_req *rq,
                           const struct tp_block *b, const struct model_fences *fences)
{
    struct model_object old = *o;
    uint64_t kept = old.size < rq->size ? old.size : rq->size;
    if (b->addr != old.addr) {
        tp_model_fail(m, MODEL_OVERLAP, "resize has moved a block");
        return;
    }
    if (!tp_model_verify(m, &old, b->addr, kept) || !tp_model_place(m, o, rq, *b))
        return;
    if (o->allocated < old.allocated)
        tp_model_freed(m, old.addr + o->allocated, old.allocated - o->allocated, fences);
    else if (o->allocated > old.allocated)
        tp_model_handed_out(m, old.addr + old.allocated, o->allocated - old.allocated, rq->stream);
    tp_model_fill(m, o);
    tp_model_work(m, o, rq->stream);
}

static void replay_moved(struct model *m, struct model_object *o, const struct tp_req *rq,
                         const struct tp_block *b, const struct model_fences *fences)
{
    struct model_object old = *o;
    uint64_t kept = old.size < rq->size ? old.size : rq->size;
    if (!tp_model_verify(m, &old, b->addr, kept) || !tp_model_place(m, o, rq, *b))
        return;
    if (o->addr != old.addr && !tp_model_handed_out(m, o->addr, o->allocated, rq->stream))
        return;
    if (o->addr != old.addr) {
        o->used = o->busy = 0;
        o->stream = rq->stream;
        tp_model_freed(m, old.addr, old.allocated, fences);
    }
    tp_model_fill(m, o);
    tp_model_work(m, o, rq->stream);
}

/* The last resort of the engine: a new block, the contents, the old block freed. */
static int replay_copied(struct model *m, const struct tp_insn *in, struct model_object *o,
                         const struct tp_req *rq)
{
    struct model_object *fresh = &m->objects[MODEL_SLOTS - 1]; /* no program has this slot */
    struct tp_block b = {0};
    int rc = m->rig->s->alloc(m->rig->st, tp_model_thread(m, in->thread), rq, &b);
    if (rc)
        return rc;
    uint64_t kept = o->size < rq->size ? o->size : rq->size;
    replay_new(m, fresh, rq, rc, &b);
    if (m->failure.kind)
        return rc;
    unsigned char *to = tp_model_bytes(m, fresh->addr), *from = tp_model_bytes(m, o->addr);
    if (to && from)
        memcpy(to, from, kept);
    if (!tp_model_verify(m, o, fresh->addr, kept) || !replay_give_back(m, in, o))
        return rc;
    tp_model_fill(m, fresh);
    *tp_addr_map_find(&m->live, fresh->addr) = (uint64_t)(o - m->objects);
    *o = *fresh;
    *fresh = (struct model_object){0};
    return rc;
}

/* As the engine does it: in place, else moved, else by hand. The alignment is that of the object.
 */
static void replay_realloc(struct model *m, const struct tp_insn *in)
{
    const struct tp_strategy *s = m->rig->s;
    struct model_object *o = &m->objects[in->slot];
    if (o->refs != 1 || !o->addr)
        return;
    struct tp_req rq = {.size = in->size, .align = o->align, .stream = in->stream};
    struct tp_block b = {0};
    struct model_fences fences;
    void *thr = tp_model_thread(m, in->thread);
    tp_model_record(m, o, in->stream, &fences);
    tp_model_order(m, o, in->stream);
    int rc = s->resize ? s->resize(m->rig->st, thr, o->addr, &rq, &b) : TP_EUNSUP;
    if (rc == TP_OK) {
        replay_resized(m, o, &rq, &b, &fences);
        return;
    }
    if (rc == TP_EUNSUP && s->move)
        rc = s->move(m->rig->st, thr, o->addr, &rq, &b);
    if (rc == TP_OK)
        replay_moved(m, o, &rq, &b, &fences);
    else if (rc == TP_EUNSUP)
        rc = replay_copied(m, in, o, &rq);
    if (rc && tp_model_refused(m, rc, &rq))
        tp_model_verify(m, o, o->addr, o->size); /* the old block stays */
}

static void replay_reference(struct model *m, const struct tp_insn *in)
{
    struct model_object *o = &m->objects[in->slot];
    if (o->refs == 0 || (in->op == TP_RELEASE && o->refs == 1))
        return;
    o->refs += in->op == TP_RETAIN ? 1 : UINT32_MAX;
    if (o->addr)
        tp_model_expect(m, replay_on_address(m, in->op, in, o->addr), "retain or release");
}

static void replay_use(struct model *m, const struct tp_insn *in)
{
    struct model_object *o = &m->objects[in->slot];
    if (!o->addr)
        return;
    if (!tp_model_expect(m, replay_on_address(m, TP_USE, in, o->addr), "use"))
        return;
    o->used |= in->stream < 32 ? UINT32_C(1) << in->stream : 0;
    tp_model_work(m, o, in->stream);
}

static void replay_sync(struct model *m, const struct tp_insn *in)
{
    struct rig *r = m->rig;
    void *thr = tp_model_thread(m, in->thread);
    if (r->env.source && tp_src_has_fences(r->env.source))
        tp_src_synced(r->env.source, in->stream);
    if (!r->s->sync)
        return;
    int rc = r->s->sync(r->st, thr, in->stream);
    tp_model_expect(m, tp_model_again(m, rc) ? r->s->sync(r->st, thr, in->stream) : rc, "sync");
}

/* All objects at once, each on the stream that it was allocated on, as `reset` names no other. */
static void replay_reset_all(struct model *m)
{
    struct rig *r = m->rig;
    struct model_fences fences;
    for (uint32_t i = 0; i < MODEL_SLOTS; i++) {
        const struct model_object *o = &m->objects[i];
        if (!o->addr)
            continue;
        tp_model_record(m, o, o->stream, &fences);
        tp_model_order(m, o, o->stream);
        tp_model_freed(m, o->addr, o->allocated, &fences);
    }
    int rc = r->s->reset(r->st);
    tp_model_expect(m, tp_model_again(m, rc) ? r->s->reset(r->st) : rc, "reset");
    for (uint32_t i = 0; i < MODEL_SLOTS; i++)
        tp_model_remove(m, &m->objects[i]);
}

/* Without `reset` every object is freed, with all its references. */
static void replay_reset(struct model *m, const struct tp_insn *in)
{
    if (m->rig->s->reset) {
        replay_reset_all(m);
        return;
    }
    for (uint32_t i = 0; i < MODEL_SLOTS && !m->failure.kind; i++) {
        struct model_object *o = &m->objects[i];
        for (; o->addr && o->refs > 1; o->refs--)
            tp_model_expect(m, replay_on_address(m, TP_RELEASE, in, o->addr), "release");
        if (o->addr)
            replay_give_back(m, in, o);
        *o = (struct model_object){0};
    }
}

static void replay_trim(struct model *m, const struct tp_insn *in)
{
    struct rig *r = m->rig;
    uint64_t before = r->account.reserved;
    if (!r->s->trim)
        return;
    int rc = r->s->trim(r->st, in->size);
    if (rc == TP_EUNSUP) /* as if it had none */
        return;
    tp_model_expect(m, tp_model_again(m, rc) ? r->s->trim(r->st, in->size) : rc, "trim");
    if (r->account.reserved > before)
        tp_model_fail(m, MODEL_WALK, "trim has reserved more than there was");
}

/* The next request of the thread. */
static void replay_pool(struct model *m, const struct tp_insn *in)
{
    struct rig *r = m->rig;
    if (r->s->choose_pool)
        r->s->choose_pool(r->st, tp_model_thread(m, in->thread), in->size);
}

static void replay_thread_end(struct model *m, const struct tp_insn *in)
{
    struct rig *r = m->rig;
    void *thr = tp_model_thread(m, in->thread);
    if (!r->s->thread_fini)
        return;
    r->s->thread_fini(r->st, thr);
    memset(thr, 0, r->s->thread_size);
    int rc = r->s->thread_init(r->st, thr);
    tp_model_expect(m, tp_model_again(m, rc) ? r->s->thread_init(r->st, thr) : rc, "thread_init");
}

bool tp_model_step(struct model *m, const struct tp_insn *in, uint32_t step)
{
    typedef void replay_fn(struct model *, const struct tp_insn *);
    static replay_fn *const table[TP_OP_COUNT] = {[TP_ALLOC] = replay_alloc,
                                                  [TP_FREE] = replay_free,
                                                  [TP_REALLOC] = replay_realloc,
                                                  [TP_RETAIN] = replay_reference,
                                                  [TP_ADOPT] = replay_adopt,
                                                  [TP_RELEASE] = replay_reference,
                                                  [TP_USE] = replay_use,
                                                  [TP_SYNC] = replay_sync,
                                                  [TP_RESET] = replay_reset,
                                                  [TP_TRIM] = replay_trim,
                                                  [TP_THREAD_END] = replay_thread_end,
                                                  [TP_POOL] = replay_pool};
    m->step = step;
    m->steps++;
    m->rig->now_ns += in->gap_ns;
    if (m->rig->passes)
        m->rig->passes(in->gap_ns);
    if (in->op < TP_OP_COUNT && table[in->op] && in->slot < MODEL_SLOTS - 1)
        table[in->op](m, in);
    if (!m->failure.kind && m->probes)
        tp_model_probe(m, in->thread, in->op <= TP_USE ? &m->objects[in->slot] : NULL);
    if (!m->failure.kind && m->steps >= m->next_check)
        tp_model_check(m, m->steps % 16 == 0);
    return !m->failure.kind;
}

bool tp_model_drain(struct model *m)
{
    for (uint32_t i = 0; i < MODEL_SLOTS && !m->failure.kind; i++) {
        struct tp_insn in = {.slot = i, .thread = (uint16_t)i, .op = TP_RELEASE};
        while (m->objects[i].refs > 1 && !m->failure.kind)
            replay_reference(m, &in);
        if (!m->failure.kind)
            replay_free(m, &in);
    }
    return !m->failure.kind && tp_model_check(m, true);
}
