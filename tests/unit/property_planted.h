/* A strategy for tests of the tests: a shelf of whole pages, correct as it stands, with one bug
 * planted by an option. It has every member that a strategy may have.
 *
 *     alloc: the newest free block of exactly these pages that is aligned and that no other stream
 *     may still work on, else the source; on refusal everything free goes back and it asks again
 *
 * Known weakness: it looks through all its blocks at every call. */
#ifndef TP_TEST_PROPERTY_PLANTED_H
#define TP_TEST_PROPERTY_PLANTED_H

#include "alloc/base/lock.h"
#include "alloc/strategy.h"

#include <stdlib.h>
#include <string.h>

enum planted_bug {
    PLANTED_NONE,
    PLANTED_OVERLAP,     /* after a free, every second small block is a live one */
    PLANTED_WALK,        /* free blocks above 8 KiB are not in the walk */
    PLANTED_DOUBLE_FREE, /* a second free of a small block is accepted */
    PLANTED_MISALIGN,    /* blocks aligned above 64 are 16 bytes off */
    PLANTED_CLOBBER,     /* move copies half of what it should */
    PLANTED_SIZE,        /* any size is good for a free */
    PLANTED_STREAM,      /* a block goes to any stream at once */
    PLANTED_USE,         /* forgets that a block was also used elsewhere */
    PLANTED_REFERENCE,   /* retain does nothing: the block is gone too early */
    PLANTED_KEEP,        /* fini keeps what was adopted */
    PLANTED_INTERIOR,    /* free takes an address inside a block */
    PLANTED_ABORT,       /* ends the process in a trim with free blocks */
    PLANTED_RACE,        /* counts outside its lock */
    PLANTED_NO_LOCK      /* has none */
};

static const char *const planted_words[] = {
    "none", "overlap",   "walk", "double_free", "misalign", "clobber", "size",    "stream",
    "use",  "reference", "keep", "interior",    "abort",    "race",    "no_lock", NULL};

struct planted_block {
    tp_addr addr; /* 0: no block */
    uint64_t bytes;
    uint64_t align; /* asked of the source: what the address has beyond that is chance */
    uint32_t refs;  /* 0: free */
    bool adopted;
    uint64_t freed_at; /* newest first */
    uint64_t used;     /* one bit per stream, of the first 7 */
    struct tp_fence fences[8];
    uint32_t fence_count;
};

struct planted {
    const struct tp_env *env;
    struct planted_block *blocks;
    size_t capacity;
    uint64_t carved, peak_carved, clock;
    uint64_t small_allocs; /* since the first free, for the bug OVERLAP */
    uint32_t bug;
    uint64_t calls; /* for the bug RACE */
    struct tp_lock lock;
};

struct planted_thread {
    struct planted *home;
    uint64_t calls;
};

struct planted_opts {
    uint32_t bug;
};

static const struct tp_opt planted_rows[] = {{.name = "bug",
                                              .type = TP_OPT_CHOICE,
                                              .offset = offsetof(struct planted_opts, bug),
                                              .def = "none",
                                              .choices = planted_words,
                                              .arg = "NAME",
                                              .help = "what is wrong with it"},
                                             {.name = NULL}};

static inline int planted_init(void *state, const struct tp_env *env, const void *opts,
                               struct tp_err *err)
{
    struct planted *st = state;
    (void)err;
    st->env = env;
    st->bug = ((const struct planted_opts *)opts)->bug;
    tp_lock_init(&st->lock, env->concurrent && st->bug != PLANTED_NO_LOCK);
    return TP_OK;
}

static inline bool planted_put(struct planted *st, struct planted_block *b)
{
    if (tp_src_put(st->env->source, b->addr, b->bytes))
        return false;
    st->carved -= b->bytes;
    b->addr = 0;
    return true;
}

static inline void planted_fini(void *state)
{
    struct planted *st = state;
    for (size_t i = 0; i < 2 * st->capacity; i++) { /* twice: a put may be refused */
        struct planted_block *b = &st->blocks[i % st->capacity];
        if (b->addr && !(st->bug == PLANTED_KEEP && b->adopted))
            planted_put(st, b);
    }
    tp_meta_put(st->env, st->blocks, st->capacity * sizeof *st->blocks);
    tp_lock_fini(&st->lock);
}

