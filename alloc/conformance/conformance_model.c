/* See conformance_model.h. */
#include "alloc/conformance/conformance_model.h"

#include "alloc/base/ascending.h"

const char *const tp_model_kind_names[MODEL_KINDS] = {"nothing",
                                                      "overlap",
                                                      "misaligned block",
                                                      "allocated size",
                                                      "contents",
                                                      "wrong stream",
                                                      "walk",
                                                      "check",
                                                      "wrong accepted",
                                                      "correct call refused",
                                                      "complaint of the source",
                                                      "left at the end",
                                                      "block outside the source's memory",
                                                      "crash"};

struct model_piece {
    tp_addr addr;
    uint64_t size;
};

struct model_walk {
    struct model *m;
    uint64_t sums[TP_WALK_COUNT], live;
    struct model_piece *pieces; /* NULL: not looked at */
    size_t count, all;
};

bool tp_model_fail(struct model *m, enum model_kind kind, const char *format, ...)
{
    if (m->failure.kind)
        return false;
    m->failure.kind = kind;
    m->failure.step = m->step;
    va_list args;
    va_start(args, format);
    vsnprintf(m->failure.text, sizeof m->failure.text, format, args);
    va_end(args);
    return false;
}

void tp_model_open(struct model *m, struct rig *r)
{
    *m = (struct model){.rig = r, .probes = true, .check_every = 1};
    m->detects = tp_strategy_detects(r->s, r->st);
    bool ordered = r->s->caps & TP_CAP_STREAMS && r->env.source;
    bool queues = r->env.source && r->stack[0].ops->work;
    m->works = queues && (ordered || r->env.streams == 1);
    m->streams = ordered && !queues && tp_src_has_fences(r->env.source);
    tp_addr_map_init_plain(&m->live);
}

void tp_model_close(struct model *m)
{
    tp_addr_map_fini(&m->live);
}

uint64_t tp_model_mix(uint64_t z)
{
    z += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void *tp_model_thread(const struct model *m, uint32_t thread)
{
    return m->rig->threads[thread % m->rig->thread_count];
}

unsigned char *tp_model_bytes(struct model *m, tp_addr addr)
{
    if (!m->rig->host)
        return NULL;
    if (!m->rig->env.source)
        return (unsigned char *)(uintptr_t)addr;
    unsigned char *p = tp_src_host(m->rig->env.source, addr);
    if (!p)
        tp_model_fail(m, MODEL_CONTENTS, "a block is outside the memory of the source");
    return p;
}

void tp_model_fill(struct model *m, struct model_object *o)
{
    unsigned char *p = tp_model_bytes(m, o->addr);
    uint64_t n = o->size < MODEL_KEPT ? o->size : MODEL_KEPT;
    o->fill = (unsigned char)tp_model_mix(m->steps);
    if (!p)
        return;
    memset(p, o->fill, n);
    memset(p + o->size - n, o->fill, n);
}

static bool model_is_filled(const unsigned char *p, uint64_t n, unsigned char fill)
{
    return !n || (p[0] == fill && !memcmp(p, p + 1, n - 1));
}

bool tp_model_verify(struct model *m, const struct model_object *o, tp_addr addr, uint64_t kept)
{
    const unsigned char *p = tp_model_bytes(m, addr);
    uint64_t n = o->size < MODEL_KEPT ? o->size : MODEL_KEPT, tail = o->size - n;
    if (!p)
        return !m->failure.kind;
    if (model_is_filled(p, kept < n ? kept : n, o->fill) &&
        (kept <= tail || model_is_filled(p + tail, kept - tail, o->fill)))
        return true;
    return tp_model_fail(m, MODEL_CONTENTS, "%llu bytes that should have stayed have changed",
                         (unsigned long long)kept);
}

static void model_prune(struct model *m)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->pending_count; i++)
        if (m->pending[i].size && !tp_src_done(m->rig->env.source, &m->pending[i].fence))
            m->pending[kept++] = m->pending[i];
    m->pending_count = kept;
}

