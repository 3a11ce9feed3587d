/* Several threads drive one instance of `arena` at once: nothing is lost, nothing is given twice,
 * and a thread's contents stay its own. To be run under a thread sanitizer as well. */
#include "alloc/base/random.h"
#include "tests/unit/arena_rig.h"

#include <pthread.h>

enum { THREADS = 8, OBJECTS = 96, MAILBOX = 64, STEPS = 6000, ENDS = 64 /* bytes at either end */ };

/* A rig whose instance knows that threads run. */
struct shared_rig {
    struct rig r;
    void *threads[THREADS];
    pthread_mutex_t lock; /* of the mailbox */
    pthread_barrier_t start;
    struct object mailbox[MAILBOX];
};

static struct shared_rig *open_shared(const char *options, const char *limit)
{
    struct shared_rig *sr = calloc(1, sizeof *sr);
    assert_non_null(sr);
    struct rig *r = &sr->r;
    struct rig_cfg cfg = {.strategy = &tp_strategy_arena, .base = &tp_source_host, .limit = limit};
    r->s = cfg.strategy;
    rig_sources(r, &cfg);
    r->host = true;
    r->meta = (struct tp_meta_heap){.account = &r->account};
    r->env = (struct tp_env){.source = &r->stack[r->depth - 1],
                             .account = &r->account,
                             .meta = &r->meta,
                             .streams = 1,
                             .concurrent = true};
    r->opts = rig_opts(r->s->options, r->s->opts_size, options);
    r->st = calloc(1, r->s->state_size);
    assert_non_null(r->st);
    assert_int_equal(r->s->init(r->st, &r->env, r->opts, NULL), TP_OK);
    for (int i = 0; i < THREADS; i++) {
        sr->threads[i] = calloc(1, r->s->thread_size);
        assert_non_null(sr->threads[i]);
        assert_int_equal(r->s->thread_init(r->st, sr->threads[i]), TP_OK);
    }
    assert_int_equal(pthread_mutex_init(&sr->lock, NULL), 0);
    assert_int_equal(pthread_barrier_init(&sr->start, NULL, THREADS), 0);
    return sr;
}

static void close_shared(struct shared_rig *sr)
{
    struct rig *r = &sr->r;
    for (int i = 0; i < THREADS; i++) {
        r->s->thread_fini(r->st, sr->threads[i]);
        free(sr->threads[i]);
    }
    r->s->fini(r->st);
    assert_int_equal(r->account.reserved, 0);
    assert_int_equal(r->meta.live_bytes, 0);
    assert_int_equal(r->meta.live_blocks, 0);
    free(r->st);
    tp_rig_close_sources(r);
    pthread_mutex_destroy(&sr->lock);
    pthread_barrier_destroy(&sr->start);
    free(sr);
}

/* What one thread does. Failures are counted, not asserted: cmocka jumps, which a thread may not.
 */
struct worker {
    struct shared_rig *sr;
    void *thr;
    uint64_t random;
    unsigned wrong, failed; /* failed: out of memory */
    struct object objects[OBJECTS];
};

static uint64_t next(struct worker *w)
{
    return tp_random_split(&w->random);
}

static void fill(const struct object *o)
{
    uint64_t n = o->size < ENDS ? o->size : ENDS;
    unsigned char *p = (unsigned char *)(uintptr_t)o->addr;
    memset(p, o->fill, n);
    memset(p + o->size - n, o->fill, n);
}

static bool is_intact(const struct object *o)
{
    uint64_t n = o->size < ENDS ? o->size : ENDS;
    const unsigned char *p = (const unsigned char *)(uintptr_t)o->addr;
    for (uint64_t i = 0; i < n; i++)
        if (p[i] != o->fill || p[o->size - 1 - i] != o->fill)
            return false;
    return true;
}

static void worker_alloc(struct worker *w, struct object *o)
{
    const struct rig *r = &w->sr->r;
    uint64_t x = next(w);
    unsigned log2 = x % 100 < 95 ? (unsigned)(x >> 8) % 12 : (unsigned)(x >> 8) % 18;
    struct tp_req rq = {.size = 1 + (x >> 16) % (UINT64_C(2) << log2), .align = 1};
    struct tp_block b = {0};
    if (x % 16 == 0)
        rq.align = UINT64_C(1) << (x >> 60);
    int rc = r->s->alloc(r->st, w->thr, &rq, &b);
    if (rc) {
        w->failed++;
        w->wrong += rc != TP_EOOM;
        return;
    }
    w->wrong += b.addr % rq.align != 0 || b.allocated < rq.size;
    *o = (struct object){b.addr, rq.size, rq.align, b.allocated, (unsigned char)(x >> 24)};
    fill(o);
}

