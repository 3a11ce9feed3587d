/* `lru` where a trace has thousands of blocks and streams: what it decides is what looking at each
 * of them would have decided, in steps that do not grow with them. The strategy is compiled into
 * this test, so that its steps are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/lru/lru.c"
#include "alloc/strategies/lru/lru_check.c"
#include "alloc/strategies/lru/lru_index.c"
#include "alloc/strategies/lru/lru_nodes.c"

#include "tests/unit/many_rig.h"

static struct tp_source_ops unordered; /* `virtual` whose fences promise no order */

static struct rig *open_lru(struct rig_cfg cfg)
{
    struct rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    cfg.strategy = &tp_strategy_lru;
    cfg.kind = TP_KIND_DEVICE;
    cfg.base = cfg.base ? cfg.base : &tp_source_virtual;
    cfg.base_options = "page=512";
    assert_int_equal(rig_open(r, &cfg), TP_OK);
    return r;
}

static void close_lru(struct rig *r)
{
    rig_check(r);
    rig_walk(r);
    rig_close(r);
    free(r);
}

static struct lru *lru_of(const struct rig *r)
{
    return r->st;
}

/* Blocks of one size pending, each on a stream of its own (`streams` MANY) or all on one; then
 * misses on others. */
TEST(misses)
{
    for (unsigned streams = 1; streams <= MANY; streams += MANY - 1) {
        struct rig *r = open_lru((struct rig_cfg){.streams = 2 * MANY});
        tp_addr *blocks = calloc(MANY, sizeof *blocks);
        for (unsigned i = 0; i < MANY; i++)
            blocks[i] = take(r, i % streams, 1024);
        for (unsigned i = 0; i < MANY; i++)
            give(r, i % streams, blocks[i], 1024);
        is_linear("to set up");
        for (unsigned i = 0; i < MANY; i++)
            assert_true(take(r, MANY + i, 1024) > blocks[MANY - 1]);
        is_linear("misses");
        for (unsigned i = MANY; i-- > 0;) {
            catch_up(r, (uint16_t)(i % streams));
            assert_int_equal(take(r, MANY + i, 1024), blocks[i]);
        }
        is_linear("streams that catch up one by one");
        free(blocks);
        close_lru(r);
    }
}

/* Blocks that wait for a further stream each, or one that waits for all. */
TEST(further_streams)
{
    struct rig *r = open_lru((struct rig_cfg){.streams = 2 * MANY});
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    for (unsigned i = 0; i < MANY; i++) {
        blocks[i] = take(r, 0, 1024);
        use_on(r, 1 + i, blocks[i]);
    }
    for (unsigned i = 0; i < MANY; i++)
        give(r, 0, blocks[i], 1024);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++)
        assert_true(take(r, 0, 1024) > blocks[MANY - 1]);
    is_linear("misses");
    for (unsigned i = 0; i < MANY; i++) {
        catch_up(r, (uint16_t)(1 + i));
        assert_int_equal(take(r, 0, 1024), blocks[i]);
    }
    is_linear("streams that catch up one by one");
    free(blocks);
    close_lru(r);

    r = open_lru((struct rig_cfg){.streams = 2 * MANY});
    tp_addr block = take(r, 0, 1024);
    for (unsigned i = 0; i < 2 * MANY; i++)
        use_on(r, 1 + i % MANY, block);
    is_linear("uses of one block");
    give(r, 0, block, 1024);
    for (unsigned i = 1; i < MANY; i++)
        assert_int_not_equal(take(r, MANY + i, 1024), block);
    is_linear("misses beside a block that waits for all");
    for (unsigned i = 1; i <= MANY; i++) /* the block is live again after the last */
        catch_up(r, (uint16_t)i);
    assert_int_equal(take(r, 0, 1024), block);
    for (unsigned i = 0; i < MANY; i++)
        use_on(r, 1 + i, block);
    is_linear("and once more");
    close_lru(r);
}

