/* Strategies under the crew's lock: several OS threads on one instance, each with objects of its
 * own, and addresses that wander from one to another through what is reused. Best run under
 * -fsanitize=thread. */
#include "alloc/engine/crew.h"
#include "tests/unit/conformance.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 4000, HELD = 40 };

static const struct {
    const struct tp_strategy *strategy;
    const char *options;
    uint32_t streams;
} cases[] = {
    {&tp_strategy_lru, "", 1},
    {&tp_strategy_lru, "capacity_blocks=30", 1},
    {&tp_strategy_lru, "capacity_bytes=20KB,round=pow2", THREADS},
    {&tp_strategy_stream_pool, "threshold=4KiB", THREADS},
    {&tp_strategy_stream_pool, "release_threshold=max", 1},
    {&tp_strategy_direct, "", 1},
    {&tp_strategy_bump, "", 1},
    {&tp_strategy_bump, "size=64KiB,on_full=fallback", 1},
};

struct worker {
    struct rig *r;
    struct tp_one_lock *lock;
    uint64_t random;
    uint16_t number;
    int wrong; /* results that must not be */
};

static uint64_t next_random(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* Something else than allocating and freeing. */
static void meddle(struct worker *w, tp_addr addr, struct tp_req *rq)
{
    const struct tp_strategy *s = &w->lock->outer;
    void *st = w->lock, *thr = w->r->threads[0];
    struct tp_req grown = *rq;
    struct tp_block b;
    grown.size += next_random(w) % 100;
    int rc = s->resize(st, thr, addr, &grown, &b);
    w->wrong += rc != TP_OK && rc != TP_EUNSUP;
    if (!rc)
        *rq = grown;
    if (s->retain)
        w->wrong += s->retain(st, thr, addr) || s->release(st, thr, addr);
    if (s->use)
        w->wrong += s->use(st, thr, addr, w->number) != TP_OK;
    w->wrong += s->free(st, thr, addr + 1, rq) != TP_EINVAL;
}

static void *work(void *ctx)
{
    struct worker *w = ctx;
    const struct tp_strategy *s = &w->lock->outer;
    void *thr = w->r->threads[0]; /* of no size */
    struct tp_block held[HELD] = {0};
    struct tp_req rqs[HELD];
    for (int i = 0; i < ROUNDS + HELD; i++) {
        uint64_t at = i < ROUNDS ? next_random(w) % HELD : (uint64_t)(i - ROUNDS);
        struct tp_req *rq = &rqs[at];
        if (held[at].addr) {
            if (next_random(w) % 4 == 0)
                meddle(w, held[at].addr, rq);
            w->wrong += s->free(w->lock, thr, held[at].addr, rq) != TP_OK;
            held[at].addr = 0;
        } else if (i < ROUNDS) {
            *rq = (struct tp_req){100 * (1 + next_random(w) % 30), 8, w->number};
            w->wrong += s->alloc(w->lock, thr, rq, &held[at]) != TP_OK;
        }
    }
    return NULL;
}

/* The rig opens for one stream: again, for several. */
static void reopen(struct rig *r, uint32_t streams)
{
    struct tp_err err;
    r->s->fini(r->st);
    memset(r->st, 0, r->s->state_size);
    r->env.streams = streams;
    if (r->s->init(r->st, &r->env, r->opts, &err))
        fail_msg("%s", err.text);
}

TEST(threads_share_one_instance)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct rig *r = calloc(1, sizeof *r);
        struct rig_cfg cfg = {.strategy = cases[c].strategy,
                              .options = cases[c].options,
                              .base = &tp_source_virtual,
                              .kind = TP_KIND_DEVICE};
        pthread_t threads[THREADS];
        struct worker workers[THREADS];
        print_message("  %s:%s\n", cases[c].strategy->name, cases[c].options);
        assert_non_null(r);
        assert_false(cases[c].strategy->caps & TP_CAP_THREADS);
        assert_int_equal(rig_open(r, &cfg), TP_OK);
        reopen(r, cases[c].streams);
        struct tp_one_lock lock = {.inner = NULL};
        tp_one_lock_open(&lock, r->s, r->st);
        for (uint16_t i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){
                .r = r, .lock = &lock, .random = 88172645463325252u + i, .number = i};
            assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(workers[i].wrong, 0);
        }
        assert_int_equal(rig_walk(r).sums[TP_WALK_LIVE], 0);
        tp_one_lock_close(&lock);
        rig_close(r);
        free(r);
    }
}
