/* The rules of `bump`, one test each. */
#include "tests/unit/conformance.h"
#include "tests/unit/scenario.h"

static struct rig *open_limited(const char *options, const char *limit, const char *fault)
{
    return rig_new((struct rig_cfg){.strategy = &tp_strategy_bump,
                                    .options = options,
                                    .base = &tp_source_virtual,
                                    .limit = limit,
                                    .fault = fault});
}

static struct rig *open_bump(const char *options)
{
    return open_limited(options, NULL, NULL);
}

REPLAYS(blocks_follow_each_other_from_the_base, open_bump(""),
        "a=16 16@a+16 1@a+32 17@a+48 100@a+80 4000@a+192 carved=4192")

TEST_OPENED(a_refusal_changes_nothing, open_bump("size=64KiB,on_full=fail"))
{
    struct tp_block b;
    tp_addr base = rig_alloc(r, 0, 60000);
    struct tp_account before = r->account;
    for (int i = 0; i < 5; i++)
        assert_int_equal(rig_try(r, 0, 6000, 16, &b), TP_EOOM);
    assert_int_equal(rig_try(r, 0, 16, 65536 * 2, &b), TP_EOOM);
    assert_memory_equal(&before, &r->account, sizeof before);
    assert_int_equal(rig_alloc(r, 0, 5536 - 16), base + 60000);
    assert_int_equal(rig_alloc(r, 0, 16), base + 65520);
    assert_int_equal(rig_try(r, 0, 1, 1, &b), TP_EOOM);
}

TEST_OPENED(never_misaligned, open_bump("auto_reset=no"))
{
    for (unsigned i = 0; i < 5000; i++) {
        struct tp_block b;
        uint64_t align = UINT64_C(1) << tp_rig_random(r) % 18;
        assert_int_equal(rig_try(r, 0, 1 + tp_rig_random(r) % 500, align, &b), TP_OK);
        assert_int_equal(b.addr % align, 0);
    }
}

REPLAYS(the_alignment_option_is_a_least, open_bump("alignment=256"),
        "a=1 b=257@a+256 1@b+512 usable:b=512")

TEST(offset_and_size_cannot_wrap)
{
    static const char *const options[] = {"", "size=64KiB,on_full=fail", "alignment=65536",
                                          "size=64KiB,on_full=fallback"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct rig *r = open_bump(options[i]);
        struct tp_block b;
        rig_alloc(r, 0, 64);
        for (uint64_t below = 0; below < 70000; below += 1 + below / 3) {
            assert_int_equal(rig_try(r, 0, UINT64_MAX - below, 16, &b), TP_EOOM);
            assert_int_equal(rig_try(r, 0, UINT64_MAX - below, 1 << 20, &b), TP_EOOM);
        }
        assert_int_equal(rig_walk(r).pieces[TP_WALK_LIVE], 1);
        rig_end(r);
    }
}

REPLAYS(a_failed_source_gives_an_error, open_limited("", "capacity=4KiB", NULL),
        "5000^16! 4096^16 1^16!" /* exactly what is needed */)

/* Every way to the source, and it always fails: an error, and no address near 0. */
TEST(a_failed_source_gives_no_address)
{
    static const char *const options[] = {"", "size=64KiB,on_full=fallback",
                                          "size=64KiB,on_full=grow", "size=64KiB,on_full=fail"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct rig *r = open_limited(options[i], NULL, "get_every=1");
        struct tp_block b;
        for (uint64_t size = 1; size < 1 << 20; size *= 7) {
            assert_int_equal(rig_try(r, 0, size, 16, &b), TP_EOOM);
            assert_int_equal(b.addr, 0);
            assert_int_equal(rig_free(r, 0, 16, size), TP_EINVAL);
        }
        assert_int_equal(r->account.gets, 0);
        assert_int_equal(tp_rig_stats(r).carved_bytes, 0);
        rig_end(r);
    }
}

/* The origin's own sample asks 40 MB of a pool of 33.5 MB and can only fail. */
TEST(the_origins_sample)
{
    replay(open_bump("size=32MiB,on_full=fail"), "40000000^16!");
    replay(open_bump("size=32MiB"),
           "b=40000000^16 " /* the source serves it, as the origin recommends */
           "fallbacks=1 gets=2 -b puts=1 -b!");
}