void tp_model_follow(struct model *m)
{
    struct follows *f = tp_rig_follows(m->rig);
    for (uint32_t i = 0; i < f->count; i++)
        for (uint32_t k = 0; k < m->pending_count && f->pairs[i][0] < 32; k++) {
            struct model_pending *p = &m->pending[k];
            const uint16_t after = f->pairs[i][1];
            if (p->fence.stream == after || (after < 32 && p->behind >> after & 1))
                p->behind |= UINT32_C(1) << f->pairs[i][0];
        }
    f->count = 0;
}

static void model_add_pending(struct model *m, tp_addr addr, uint64_t size,
                              const struct tp_fence *fence, uint32_t behind)
{
    if (m->pending_count < MODEL_PENDING)
        m->pending[m->pending_count++] = (struct model_pending){addr, size, *fence, behind};
}

void tp_model_record(struct model *m, const struct model_object *o, uint16_t stream,
                     struct model_fences *out)
{
    out->count = 0;
    if (!m->streams)
        return;
    tp_src_record(m->rig->env.source, stream, &out->list[out->count++]);
    for (uint16_t i = 0; m->rig->s->use && i < 32; i++)
        if (o->used >> i & 1)
            tp_src_record(m->rig->env.source, i, &out->list[out->count++]);
}

void tp_model_freed(struct model *m, tp_addr addr, uint64_t size, const struct model_fences *fences)
{
    if (!m->streams)
        return;
    tp_model_follow(m); /* those waits were before the free */
    if (m->pending_count + fences->count > MODEL_PENDING)
        model_prune(m);
    for (uint32_t i = 0; size && i < fences->count; i++)
        model_add_pending(m, addr, size, &fences->list[i], 0);
}

void tp_model_work(struct model *m, struct model_object *o, uint16_t stream)
{
    struct tp_source *src = m->rig->env.source;
    int rc = TP_OK;
    if (!m->works || !o->addr)
        return;
    for (uint16_t x = 0; x < 32 && !rc; x++)
        if (o->busy >> x & 1 && x != stream)
            rc = tp_src_follow(src, stream, x);
    if (!rc)
        rc = tp_src_work(src, stream, o->addr, o->size, MODEL_WORK_NS, TP_OCCUPY_MEMSET);
    o->busy |= UINT32_C(1) << stream;
    if (rc)
        tp_model_fail(m, MODEL_STATUS, "work: %s", tp_status_text(rc));
}

void tp_model_order(struct model *m, const struct model_object *o, uint16_t stream)
{
    const struct tp_strategy *s = m->rig->s;
    uint32_t known = s->use ? o->used : 0;
    if (s->caps & TP_CAP_ASYNC)
        known |= UINT32_C(1) << o->stream;
    for (uint16_t x = 0; m->works && x < 32; x++)
        if ((o->busy & ~known) >> x & 1 && x != stream)
            tp_src_follow(m->rig->env.source, stream, x);
}

/* Takes [addr, addr + size) out of a record; what is left of it on the right becomes a new one. */
static void model_cut(struct model *m, uint32_t index, tp_addr addr, uint64_t size)
{
    struct model_pending *p = &m->pending[index];
    tp_addr end = p->addr + p->size;
    if (end > addr + size)
        model_add_pending(m, addr + size, end - (addr + size), &p->fence, p->behind);
    p->size = p->addr < addr ? addr - p->addr : 0;
}

bool tp_model_handed_out(struct model *m, tp_addr addr, uint64_t size, uint16_t stream)
{
    if (!m->streams)
        return true;
    tp_model_follow(m);
    model_prune(m);
    for (uint32_t i = 0, count = m->pending_count; i < count; i++) {
        const struct model_pending *p = &m->pending[i];
        if (p->addr >= addr + size || addr >= p->addr + p->size)
            continue;
        if (p->fence.stream != stream && !(stream < 32 && p->behind >> stream & 1))
            return tp_model_fail(m, MODEL_STREAM,
                                 "a block for stream %u, freed at %llu ns, may still be in use on "
                                 "stream %u at %llu ns",
                                 stream, (unsigned long long)p->fence.time_ns, p->fence.stream,
                                 (unsigned long long)m->rig->now_ns);
        model_cut(m, i, addr, size);
    }
    return true;
}

