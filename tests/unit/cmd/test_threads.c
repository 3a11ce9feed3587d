/* Strategies with TP_CAP_THREADS under eight real threads: one instance, a handle each.
 *
 *     thread 0 ... 7:  alloc -> stamp -> keep some -> free          (local)
 *                                    \-> mailbox -> another thread verifies and frees (remote)
 *
 * Blocks carry a stamp at both ends, verified by whoever frees them; where there is no memory a
 * table knows which addresses are out. Threads end and start again in the middle. At the end
 * everything is freed, and check(), the walk and the account must agree.
 *
 * Within a round nothing orders the threads but the hand-over of a block: what the thread sanitizer
 * takes for ordered, it cannot find a race in. All wait for each other between rounds, so that on
 * any machine, however loaded, half of the frees are remote. Known weakness: which interleavings
 * occur is chance. */
#include "alloc/base/addr_map.h"
#include "cmd/measure/catalog.h"
#include "tests/unit/conformance.h"
#include "tests/unit/property_planted.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS RIG_MAX_THREADS
#define ROUNDS  60
#define ROUND   100 /* steps of each thread */
#define OWN     48  /* blocks that a thread keeps */
#define BOXES   32
#define GIFTS   4 /* ranges for adopt, per thread */
#define SEED    UINT64_C(20240611)

struct parcel {
    tp_addr addr;
    uint64_t size, align, stamp;
    uint32_t refs;
};

struct crowd;

struct worker {
    struct crowd *crowd;
    void *thr;
    uint32_t index;
    uint64_t random, serial;
    struct parcel *own[OWN];
    tp_addr gifts[GIFTS]; /* ranges of one page from the source; 0: adopted */
    uint64_t local, remote, ends, adopted;
    char failure[200]; /* "": none */
    pthread_t os;
};

struct stripe {
    pthread_mutex_t mutex;
    struct tp_addr_map out;
};

struct crowd {
    struct rig rig;
    struct worker workers[THREADS];
    _Atomic(struct parcel *) boxes[BOXES];
    struct stripe stripes[64]; /* addresses that are out, where blocks are no memory */
    pthread_barrier_t round;
    atomic_bool stop;
};