static void worker_free(struct worker *w, struct object *o)
{
    const struct rig *r = &w->sr->r;
    const struct arena *st = r->st;
    struct tp_req rq = {.size = o->size, .align = o->align};
    w->wrong += !is_intact(o);
    if (st->checked) { /* an inner address, and a size of another class, are found out */
        struct tp_req other = {.size = o->size + (UINT64_C(1) << 20), .align = o->align};
        w->wrong += r->s->free(r->st, w->thr, o->addr + 1, &rq) != TP_EINVAL;
        w->wrong += r->s->free(r->st, w->thr, o->addr, &other) != TP_EINVAL;
    }
    w->wrong += r->s->free(r->st, w->thr, o->addr, &rq) != TP_OK;
    o->addr = 0;
}

static void worker_resize(struct worker *w, struct object *o)
{
    const struct rig *r = &w->sr->r;
    struct tp_req rq = {.size = 1 + o->size / 2 + next(w) % o->size, .align = o->align};
    struct tp_block b = {0};
    int rc = r->s->resize(r->st, w->thr, o->addr, &rq, &b);
    w->wrong += rc != TP_OK && rc != TP_EUNSUP;
    if (rc)
        return;
    w->wrong += b.addr != o->addr || b.allocated < rq.size;
    o->size = rq.size;
    o->allocated = b.allocated;
    fill(o);
}

/* Posts an object and takes what lay there: another thread's, which this one will free. */
static void worker_post(struct worker *w, struct object *o)
{
    struct object *slot = &w->sr->mailbox[next(w) % MAILBOX];
    pthread_mutex_lock(&w->sr->lock);
    struct object taken = *slot;
    *slot = *o;
    pthread_mutex_unlock(&w->sr->lock);
    *o = taken;
}

static void worker_end(struct worker *w)
{
    const struct rig *r = &w->sr->r;
    r->s->thread_fini(r->st, w->thr);
    memset(w->thr, 0, r->s->thread_size);
    w->wrong += r->s->thread_init(r->st, w->thr) != TP_OK;
}

static void *work(void *ctx)
{
    struct worker *w = ctx;
    for (int step = 0; step < STEPS; step++) {
        uint64_t x = next(w);
        struct object *o = &w->objects[(x >> 16) % OBJECTS];
        if (x % 50 == 0)
            worker_end(w);
        else if (x % 10 < 3)
            worker_post(w, o);
        else if (o->addr && x % 10 == 3)
            worker_resize(w, o);
        else if (o->addr)
            worker_free(w, o);
        else
            worker_alloc(w, o);
    }
    return NULL;
}