REPLAYS(a_full_range_grows, open_bump("size=100KB,on_full=grow"),
        "90000 reserved=100K " /* whole pages */
        "90000 reserved=200K 300000 reserved=496K dead=24800")

TEST_OPENED(automatic_ranges_double, open_bump(""))
{
    uint64_t expected = 0;
    for (uint64_t size = 64 << 10; size <= 1 << 20; size *= 2) {
        for (uint64_t before = r->account.reserved; r->account.reserved == before;)
            rig_alloc(r, 0, 4096);
        expected += size;
        assert_int_equal(r->account.reserved, expected);
    }
    rig_alloc(r, 0, 50 << 20);
    assert_int_equal(r->account.reserved, expected + (50 << 20));
}

REPLAYS(freed_bytes_are_dead, open_bump(""), "a=64 b=64 64 -b -a dead=128 live=64 64@a+192")

TEST_OPENED(a_reset_repeats_the_addresses, open_bump(""))
{
    tp_addr first[200];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            tp_addr a = rig_alloc(r, 0, 3000);
            if (!round)
                first[i] = a;
            assert_int_equal(a, first[i]);
        }
        rig_walk(r);
        assert_int_equal(r->account.gets, 4); /* 64 + 128 + 256 + 512 KiB: kept */
        assert_int_equal(r->s->reset(r->st), TP_OK);
        assert_int_equal(rig_walk(r).sums[TP_WALK_SPAN], r->account.reserved);
        assert_int_equal(rig_free(r, 0, first[7], 3000), TP_EINVAL);
    }
}

TEST(the_last_free_resets)
{
    replay(open_bump(""), "a=64 b=64 -a -b -b! 64@a");
    replay(open_bump("auto_reset=no"), "a=64 -a 64@a+64");
}

TEST_OPENED(wrong_frees_are_refused, open_bump(""))
{
    struct tp_block b;
    tp_addr a = rig_alloc(r, 0, 16);
    assert_int_equal(rig_try(r, 0, 256, 4096, &b), TP_OK); /* leaves a gap behind a */
    for (tp_addr at = a + 1; at < b.addr + 512; at++)
        if (at != b.addr)
            assert_int_equal(rig_free(r, 0, at, 16), TP_EINVAL);
    assert_int_equal(rig_walk(r).sums[TP_WALK_LIVE], 16 + 256);
}

/* As far as it is known: for the newest block, and where the next one begins in the same word. */
TEST(a_size_beyond_the_block_is_refused)
{
    static const char *const options[] = {"", "alignment=8", "auto_reset=no"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct rig *r = open_bump(options[i]);
        tp_addr a = rig_alloc(r, 0, 64), b = rig_alloc(r, 0, 300), c = rig_alloc(r, 0, 50000);
        assert_int_equal(rig_free(r, 0, a, 65), TP_EINVAL);
        assert_int_equal(rig_free(r, 0, a, 0), TP_EINVAL);
        assert_int_equal(rig_free(r, 0, a, UINT64_MAX), TP_EINVAL);
        assert_int_equal(rig_free(r, 0, b, 305), TP_EINVAL);
        assert_int_equal(rig_free(r, 0, c, 50001), TP_EINVAL);
        assert_int_equal(rig_free(r, 0, c, UINT64_MAX), TP_EINVAL);
        assert_int_equal(rig_walk(r).pieces[TP_WALK_LIVE], 3);
        assert_int_equal(rig_free(r, 0, b, 304), TP_OK);
        assert_int_equal(rig_free(r, 0, c, 50000), TP_OK);
        assert_int_equal(rig_free(r, 0, a, 64), TP_OK);
        rig_end(r);
    }
}

REPLAYS(a_size_beyond_the_fallback_is_refused, open_bump("size=64KiB"),
        "a=100000 -a:102401! -a:0! live=100K -a")