static uint64_t next_random(struct worker *w)
{
    uint64_t z = w->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static bool failed(struct worker *w, const char *what, int rc)
{
    if (!w->failure[0])
        snprintf(w->failure, sizeof w->failure, "thread %u: %s: %s", w->index, what,
                 tp_status_text(rc));
    atomic_store_explicit(&w->crowd->stop, true, memory_order_relaxed);
    return false;
}

/* ---- what is out, and what is in it ---- */

static void *table_get(void *ctx, size_t size)
{
    (void)ctx;
    return calloc(1, size);
}

static void table_put(void *ctx, void *p, size_t size)
{
    (void)ctx, (void)size;
    free(p);
}

static bool claim(struct worker *w, tp_addr addr, bool out)
{
    struct stripe *s = &w->crowd->stripes[(addr * UINT64_C(0x9E3779B97F4A7C15)) >> 58];
    pthread_mutex_lock(&s->mutex);
    bool ok = out ? !tp_addr_map_find(&s->out, addr) && !tp_addr_map_insert(&s->out, addr, 1)
                  : tp_addr_map_remove(&s->out, addr, NULL);
    pthread_mutex_unlock(&s->mutex);
    return ok || failed(w, out ? "a live block was handed out again" : "a block was lost", TP_OK);
}

/* The host source's addresses are pointers; to ask it would be a call beside the strategy's. */
static bool mark(struct worker *w, struct parcel *p)
{
    p->stamp = (uint64_t)w->index << 56 | ++w->serial;
    if (!w->crowd->rig.host)
        return claim(w, p->addr, true);
    unsigned char *at = (unsigned char *)(uintptr_t)p->addr;
    memcpy(at, &p->stamp, sizeof p->stamp);
    memcpy(at + p->size - sizeof p->stamp, &p->stamp, sizeof p->stamp);
    return true;
}

static bool marked(struct worker *w, const struct parcel *p, uint64_t kept)
{
    if (!w->crowd->rig.host)
        return true;
    const unsigned char *at = (const unsigned char *)(uintptr_t)p->addr;
    bool ok = !memcmp(at, &p->stamp, sizeof p->stamp);
    if (kept == p->size)
        ok = ok && !memcmp(at + p->size - sizeof p->stamp, &p->stamp, sizeof p->stamp);
    return ok || failed(w, "the contents of a block have changed", TP_OK);
}

static bool unmark(struct worker *w, const struct parcel *p)
{
    return marked(w, p, p->size) && (w->crowd->rig.host || claim(w, p->addr, false));
}

/* ---- one thread's steps ---- */

static struct tp_req any_request(struct worker *w)
{
    const struct rig *r = &w->crowd->rig;
    uint64_t x = next_random(w);
    unsigned log2 = x % 300 == 0 ? 20 : 4 + (unsigned)(x >> 16) % 12;
    struct tp_req rq = {.size = (UINT64_C(1) << log2) + next_random(w) % (UINT64_C(1) << log2),
                        .align = 16,
                        .stream = (uint16_t)((x >> 32) % r->env.streams)};
    if (r->s->caps & TP_CAP_ALIGN && (x >> 48) % 16 == 0)
        rq.align = UINT64_C(1) << (x >> 52) % 13;
    return rq;
}

static bool take(struct worker *w, struct parcel *p, const struct tp_req *rq,
                 const struct tp_block *b)
{
    if (!b->addr || b->addr & (rq->align - 1) || (b->granted && b->granted < rq->size))
        return failed(w, "a block is misaligned or too small", TP_OK);
    *p = (struct parcel){.addr = b->addr, .size = rq->size, .align = rq->align, .refs = 1};
    return mark(w, p);
}

static bool step_alloc(struct worker *w, struct parcel **slot)
{
    struct rig *r = &w->crowd->rig;
    struct tp_req rq = any_request(w);
    struct tp_block b = {0};
    uint64_t gift = next_random(w) % GIFTS;
    bool adopt = r->s->adopt && w->gifts[gift] && next_random(w) % 8 == 0;
    if (adopt)
        rq = (struct tp_req){.size = r->env.source->page, .align = 16, .stream = rq.stream};
    int rc = adopt ? r->s->adopt(r->st, w->thr, w->gifts[gift], &rq, &b)
                   : r->s->alloc(r->st, w->thr, &rq, &b);
    if (rc)
        return failed(w, adopt ? "adopt" : "alloc", rc);
    if (adopt) {
        w->gifts[gift] = 0;
        w->adopted++;
    }
    *slot = malloc(sizeof **slot);
    return *slot ? take(w, *slot, &rq, &b) : failed(w, "malloc", TP_ENOMEM);
}

static bool give_back(struct worker *w, struct parcel *p)
{
    struct rig *r = &w->crowd->rig;
    struct tp_req rq = {
        .size = p->size, .align = p->align, .stream = (uint16_t)(next_random(w) % r->env.streams)};
    bool ok = unmark(w, p);
    for (; ok && p->refs > 1; p->refs--)
        if (r->s->release(r->st, w->thr, p->addr))
            ok = failed(w, "release", TP_EINVAL);
    int rc = ok ? r->s->free(r->st, w->thr, p->addr, &rq) : TP_OK;
    free(p);
    return ok && (!rc || failed(w, "free", rc));
}

/* Leaves a block for others and frees what lay there: mostly somebody else's. */
static bool step_exchange(struct worker *w, struct parcel **slot)
{
    _Atomic(struct parcel *) *box = &w->crowd->boxes[next_random(w) % BOXES];
    struct parcel *got = atomic_exchange_explicit(box, *slot, memory_order_acq_rel);
    *slot = NULL;
    if (!got)
        return true;
    bool own = got->stamp >> 56 == w->index;
    *(own ? &w->local : &w->remote) += 1;
    return give_back(w, got);
}

/* In place or moved; without either the block stays as it is. */
static bool step_resize(struct worker *w, struct parcel *p)
{
    struct rig *r = &w->crowd->rig;
    struct tp_req rq = any_request(w);
    struct tp_block b = {0};
    struct parcel old = *p;
    rq.align = p->align;
    if (p->refs != 1)
        return true;
    int rc = r->s->resize ? r->s->resize(r->st, w->thr, p->addr, &rq, &b) : TP_EUNSUP;
    bool in_place = !rc;
    if (in_place && b.addr != old.addr)
        return failed(w, "resize has moved a block", TP_OK);
    if (rc == TP_EUNSUP && r->s->move) {
        /* another thread may get the old block at once: it must not be out any more */
        if (!r->host && !claim(w, old.addr, false))
            return false;
        rc = r->s->move(r->st, w->thr, p->addr, &rq, &b);
        if (!r->host && rc && !claim(w, old.addr, true))
            return false;
    } else if (in_place && !r->host && !claim(w, old.addr, false)) {
        return false;
    }
    if (rc)
        return rc == TP_EUNSUP || failed(w, "resize or move", rc);
    old.addr = b.addr;
    return marked(w, &old, old.size < rq.size ? old.size : rq.size) && take(w, p, &rq, &b);
}

static bool step_kept(struct worker *w, struct parcel **slot)
{
    struct rig *r = &w->crowd->rig;
    uint64_t choice = next_random(w) % 100;
    int rc = TP_OK;
    if (choice < 60)
        return step_exchange(w, slot);
    if (choice < 85) {
        struct parcel *p = *slot;
        *slot = NULL;
        w->local++;
        return give_back(w, p);
    }
    if (choice < 90)
        return step_resize(w, *slot);
    if (choice < 95 && r->s->retain) {
        rc = r->s->retain(r->st, w->thr, (*slot)->addr);
        (*slot)->refs += !rc;
    } else if (r->s->use) {
        rc = r->s->use(r->st, w->thr, (*slot)->addr, (uint16_t)(next_random(w) % r->env.streams));
    }
    return !rc || failed(w, "retain or use", rc);
}

/* The thread ends, and another begins with the same handle. */
static bool step_end(struct worker *w)
{
    struct rig *r = &w->crowd->rig;
    if (!r->s->thread_fini)
        return true;
    r->s->thread_fini(r->st, w->thr);
    memset(w->thr, 0, r->s->thread_size);
    w->ends++;
    int rc = r->s->thread_init(r->st, w->thr);
    return !rc || failed(w, "thread_init", rc);
}

static bool step(struct worker *w)
{
    struct parcel **slot = &w->own[next_random(w) % OWN];
    return *slot ? step_kept(w, slot) : step_alloc(w, slot);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    bool ok = true;
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&w->crowd->round);
        for (unsigned i = 0; i < ROUND && ok; i++) {
            if (i == ROUND / 2 && round % (2 * THREADS) == w->index)
                ok = step_end(w);
            ok = ok && step(w) && !atomic_load_explicit(&w->crowd->stop, memory_order_relaxed);
        }
    }
    return NULL;
}

