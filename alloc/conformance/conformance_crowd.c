/* Several OS threads on one instance beside a shadow of what they hold.
 *
 *     thread 0 ... 7:  alloc -> mark -> keep some -> free          (local)
 *                                   \-> box -> another thread verifies and frees (remote)
 *
 * The shadow of host memory is in the blocks: a pattern of the block's own at both ends, verified
 * by whoever frees it. Where there is no memory, a table knows which addresses are out. Threads end
 * and start again in the middle. At the end everything is freed, and check(), the walk and the
 * account must agree.
 *
 * Within a round nothing orders the threads but the hand-over of a block: what the thread sanitizer
 * takes for ordered, it cannot find a race in. All wait for each other between rounds, so that on
 * any machine, however loaded, half of the frees are remote.
 *
 * A call takes nanoseconds, so threads that share a core hardly ever meet in one. The thread that
 * waits for the others therefore looks now and then for one that is inside a call, and sends it a
 * signal whose handler holds it there until others have gone on. Known weakness: which
 * interleavings occur is chance. */
#include "alloc/conformance/conformance_replay.h"

#include "alloc/base/addr_map.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS = RIG_MAX_THREADS,
    ROUNDS = 60,
    ROUND = 100, /* steps of each thread */
    OWN = 48,    /* blocks that a thread keeps */
    BOXES = 32,
    GIFTS = 4, /* ranges for adopt, per thread */
    STRIPES = 64,
    MARKED = 256,   /* bytes at either end of a block that carry its mark */
    NAP_NS = 15000, /* between two looks for a thread that is inside a call */
    AHEAD = 8,      /* steps that others take while one is held */
    YIELDS = 16 /* in which they must take them: they may wait for what the held one has locked */
};
#define SEED UINT64_C(20240611)

struct crowd_block {
    tp_addr addr;
    uint64_t size, align;
    uint64_t mark; /* thread << 56 | serial number */
    uint32_t refs;
};

/* Where a thread is. It is held at most once in a call, so that it comes out again. */
enum crowd_inside { OUTSIDE, INSIDE, HELD };

struct crowd_worker {
    struct crowd *crowd;
    void *thr;
    uint32_t index;
    uint64_t random, serial;
    struct crowd_block *own[OWN];
    tp_addr gifts[GIFTS]; /* ranges of one page from the source; 0: adopted */
    struct crowd_counts counts;
    char failure[200]; /* "": none */
    pthread_t os;
    atomic_uint inside; /* enum crowd_inside */
    atomic_uint steps;
};

/* Addresses that are out, where blocks are no memory. */
struct crowd_stripe {
    pthread_mutex_t mutex;
    struct tp_addr_map out;
};

struct crowd {
    struct rig rig;
    struct crowd_worker workers[THREADS];
    _Atomic(struct crowd_block *) boxes[BOXES];
    struct crowd_stripe stripes[STRIPES];
    pthread_mutex_t gate; /* open while the threads replay */
    pthread_barrier_t round;
    atomic_bool stop;
    atomic_uint replaying;
};

static uint64_t next_random(struct crowd_worker *w)
{
    uint64_t z = w->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Ends the game of all threads. */
static bool fails(struct crowd_worker *w, const char *what)
{
    if (!w->failure[0])
        snprintf(w->failure, sizeof w->failure, "thread %u: %s", w->index, what);
    atomic_store_explicit(&w->crowd->stop, true, memory_order_relaxed);
    return false;
}

static bool refuses(struct crowd_worker *w, const char *call, int rc)
{
    char what[100];
    snprintf(what, sizeof what, "%s: %s", call, tp_status_text(rc));
    return fails(w, what);
}

/* ---- threads that are held inside a call ---- */

static void enter(struct crowd_worker *w)
{
    atomic_store_explicit(&w->inside, INSIDE, memory_order_relaxed);
}

static int leave(struct crowd_worker *w, int rc)
{
    atomic_store_explicit(&w->inside, OUTSIDE, memory_order_relaxed);
    return rc;
}

/* What a call of the strategy returns. */
#define CALL(w, call) leave((w), (enter(w), (call)))

/* Steps of all other threads. */
static unsigned steps_of_others(struct crowd_worker *w)
{
    unsigned sum = 0;
    for (uint32_t i = 0; i < THREADS; i++)
        if (i != w->index)
            sum += atomic_load_explicit(&w->crowd->workers[i].steps, memory_order_relaxed);
    return sum;
}

/* Runs on the thread that is held. */
static void hold(int signal, siginfo_t *info, void *context)
{
    struct crowd_worker *w = info->si_value.sival_ptr;
    const int error = errno;
    (void)signal, (void)context;
    if (info->si_code != SI_QUEUE || info->si_pid != getpid() ||
        atomic_load_explicit(&w->inside, memory_order_relaxed) != HELD)
        return;
    const unsigned before = steps_of_others(w);
    for (int i = 0; i < YIELDS && steps_of_others(w) - before < AHEAD; i++)
        sched_yield();
    errno = error;
}

/* The first thread from this one on that is inside a call and was not yet held in it, or NULL. */
static struct crowd_worker *find_inside(struct crowd *c, uint32_t from)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        struct crowd_worker *w = &c->workers[(from + i) % THREADS];
        unsigned inside = INSIDE;
        if (atomic_compare_exchange_strong_explicit(&w->inside, &inside, HELD, memory_order_relaxed,
                                                    memory_order_relaxed))
            return w;
    }
    return NULL;
}