static inline struct planted_block *planted_find(struct planted *st, tp_addr addr)
{
    for (size_t i = 0; addr && i < st->capacity; i++) {
        struct planted_block *b = &st->blocks[i];
        if (b->addr && b->refs &&
            (b->addr == addr || (st->bug == PLANTED_INTERIOR && addr - b->addr < b->bytes)))
            return b;
    }
    return NULL;
}

/* An entry without a block; NULL: out of memory. */
static inline struct planted_block *planted_entry(struct planted *st)
{
    for (size_t i = 0; i < st->capacity; i++)
        if (!st->blocks[i].addr)
            return &st->blocks[i];
    size_t more = st->capacity ? 2 * st->capacity : 4;
    struct planted_block *blocks = tp_meta_get(st->env, more * sizeof *blocks);
    if (!blocks)
        return NULL;
    if (st->capacity)
        memcpy(blocks, st->blocks, st->capacity * sizeof *blocks);
    tp_meta_put(st->env, st->blocks, st->capacity * sizeof *blocks);
    struct planted_block *fresh = &blocks[st->capacity];
    st->blocks = blocks;
    st->capacity = more;
    return fresh;
}

static inline bool planted_ready(const struct planted *st, const struct planted_block *b,
                                 uint16_t stream)
{
    for (uint32_t i = 0; i < b->fence_count && st->bug != PLANTED_STREAM; i++)
        if (b->fences[i].stream != stream && !tp_src_done(st->env->source, &b->fences[i]))
            return false;
    return true;
}

static inline bool planted_sound(const struct tp_req *rq)
{
    return rq->size && rq->align && !(rq->align & (rq->align - 1));
}

static inline uint64_t planted_pages(const struct planted *st, uint64_t size)
{
    return (size + st->env->source->page - 1) & ~(st->env->source->page - 1);
}

static inline uint64_t planted_align(const struct planted *st, const struct tp_req *rq)
{
    return rq->align > st->env->source->page ? rq->align : st->env->source->page;
}

static inline struct planted_block *planted_reuse(struct planted *st, uint64_t bytes,
                                                  const struct tp_req *rq)
{
    struct planted_block *best = NULL;
    for (size_t i = 0; i < st->capacity; i++) {
        struct planted_block *b = &st->blocks[i];
        if (b->addr && !b->refs && b->bytes == bytes && b->align >= rq->align &&
            planted_ready(st, b, rq->stream) && (!best || b->freed_at > best->freed_at))
            best = b;
    }
    return best;
}

static inline void planted_flush(struct planted *st, uint64_t keep)
{
    uint64_t cached = 0;
    for (size_t i = 0; i < st->capacity; i++) {
        struct planted_block *b = &st->blocks[i];
        if (b->addr && !b->refs && (cached += b->bytes) > keep)
            cached -= planted_put(st, b) ? b->bytes : 0;
    }
}

static inline int planted_fresh(struct planted *st, const struct tp_req *rq, uint64_t bytes,
                                struct planted_block **out)
{
    tp_addr addr = 0;
    struct planted_block *b = planted_entry(st);
    if (!b)
        return TP_ENOMEM;
    int rc = tp_src_get(st->env->source, bytes, rq->align, &addr);
    if (rc == TP_EOOM) {
        planted_flush(st, 0);
        rc = tp_src_get(st->env->source, bytes, rq->align, &addr);
    }
    if (rc)
        return rc;
    st->carved += bytes;
    if (st->carved > st->peak_carved)
        st->peak_carved = st->carved;
    *b = (struct planted_block){.addr = addr, .bytes = bytes, .align = planted_align(st, rq)};
    *out = b;
    return TP_OK;
}

/* The bug OVERLAP: the newest live block of this size once more. */
static inline struct planted_block *planted_live(struct planted *st, uint64_t bytes)
{
    struct planted_block *found = NULL;
    for (size_t i = 0; i < st->capacity; i++)
        if (st->blocks[i].addr && st->blocks[i].refs && st->blocks[i].bytes == bytes)
            found = &st->blocks[i];
    return found;
}

static inline int planted_take(struct planted *st, const struct tp_req *rq, struct tp_block *out)
{
    if (!planted_sound(rq))
        return TP_EINVAL;
    if (rq->size > UINT64_C(1) << 60)
        return TP_EOOM;
    uint64_t bytes = planted_pages(st, rq->size);
    struct planted_block *b = planted_reuse(st, bytes, rq);
    if (st->bug == PLANTED_OVERLAP && rq->size <= 4096 && st->clock && ++st->small_allocs % 2 == 0)
        b = planted_live(st, bytes) ? planted_live(st, bytes) : b;
    int rc = b ? TP_OK : planted_fresh(st, rq, bytes, &b);
    if (rc)
        return rc;
    b->refs = 1;
    b->used = 0;
    b->fence_count = 0;
    *out = (struct tp_block){b->addr, b->bytes};
    if (st->bug == PLANTED_MISALIGN && rq->align > 64 && b->bytes - rq->size >= 16)
        *out = (struct tp_block){b->addr + 16, b->bytes - 16};
    return TP_OK;
}

