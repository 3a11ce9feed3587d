/* Programs with streams on `stream-pool`: beside a model of what each stream may still be doing,
 * with failing bookkeeping and sources, and by several threads. */
#include "tests/unit/stream_pool_rig.h"

/* ---- the model ---- */

struct owned {
    tp_addr addr;
    uint64_t size;
    uint16_t stream;
    uint16_t used[2]; /* further streams; STREAMS = none */
};

/* When the work on an address is over, by stream: a fence's lag or a sync. */
struct history {
    tp_addr addr;
    uint64_t until[STREAMS]; /* ns; 0 = nothing pending */
};

struct world {
    struct rig *r;
    struct owned owned[64];
    struct history history[4096];
    size_t seen;
};

static struct history *history_of(struct world *w, tp_addr addr)
{
    for (size_t i = 0; i < w->seen; i++)
        if (w->history[i].addr == addr)
            return &w->history[i];
    assert_true(w->seen < sizeof w->history / sizeof w->history[0]);
    w->history[w->seen] = (struct history){.addr = addr};
    return &w->history[w->seen++];
}

/* A block may be handed to a stream when no other stream still works on it. */
static void world_alloc(struct world *w, struct owned *o)
{
    struct rig *r = w->r;
    uint64_t x = tp_rig_random(r);
    struct tp_block b;
    *o = (struct owned){
        .size = 1 + x % 6 * 700, .stream = (uint16_t)((x >> 8) % 4), .used = {STREAMS, STREAMS}};
    struct tp_req rq = {.size = o->size, .align = 256, .stream = o->stream};
    int rc = r->s->alloc(r->st, r->threads[0], &rq, &b);
    assert_true(rc == TP_OK || rc == TP_EOOM);
    if (rc)
        return;
    o->addr = b.addr;
    struct history *h = history_of(w, b.addr);
    for (uint16_t s = 0; s < STREAMS; s++)
        if (s != o->stream && h->until[s] > r->now_ns)
            fail_msg("stream %u got a block on which stream %u still works", o->stream, s);
}

static void world_free(struct world *w, struct owned *o)
{
    struct rig *r = w->r;
    bool same = tp_rig_random(r) % 4;
    uint16_t stream = same ? o->stream : (uint16_t)(tp_rig_random(r) % 4);
    struct tp_req rq = {.size = o->size, .align = 256, .stream = stream};
    assert_int_equal(r->s->free(r->st, r->threads[0], o->addr, &rq), TP_OK);
    struct history *h = history_of(w, o->addr);
    memset(h->until, 0, sizeof h->until); /* it was handed out: what was before is over */
    h->until[stream] = r->now_ns + LAG;
    for (int i = 0; i < 2; i++)
        if (o->used[i] < STREAMS)
            h->until[o->used[i]] = r->now_ns + LAG;
    o->addr = 0;
}

static void world_use(struct world *w, struct owned *o)
{
    int i = o->used[0] < STREAMS;
    if (o->used[i] < STREAMS)
        return;
    o->used[i] = (uint16_t)(tp_rig_random(w->r) % STREAMS);
    assert_int_equal(w->r->s->use(w->r->st, NULL, o->addr, o->used[i]), TP_OK);
}

static void world_sync(struct world *w)
{
    uint16_t stream = (uint16_t)(tp_rig_random(w->r) % STREAMS);
    for (size_t i = 0; i < w->seen; i++)
        w->history[i].until[stream] = 0;
    sync_stream(w->r, stream);
}

/* Every block that is no longer held must have been past all its streams when it was given back:
 * the source's page is never handed out twice by `virtual`, so history knows each. */
static void world_check_gone(struct world *w, uint64_t since)
{
    if (w->r->account.puts == since)
        return;
    for (size_t i = 0; i < w->seen; i++) {
        const struct history *h = &w->history[i];
        if (cache_find(&pool_of(w->r)->cache, h->addr))
            continue;
        for (uint16_t s = 0; s < STREAMS; s++)
            if (h->until[s] > w->r->now_ns)
                fail_msg("a block was given back while stream %u works on it", s);
    }
}