static void hold_some(struct crowd *c)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    const int slack = prctl(PR_GET_TIMERSLACK);
    uint32_t from = 0;
    prctl(PR_SET_TIMERSLACK, 1);
    while (atomic_load(&c->replaying)) {
        nanosleep(&nap, NULL);
        struct crowd_worker *w = find_inside(c, from++);
        if (w)
            pthread_sigqueue(w->os, SIGRTMIN, (union sigval){.sival_ptr = w});
    }
    prctl(PR_SET_TIMERSLACK, slack);
}

/* ---- the shadow ---- */

static bool claim(struct crowd_worker *w, tp_addr addr, bool out)
{
    struct crowd_stripe *s = &w->crowd->stripes[(addr * UINT64_C(0x9E3779B97F4A7C15)) >> 58];
    pthread_mutex_lock(&s->mutex);
    bool ok = out ? !tp_addr_map_find(&s->out, addr) && !tp_addr_map_insert(&s->out, addr, 1)
                  : tp_addr_map_remove(&s->out, addr, NULL);
    pthread_mutex_unlock(&s->mutex);
    return ok || fails(w, out ? "a live block was allocated again" : "a live block was lost");
}

/* Writes the mark to [from, to) of a block, or finds it there. */
static bool pass_marks(const struct crowd_block *b, uint64_t from, uint64_t to, bool write)
{
    unsigned char *at = (unsigned char *)(uintptr_t)b->addr;
    for (uint64_t o = from; o + sizeof b->mark <= to; o += sizeof b->mark)
        if (write)
            memcpy(at + o, &b->mark, sizeof b->mark);
        else if (memcmp(at + o, &b->mark, sizeof b->mark) != 0)
            return false;
    return true;
}

/* Passes the marks of the first `kept` bytes. The second end begins at a multiple of 8, too. */
static bool pass_ends(const struct crowd_block *b, uint64_t kept, bool write)
{
    uint64_t tail = b->size > 2 * MARKED ? (b->size - MARKED) & ~UINT64_C(7) : MARKED;
    return pass_marks(b, 0, kept < MARKED ? kept : MARKED, write) &&
           pass_marks(b, tail, kept, write);
}

/* The host source's addresses are pointers; to ask it would be a call beside the strategy's. */
static bool mark(struct crowd_worker *w, struct crowd_block *b)
{
    b->mark = (uint64_t)w->index << 56 | ++w->serial;
    return w->crowd->rig.host ? pass_ends(b, b->size, true) : claim(w, b->addr, true);
}

static bool marked(struct crowd_worker *w, const struct crowd_block *b, uint64_t kept)
{
    return !w->crowd->rig.host || pass_ends(b, kept, false) ||
           fails(w, "the contents of a live block have changed");
}

static bool unmark(struct crowd_worker *w, const struct crowd_block *b)
{
    return marked(w, b, b->size) && (w->crowd->rig.host || claim(w, b->addr, false));
}

/* ---- one thread's steps ---- */

static struct tp_req any_request(struct crowd_worker *w)
{
    const struct rig *r = &w->crowd->rig;
    uint64_t x = next_random(w);
    unsigned octaves = x % 8 ? 8 : 12;
    unsigned log2 = x % 2000 == 0 ? 20 : 4 + (unsigned)(x >> 16) % octaves;
    struct tp_req rq = {.size = (UINT64_C(1) << log2) + next_random(w) % (UINT64_C(1) << log2),
                        .align = 16,
                        .stream = (uint16_t)((x >> 32) % r->env.streams)};
    if (r->s->caps & TP_CAP_ALIGN && (x >> 48) % 16 == 0)
        rq.align = UINT64_C(1) << (x >> 52) % 13;
    return rq;
}