static bool model_fits(struct model *m, const struct tp_req *rq, const struct tp_block *b)
{
    const struct rig *r = m->rig;
    if (!b->addr || b->addr & (rq->align - 1))
        return tp_model_fail(m, MODEL_MISALIGNED, "a block at %#llx for alignment %llu",
                             (unsigned long long)b->addr, (unsigned long long)rq->align);
    if (b->allocated < rq->size || b->addr + b->allocated <= b->addr)
        return tp_model_fail(m, MODEL_ALLOCATED, "%llu bytes allocated where %llu were requested",
                             (unsigned long long)b->allocated, (unsigned long long)rq->size);
    if (r->env.source && !tp_ranges_hold(&r->ranges, b->addr, b->allocated))
        return tp_model_fail(m, MODEL_OUTSIDE, "%llu bytes of a block are not in one range",
                             (unsigned long long)b->allocated);
    if (r->s->usable && r->s->usable(r->st, b->addr) != b->allocated)
        return tp_model_fail(
            m, MODEL_ALLOCATED, "usable() says %llu where %llu bytes were allocated",
            (unsigned long long)r->s->usable(r->st, b->addr), (unsigned long long)b->allocated);
    return true;
}

static void forget(struct model *m, const struct model_object *o)
{
    if (!o->addr)
        return;
    tp_addr_map_remove(&m->live, o->addr, NULL);
    tp_aliases_disclaim(&m->rig->aliases, o->addr);
    m->live_bytes -= o->allocated;
}

bool tp_model_place(struct model *m, struct model_object *o, const struct tp_req *rq,
                    struct tp_block b)
{
    if (!b.allocated && m->rig->s->usable)
        b.allocated = m->rig->s->usable(m->rig->st, b.addr);
    if (!model_fits(m, rq, &b))
        return false;
    for (uint32_t i = 0; i < MODEL_SLOTS; i++) {
        const struct model_object *other = &m->objects[i];
        if (other != o && other->addr && other->addr < b.addr + b.allocated &&
            b.addr < other->addr + other->allocated)
            return tp_model_fail(
                m, MODEL_OVERLAP, "a block of %llu bytes lies over a live one of %llu",
                (unsigned long long)b.allocated, (unsigned long long)other->allocated);
    }
    forget(m, o);
    int claimed = tp_aliases_claim(&m->rig->aliases, b.addr, b.allocated);
    if (claimed == TP_EINVAL)
        return tp_model_fail(m, MODEL_OVERLAP,
                             "a block of %llu bytes has memory of a live one at another address",
                             (unsigned long long)b.allocated);
    o->addr = b.addr;
    o->size = rq->size;
    o->align = rq->align;
    o->allocated = b.allocated;
    m->live_bytes += b.allocated;
    if (claimed || tp_addr_map_insert(&m->live, b.addr, (uint64_t)(o - m->objects)))
        return tp_model_fail(m, MODEL_STATUS, "the test ran out of memory");
    return true;
}

void tp_model_remove(struct model *m, struct model_object *o)
{
    forget(m, o);
    *o = (struct model_object){0};
}

bool tp_model_refused(struct model *m, int rc, const struct tp_req *rq)
{
    m->refusals += rc == TP_EOOM;
    if (rc == TP_EOOM || (rc == TP_ENOMEM && m->rig->meta.fail_at))
        return true;
    if (rc == TP_EUNSUP && !(m->rig->s->caps & TP_CAP_ALIGN) && rq->align > 16)
        return true;
    return tp_model_fail(m, MODEL_STATUS, "%llu bytes with alignment %llu: %s",
                         (unsigned long long)rq->size, (unsigned long long)rq->align,
                         tp_status_text(rc));
}

bool tp_model_expect(struct model *m, int rc, const char *what)
{
    return rc == TP_OK || tp_model_fail(m, MODEL_STATUS, "%s: %s", what, tp_status_text(rc));
}

