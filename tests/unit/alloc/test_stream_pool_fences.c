/* The fences of `stream-pool`: blocks used on further streams, and programs of one stream, whose
 * fences are recorded when they are needed. */
#include "tests/unit/scenario.h"
#include "tests/unit/stream_pool_rig.h"

/* ---- USE ---- */

TEST_OPENED(a_use_on_another_stream_holds_the_block_for_all, open_pool(""))
{
    tp_addr a = get(r, 1, KIB);
    use(r, 2, a);
    use(r, 2, a);
    assert_int_equal(pool_of(r)->uses.used, 1); /* once is enough */
    use(r, 1, a);                               /* its own */
    use(r, 3, a);
    put(r, 1, a, KIB);
    sync_stream(r, 1);
    tp_addr b = get(r, 1, KIB);
    assert_true(b != a);
    assert_true(get(r, 2, KIB) != a);
    sync_stream(r, 2);
    assert_true(get(r, 1, KIB) != a);
    sync_stream(r, 3);
    assert_int_equal(get(r, 1, KIB), a);
    put(r, 1, a, KIB); /* the uses are over */
    assert_int_equal(get(r, 1, KIB), a);
    assert_int_equal(r->account.waits, 0);
    assert_int_equal(pool_of(r)->uses.used, 0);
}

REPLAYS(used_blocks_come_back_in_the_order_of_their_frees, open_pool(""),
        "a0=1K/1 a1=1K/1 a2=1K/1 a3=1K/1 a4=1K/1 a5=1K/1 use:a0/2 use:a2/3 use:a4/2 "
        "-a0/1 -a1/1 -a2/1 -a3/1 -a4/1 -a5/1 sync:2 1K/1@a5 1K/1@a4 1K/1@a3 1K/1@a1 1K/1@a0 "
        "sync:3 1K/1@a2")

REPLAYS(waiting_for_a_used_block_waits_for_its_uses, open_pool("cross_stream=wait"),
        "a=1K/1 use:a/2 -a/1 sync:1 1K/1@a waits=1 "
        "use:a/2 -a/1 ns:50000 1K/3@a waits=1" /* all passed */)

/* A device whose streams run apart: waiting for one lets no other get on. */
static int wait_for_one(void *state, const struct tp_fence *f)
{
    tp_source_virtual.synced(state, f->stream);
    return TP_OK;
}

TEST(of_its_own_stream_a_block_is_not_waited_for)
{
    struct tp_source_ops apart = tp_source_virtual;
    apart.wait = wait_for_one;
    struct rig *r = open_with((struct rig_cfg){.options = "cross_stream=wait", .base = &apart});
    tp_addr a = get(r, 1, KIB);
    use(r, 2, a);
    put(r, 1, a, KIB);
    assert_int_equal(get(r, 1, KIB), a);
    assert_int_equal(r->account.waits, 1); /* for stream 2 */
    use(r, 2, a);
    put(r, 1, a, KIB);
    assert_int_equal(get(r, 3, KIB), a);
    assert_int_equal(r->account.waits, 3); /* for both */
    rig_end(r);
}

REPLAYS(a_used_block_is_given_back_after_its_uses, open_pool("threshold=0"),
        "a=1K/1 use:a/2 -a/1 sync:1 puts=0 sync:2 puts=1")

TEST_OPENED(a_use_of_a_wrong_block_is_refused, open_pool(""))
{
    tp_addr a = get(r, 1, KIB);
    assert_int_equal(r->s->use(r->st, NULL, a + 256, 1), TP_EINVAL);
    put(r, 1, a, KIB);
    assert_int_equal(r->s->use(r->st, NULL, a, 1), TP_EINVAL);
}

/* ---- one stream ---- */

static struct rig *open_single(const char *limit)
{
    struct rig *r = open_with((struct rig_cfg){.limit = limit, .streams = 1});
    assert_true(pool_of(r)->lazy && !pool_of(r)->eager);
    return r;
}

TEST(one_stream_gives_nothing_back_before_it_is_past_it)
{
    struct rig *r = open_single("capacity=8KiB");
    put(r, 0, get(r, 0, 4 * KIB), 4 * KIB);
    get(r, 0, 2 * KIB); /* 4 + 2 fit; what was freed before has its fence now */
    uint64_t before = r->now_ns;
    get(r, 0, 3 * KIB);
    assert_int_equal(r->account.puts, 1);
    assert_int_equal(r->account.waits, 1);
    assert_int_equal(r->now_ns, before + LAG);
    rig_end(r);
    r = open_single(NULL);
    put(r, 0, get(r, 0, KIB), KIB);
    trim(r, 0);
    assert_int_equal(r->account.waits, 1);
    assert_int_equal(r->account.wait_ns, LAG);
    rig_end(r);
}

REPLAYS(one_stream_waits_for_nothing_that_has_passed, open_single("capacity=8KiB"),
        "a=4K -a sync:0 5K puts=1 " /* synced */
        "a=1K -a 512 ns:50000 2K puts=2 waits=0" /* the fence of the call for 512 has passed */)

/* Streams beyond the number announced are as safe as the others. */
TEST_OPENED(an_unannounced_stream_is_a_stream, open_single(NULL))
{
    tp_addr a = get(r, 0, KIB);
    put(r, 0, a, KIB);
    assert_true(get(r, 65535, KIB) != a);
    r->now_ns += LAG;
    assert_int_equal(get(r, 5, KIB), a);
}