/* ---- one instance ---- */

static void prepare(struct crowd *c)
{
    struct tp_source *src = c->rig.env.source;
    assert_int_equal(pthread_barrier_init(&c->round, NULL, THREADS), 0);
    for (size_t i = 0; i < sizeof c->stripes / sizeof c->stripes[0]; i++) {
        assert_int_equal(pthread_mutex_init(&c->stripes[i].mutex, NULL), 0);
        tp_addr_map_init(&c->stripes[i].out, table_get, table_put, NULL);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        struct worker *w = &c->workers[i];
        *w = (struct worker){
            .crowd = c, .thr = c->rig.threads[i], .index = i, .random = SEED * (i + 1)};
        for (int g = 0; c->rig.s->adopt && g < GIFTS; g++)
            assert_int_equal(tp_src_get(src, src->page, src->page, &w->gifts[g]), TP_OK);
    }
}

/* By one thread: frees what is kept and what lies in boxes, puts what nobody adopted. */
static void clear(struct crowd *c)
{
    struct worker *w = &c->workers[0];
    for (uint32_t i = 0; i < THREADS * OWN; i++)
        if (c->workers[i / OWN].own[i % OWN])
            give_back(w, c->workers[i / OWN].own[i % OWN]);
    for (uint32_t i = 0; i < BOXES; i++)
        if (c->boxes[i])
            give_back(w, c->boxes[i]);
    for (uint32_t i = 0; i < THREADS * GIFTS; i++)
        if (c->workers[i / GIFTS].gifts[i % GIFTS])
            tp_src_put(c->rig.env.source, c->workers[i / GIFTS].gifts[i % GIFTS],
                       c->rig.env.source->page);
    for (size_t i = 0; i < sizeof c->stripes / sizeof c->stripes[0]; i++) {
        tp_addr_map_fini(&c->stripes[i].out);
        pthread_mutex_destroy(&c->stripes[i].mutex);
    }
    pthread_barrier_destroy(&c->round);
}