static bool take_block(struct crowd_worker *w, struct crowd_block *b, const struct tp_req *rq,
                       const struct tp_block *got)
{
    if (!got->addr || got->addr & (rq->align - 1) || (got->allocated && got->allocated < rq->size))
        return fails(w, "a block is misaligned or too small");
    *b = (struct crowd_block){.addr = got->addr, .size = rq->size, .align = rq->align, .refs = 1};
    return mark(w, b);
}

static bool step_alloc(struct crowd_worker *w, struct crowd_block **slot)
{
    struct rig *r = &w->crowd->rig;
    struct tp_req rq = any_request(w);
    struct tp_block got = {0};
    uint64_t gift = next_random(w) % GIFTS;
    bool adopt = r->s->adopt && w->gifts[gift] && next_random(w) % 8 == 0;
    if (adopt)
        rq = (struct tp_req){.size = r->env.source->page, .align = 16, .stream = rq.stream};
    int rc = adopt ? CALL(w, r->s->adopt(r->st, w->thr, w->gifts[gift], &rq, &got))
                   : CALL(w, r->s->alloc(r->st, w->thr, &rq, &got));
    if (rc)
        return rc == TP_EOOM || refuses(w, adopt ? "adopt" : "alloc", rc);
    if (adopt) {
        w->gifts[gift] = 0;
        w->counts.adopted++;
    }
    *slot = malloc(sizeof **slot);
    return *slot ? take_block(w, *slot, &rq, &got) : refuses(w, "the check itself", TP_ENOMEM);
}

static bool give_back(struct crowd_worker *w, struct crowd_block *b)
{
    struct rig *r = &w->crowd->rig;
    struct tp_req rq = {
        .size = b->size, .align = b->align, .stream = (uint16_t)(next_random(w) % r->env.streams)};
    bool ok = unmark(w, b);
    for (; ok && b->refs > 1; b->refs--)
        if (CALL(w, r->s->release(r->st, w->thr, b->addr)))
            ok = refuses(w, "release", TP_EINVAL);
    int rc = ok ? CALL(w, r->s->free(r->st, w->thr, b->addr, &rq)) : TP_OK;
    free(b);
    return ok && (!rc || refuses(w, "free", rc));
}

/* Leaves a block for others and frees what lay there: mostly somebody else's. */
static bool step_exchange(struct crowd_worker *w, struct crowd_block **slot)
{
    _Atomic(struct crowd_block *) *box = &w->crowd->boxes[next_random(w) % BOXES];
    struct crowd_block *got = atomic_exchange_explicit(box, *slot, memory_order_acq_rel);
    *slot = NULL;
    if (!got)
        return true;
    if (got->mark >> 56 == w->index)
        w->counts.local++;
    else
        w->counts.remote++;
    return give_back(w, got);
}

/* In place or moved; without either the block stays as it is. */
static bool step_resize(struct crowd_worker *w, struct crowd_block *b)
{
    struct rig *r = &w->crowd->rig;
    struct tp_req rq = any_request(w);
    struct tp_block got = {0};
    struct crowd_block old = *b;
    rq.align = b->align;
    if (b->refs != 1)
        return true;
    int rc = r->s->resize ? CALL(w, r->s->resize(r->st, w->thr, b->addr, &rq, &got)) : TP_EUNSUP;
    bool in_place = !rc;
    if (in_place && got.addr != old.addr)
        return fails(w, "resize has moved a block");
    if (rc == TP_EUNSUP && r->s->move) {
        /* another thread may get the old block at once: it must not be out any more */
        if (!r->host && !claim(w, old.addr, false))
            return false;
        rc = CALL(w, r->s->move(r->st, w->thr, b->addr, &rq, &got));
        if (!r->host && rc && !claim(w, old.addr, true))
            return false;
    } else if (in_place && !r->host && !claim(w, old.addr, false)) {
        return false;
    }
    if (rc)
        return rc == TP_EUNSUP || rc == TP_EOOM || refuses(w, "resize or move", rc);
    old.addr = got.addr;
    return marked(w, &old, old.size < rq.size ? old.size : rq.size) && take_block(w, b, &rq, &got);
}