bool tp_model_again(const struct model *m, int rc)
{
    return rc == TP_ENOMEM && m->rig->meta.fail_at;
}

bool tp_model_einval(struct model *m, int rc, const char *what)
{
    return rc == TP_EINVAL ||
           tp_model_fail(m, MODEL_WRONG_CALL, "%s: %s", what, rc ? tp_status_text(rc) : "accepted");
}

/* The text is made only where it is needed: this is called a dozen times a step. */
static bool model_einval_of(struct model *m, int rc, const char *member, const char *what)
{
    return rc == TP_EINVAL || tp_model_fail(m, MODEL_WRONG_CALL, "%s of %s address: %s", member,
                                            what, rc ? tp_status_text(rc) : "accepted");
}

bool tp_model_wrong_address(struct model *m, void *thr, tp_addr addr, const char *what)
{
    const struct tp_strategy *s = m->rig->s;
    void *st = m->rig->st;
    const struct tp_req rq = {.size = 64, .align = 16};
    struct tp_block b;
    bool ok = !s->use || model_einval_of(m, s->use(st, thr, addr, 1), "use", what);
    ok = ok && (!s->retain || model_einval_of(m, s->retain(st, thr, addr), "retain", what));
    ok = ok && (!s->release || model_einval_of(m, s->release(st, thr, addr), "release", what));
    ok =
        ok && (!s->resize || model_einval_of(m, s->resize(st, thr, addr, &rq, &b), "resize", what));
    ok = ok && (!s->move || model_einval_of(m, s->move(st, thr, addr, &rq, &b), "move", what));
    ok = ok && model_einval_of(m, s->free(st, thr, addr, &rq), "free", what);
    if (ok && s->usable && s->usable(st, addr))
        ok = tp_model_fail(m, MODEL_WRONG_CALL, "usable() knows %s address", what);
    return ok;
}

static bool model_wrong_requests(struct model *m, void *thr)
{
    static const struct tp_req bad[] = {{.size = 0, .align = 16},
                                        {.size = 8, .align = 0},
                                        {.size = 8, .align = 3},
                                        {.size = 8, .align = 48},
                                        {.size = 8, .align = UINT64_MAX}};
    struct tp_block b;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (!tp_model_einval(m, m->rig->s->alloc(m->rig->st, thr, &bad[i], &b),
                             "a senseless request"))
            return false;
    return true;
}