static inline int planted_give(struct planted *st, tp_addr addr, const struct tp_req *rq)
{
    struct planted_block *b = planted_find(st, addr);
    for (size_t i = 0; !b && st->bug == PLANTED_DOUBLE_FREE && i < st->capacity; i++)
        if (addr && st->blocks[i].addr == addr && st->blocks[i].bytes <= 4096)
            return TP_OK;
    if (!b)
        return TP_EINVAL;
    if (st->bug != PLANTED_SIZE && rq->size > b->bytes)
        return TP_EINVAL;
    if (--b->refs)
        return TP_OK;
    b->freed_at = ++st->clock;
    tp_src_record(st->env->source, rq->stream, &b->fences[0]);
    b->fence_count = 1;
    for (uint16_t i = 0; i < 7 && st->bug != PLANTED_USE; i++)
        if (b->used >> i & 1)
            tp_src_record(st->env->source, i, &b->fences[b->fence_count++]);
    return TP_OK;
}

static inline int planted_alloc(void *state, void *thr, const struct tp_req *rq,
                                struct tp_block *out)
{
    struct planted *st = state;
    struct planted_thread *thread = thr;
    assert(thread->home == st);
    thread->calls++;
    if (st->bug == PLANTED_RACE)
        st->calls++;
    tp_lock_take(&st->lock);
    int rc = planted_take(st, rq, out);
    tp_lock_drop(&st->lock);
    return rc;
}

static inline int planted_free(void *state, void *thr, tp_addr addr, const struct tp_req *rq)
{
    struct planted *st = state;
    (void)thr;
    tp_lock_take(&st->lock);
    int rc = planted_give(st, addr, rq);
    tp_lock_drop(&st->lock);
    return rc;
}

static inline int planted_move_locked(struct planted *st, tp_addr addr, const struct tp_req *rq,
                                      struct tp_block *out)
{
    struct planted_block *b = planted_find(st, addr);
    if (!b || !planted_sound(rq))
        return TP_EINVAL;
    if (rq->size > UINT64_C(1) << 60)
        return TP_EOOM;
    uint64_t bytes = b->bytes;
    if (planted_pages(st, rq->size) == bytes && b->align >= rq->align) {
        *out = (struct tp_block){addr, bytes};
        return TP_OK;
    }
    int rc = planted_take(st, rq, out);
    if (rc)
        return rc;
    void *to = tp_src_host(st->env->source, out->addr), *from = tp_src_host(st->env->source, addr);
    uint64_t n = bytes < rq->size ? bytes : rq->size;
    if (to && from)
        memcpy(to, from, st->bug == PLANTED_CLOBBER ? n / 2 : n);
    return planted_give(st, addr, &(struct tp_req){.size = 1, .align = 1, .stream = rq->stream});
}

static inline int planted_move(void *state, void *thr, tp_addr addr, const struct tp_req *rq,
                               struct tp_block *out)
{
    struct planted *st = state;
    (void)thr;
    tp_lock_take(&st->lock);
    int rc = planted_move_locked(st, addr, rq, out);
    tp_lock_drop(&st->lock);
    return rc;
}

static inline int planted_change(void *state, tp_addr addr, int refs, int stream)
{
    struct planted *st = state;
    tp_lock_take(&st->lock);
    struct planted_block *b = planted_find(st, addr);
    bool ok = b && (refs >= 0 || b->refs > 1);
    if (ok && st->bug != PLANTED_REFERENCE)
        b->refs += (uint32_t)refs;
    if (ok && stream >= 0 && stream < 7)
        b->used |= UINT64_C(1) << stream;
    tp_lock_drop(&st->lock);
    return ok ? TP_OK : TP_EINVAL;
}

static inline int planted_retain(void *state, void *thr, tp_addr addr)
{
    (void)thr;
    return planted_change(state, addr, 1, -1);
}

static inline int planted_release(void *state, void *thr, tp_addr addr)
{
    (void)thr;
    return planted_change(state, addr, -1, -1);
}