static void tell(const struct crowd *c)
{
    uint64_t local = 0, remote = 0, ends = 0, adopted = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        if (c->workers[i].failure[0])
            fail_msg("%s", c->workers[i].failure);
        local += c->workers[i].local;
        remote += c->workers[i].remote;
        ends += c->workers[i].ends;
        adopted += c->workers[i].adopted;
    }
    print_message("    %llu frees by the same thread, %llu by another; %llu threads ended, "
                  "%llu blocks adopted\n",
                  (unsigned long long)local, (unsigned long long)remote, (unsigned long long)ends,
                  (unsigned long long)adopted);
    assert_true(remote > local / 3 && local > remote / 3);
    assert_true(!c->rig.s->thread_fini || ends >= 2 * THREADS);
}

static void run(const struct tp_strategy *s, const char *options, const struct tp_source_ops *base)
{
    struct crowd *c = calloc(1, sizeof *c);
    const struct rig_cfg cfg = {.strategy = s,
                                .options = options,
                                .base = base,
                                .streams = s->caps & TP_CAP_STREAMS ? 4 : 1,
                                .threads = THREADS,
                                .concurrent = true};
    assert_non_null(c);
    print_message("  %s:%s on %s\n", s->name, options, base->name);
    assert_int_equal(rig_open(&c->rig, &cfg), TP_OK);
    prepare(c);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&c->workers[i].os, NULL, work, &c->workers[i]), 0);
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(c->workers[i].os, NULL), 0);
    clear(c);
    tell(c);
    if (s->walk)
        assert_int_equal(rig_walk(&c->rig).pieces[TP_WALK_LIVE], 0);
    rig_close(&c->rig);
    free(c);
}

/* ---- the tests ---- */

static void registered_strategies(void **state)
{
    (void)state;
    unsigned count = 0;
    for (size_t i = 0; tp_strategies[i]; i++) {
        const struct tp_strategy *s = tp_strategies[i];
        if (!(s->caps & TP_CAP_THREADS) || s->caps & TP_CAP_FOREIGN)
            continue;
        count++;
        run(s, "", &tp_source_host);
        run(s, "", &tp_source_virtual);
    }
    if (!count)
        print_message("  no strategy of the registry has TP_CAP_THREADS\n");
}

/* One lock around everything: what fails here is the test itself. */
static void locked_strategy(void **state)
{
    (void)state;
    run(&planted_strategy, "", &tp_source_host);
    run(&planted_strategy, "", &tp_source_virtual);
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif
#ifndef UNDER_THREAD_SANITIZER
#define UNDER_THREAD_SANITIZER 0
#endif

/* A counter outside the lock: the sanitizer must see it, else the harness orders too much. */
static void planted_race_is_seen(void **state)
{
    (void)state;
    int status = 0;
    if (!UNDER_THREAD_SANITIZER) {
        print_message("  only where the thread sanitizer looks\n");
        return;
    }
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        setenv("TSAN_OPTIONS", "exitcode=66", 1);
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        execl("/proc/self/exe", "test_threads", "race", (char *)NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 66); /* the sanitizer's own */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locked_strategy),
        cmocka_unit_test(planted_race_is_seen),
        cmocka_unit_test(registered_strategies),
    };
    if (argc > 1 && !strcmp(argv[1], "race")) { /* what planted_race_is_seen starts */
        run(&planted_strategy, "bug=race", &tp_source_virtual);
        return 0;
    }
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