/* Any number of blocks of any size before the last free: the check finds a bit left over. */
TEST(a_reset_clears_every_bit)
{
    static const uint64_t sizes[] = {1, 16, 24, 1000, 1024, 4096, 20000, 65536, 70000, 300000};
    const size_t kinds = sizeof sizes / sizeof sizes[0];
    static const char *const options[] = {"", "alignment=8", "alignment=4096", "size=16MiB"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct rig *r = open_bump(options[i]);
        for (unsigned count = 1; count < 150; count += 1 + count / 3)
            for (size_t s = 0; s < kinds; s++) {
                tp_addr a[150];
                for (unsigned n = 0; n < count; n++)
                    a[n] = rig_alloc(r, 0, sizes[(s + n * (count % 2)) % kinds]);
                rig_check(r);
                for (unsigned n = 0; n < count; n++)
                    assert_int_equal(rig_free(r, 0, a[n], 1), TP_OK);
                assert_int_equal(rig_walk(r).sums[TP_WALK_SPAN], r->account.reserved);
                for (unsigned n = 0; n < count; n++)
                    assert_int_equal(rig_free(r, 0, a[n], 1), TP_EINVAL);
            }
        rig_end(r);
    }
}

/* What is known of a range goes with it. */
REPLAYS(a_trimmed_range_is_forgotten, open_bump("auto_reset=no"),
        "a=60000 b=60000 -a -b reset trim reserved=0 -b! -a!")

REPLAYS(the_newest_block_grows_in_place, open_bump(""),
        "a=64 a>1000:1008 b=64@a+1008 a>1009? a>5:1008 b>1M? " /* beyond the range */
        "-b b>32!")

/* The base happens to be aligned to far more than was asked of the source: no decision may see
 * that. */
TEST_OPENED(alignment_by_luck_does_not_count, open_bump(""))
{
    struct tp_block b;
    tp_addr a = rig_alloc(r, 0, 64);
    assert_int_equal(a % (1 << 20), 0);
    assert_int_equal(rig_free(r, 0, a, 64), TP_OK); /* starts over */
    assert_int_equal(rig_try(r, 0, 64, 1 << 20, &b), TP_OK);
    assert_int_equal(r->account.gets, 2);
    assert_int_not_equal(b.addr, a);
}

TEST_OPENED(a_huge_block_costs_little_bookkeeping, open_bump(""))
{
    tp_addr a = rig_alloc(r, 0, UINT64_C(80) << 30);
    assert_true(r->account.metadata < 8192);
    assert_int_equal(r->s->usable(r->st, a), UINT64_C(80) << 30);
    assert_int_equal(rig_free(r, 0, a, UINT64_C(80) << 30), TP_OK);
}

/* The range itself is idle memory when the source is asked for what does not fit into it. */
REPLAYS(an_empty_range_makes_room_for_a_fallback,
        open_limited("size=64KiB", "capacity=96KiB", NULL),
        "a=80K b=4K reserved=84K -a -b 16 reserved=64K")

/* What was looked at in vain is not looked at again before a range was emptied. */
TEST_OPENED(idle_ranges_make_room_after_each_reset,
            open_limited("size=16KiB,on_full=grow,auto_reset=no", "capacity=64KiB", NULL))
{
    struct tp_block b;
    for (int round = 0; round < 3; round++) {
        while (!rig_try(r, 0, 16 << 10, 1, &b))
            ;
        assert_int_equal(rig_try(r, 0, 64 << 10, 1, &b), TP_EOOM);
        assert_int_equal(r->account.reserved, 64 << 10);
        assert_int_equal(r->s->reset(r->st), TP_OK);
        assert_int_equal(rig_try(r, 0, 64 << 10, 1, &b), TP_OK);
        assert_int_equal(r->s->reset(r->st), TP_OK);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
        assert_int_equal(r->account.reserved, 0);
    }
}

/* Its end is 2^32 units and more behind its leaf. */
TEST_OPENED(the_check_knows_huge_blocks, open_bump(""))
{
    for (unsigned log2 = 35; log2 <= 48; log2++) {
        tp_addr a = rig_alloc(r, 0, UINT64_C(1) << log2);
        rig_check(r);
        assert_int_equal(rig_free(r, 0, a, UINT64_C(1) << log2), TP_OK);
    }
}

/* The same where the last free starts over: one range, one block. And the range that went is not
 * looked into any more. */
REPLAYS(an_emptied_range_makes_room_at_once,
        open_limited("size=16KiB,on_full=grow", "capacity=24KiB", NULL), "a=16K 20K! -a b=20K -a!")

REPLAYS(a_refused_fallback_stays_held, open_limited("size=64KiB", NULL, "put_at=1"),
        "a=100000 -a refused_puts=1 dead=100K -a!" /* gives it back */)
