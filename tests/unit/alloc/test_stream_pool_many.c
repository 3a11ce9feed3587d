/* `stream-pool` where a trace has thousands of streams: what it decides is what looking at each of
 * them would have decided, in steps that do not grow with them. The strategy is compiled into this
 * test, so that its steps are counted. */
static unsigned long long steps;
#define TP_STEP() ((void)steps++)
#include "alloc/strategies/stream_pool/stream_pool.c"

#include "tests/unit/stream_pool_rig.h"

enum { MANY = 8000 };

/* Without `check`, which looks at everything. */
static tp_addr take(struct rig *r, unsigned stream, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 256, .stream = (uint16_t)stream};
    struct tp_block b = {0};
    int rc = r->s->alloc(r->st, r->threads[0], &rq, &b);
    assert_true(rc == TP_OK || rc == TP_EOOM);
    return b.addr;
}

static void give(struct rig *r, unsigned stream, tp_addr addr, uint64_t size)
{
    struct tp_req rq = {.size = size, .align = 256, .stream = (uint16_t)stream};
    assert_int_equal(r->s->free(r->st, r->threads[0], addr, &rq), TP_OK);
}

static void use_on(struct rig *r, unsigned stream, tp_addr addr)
{
    assert_int_equal(r->s->use(r->st, r->threads[0], addr, (uint16_t)stream), TP_OK);
}

static void catch_up(struct rig *r, uint16_t stream)
{
    tp_src_synced(r->env.source, stream);
    assert_int_equal(r->s->sync(r->st, r->threads[0], stream), TP_OK);
}

static void is_linear(const char *what)
{
    print_message("%s: %llu steps\n", what, steps);
    assert_true(steps < 400ull * MANY);
    steps = 0;
}

/* A block pending on each stream; then misses on others, whose answer is that there is nothing. */
static void misses(void **state)
{
    (void)state;
    struct rig *r = open_with((struct rig_cfg){.streams = 2 * MANY});
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = take(r, i, KIB);
    for (unsigned i = 0; i < MANY; i++)
        give(r, i, blocks[i], KIB);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++)
        assert_int_not_equal(take(r, MANY + i, KIB), blocks[i]);
    is_linear("misses");
    for (unsigned i = MANY; i-- > 0;) {
        catch_up(r, (uint16_t)i);
        assert_int_equal(take(r, MANY + i, KIB), blocks[i]); /* though it is not the oldest */
    }
    is_linear("streams that catch up one by one");
    free(blocks);
    close_pool(r);
}

/* Blocks that wait for a stream each are asked for again with every request. */
static void held_blocks(void **state)
{
    (void)state;
    struct rig *r = open_with((struct rig_cfg){.streams = MANY + 1});
    for (unsigned i = 1; i <= MANY; i++) {
        tp_addr block = take(r, 0, KIB);
        use_on(r, i, block);
        give(r, 0, block, KIB);
    }
    is_linear("held blocks");
    for (unsigned i = 1; i <= MANY; i++)
        take(r, i, 2 * KIB);
    is_linear("requests beside held blocks");
    for (unsigned i = MANY; i > 0; i--)
        catch_up(r, (uint16_t)i);
    is_linear("held blocks become ready");
    assert_int_equal(pool_of(r)->held, 0);
    close_pool(r);
}

/* Where requests wait, what is live or held is no answer that each of them looks for again; and
 * whoever waits gets the oldest. */
static void misses_that_wait(void **state)
{
    (void)state;
    struct rig *r =
        open_with((struct rig_cfg){.options = "cross_stream=wait", .streams = 2 * MANY});
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = take(r, i, KIB);
    is_linear("misses beside live blocks");
    for (unsigned i = 0; i < MANY; i++) {
        use_on(r, MANY + i, blocks[i]);
        give(r, i, blocks[i], KIB);
    }
    is_linear("held blocks of all streams");
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(take(r, MANY + (i + 1) % MANY, KIB), blocks[i]);
    is_linear("misses that wait");
    assert_in_range(r->account.waits, 1, MANY);
    free(blocks);
    close_pool(r);
}

/* One block used on every stream. */
static void uses_of_one_block(void **state)
{
    (void)state;
    struct rig *r = open_with((struct rig_cfg){.streams = MANY + 1});
    tp_addr block = take(r, 0, KIB);
    for (unsigned twice = 0; twice < 2; twice++)
        for (unsigned i = 1; i <= MANY; i++)
            use_on(r, i, block);
    is_linear("uses");
    assert_int_equal(pool_of(r)->uses.used, MANY);
    give(r, 0, block, KIB);
    close_pool(r);
    is_linear("the end of the uses");
}

