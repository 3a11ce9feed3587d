/* `bfc` begins with the heap of a recording: its chunks go to the objects of the initial heap, in
 * their order, and what is free between them serves as it did there. */
#include "tests/unit/bfc_rig.h"

#define A (UINT64_C(64) * MIB) /* bases in the recording */
#define B (UINT64_C(128) * MIB)
#define C (UINT64_C(256) * MIB)

/*  A  2 MiB      | free 1 KiB | 1 KiB | 512 | free ...
 *  B  4 MiB      free                                      unused
 *  C  8 MiB      | 3 MiB | free 1 MiB | 3 MiB ...          the last one reaches the end */
static const struct tp_heap_segment segments[] = {
    {.base = A, .size = 2 * MIB, .blocks = 2},
    {.base = B, .size = 4 * MIB},
    {.base = C, .size = 8 * MIB, .blocks = 2},
};
static const struct tp_heap_block blocks[] = {
    {.at = A + KIB, .requested = 1000, .bytes = KIB},
    {.at = A + 2 * KIB, .requested = 300, .bytes = 512},
    {.at = C, .requested = 3 * MIB - 3, .bytes = 3 * MIB},
    {.at = C + 4 * MIB, .requested = 3 * MIB},
};
enum { SEGMENTS = 3, BLOCKS = 4 };
static const struct tp_heap heap = {segments, blocks, SEGMENTS, BLOCKS};

static struct rig *open_started(const char *options, const char *limit)
{
    struct rig *r = open_bfc_on(options, limit);
    assert_int_equal(r->s->start(r->st, &heap), TP_OK);
    rig_check(r);
    return r;
}

static void take_blocks(struct rig *r, struct tp_block b[BLOCKS])
{
    for (size_t i = 0; i < BLOCKS; i++)
        b[i] = get_block(r, 0, blocks[i].requested);
}

TEST(chunks_lie_as_recorded)
{
    struct rig *r = open_started("", NULL);
    struct tp_block b[BLOCKS];
    assert_int_equal(r->account.gets, 3);
    assert_int_equal(reserved(r), 14 * MIB);
    take_blocks(r, b);
    assert_int_equal(b[1].addr, b[0].addr + KIB);
    assert_int_equal(b[0].allocated, KIB);
    assert_int_equal(b[1].allocated, 512);
    assert_int_equal(b[2].allocated, 3 * MIB);
    assert_int_equal(b[3].addr, b[2].addr + 4 * MIB);
    assert_int_equal(b[3].allocated,
                     4 * MIB); /* it has not twice the size: nothing was split off */
    assert_int_equal(get(r, 0, KIB), b[0].addr - KIB);
    assert_int_equal(get(r, 0, MIB), b[2].addr + 3 * MIB);
    put(r, 0, b[0].addr, blocks[0].requested);
    assert_int_equal(get(r, 0, 600), b[0].addr);
    assert_int_equal(r->account.gets, 3); /* nothing more was needed */
    rig_end(r);
}

/* Of free chunks of one size the one with the lower recorded address serves, whatever the order in
 * which the regions were taken: unused ones are taken last. */
TEST(the_order_is_that_of_the_recorded_addresses)
{
    static const struct tp_heap_segment two[] = {{.base = A, .size = 4 * MIB},
                                                 {.base = B, .size = 8 * MIB, .blocks = 1}};
    static const struct tp_heap_block one[] = {{.at = B, .requested = 1, .bytes = 4 * MIB}};
    struct rig *r = open_bfc("");
    assert_int_equal(r->s->start(r->st, &(struct tp_heap){two, one, 2, 1}), TP_OK);
    tp_addr live = get(r, 0, 1);
    assert_true(get(r, 0, 4 * MIB) != live + 4 * MIB);
    assert_int_equal(get(r, 0, 4 * MIB), live + 4 * MIB);
    rig_end(r);
}

/* 2, 4 and 8 MiB are what the rules take: the next one has 16. */
TEST(regions_go_on_growing)
{
    struct tp_block b[BLOCKS];
    struct rig *r = open_started("", NULL);
    take_blocks(r, b);
    get(r, 0, 5 * MIB);
    assert_int_equal(reserved(r), 30 * MIB);
    rig_end(r);
}

/* One that was enlarged for a request is not doubled behind it. */
TEST(a_large_region_is_followed_by_one_of_its_size)
{
    static const struct tp_heap_segment one[] = {{.base = A, .size = 64 * MIB}};
    struct rig *r = open_bfc("");
    assert_int_equal(r->s->start(r->st, &(struct tp_heap){one, NULL, 1, 0}), TP_OK);
    get(r, 0, 64 * MIB);
    get(r, 0, 1);
    assert_int_equal(reserved(r), 128 * MIB);
    rig_end(r);
}