static bool step_kept(struct crowd_worker *w, struct crowd_block **slot)
{
    struct rig *r = &w->crowd->rig;
    uint64_t choice = next_random(w) % 100;
    int rc = TP_OK;
    if (choice < 60)
        return step_exchange(w, slot);
    if (choice < 85) {
        struct crowd_block *b = *slot;
        *slot = NULL;
        w->counts.local++;
        return give_back(w, b);
    }
    if (choice < 90)
        return step_resize(w, *slot);
    if (choice < 95 && r->s->retain) {
        rc = CALL(w, r->s->retain(r->st, w->thr, (*slot)->addr));
        (*slot)->refs += !rc;
    } else if (r->s->use) {
        uint16_t stream = (uint16_t)(next_random(w) % r->env.streams);
        rc = CALL(w, r->s->use(r->st, w->thr, (*slot)->addr, stream));
    }
    return !rc || refuses(w, "retain or use", rc);
}

/* The thread ends, and another begins with the same handle. */
static bool step_end(struct crowd_worker *w)
{
    struct rig *r = &w->crowd->rig;
    if (!r->s->thread_fini)
        return true;
    r->s->thread_fini(r->st, w->thr);
    memset(w->thr, 0, r->s->thread_size);
    w->counts.ends++;
    int rc = r->s->thread_init(r->st, w->thr);
    return !rc || refuses(w, "thread_init", rc);
}

static bool step_worker(struct crowd_worker *w)
{
    struct crowd_block **slot = &w->own[next_random(w) % OWN];
    atomic_fetch_add_explicit(&w->steps, 1, memory_order_relaxed);
    return *slot ? step_kept(w, slot) : step_alloc(w, slot);
}

static void *work(void *arg)
{
    struct crowd_worker *w = arg;
    bool ok = true;
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGRTMIN);
    pthread_sigmask(SIG_UNBLOCK, &held, NULL);
    pthread_mutex_lock(&w->crowd->gate);
    pthread_mutex_unlock(&w->crowd->gate);
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&w->crowd->round);
        for (unsigned i = 0; i < ROUND && ok; i++) {
            if (i == ROUND / 2 && round % (2 * THREADS) == w->index)
                ok = step_end(w);
            ok = ok && step_worker(w) &&
                 !atomic_load_explicit(&w->crowd->stop, memory_order_relaxed);
        }
    }
    atomic_fetch_sub(&w->crowd->replaying, 1);
    return NULL;
}

/* ---- one instance ---- */

static void prepare(struct crowd *c)
{
    struct tp_source *src = c->rig.env.source;
    for (size_t i = 0; i < STRIPES; i++) {
        pthread_mutex_init(&c->stripes[i].mutex, NULL);
        tp_addr_map_init_plain(&c->stripes[i].out);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        struct crowd_worker *w = &c->workers[i];
        *w = (struct crowd_worker){
            .crowd = c, .thr = c->rig.threads[i], .index = i, .random = SEED * (i + 1)};
        for (int g = 0; c->rig.s->adopt && g < GIFTS; g++)
            if (tp_src_get(src, src->page, src->page, &w->gifts[g]))
                w->gifts[g] = 0;
    }
}