/* Many cached, one live: with one stream as with several. */
TEST(resets)
{
    for (uint32_t streams = 1; streams <= 2; streams++) {
        struct rig *r =
            open_lru((struct rig_cfg){.options = "capacity_layouts=0", .streams = streams});
        tp_addr *blocks = calloc(MANY, sizeof *blocks);
        for (unsigned i = 0; i < MANY; i++)
            blocks[i] = take(r, 0, 512 * (1 + i));
        for (unsigned i = 0; i < MANY; i++)
            give(r, 0, blocks[i], 512 * (1 + i));
        steps = 0;
        for (unsigned i = 0; i < MANY; i++) {
            assert_int_equal(take(r, 0, 512 * (1 + i)), blocks[i]);
            assert_int_equal(r->s->reset(r->st), TP_OK);
        }
        is_linear("resets");
        assert_int_equal(lru_of(r)->cache.cached, MANY);
        free(blocks);
        close_lru(r);
    }
}

enum { STREAMS = 40, REPLAYED = 20000 };

static void look_at_each(void *st)
{
    tp_lru_index_drop(st);
}

TEST(the_same_decisions)
{
    static const char *const options[] = {"", "capacity_blocks=60", "capacity_layouts=3"};
    for (unsigned o = 0; o < 12; o++) {
        uint32_t streams = o % 4 == 3 ? 1 : STREAMS;
        struct rig_cfg cfg = {.options = options[o / 4],
                              .streams = streams,
                              .base = o % 4 == 1 ? &unordered : &tp_source_virtual,
                              .limit = o % 4 == 2 ? "capacity=300KiB" : NULL};
        struct twins t = {open_lru(cfg), open_lru(cfg), .make_plain = look_at_each};
        unsigned indexes = 0; /* steps with an index */
        t.quick->random = o;
        for (unsigned i = 0; i < REPLAYED; i++) {
            if (i == 100)
                tp_lru_index_make(t.quick->st);
            twins_step(&t, i, streams);
            assert_int_equal(lru_of(t.quick)->cache.cached_bytes,
                             lru_of(t.plain)->cache.cached_bytes);
            indexes += lru_of(t.quick)->index != NULL;
        }
        assert_int_equal(indexes, REPLAYED - 100);
        twins_are_alike(&t);
        close_lru(t.quick);
        close_lru(t.plain);
    }
}

/* Every call for memory fails once: what cannot be entered is looked for. */
TEST(without_memory_for_the_index)
{
    enum { BLOCKS = 150 };
    for (uint64_t fail = 1; fail < 40; fail++) {
        struct rig *r = open_lru((struct rig_cfg){.streams = 2 * BLOCKS});
        tp_addr blocks[BLOCKS];
        for (unsigned i = 0; i < BLOCKS; i++)
            blocks[i] = take(r, i, 1024);
        for (unsigned i = 0; i < BLOCKS; i++)
            give(r, i, blocks[i], 1024);
        r->meta.fail_at = r->meta.calls + fail;
        for (unsigned i = 0; i < BLOCKS; i++) {
            struct tp_req rq = {.size = 1024, .align = 16, .stream = (uint16_t)(BLOCKS + i)};
            struct tp_block b = {0};
            while (r->s->alloc(r->st, NULL, &rq, &b) == TP_ENOMEM)
                rig_check(r);
            assert_true(b.addr > blocks[BLOCKS - 1]);
            give(r, BLOCKS + i, b.addr, 1024);
            rig_check(r);
            assert_int_equal(take(r, BLOCKS + i, 1024), b.addr);
        }
        catch_up(r, 7);
        assert_int_equal(take(r, 8, 1024), blocks[8]);
        assert_int_equal(take(r, 8, 1024), blocks[7]);
        close_lru(r);
    }
}

static int make_unordered(void **state)
{
    (void)state;
    unordered = tp_source_virtual;
    unordered.flags &= ~(uint32_t)TP_SRC_ORDERED;
    return 0;
}

GROUP(make_unordered, NULL)
