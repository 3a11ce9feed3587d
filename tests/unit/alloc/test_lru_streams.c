/* `lru` on several streams: which block may be used where, and when.
 *
 * The source is `virtual` behind a guard that knows, for each address, until when work is pending
 * on which stream; it refuses to take back what is in use, and the random program asks it about
 * every block that it gets. */
#include "tests/unit/scenario.h"

#define STREAMS 4
#define LAG     UINT64_C(50000) /* ns, the default of `virtual` */
#define BLOCKS  4096            /* that the guard can know */

/* ---- the guard ---- */

struct pending {
    tp_addr addr;
    uint64_t since[STREAMS]; /* when the work was seen, plus 1; 0: none */
};

struct guard {
    struct tp_source inner;
};

/* What the guard knows; tests reach it here. */
static struct {
    struct pending blocks[BLOCKS];
    size_t count;
    uint64_t synced[STREAMS]; /* work up to then is done */
    const uint64_t *now_ns;
    uint64_t bad_puts, records;
} model;

static struct pending *pending_of(tp_addr addr)
{
    for (size_t i = 0; i < model.count; i++)
        if (model.blocks[i].addr == addr)
            return &model.blocks[i];
    assert_true(model.count < BLOCKS);
    model.blocks[model.count] = (struct pending){.addr = addr};
    return &model.blocks[model.count++];
}

/* May the block be used on this stream (STREAMS: be taken away)? */
static bool is_idle_for(tp_addr addr, unsigned stream)
{
    const struct pending *p = pending_of(addr);
    for (unsigned s = 0; s < STREAMS; s++)
        if (s != stream && p->since[s] && p->since[s] > model.synced[s] &&
            p->since[s] - 1 + LAG > *model.now_ns)
            return false;
    return true;
}

static int guard_init(void *state, const struct tp_source_cfg *cfg, struct tp_err *err)
{
    memset(&model, 0, sizeof model);
    model.now_ns = cfg->now_ns;
    return tp_source_open(&((struct guard *)state)->inner, &tp_source_virtual, cfg, err);
}

static void guard_fini(void *state)
{
    tp_source_close(&((struct guard *)state)->inner);
}

static uint64_t guard_page(void *state)
{
    return ((struct guard *)state)->inner.page;
}

static int guard_get(void *state, uint64_t size, uint64_t align, tp_addr *out)
{
    return tp_src_get(&((struct guard *)state)->inner, size, align, out);
}

static int guard_put(void *state, tp_addr addr, uint64_t size)
{
    model.bad_puts += !is_idle_for(addr, STREAMS);
    return tp_src_put(&((struct guard *)state)->inner, addr, size);
}

static void guard_record(void *state, uint16_t stream, struct tp_fence *out)
{
    model.records++;
    tp_src_record(&((struct guard *)state)->inner, stream, out);
}

static bool guard_done(void *state, const struct tp_fence *f)
{
    assert_true(f->serial != 0 && f->stream < STREAMS); /* was recorded */
    return tp_src_done(&((struct guard *)state)->inner, f);
}

static int guard_wait(void *state, const struct tp_fence *f)
{
    assert_true(f->serial != 0);
    return tp_src_wait(&((struct guard *)state)->inner, f);
}

static void guard_synced(void *state, uint16_t stream)
{
    for (unsigned s = 0; s < STREAMS; s++)
        if (stream == s || stream == TP_ALL_STREAMS)
            model.synced[s] = *model.now_ns + 1;
    tp_src_synced(&((struct guard *)state)->inner, stream);
}

static struct tp_source_ops guard_ops;

static int make_guard(void **state)
{
    (void)state;
    guard_ops = tp_source_virtual;
    guard_ops.name = "guard";
    guard_ops.state_size = sizeof(struct guard);
    guard_ops.init = guard_init;
    guard_ops.fini = guard_fini;
    guard_ops.page = guard_page;
    guard_ops.get = guard_get;
    guard_ops.put = guard_put;
    guard_ops.granule = NULL; /* ranges take what they have */
    guard_ops.taken = NULL;
    guard_ops.cost = NULL;
    guard_ops.record = guard_record;
    guard_ops.done = guard_done;
    guard_ops.wait = guard_wait;
    guard_ops.synced = guard_synced;
    return 0;
}

GROUP(make_guard, NULL)

/* ---- helpers ---- */

static struct rig *open_faulty(const char *options, uint32_t streams, uint64_t meta_fail_at)
{
    struct rig *r = rig_new((struct rig_cfg){.strategy = &tp_strategy_lru,
                                             .options = options,
                                             .base = &guard_ops,
                                             .kind = TP_KIND_DEVICE});
    r->s->fini(r->st); /* again, with that many streams */
    memset(r->st, 0, r->s->state_size);
    r->env.streams = streams;
    r->meta.fail_at = meta_fail_at ? r->meta.calls + meta_fail_at : 0;
    assert_int_equal(r->s->init(r->st, &r->env, r->opts, NULL), TP_OK);
    r->now_ns = 1000000;
    return r;
}