/* Starts the threads, which wait for each other only once it is known how many there are. */
static int replay(struct crowd *c, struct tp_err *err)
{
    const struct sigaction holding = {.sa_sigaction = hold, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction before;
    uint32_t started = 0;
    int error = 0;
    sigaction(SIGRTMIN, &holding, &before);
    pthread_mutex_lock(&c->gate);
    for (; !error && started < THREADS; started += !error)
        error = pthread_create(&c->workers[started].os, NULL, work, &c->workers[started]);
    atomic_store(&c->stop, error != 0);
    atomic_store(&c->replaying, started);
    pthread_barrier_init(&c->round, NULL, started ? started : 1);
    pthread_mutex_unlock(&c->gate);
    hold_some(c);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(c->workers[i].os, NULL);
    sigaction(SIGRTMIN, &before, NULL);
    pthread_barrier_destroy(&c->round);
    return error ? tp_fail(err, TP_EIO, "only %u of %d threads can run here (%s)", started, THREADS,
                           strerror(error))
                 : TP_OK;
}

/* Gives back a block that lies somewhere at the end; to a strategy that has failed, nothing. */
static void put_away(struct crowd *c, struct crowd_block *b, bool failed)
{
    if (b && failed)
        free(b);
    else if (b)
        give_back(&c->workers[0], b);
}

/* By one thread: frees what is kept and what lies in boxes, puts what nobody adopted. */
static void clear(struct crowd *c)
{
    struct tp_source *src = c->rig.env.source;
    const bool failed = atomic_load(&c->stop);
    for (uint32_t i = 0; i < THREADS * OWN; i++)
        put_away(c, c->workers[i / OWN].own[i % OWN], failed);
    for (uint32_t i = 0; i < BOXES; i++)
        put_away(c, atomic_load(&c->boxes[i]), failed);
    for (uint32_t i = 0; i < THREADS * GIFTS; i++)
        if (c->workers[i / GIFTS].gifts[i % GIFTS])
            tp_src_put(src, c->workers[i / GIFTS].gifts[i % GIFTS], src->page);
    for (size_t i = 0; i < STRIPES; i++) {
        tp_addr_map_fini(&c->stripes[i].out);
        pthread_mutex_destroy(&c->stripes[i].mutex);
    }
}

/* The first failure of any thread. */
static int judge(const struct crowd *c, struct crowd_counts *out, struct tp_err *err)
{
    *out = (struct crowd_counts){0};
    for (uint32_t i = 0; i < THREADS; i++) {
        const struct crowd_worker *w = &c->workers[i];
        if (w->failure[0])
            return tp_fail(err, TP_EBROKEN, "%s", w->failure);
        out->local += w->counts.local;
        out->remote += w->counts.remote;
        out->ends += w->counts.ends;
        out->adopted += w->counts.adopted;
    }
    return TP_OK;
}

static void count_pieces(void *ctx, enum tp_walk_kind kind, tp_addr addr, uint64_t size)
{
    uint64_t *sums = ctx;
    (void)addr;
    sums[0] += kind == TP_WALK_LIVE ? size : 0;
    sums[1] += size;
}

/* With nothing live the instance must find itself sound, and its books must add up. */
static int check_idle(struct rig *r, struct tp_err *err)
{
    uint64_t sums[2] = {0, 0};
    struct tp_stats stats = tp_rig_stats(r);
    struct tp_err why = {0};
    if (r->s->check && r->s->check(r->st, &why))
        return tp_fail(err, TP_EBROKEN, "after all threads: %.300s", why.text);
    if (stats.carved_bytes > r->account.reserved)
        return tp_fail(err, TP_EBROKEN, "after all threads: carved %llu bytes of %llu reserved",
                       (unsigned long long)stats.carved_bytes,
                       (unsigned long long)r->account.reserved);
    if (!r->s->walk || r->s->walk(r->st, count_pieces, sums))
        return TP_OK;
    if (sums[0] || sums[1] != tp_account_ranges(&r->account))
        return tp_fail(err, TP_EBROKEN,
                       "after all threads: the walk names %llu live bytes and %llu in all, its "
                       "ranges have %llu",
                       (unsigned long long)sums[0], (unsigned long long)sums[1],
                       (unsigned long long)tp_account_ranges(&r->account));
    return TP_OK;
}

/* One instance from start to end. */
static int replay_instance(struct crowd *c, const struct rig_cfg *cfg, struct crowd_counts *out,
                           struct tp_err *err)
{
    char text[240];
    int status = tp_rig_start(&c->rig, cfg);
    if (status)
        return tp_fail(err, TP_EBROKEN, "init: %s",
                       c->rig.err.status ? c->rig.err.text : tp_status_text(status));
    prepare(c);
    status = replay(c, err);
    clear(c);
    if (!status)
        status = judge(c, out, err);
    if (!status)
        status = check_idle(&c->rig, err);
    const char *left = tp_rig_shut(&c->rig, text, sizeof text);
    return status || !left ? status : tp_fail(err, TP_EBROKEN, "after all threads: %s", left);
}

int tp_conformance_crowd(const struct rig_cfg *cfg, struct crowd_counts *out, struct tp_err *err)
{
    struct crowd *c = calloc(1, sizeof *c);
    struct rig_cfg own = *cfg;
    own.threads = THREADS;
    own.concurrent = true;
    if (!c)
        return tp_fail(err, TP_ENOMEM, "out of memory for a check");
    pthread_mutex_init(&c->gate, NULL);
    int status = replay_instance(c, &own, out, err);
    pthread_mutex_destroy(&c->gate);
    free(c);
    return status;
}
