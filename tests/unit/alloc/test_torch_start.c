/* `torch` begins with the heap of a recording: its blocks go to the objects of the initial heap, in
 * their order, and what is free between them serves as it did there. */
#include "tests/unit/conformance.h"

#include "alloc/strategies/torch/torch_rules.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define A   (UINT64_C(64) * MIB) /* bases in the recording */
#define B   (UINT64_C(128) * MIB)
#define C   (UINT64_C(256) * MIB)

/*  A  2 MiB, small   | free 1 KiB | 1 KiB | 512 | free ...
 *  B  20 MiB         free                                        unused
 *  C  20 MiB, st. 1  | 8 MiB | free 4 MiB | 2 MiB ...            the last one reaches the end */
static const struct tp_heap_segment segments[] = {
    {.base = A, .size = 2 * MIB, .blocks = 2, .flags = TP_HEAP_SMALL},
    {.base = B, .size = 20 * MIB},
    {.base = C, .size = 20 * MIB, .blocks = 2, .stream = 1},
};
static const struct tp_heap_block blocks[] = {
    {.at = A + KIB, .requested = 1000, .bytes = KIB},
    {.at = A + 2 * KIB, .requested = 1},
    {.at = C, .requested = 8 * MIB - 3},
    {.at = C + 12 * MIB, .requested = 7 * MIB + 1},
};
enum { SEGMENTS = 3, BLOCKS = 4 };
static const struct tp_heap heap = {segments, blocks, SEGMENTS, BLOCKS};

static struct rig *open_limited(const char *limit)
{
    return rig_new((struct rig_cfg){.strategy = &tp_strategy_torch,
                                    .base = &tp_source_virtual,
                                    .kind = TP_KIND_DEVICE,
                                    .limit = limit,
                                    .streams = 4});
}

static void close_rig(struct rig *r)
{
    rig_check(r);
    rig_walk(r);
    rig_close(r);
    free(r);
}

static int ask(struct rig *r, uint16_t stream, uint64_t size, struct tp_block *out)
{
    const struct tp_req rq = {.size = size, .align = 256, .stream = stream};
    int rc = r->s->alloc(r->st, r->threads[0], &rq, out);
    rig_check(r);
    return rc;
}

static tp_addr get(struct rig *r, uint16_t stream, uint64_t size)
{
    struct tp_block b = {0};
    assert_int_equal(ask(r, stream, size, &b), TP_OK);
    return b.addr;
}

static void put(struct rig *r, uint16_t stream, tp_addr addr, uint64_t size)
{
    const struct tp_req rq = {.size = size, .align = 256, .stream = stream};
    assert_int_equal(r->s->free(r->st, r->threads[0], addr, &rq), TP_OK);
    rig_check(r);
}

static uint64_t stream_of(size_t block)
{
    return block < 2 ? 0 : 1;
}

TEST(blocks_lie_as_recorded)
{
    struct rig *r = open_limited(NULL);
    struct tp_block b[BLOCKS];
    assert_int_equal(r->s->start(r->st, &heap), TP_OK);
    rig_check(r);
    rig_walk(r);
    assert_int_equal(r->account.gets, 3);
    assert_int_equal(tp_account_ranges(&r->account), 42 * MIB);
    for (size_t i = 0; i < BLOCKS; i++)
        assert_int_equal(ask(r, (uint16_t)stream_of(i), blocks[i].requested, &b[i]), TP_OK);
    assert_int_equal(b[1].addr, b[0].addr + KIB);
    assert_int_equal(b[0].allocated, KIB);
    assert_int_equal(b[1].allocated, 512);
    assert_int_equal(b[2].allocated, 8 * MIB);
    assert_int_equal(b[3].addr, b[2].addr + 12 * MIB);
    assert_int_equal(b[3].allocated, 8 * MIB); /* the rest of less than 1 MiB was not split off */
    assert_int_equal(get(r, 0, KIB), b[0].addr - KIB); /* the smallest free block of stream 0 */
    assert_int_equal(get(r, 1, 3 * MIB), b[2].addr + 8 * MIB);
    assert_int_equal(r->account.gets, 3); /* nothing more was needed */
    put(r, 0, b[0].addr, blocks[0].requested);
    assert_int_equal(get(r, 0, 600), b[0].addr);
    get(r, 0, 9 * MIB);
    assert_int_equal(r->account.gets, 3); /* the idle segment serves */
    close_rig(r);
}

/* Of free blocks of one size the one with the lower recorded address serves, whatever the order in
 * which the segments were taken. */
TEST(the_order_is_that_of_the_addresses)
{
    static const struct tp_heap_segment two[] = {{.base = A, .size = 20 * MIB},
                                                 {.base = B, .size = 40 * MIB, .blocks = 1}};
    static const struct tp_heap_block one[] = {{.at = B, .requested = 20 * MIB}};
    struct rig *r = open_limited(NULL);
    assert_int_equal(r->s->start(r->st, &(struct tp_heap){two, one, 2, 1}), TP_OK);
    tp_addr live = get(r, 0, 20 * MIB), low = get(r, 0, 5 * MIB);
    assert_true(low < live || low >= live + 40 * MIB);
    close_rig(r);
}