static struct rig *open_streams(const char *options)
{
    return open_faulty(options, STREAMS, 0);
}

static void close_streams(struct rig *r)
{
    rig_end(r);
    assert_int_equal(model.bad_puts, 0);
}

static tp_addr get(struct rig *r, uint64_t size, uint16_t stream)
{
    struct tp_req rq = {.size = size, .align = 1, .stream = stream};
    struct tp_block b;
    assert_int_equal(r->s->alloc(r->st, NULL, &rq, &b), TP_OK);
    assert_true(is_idle_for(b.addr, stream));
    *pending_of(b.addr) = (struct pending){.addr = b.addr}; /* what comes now is behind it */
    rig_check(r);
    return b.addr;
}

static void drop(struct rig *r, tp_addr addr, uint64_t size, uint16_t stream)
{
    struct tp_req rq = {.size = size, .align = 1, .stream = stream};
    assert_int_equal(r->s->free(r->st, NULL, addr, &rq), TP_OK);
    rig_check(r);
}

/* Frees what has work pending on `stream` from now on. */
static void put(struct rig *r, tp_addr addr, uint64_t size, uint16_t stream)
{
    pending_of(addr)->since[stream] = r->now_ns + 1;
    drop(r, addr, size, stream);
}

static void use(struct rig *r, tp_addr addr, uint16_t stream)
{
    pending_of(addr)->since[stream] = r->now_ns + 1;
    assert_int_equal(r->s->use(r->st, NULL, addr, stream), TP_OK);
}

/* ---- the rules ---- */

REPLAYS(the_same_stream_reuses_at_once, open_streams(""), "a=512/1 -a/1 512/1@a")

/* The stream of the free counts, not that of the allocation. */
REPLAYS(the_stream_of_the_free_is_remembered, open_streams(""), "a=512/1 -a/2 512/1@!a 512/2@a")

/* The origin handed it out at once. */
REPLAYS(
    another_stream_needs_the_fence, open_streams(""), "a=512/1 -a/1 ns:49999 512@!a gets=2 ns:1 512@a waits=0" /* as if it were not there: the source */)

REPLAYS(a_sync_lets_the_fence_pass, open_streams(""), "a=512/1 -a/1 done:2 512@!a done:1 512@a")

REPLAYS(
    a_pending_block_is_passed_over, open_streams(""),
    "a=512/2 b=512/1 c=512/1 d=512/2 -a/2 -b/1 -c/1 -d/2 512/1@c 512/1@b 512/2@d 512/2@a gets=4")

REPLAYS(a_use_keeps_the_block_from_other_streams, open_streams(""),
        "a=512/1 use:a/2 use:a/3 use:a/2 -a/1 "
        "512@!a 512/1@!a 512/2@!a 512/3@!a " /* not even for the stream of the free */
        "done:2 512/1@!a done:3 512@!a 512/1@a "
        "-a/1 512/1@a" /* what was used before is forgotten */)

/* What was done on a stream comes before what that stream does next. */
REPLAYS(a_use_does_not_keep_it_from_its_own_stream, open_streams(""),
        "a=512/1 use:a/2 -a/1 done:1 512/2@a "
        "-a/1 512/1@a gets=1" /* the owner before used it on 2, this one did not */)

/* References are dropped on streams of their own. */
REPLAYS(every_reference_leaves_its_stream, open_streams(""),
        "a=512/1 retain:a retain:a retain:a -a/2 -a/3 -a/2 -a/1 512/1@!a done:2 512/1@!a done:3 "
        "512/1@a")

REPLAYS(release_and_reset_free_on_the_stream_of_the_allocation, open_streams(""),
        "a=512/2 b=1024/3 release:a reset 512/1@!a 512/2@a 1024/1@!b 1024/3@b")

/* The source would free memory in use: the guard counts that. */
TEST(giving_back_waits_for_the_fences)
{
    struct rig *r = open_streams("capacity_blocks=1");
    tp_addr a = get(r, 512, 1), b = get(r, 1024, 2);
    use(r, a, 3);
    put(r, a, 512, 1);
    uint64_t before = r->now_ns;
    put(r, b, 1024, 2);
    assert_int_equal(r->account.puts, 1);
    assert_int_equal(r->now_ns, before + LAG);
    assert_in_range(r->account.waits, 1, 2); /* what has passed meanwhile needs no wait */
    uint64_t waits = r->account.waits;
    assert_int_equal(r->s->trim(r->st, 0), TP_OK); /* b's fence passed while a was waited for */
    assert_int_equal(r->account.waits, waits);
    assert_int_equal(r->account.reserved, 0);
    put(r, get(r, 512, 1), 512, 1);
    close_streams(r); /* waits too */
}