static inline int planted_use(void *state, void *thr, tp_addr addr, uint16_t stream)
{
    (void)thr;
    return planted_change(state, addr, 0, stream);
}

static inline int planted_adopt(void *state, void *thr, tp_addr addr, const struct tp_req *rq,
                                struct tp_block *out)
{
    struct planted *st = state;
    (void)thr;
    tp_lock_take(&st->lock);
    uint64_t bytes = planted_pages(st, rq->size);
    struct planted_block *b = planted_entry(st);
    if (b) {
        *b = (struct planted_block){.addr = addr,
                                    .bytes = bytes,
                                    .align = planted_align(st, rq),
                                    .refs = 1,
                                    .adopted = true};
        st->carved += bytes;
        if (st->carved > st->peak_carved)
            st->peak_carved = st->carved;
        *out = (struct tp_block){addr, bytes};
    }
    tp_lock_drop(&st->lock);
    return b ? TP_OK : TP_ENOMEM;
}

static inline int planted_sync(void *state, void *thr, uint16_t stream)
{
    (void)state, (void)thr, (void)stream;
    return TP_OK; /* its fences ask the source */
}

static inline int planted_trim(void *state, uint64_t keep)
{
    struct planted *st = state;
    for (size_t i = 0; st->bug == PLANTED_ABORT && i < st->capacity; i++)
        if (st->blocks[i].addr && !st->blocks[i].refs)
            abort();
    planted_flush(st, keep);
    return TP_OK;
}

static inline int planted_thread_init(void *state, void *thr)
{
    *(struct planted_thread *)thr = (struct planted_thread){.home = state};
    return TP_OK;
}

static inline void planted_thread_fini(void *state, void *thr)
{
    (void)state;
    ((struct planted_thread *)thr)->home = NULL;
}

static inline uint64_t planted_usable(void *state, tp_addr addr)
{
    struct planted *st = state;
    for (size_t i = 0; i < st->capacity; i++) {
        const struct planted_block *b = &st->blocks[i];
        if (addr && b->addr && b->refs && addr - b->addr <= (st->bug == PLANTED_MISALIGN ? 16 : 0))
            return b->bytes - (addr - b->addr);
    }
    return 0;
}

static inline void planted_stats(void *state, struct tp_stats *out)
{
    const struct planted *st = state;
    *out = (struct tp_stats){.carved_bytes = st->carved, .peak_carved_bytes = st->peak_carved};
}

static inline int planted_walk(void *state, tp_walk_fn *fn, void *ctx)
{
    const struct planted *st = state;
    for (size_t i = 0; i < st->capacity; i++) {
        const struct planted_block *b = &st->blocks[i];
        if (b->addr && !(st->bug == PLANTED_WALK && !b->refs && b->bytes > 8192))
            fn(ctx, b->refs ? TP_WALK_LIVE : TP_WALK_CACHED, b->addr, b->bytes);
    }
    return TP_OK;
}

static inline int planted_check(void *state, struct tp_err *err)
{
    const struct planted *st = state;
    uint64_t sum = 0;
    for (size_t i = 0; i < st->capacity; i++)
        sum += st->blocks[i].addr ? st->blocks[i].bytes : 0;
    return sum == st->carved
               ? TP_OK
               : tp_fail(err, TP_EBROKEN, "strategy 'planted': bytes are not counted");
}

static const struct tp_strategy planted_strategy = {
    .name = "planted",
    .summary = "a shelf of pages",
    .resembles = "nothing",
    .to_use = "for tests",
    .group = TP_GROUP_STRATEGY,
    .caps = TP_CAP_ALIGN | TP_CAP_STREAMS | TP_CAP_RETAINS | TP_CAP_THREADS,
    .state_size = sizeof(struct planted),
    .thread_size = sizeof(struct planted_thread),
    .opts_size = sizeof(struct planted_opts),
    .options = planted_rows,
    .init = planted_init,
    .fini = planted_fini,
    .alloc = planted_alloc,
    .free = planted_free,
    .move = planted_move,
    .retain = planted_retain,
    .release = planted_release,
    .adopt = planted_adopt,
    .use = planted_use,
    .sync = planted_sync,
    .trim = planted_trim,
    .thread_init = planted_thread_init,
    .thread_fini = planted_thread_fini,
    .usable = planted_usable,
    .stats = planted_stats,
    .walk = planted_walk,
    .check = planted_check,
};

#endif