static void world_step(struct world *w)
{
    struct rig *r = w->r;
    struct owned *o = &w->owned[tp_rig_random(r) % 64];
    uint64_t choice = tp_rig_random(r) % 100, puts = r->account.puts;
    r->now_ns += tp_rig_random(r) % 4000;
    if (choice < 2)
        assert_int_equal(r->s->trim(r->st, tp_rig_random(r) % 20000), TP_OK);
    else if (choice < 6)
        world_sync(w);
    else if (choice < 20 && o->addr)
        world_use(w, o);
    else if (o->addr)
        world_free(w, o);
    else
        world_alloc(w, o);
    rig_check(r);
    world_check_gone(w, puts);
}

TEST(no_stream_gets_what_another_works_on)
{
    static const char *const options[] = {
        "",
        "release_threshold=max",
        "release_threshold=8KiB",
        "release_threshold=max,cross_stream=wait",
        "cross_stream=never",
        "threshold=0",
        "threshold=8KiB,cross_stream=wait",
        "max_cached=4,round=pow2",
        "round=eighth",
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        for (int limited = 0; limited < 2; limited++)
            for (uint32_t streams = 1; streams <= STREAMS; streams += STREAMS - 1) {
                struct world *w = calloc(1, sizeof *w);
                assert_non_null(w);
                w->r = open_with((struct rig_cfg){.options = options[i],
                                                  .limit = limited ? "capacity=60KB" : NULL,
                                                  .streams = streams});
                w->r->random = 20240611 + i;
                for (int step = 0; step < 4000; step++)
                    world_step(w);
                assert_true(!limited || w->r->account.refused_gets > 0);
                rig_end(w->r);
                free(w);
            }
}

/* ---- failing bookkeeping and sources, with streams ---- */

/* Returns what was refused for lack of bookkeeping memory; nothing may get lost by it. */
static uint64_t replay_streams(struct rig *r)
{
    struct owned owned[24] = {{0}};
    uint64_t failures = 0;
    for (int step = 0; step < 600; step++) {
        struct owned *o = &owned[tp_rig_random(r) % 24];
        uint16_t stream = (uint16_t)(tp_rig_random(r) % STREAMS);
        struct tp_req rq = {.size = o->size, .align = 256, .stream = stream};
        struct tp_block b;
        int rc = TP_OK;
        r->now_ns += 5000;
        if (!o->addr) {
            rq.size = o->size = 1 + tp_rig_random(r) % 40 * 512;
            rc = r->s->alloc(r->st, NULL, &rq, &b);
            o->addr = rc ? 0 : b.addr;
        } else if (step % 3 == 0) {
            rc = r->s->use(r->st, NULL, o->addr, stream);
        } else {
            rc = r->s->free(r->st, NULL, o->addr, &rq);
            if (!rc)
                o->addr = 0;
            else
                assert_int_equal(r->s->usable(r->st, o->addr) >= o->size, true);
        }
        assert_true(rc == TP_OK || rc == TP_ENOMEM || rc == TP_EOOM);
        failures += rc == TP_ENOMEM;
        rig_walk(r);
    }
    return failures;
}

TEST(failing_bookkeeping_loses_nothing)
{
    for (uint64_t n = 1, calls = 1; n <= calls; n++) {
        struct rig *r = open_with((struct rig_cfg){.meta_fail_at = n});
        r->random = 7;
        uint64_t failures = replay_streams(r);
        calls = r->meta.calls;
        assert_int_equal(failures, n <= calls);
        rig_end(r);
    }
}

TEST(failing_sources_lose_nothing)
{
    static const char *const what[] = {"put_at", "get_at", "get_every"};
    char spec[32];
    for (int i = 0; i < 3; i++)
        for (int n = 1; n < 60; n++) {
            snprintf(spec, sizeof spec, "%s=%d", what[i], n);
            struct rig *r =
                open_with((struct rig_cfg){.options = "threshold=20KiB", .fault = spec});
            r->random = 7;
            assert_int_equal(replay_streams(r), 0);
            if (!i)
                assert_int_equal(r->account.refused_puts, 1);
            rig_end(r);
        }
}