/* The stream of the free is done, another one is not. */
REPLAYS(giving_back_waits_for_the_other_streams, open_streams(""),
        "a=512/1 use:a/3 -a/1 done:1 trim waits=1")

REPLAYS(a_hit_on_a_stream_makes_its_key_recent, open_streams("capacity_layouts=2"),
        "a=512/1 b=512/1 c=1024/1 d=2048/1 -a/1 -b/1 -c/1 512/1@b -d/1 512/1@a 1024/1@!c")

TEST(the_end_waits_for_live_blocks)
{
    struct rig *r = open_streams("");
    tp_addr a = get(r, 512, 1);
    use(r, a, 2);
    close_streams(r);
}

TEST(one_stream_records_nothing)
{
    struct rig *r = open_faulty("capacity_blocks=1", 1, 0);
    for (int i = 0; i < 100; i++) {
        tp_addr a = get(r, 512, 0), b = get(r, 1024, 0);
        assert_int_equal(r->s->use(r->st, NULL, a, 0), TP_OK);
        drop(r, a, 512, 0);
        drop(r, b, 1024, 0);
    }
    assert_int_equal(model.records, 0);
    assert_int_equal(r->account.waits, 0);
    close_streams(r);
}

/* Bookkeeping memory fails wherever it can: alloc, retain, use, but no free. */
TEST(a_free_needs_no_memory)
{
    uint64_t calls = UINT64_MAX;
    for (uint64_t n = 1; n <= calls; n++) {
        struct rig *r = open_faulty("", STREAMS, n);
        uint64_t first = r->meta.calls, failed = 0;
        for (uint64_t i = 0; i < 40; i++) {
            struct tp_req rq = {.size = 100 + i, .align = 1, .stream = (uint16_t)(i % STREAMS)};
            struct tp_block b;
            int refs = 1, rc = r->s->alloc(r->st, NULL, &rq, &b);
            failed += rc == TP_ENOMEM;
            for (uint16_t s = 0; !rc && s < STREAMS; s++) {
                int kept = r->s->retain(r->st, NULL, b.addr);
                int used = r->s->use(r->st, NULL, b.addr, s);
                assert_true((!kept || kept == TP_ENOMEM) && (!used || used == TP_ENOMEM));
                failed += kept != 0;
                failed += used != 0;
                refs += !kept;
            }
            for (uint16_t s = 0; !rc && refs; refs--, s++) {
                rq.stream = s % STREAMS;
                assert_int_equal(r->s->free(r->st, NULL, b.addr, &rq), TP_OK);
            }
            rig_check(r);
        }
        calls = r->meta.calls - first;
        assert_int_equal(failed, n <= calls);
        close_streams(r);
    }
    assert_true(calls > 50 && calls < 5000);
}

/* ---- a random program ---- */

enum { OBJECTS = 60, STEPS = 6000, SIZES = 6 };

struct thing {
    tp_addr addr;
    uint64_t size;
    int refs;
};

static void random_step(struct rig *r, struct thing *o)
{
    uint16_t stream = (uint16_t)(tp_rig_random(r) % STREAMS);
    uint64_t choice = tp_rig_random(r) % 100;
    if (choice < 2) {
        tp_src_synced(r->env.source, choice ? stream : TP_ALL_STREAMS);
    } else if (choice < 4) {
        assert_int_equal(r->s->trim(r->st, tp_rig_random(r) % 20000), TP_OK);
    } else if (!o->addr) {
        uint64_t size = 500 * (1 + tp_rig_random(r) % SIZES);
        *o = (struct thing){get(r, size, stream), size, 1};
    } else if (choice < 20) {
        use(r, o->addr, stream);
    } else if (choice < 30) {
        assert_int_equal(r->s->retain(r->st, NULL, o->addr), TP_OK);
        o->refs++;
    } else {
        put(r, o->addr, o->size, stream);
        if (!--o->refs)
            o->addr = 0;
    }
}

/* `get` asks the guard whether the block is idle for the stream, and `put` does when it goes back.
 */
TEST(no_block_is_used_on_two_streams_at_once)
{
    static const char *const options[] = {"", "round=pow2,capacity_blocks=20",
                                          "capacity_layouts=2,capacity_bytes=6KB"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct rig *r = open_streams(options[i]);
            struct thing things[OBJECTS] = {0};
            print_message("  %s, seed %llu\n", options[i], (unsigned long long)seed);
            r->random = seed;
            for (int n = 0; n < STEPS; n++) {
                r->now_ns += tp_rig_random(r) % 4000;
                random_step(r, &things[tp_rig_random(r) % OBJECTS]);
            }
            assert_true(i == 2 || r->account.gets < STEPS / 5); /* there was reuse */
            assert_true(i == 0 || r->account.waits > 0);
            close_streams(r);
        }
}