/* One block is freed, all go back; and a device that is full all the time. */
static void giving_back(void **state)
{
    (void)state;
    struct rig *r = open_with((struct rig_cfg){.streams = MANY});
    for (unsigned i = 0; i < MANY; i++) {
        give(r, i, take(r, i, KIB), KIB);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    }
    is_linear("trims");
    for (unsigned i = 0; i < MANY; i++)
        give(r, i, take(r, i, KIB), KIB);
    assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    is_linear("one trim of all");
    close_pool(r);

    r = open_with((struct rig_cfg){.streams = MANY, .limit = "capacity=64KiB"});
    for (unsigned i = 0; i < MANY; i++)
        give(r, i, take(r, i, KIB + i % 3 * 512), KIB + i % 3 * 512);
    is_linear("a full device");
    close_pool(r);
}

/* Two pools play the same; one of them looks at each stream. */
static void the_same_decisions(void **state)
{
    enum { STREAMS_HERE = 150, LIVE = 300, STEPS = 30000 };
    static const char *const options[] = {"", "threshold=64KiB", "max_cached=40",
                                          "cross_stream=wait", "cross_stream=never"};
    (void)state;
    for (unsigned o = 0; o < 2 * sizeof options / sizeof *options; o++) {
        struct rig_cfg cfg = {.options = options[o / 2], .streams = STREAMS_HERE};
        cfg.limit = o % 2 ? "capacity=300KiB" : NULL;
        struct rig *ranked = open_with(cfg), *plain = open_with(cfg);
        struct {
            tp_addr at;
            uint64_t size;
        } live[LIVE] = {0};
        unsigned filed = 0;
        for (unsigned i = 0; i < STEPS; i++) {
            uint64_t at = rig_random(ranked) % LIVE, what = rig_random(ranked) % 16;
            uint16_t stream = (uint16_t)(rig_random(ranked) % STREAMS_HERE);
            uint64_t size = UINT64_C(512) << rig_random(ranked) % 5;
            struct pool *st = plain->st;
            pool_drop_ranks(st);
            if (what == 0) {
                catch_up(ranked, stream);
                catch_up(plain, stream);
            } else if (what == 1) {
                uint16_t all = i % 7 ? stream : TP_ALL_STREAMS;
                ranked->now_ns += 3000;
                plain->now_ns += 3000;
                catch_up(ranked, all);
                catch_up(plain, all);
            } else if (what == 2 && i % 5 == 0) {
                assert_int_equal(ranked->s->trim(ranked->st, size * 40), TP_OK);
                assert_int_equal(plain->s->trim(plain->st, size * 40), TP_OK);
            } else if (!live[at].at) {
                live[at].at = take(ranked, stream, size);
                live[at].size = size;
                assert_int_equal(take(plain, stream, size), live[at].at);
            } else if (what < 6) {
                use_on(ranked, stream, live[at].at);
                use_on(plain, stream, live[at].at);
            } else {
                give(ranked, stream, live[at].at, live[at].size);
                give(plain, stream, live[at].at, live[at].size);
                live[at].at = 0;
            }
            if (i % 97 == 0)
                rig_check(ranked);
            assert_int_equal(pool_of(ranked)->cached_bytes, pool_of(plain)->cached_bytes);
            filed += pool_of(ranked)->ranks != NULL;
            ranked->now_ns += 20;
            plain->now_ns = ranked->now_ns > plain->now_ns ? ranked->now_ns : plain->now_ns;
            ranked->now_ns = plain->now_ns;
        }
        assert_true(filed > STEPS / 2);
        assert_int_equal(ranked->account.gets, plain->account.gets);
        assert_int_equal(ranked->account.waits, plain->account.waits);
        close_pool(ranked);
        close_pool(plain);
    }
}

/* Every call for memory fails once: what cannot be filed is looked for. */
static void without_memory_for_ranks(void **state)
{
    enum { STREAMS_HERE = 90 };
    (void)state;
    for (uint64_t fail = 1; fail < 60; fail++) {
        struct rig *r = open_with((struct rig_cfg){.streams = 2 * STREAMS_HERE});
        tp_addr blocks[STREAMS_HERE];
        for (unsigned i = 0; i < STREAMS_HERE; i++) {
            if (i == 60)
                r->meta.fail_at = r->meta.calls + fail;
            struct tp_req rq = {.size = KIB, .align = 256, .stream = (uint16_t)i};
            struct tp_block b = {0};
            while (r->s->alloc(r->st, r->threads[0], &rq, &b) == TP_ENOMEM)
                rig_check(r);
            blocks[i] = b.addr;
        }
        for (unsigned i = 0; i < STREAMS_HERE; i++)
            give(r, i, blocks[i], KIB);
        rig_check(r);
        catch_up(r, 7);
        assert_int_equal(take(r, 7, 2 * KIB) != 0, true);
        close_pool(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(misses),
                                       cmocka_unit_test(misses_that_wait),
                                       cmocka_unit_test(held_blocks),
                                       cmocka_unit_test(uses_of_one_block),
                                       cmocka_unit_test(giving_back),
                                       cmocka_unit_test(the_same_decisions),
                                       cmocka_unit_test(without_memory_for_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