static bool model_wrong_addresses(struct model *m, void *thr, const struct model_object *o)
{
    tp_addr wrong[] = {
        0, 1, UINT64_MAX, UINT64_MAX & ~UINT64_C(15), (uintptr_t)m, tp_model_mix(m->steps)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (!tp_model_wrong_address(m, thr, wrong[i], "an unknown"))
            return false;
    for (uint64_t off = 1; o && o->addr && off < o->allocated; off *= 4)
        if (!tp_model_wrong_address(m, thr, o->addr + off, "an interior"))
            return false;
    return true;
}

bool tp_model_probe(struct model *m, uint32_t thread, const struct model_object *o)
{
    struct tp_account before = m->rig->account;
    struct tp_stats stats = {0}, after = {0};
    void *thr = tp_model_thread(m, thread + 1);
    if (!m->rig->env.source) /* a real allocator promises nothing about wrong calls */
        return true;
    if (m->rig->s->stats)
        m->rig->s->stats(m->rig->st, &stats);
    if ((m->detects && !model_wrong_addresses(m, thr, o)) || !model_wrong_requests(m, thr))
        return false;
    if (m->rig->s->stats)
        m->rig->s->stats(m->rig->st, &after);
    if (memcmp(&before, &m->rig->account, sizeof before) || memcmp(&stats, &after, sizeof stats))
        return tp_model_fail(m, MODEL_WRONG_CALL, "a refused call has changed the statistics");
    return true;
}

bool tp_model_probe_size(struct model *m, void *thr, const struct model_object *o)
{
    const struct tp_req rq = {.size = 4 * o->allocated + (1 << 20), .align = o->align};
    struct tp_account before = m->rig->account;
    if (!m->detects)
        return true;
    return tp_model_einval(m, m->rig->s->free(m->rig->st, thr, o->addr, &rq),
                           "a free with a wrong size") &&
           (!memcmp(&before, &m->rig->account, sizeof before) ||
            tp_model_fail(m, MODEL_WRONG_CALL, "a free with a wrong size has changed the account"));
}

static void model_count(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    struct model_walk *w = ctx;
    if (!addr || !size || kind >= TP_WALK_COUNT) {
        tp_model_fail(w->m, MODEL_WALK, "the walk names an empty block");
        return;
    }
    w->sums[kind] += size;
    w->all++;
    if (w->pieces && w->count < MODEL_PIECES)
        w->pieces[w->count++] = (struct model_piece){addr, size};
    if (kind != TP_WALK_LIVE)
        return;
    const uint64_t *index = tp_addr_map_find(&w->m->live, addr);
    w->live++;
    if (!index || w->m->objects[*index].allocated != size)
        tp_model_fail(w->m, MODEL_WALK, "the walk names a live block of %llu bytes that nobody has",
                      (unsigned long long)size);
}

static int model_by_address(const void *a, const void *b)
{
    const struct model_piece *x = a, *y = b;
    return tp_order(x->addr, y->addr);
}

static bool model_pieces(struct model *m, struct model_walk *w)
{
    if (w->count > 1)
        qsort(w->pieces, w->count, sizeof *w->pieces, model_by_address);
    for (size_t i = 1; i < w->count; i++)
        if (w->pieces[i - 1].addr + w->pieces[i - 1].size > w->pieces[i].addr)
            return tp_model_fail(m, MODEL_WALK, "two blocks of the walk overlap");
    return true;
}

static bool model_stats(struct model *m)
{
    const struct rig *r = m->rig;
    struct tp_stats s = {0};
    if (!r->s->stats || !r->s->walk)
        return true;
    r->s->stats(r->st, &s);
    if (s.carved_bytes <= r->account.reserved && s.carved_bytes >= m->live_bytes &&
        s.peak_carved_bytes >= s.carved_bytes && s.peak_carved_bytes <= r->account.peak_reserved)
        return true;
    return tp_model_fail(m, MODEL_WALK, "carved %llu (peak %llu) with %llu live and %llu reserved",
                         (unsigned long long)s.carved_bytes,
                         (unsigned long long)s.peak_carved_bytes, (unsigned long long)m->live_bytes,
                         (unsigned long long)r->account.reserved);
}

bool tp_model_check(struct model *m, bool deep)
{
    const struct rig *r = m->rig;
    struct tp_err err = {0};
    struct model_walk w = {.m = m};
    uint64_t sum = 0;
    if (tp_rig_complaint(r))
        return tp_model_fail(m, MODEL_SOURCE, "%s", tp_rig_complaint(r));
    if (r->s->check && r->s->check(r->st, &err))
        return tp_model_fail(m, MODEL_CHECK, "%.300s", err.text);
    m->next_check = m->steps + m->check_every;
    if (!r->s->walk)
        return true;
    if (deep)
        w.pieces = calloc(MODEL_PIECES, sizeof *w.pieces);
    bool ok = tp_model_expect(m, r->s->walk(r->st, model_count, &w), "walk");
    ok = ok && model_pieces(m, &w);
    free(w.pieces);
    m->next_check = m->steps + m->check_every + w.all / MODEL_MANY;
    for (int i = 0; i < TP_WALK_COUNT; i++)
        sum += w.sums[i];
    if (m->failure.kind || !ok)
        return false;
    if (w.live != m->live.count || w.sums[TP_WALK_LIVE] != m->live_bytes)
        return tp_model_fail(m, MODEL_WALK, "the walk names %llu of %llu live blocks",
                             (unsigned long long)w.live, (unsigned long long)m->live.count);
    if (sum != tp_account_ranges(&r->account))
        return tp_model_fail(m, MODEL_WALK, "the walk adds up to %llu bytes, its ranges have %llu",
                             (unsigned long long)sum,
                             (unsigned long long)tp_account_ranges(&r->account));
    return model_stats(m);
}