/* Runs one function on every thread and returns their workers. */
static struct worker *run(struct shared_rig *sr, void *(*fn)(void *), uint64_t seed)
{
    pthread_t ids[THREADS];
    struct worker *workers = calloc(THREADS, sizeof *workers);
    assert_non_null(workers);
    for (int i = 0; i < THREADS; i++) {
        workers[i].sr = sr;
        workers[i].thr = sr->threads[i];
        workers[i].random = seed + (uint64_t)i * 1000;
        assert_int_equal(pthread_create(&ids[i], NULL, fn, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(ids[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].wrong, 0);
    return workers;
}

/* Adds up what is live and frees it when told so, on any thread. */
static uint64_t live_bytes(struct worker *w, struct object *objects, int count, bool and_free)
{
    uint64_t allocated = 0;
    for (int i = 0; i < count; i++) {
        struct object *o = &objects[i];
        if (!o->addr)
            continue;
        allocated += o->allocated;
        if (and_free)
            worker_free(w, o);
    }
    return allocated;
}

static uint64_t all_live(struct shared_rig *sr, struct worker *workers, bool and_free)
{
    uint64_t allocated = live_bytes(&workers[0], sr->mailbox, MAILBOX, and_free);
    for (int i = 0; i < THREADS; i++)
        allocated += live_bytes(&workers[(i + 3) % THREADS], workers[i].objects, OBJECTS, and_free);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(workers[i].wrong, 0);
    return allocated;
}

TEST(mixed_sizes_and_remote_frees_lose_nothing)
{
    static const char *const rows[][2] = {
        {"", NULL},
        {"", "capacity=500KB"},
        {"classes=coarse6,refill_target=4KiB,local_cache_target=8KiB", NULL},
        {"refill_target=0,local_cache_target=0", "capacity=500KB"},
        {"checks=no", "capacity=500KB"},
        {"max_arenas=3,first_range=256KiB", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t seed = 4711 + i, failed = 0;
        print_message("  arena:%s %s, seed %llu\n", rows[i][0], rows[i][1] ? rows[i][1] : "",
                      (unsigned long long)seed);
        struct shared_rig *sr = open_shared(rows[i][0], rows[i][1]);
        struct worker *workers = run(sr, work, seed);
        rig_check(&sr->r);
        struct tp_strategy const *s = sr->r.s;
        struct rig_walk w = {0};
        assert_int_equal(s->walk(sr->r.st, rig_count, &w), TP_OK);
        assert_int_equal(w.sums[TP_WALK_LIVE], all_live(sr, workers, false));
        all_live(sr, workers, true);
        assert_int_equal(s->trim(sr->r.st, 0), TP_OK); /* nothing is kept where nobody looks */
        rig_check(&sr->r);
        assert_int_equal(sr->r.account.reserved, 0);
        for (int k = 0; k < THREADS; k++)
            failed += workers[k].failed;
        assert_true(rows[i][1] == NULL || failed > 0);
        free(workers);
        close_shared(sr);
    }
}

/* ---- blocks of one word of live bits, freed by many threads ---- */

enum { ROUNDS = 1500 };

/* Thread 0 makes blocks that lie side by side; then each thread frees every eighth of them. */
static void *free_an_eighth(void *ctx)
{
    struct worker *w = ctx;
    struct shared_rig *sr = w->sr;
    const struct rig *r = &sr->r;
    struct tp_req rq = {.size = 16, .align = 1};
    struct tp_block b = {0};
    int mine = 0;
    while (sr->threads[mine] != w->thr)
        mine++;
    for (int round = 0; round < ROUNDS / 5; round++) {
        for (int i = 0; mine == 0 && i < MAILBOX; i++) {
            w->wrong += r->s->alloc(r->st, w->thr, &rq, &b) != TP_OK;
            sr->mailbox[i].addr = b.addr;
        }
        pthread_barrier_wait(&sr->start);
        for (int i = mine; i < MAILBOX; i += THREADS) {
            w->wrong += r->s->free(r->st, w->thr, sr->mailbox[i].addr, &rq) != TP_OK;
            w->wrong += r->s->free(r->st, w->thr, sr->mailbox[i].addr, &rq) != TP_EINVAL;
        }
        pthread_barrier_wait(&sr->start);
    }
    return NULL;
}

TEST(live_bits_share_words)
{
    struct shared_rig *sr = open_shared("", NULL);
    struct worker *workers = run(sr, free_an_eighth, 99);
    uint64_t carved = 0;
    struct rig_walk w = rig_walk(&sr->r);
    assert_int_equal(w.pieces[TP_WALK_LIVE], 0);
    const struct arena *st = sr->r.st;
    for (const struct arena_owner *o = st->owners->all; o; o = o->older)
        carved += o->pools[0].pages;
    /* it got back what the others freed, but for what still waits to be sent: all rounds lie in the
     * pages of the first few */
    assert_true(carved > 0 && carved * ARENA_PAGE <= UINT64_C(2) * THREADS * MAILBOX * 16);
    free(workers);
    close_shared(sr);
}

/* ---- the same block freed by two ---- */

/* Each thread frees the same blocks; the first of them makes new ones for every round and frees
 * only the large ones. */
static void *free_the_same(void *ctx)
{
    struct worker *w = ctx;
    struct shared_rig *sr = w->sr;
    const struct rig *r = &sr->r;
    bool leads = w->thr == sr->threads[0];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; leads && i < MAILBOX; i++) {
            struct tp_req rq = {.size = i % 8 ? 48 : 40000, .align = 1};
            struct tp_block b = {0};
            w->wrong += r->s->alloc(r->st, w->thr, &rq, &b) != TP_OK;
            sr->mailbox[i] = (struct object){.addr = b.addr, .size = rq.size};
        }
        pthread_barrier_wait(&sr->start);
        for (int i = 0; i < MAILBOX; i++) {
            struct tp_req rq = {.size = sr->mailbox[i].size, .align = 1};
            if (leads && i % 8)
                continue;
            int rc = r->s->free(r->st, w->thr, sr->mailbox[i].addr, &rq);
            w->failed += rc == TP_EINVAL;
            w->wrong += rc != TP_OK && rc != TP_EINVAL;
        }
        pthread_barrier_wait(&sr->start);
    }
    return NULL;
}

TEST(of_many_frees_at_once_one_succeeds)
{
    struct shared_rig *sr = open_shared("", NULL);
    struct worker *workers = run(sr, free_the_same, 1);
    uint64_t failed = 0;
    for (int i = 0; i < THREADS; i++)
        failed += workers[i].failed;
    /* all but one; the leader frees one in eight */
    assert_int_equal(failed, ROUNDS * (MAILBOX * (THREADS - 2) + MAILBOX / 8));
    assert_int_equal(rig_walk(&sr->r).pieces[TP_WALK_LIVE], 0);
    free(workers);
    close_shared(sr);
}

/* ---- out of memory beside running threads ---- */

/* Takes all there is and gives it back, again and again: the answers must not end in "full". */
static void *fill_and_empty(void *ctx)
{
    struct worker *w = ctx;
    for (int round = 0; round < 60; round++) {
        uint64_t size = UINT64_C(16) << (next(w) % 9);
        unsigned got = 0;
        for (int i = 0; i < OBJECTS; i++) {
            struct tp_req rq = {.size = size, .align = 1};
            struct tp_block b;
            int rc = w->sr->r.s->alloc(w->sr->r.st, w->thr, &rq, &b);
            w->wrong += rc != TP_OK && rc != TP_EOOM;
            if (rc)
                break;
            w->objects[got++] = (struct object){b.addr, size, 1, b.allocated, (unsigned char)i};
            fill(&w->objects[got - 1]);
        }
        while (got)
            worker_free(w, &w->objects[--got]);
        worker_end(w);
    }
    return NULL;
}

TEST(a_full_device_is_shared)
{
    struct shared_rig *sr = open_shared("", "capacity=300KB");
    free(run(sr, fill_and_empty, 31));
    rig_walk(&sr->r);
    /* every cache went to the pools, so one thread alone can have all of it */
    struct tp_req rq = {.size = 290 << 10, .align = 1};
    struct tp_block b;
    assert_int_equal(sr->r.s->alloc(sr->r.st, sr->threads[5], &rq, &b), TP_OK);
    assert_int_equal(sr->r.s->free(sr->r.st, sr->threads[6], b.addr, &rq), TP_OK);
    rig_walk(&sr->r);
    close_shared(sr);
}

/* ---- what needs no lock ---- */

/* Makes the page heap's lock one that whoever takes it again does not wait for but gives back, and
 * takes it. */
static void hold_heap(struct arena *st)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_destroy(&st->heap.mutex);
    assert_int_equal(pthread_mutex_init(&st->heap.mutex, &kind), 0);
    assert_int_equal(pthread_mutex_lock(&st->heap.mutex), 0);
    pthread_mutexattr_destroy(&kind);
}

/* Whether the lock was left alone since hold_heap; it is free then. */
static bool heap_is_held(struct arena *st)
{
    return pthread_mutex_unlock(&st->heap.mutex) == 0;
}

TEST(a_thread_needs_no_lock_for_its_own_blocks)
{
    struct shared_rig *sr = open_shared("", NULL);
    const struct rig *r = &sr->r;
    struct arena *st = r->st;
    struct tp_req rq = {.size = 100, .align = 16}, longer = {.size = 110, .align = 16};
    struct tp_block b;
    assert_int_equal(r->s->alloc(st, sr->threads[0], &rq, &b), TP_OK);
    assert_int_equal(r->s->free(st, sr->threads[0], b.addr, &rq), TP_OK);
    hold_heap(st);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(r->s->alloc(st, sr->threads[0], &rq, &b), TP_OK);
        assert_int_equal(r->s->resize(st, sr->threads[0], b.addr, &longer, &b), TP_OK);
        assert_int_equal(r->s->free(st, sr->threads[0], b.addr, &longer), TP_OK);
    }
    assert_true(heap_is_held(st));
    close_shared(sr);
}