/* The bytes of a block that is not recorded follow from what is seen behind it. */
TEST(bytes_follow_from_what_lies_behind)
{
    const struct tp_torch_rules *rules = &tp_torch_defaults;
    static const struct {
        uint64_t requested, bytes, behind, end, expected;
        bool small;
    } cases[] = {{1000, 2048, 0, A + 4096, 2048, true}, /* recorded */
                 {1000, 0, 0, A + 4096, 1024, true},
                 {1000, 0, A + 2048, A + 4096, 1024, true}, /* a small rest is always split off */
                 {MIB + 1, 0, 0, A + 2 * MIB, 2 * MIB, false},
                 {2 * MIB, 0, 0, A + 3 * MIB, 3 * MIB, false}, /* 1 MiB is not more than 1 MiB */
                 {2 * MIB, 0, 0, A + 3 * MIB + 512, 2 * MIB, false},
                 {2 * MIB, 0, A + 2 * MIB + 512, A + 9 * MIB, 2 * MIB + 512, false},
                 {2 * MIB, 0, A + 2 * MIB, A + 9 * MIB, 2 * MIB, false},
                 {2 * MIB, 0, A + 4 * MIB, A + 9 * MIB, 2 * MIB, false},
                 {2 * MIB, 0, 0, A + 2 * MIB, 2 * MIB, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct tp_heap_block b = {.at = A,
                                        .requested = cases[i].requested,
                                        .bytes = cases[i].bytes,
                                        .behind = cases[i].behind};
        assert_int_equal(tp_torch_block_bytes(rules, cases[i].small, &b, cases[i].end),
                         cases[i].expected);
    }
}

/* Nothing is taken, and the strategy serves as ever. */
TEST(what_is_not_known_is_refused)
{
    for (int i = 0; i < 4; i++) {
        struct tp_heap_segment s[SEGMENTS];
        struct tp_heap_block b[BLOCKS];
        memcpy(s, segments, sizeof s);
        memcpy(b, blocks, sizeof b);
        s[1].flags |= i == 0 ? (uint32_t)TP_HEAP_EXPANDABLE : 0u; /* in no whole units */
        s[1].size -= i == 0 ? MIB : 0;
        s[1].size -= i == 1;
        b[3].at += i == 2;
        b[0].bytes -= i == 3;
        struct rig *r = open_limited(NULL);
        assert_int_equal(r->s->start(r->st, &(struct tp_heap){s, b, SEGMENTS, BLOCKS}), TP_EUNSUP);
        assert_int_equal(r->account.gets, 0);
        get(r, 0, 5);
        close_rig(r);
    }
}

/* On a small device idle segments are left out first; then the blocks of a segment that does not
 * fit have no place. */
TEST(short_memory)
{
    struct tp_block b;
    struct rig *r = open_limited("capacity=22MiB");
    assert_int_equal(r->s->start(r->st, &heap), TP_OK);
    for (size_t i = 0; i < BLOCKS; i++)
        get(r, (uint16_t)stream_of(i), blocks[i].requested);
    assert_int_equal(ask(r, 0, 5 * MIB, &b), TP_EOOM);
    close_rig(r);
    r = open_limited("capacity=10MiB");
    assert_int_equal(r->s->start(r->st, &heap), TP_OK);
    for (size_t i = 0; i < BLOCKS; i++)
        assert_int_equal(ask(r, (uint16_t)stream_of(i), blocks[i].requested, &b),
                         i < 2 ? TP_OK : TP_EOOM);
    get(r, 0, 5); /* and then as ever */
    close_rig(r);
}

/* A request that does not fit its block fails alone. */
TEST(other_requests)
{
    struct tp_block b;
    struct rig *r = open_limited(NULL);
    assert_int_equal(r->s->start(r->st, &heap), TP_OK);
    assert_int_equal(ask(r, 0, 5000, &b), TP_EOOM);
    get(r, 0, 1);
    get(r, 1, 8 * MIB);
    assert_int_equal(ask(r, 1, 9 * MIB, &b), TP_EOOM);
    get(r, 1, 9 * MIB);
    close_rig(r);
}

/* Bookkeeping memory fails at the first, second, ... call: nothing leaks, and what failed may be
 * asked again. */
TEST(bookkeeping_fails)
{
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        struct tp_block b;
        struct rig *r = open_limited(NULL);
        r->meta.fail_at = r->meta.calls + n;
        int rc = r->s->start(r->st, &heap);
        failed = rc == TP_ENOMEM;
        for (size_t i = 0; rc == TP_OK && i < BLOCKS; i++) {
            int got = ask(r, (uint16_t)stream_of(i), blocks[i].requested, &b);
            failed |= got == TP_ENOMEM;
            if (got == TP_ENOMEM)
                got = ask(r, (uint16_t)stream_of(i), blocks[i].requested, &b);
            assert_int_equal(got, TP_OK);
        }
        assert_true(rc == TP_OK || rc == TP_ENOMEM);
        rig_close(r);
        free(r);
        assert_true(n < 100);
    }
}