/* Parts of 76 MiB are no regions: the rules take 4, 8 and 64 MiB for as many bytes. */
TEST(the_next_region_follows_from_all_bytes)
{
    static const struct tp_heap_segment parts[] = {{.base = A, .size = 40 * MIB},
                                                   {.base = A + 64 * MIB, .size = 36 * MIB}};
    struct rig *r = open_bfc("");
    assert_int_equal(r->s->start(r->st, &(struct tp_heap){parts, NULL, 2, 0}), TP_OK);
    get(r, 0, 40 * MIB);
    get(r, 0, 36 * MIB);
    get(r, 0, 1);
    assert_int_equal(reserved(r), 140 * MIB);
    rig_end(r);
}

TEST(the_next_region_may_be_known)
{
    struct tp_block b[BLOCKS];
    struct rig *r = open_started("next_region=6MiB", NULL);
    take_blocks(r, b);
    get(r, 0, 5 * MIB);
    assert_int_equal(reserved(r), 20 * MIB);
    rig_end(r);
}

/* The recording's heap does not fit: unused regions are left out. */
TEST(unused_regions_are_left_out_first)
{
    struct tp_block b[BLOCKS];
    struct rig *r = open_started("", "capacity=10MiB");
    assert_int_equal(reserved(r), 10 * MIB);
    take_blocks(r, b);
    rig_end(r);
}

/* Objects of a region that does not fit have no place. */
TEST(what_has_no_room_fails)
{
    struct rig *r = open_started("flavour=jax,limit=9MiB", NULL);
    get(r, 0, 1000);
    get(r, 0, 300);
    refuse(r, 0, 3 * MIB - 3);
    refuse(r, 0, 3 * MIB);
    assert_int_equal(reserved(r), 2 * MIB);
    rig_end(r);
}

/* A request that is larger than the chunk it should get is none of the heap's. */
TEST(another_object_than_recorded_fails)
{
    struct rig *r = open_started("", NULL);
    refuse(r, 0, 2000);
    assert_int_equal(get_block(r, 0, 300).allocated, 512);
    rig_end(r);
}

TEST(regions_of_ort_keep_their_stream)
{
    static const struct tp_heap_segment one[] = {{.base = A, .size = 2 * MIB, .stream = 2}};
    struct rig *r = open_bfc("flavour=ort");
    assert_int_equal(r->s->start(r->st, &(struct tp_heap){one, NULL, 1, 0}), TP_OK);
    tp_addr own = get(r, 2, MIB);
    assert_int_equal(get(r, 2, MIB), own + MIB);
    put(r, 2, own, MIB);
    assert_true(get(r, 1, MIB) != own);
    assert_int_equal(r->account.gets, 2);
    rig_end(r);
}

/* 2.5 GiB are 2 GiB and 512 MiB, but ONNX Runtime doubles up to 1 GiB. */
TEST(the_next_region_of_ort_has_1_gib_at_most)
{
    static const struct tp_heap_segment one[] = {{.base = A, .size = 2560 * MIB}};
    struct rig *r = open_bfc("flavour=ort");
    assert_int_equal(r->s->start(r->st, &(struct tp_heap){one, NULL, 1, 0}), TP_OK);
    get(r, 0, 2560 * MIB);
    get(r, 0, 1);
    assert_int_equal(reserved(r), 3584 * MIB);
    rig_end(r);
}

static void assert_unknown(const struct tp_heap_segment *segment, const struct tp_heap_block *block)
{
    struct rig *r = open_bfc("");
    const struct tp_heap odd = {segment, block, 1, segment->blocks};
    assert_int_equal(r->s->start(r->st, &odd), TP_EUNSUP);
    assert_int_equal(r->account.gets, 0);
    get(r, 0, 1);
    rig_end(r);
}

TEST(a_heap_of_another_kind_is_not_known)
{
    static const struct tp_heap_segment of[] = {
        {.base = A, .size = 2 * MIB, .flags = TP_HEAP_SMALL},
        {.base = A, .size = 2 * MIB, .flags = TP_HEAP_EXPANDABLE},
        {.base = A, .size = 2 * MIB, .pool = {0, 1}},
        {.base = A, .size = 2 * MIB + 100},
        {.base = A, .size = 2 * MIB, .blocks = 1}};
    static const struct tp_heap_block odd = {.at = A + 100, .requested = 1, .bytes = 256};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        assert_unknown(&of[i], &odd);
}

/* Each get of bookkeeping fails once: the start fails, and nothing is lost. */
TEST(a_start_without_memory_leaves_nothing)
{
    bool hit = true;
    unsigned failed = 0;
    for (uint64_t n = 1; hit && n < 200; n++) {
        struct rig r;
        struct rig_cfg cfg = device_cfg(&tp_strategy_bfc, "flavour=ort", NULL);
        cfg.meta_fail_at = n;
        if (rig_open(&r, &cfg))
            continue;
        int rc = r.s->start(r.st, &heap);
        hit = r.meta.calls >= n;
        failed += rc == TP_ENOMEM;
        assert_int_equal(rc, hit ? TP_ENOMEM : TP_OK);
        rig_close(&r);
    }
    assert_false(hit);
    assert_true(failed > 0);
}
