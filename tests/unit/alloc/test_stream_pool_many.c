/* `stream-pool` where a trace has thousands of streams: what it decides is what looking at each of
 * them would have decided, in steps that do not grow with them. The strategy is compiled into this
 * test, so that its steps are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/stream_pool/stream_pool.c"
#include "alloc/strategies/stream_pool/stream_pool_check.c"
#include "alloc/strategies/stream_pool/stream_pool_core.c"
#include "alloc/strategies/stream_pool/stream_pool_ranks.c"

#include "tests/unit/many_rig.h"
#include "tests/unit/stream_pool_rig.h"

/* A block pending on each stream; then misses on others, whose answer is that there is nothing. */
TEST(misses)
{
    struct rig *r =
        open_with((struct rig_cfg){.options = "release_threshold=max", .streams = 2 * MANY});
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
    rig_end(r);
}

/* Blocks that wait for a stream each are asked for again with every request. */
TEST_OPENED(held_blocks, open_with((struct rig_cfg){.streams = MANY + 1}))
{
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
}

/* What other streams use is not looked at again at every sync and every free over a limit. */
static void held_blocks_beside_syncs(const char *options)
{
    struct rig *r = open_with((struct rig_cfg){.options = options, .streams = 3});
    for (unsigned i = 0; i < MANY; i++) {
        tp_addr block = take(r, 0, KIB);
        use_on(r, 2, block);
        give(r, 0, block, KIB);
    }
    is_linear("held blocks of one stream");
    for (unsigned i = 0; i < MANY; i++) {
        give(r, 0, take(r, 0, 2 * KIB), 2 * KIB);
        catch_up(r, 0);
    }
    is_linear("syncs beside held blocks");
    assert_int_equal(pool_of(r)->held, MANY);
    catch_up(r, 2);
    catch_up(r, 0);
    is_linear("held blocks go back");
    assert_int_equal(pool_of(r)->held, 0);
    rig_end(r);
}

TEST(syncs_beside_held_blocks)
{
    held_blocks_beside_syncs("");
    held_blocks_beside_syncs("release_threshold=1KiB");
    held_blocks_beside_syncs("threshold=1KiB,release_threshold=max");
}

/* Where requests wait, what is live or held is no answer that each of them looks for again; and
 * whoever waits gets the oldest. */
TEST(misses_that_wait)
{
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
    rig_end(r);
}

/* One block used on every stream. */
TEST(uses_of_one_block)
{
    struct rig *r = open_with((struct rig_cfg){.streams = MANY + 1});
    tp_addr block = take(r, 0, KIB);
    for (unsigned twice = 0; twice < 2; twice++)
        for (unsigned i = 1; i <= MANY; i++)
            use_on(r, i, block);
    is_linear("uses");
    assert_int_equal(pool_of(r)->uses.used, MANY);
    give(r, 0, block, KIB);
    rig_end(r);
    is_linear("the end of the uses");
}

/* One block is freed, all go back; and a device that is full all the time. */
TEST(giving_back)
{
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
    rig_end(r);

    r = open_with((struct rig_cfg){.streams = MANY, .limit = "capacity=64KiB"});
    for (unsigned i = 0; i < MANY; i++)
        give(r, i, take(r, i, KIB + i % 3 * 512), KIB + i % 3 * 512);
    is_linear("a full device");
    rig_end(r);
}

static void look_at_each(void *st)
{
    tp_stream_pool_drop_ranks(st);
}

TEST(the_same_decisions)
{
    enum { STREAMS_HERE = 150, REPLAYED = 30000 };
    static const char *const options[] = {"", "threshold=64KiB", "max_cached=40",
                                          "cross_stream=wait", "cross_stream=never"};
    for (unsigned o = 0; o < 2 * sizeof options / sizeof *options; o++) {
        struct rig_cfg cfg = {.options = options[o / 2], .streams = STREAMS_HERE};
        cfg.limit = o % 2 ? "capacity=300KiB" : NULL;
        struct twins t = {open_with(cfg), open_with(cfg), .make_plain = look_at_each};
        unsigned filed = 0; /* steps with ranks */
        for (unsigned i = 0; i < REPLAYED; i++) {
            twins_step(&t, i, STREAMS_HERE);
            assert_int_equal(pool_of(t.quick)->cache.cached_bytes,
                             pool_of(t.plain)->cache.cached_bytes);
            filed += pool_of(t.quick)->ranks != NULL;
        }
        assert_true(filed > REPLAYED / 2);
        twins_are_alike(&t);
        rig_end(t.quick);
        rig_end(t.plain);
    }
}

/* Every call for memory fails once: what cannot be filed is looked for. */
TEST(without_memory_for_ranks)
{
    enum { STREAMS_HERE = 90 };
    for (uint64_t fail = 1; fail < 60; fail++) {
        struct rig *r = open_with((struct rig_cfg){.streams = 2 * STREAMS_HERE});
        tp_addr blocks[STREAMS_HERE];
        for (unsigned i = 0; i < STREAMS_HERE; i++) {
            if (i == 60)
                r->meta.fail_at = r->meta.calls + fail;
            struct tp_req rq = {.size = KIB, .align = 16, .stream = (uint16_t)i};
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
        rig_end(r);
    }
}
