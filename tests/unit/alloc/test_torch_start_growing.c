/* `torch` begins with a recorded heap whose segments grow: alone, beside ordinary ones, and where
 * the setting is another one than that of the recording. Offsets in the pictures are MiB. */
#include "tests/unit/torch_rig.h"

#define GROWING "conf=expandable_segments:True"
#define UNIT    (20 * MIB)
#define X       (UINT64_C(5) << 30) /* bases in the recording */
#define Y       (UINT64_C(7) << 30)
#define Z       (UINT64_C(9) << 30)

enum { GROWS = TP_HEAP_EXPANDABLE, SMALL_GROWS = TP_HEAP_EXPANDABLE | TP_HEAP_SMALL };

/*  X  large   | 5 live | free 20 | 10 live | free 40 |  40 .. 60  | free 96 | 4 live 100 |
 *  Y  small   | free 2 | 1 KiB live | free 4 |
 *  Z  20 MiB, ordinary   | 8 live | free 20 | */
static const struct tp_heap_segment mixed_segments[] = {
    {.base = X, .size = 2 * UNIT, .blocks = 2, .flags = GROWS},
    {.base = X + 3 * UNIT, .size = 2 * UNIT, .blocks = 1, .flags = GROWS},
    {.base = Y, .size = 4 * MIB, .blocks = 1, .flags = SMALL_GROWS},
    {.base = Z, .size = UNIT, .blocks = 1},
};
static const struct tp_heap_block mixed_blocks[] = {
    {.at = X, .requested = 5 * MIB - 7},
    {.at = X + UNIT, .requested = 10 * MIB, .bytes = 10 * MIB},
    {.at = X + 96 * MIB, .requested = 4 * MIB - 1},
    {.at = Y + 2 * MIB, .requested = 1000},
    {.at = Z, .requested = 8 * MIB},
};
enum { MIXED_SEGMENTS = 4, MIXED = 5 };
static const struct tp_heap mixed = {mixed_segments, mixed_blocks, MIXED_SEGMENTS, MIXED};

static int start(struct rig *r, const struct tp_heap *heap)
{
    int rc = r->s->start(r->st, heap);
    rig_check(r);
    rig_walk(r);
    return rc;
}

/* Begins with the mixed heap, and asks for its objects. */
static struct rig *open_mixed(const char *options, tp_addr *at)
{
    struct rig *r = open_torch(options);
    assert_int_equal(start(r, &mixed), TP_OK);
    for (size_t i = 0; i < MIXED; i++)
        at[i] = get(r, 0, mixed_blocks[i].requested);
    return r;
}

TEST(blocks_lie_as_recorded)
{
    tp_addr at[MIXED];
    struct rig *r = open_mixed(GROWING, at);
    assert_int_equal(at[1], at[0] + UNIT);
    assert_int_equal(at[2], at[0] + 96 * MIB);
    assert_int_equal(reserved(r), 104 * MIB);
    assert_int_equal(tp_torch_segments(r->st), 3);
    assert_int_equal(tp_torch_stretches(r->st), 4);
    assert_int_equal(r->s->usable(r->st, at[0]), 5 * MIB);
    rig_end(r);
}

/* The smallest free block that fits serves, of whatever kind its segment is. */
TEST(what_is_free_serves)
{
    tp_addr at[MIXED];
    struct rig *r = open_mixed(GROWING, at);
    assert_int_equal(get(r, 0, 15 * MIB), at[0] + 5 * MIB);
    assert_int_equal(get(r, 0, 12 * MIB), at[4] + 8 * MIB);
    assert_int_equal(get(r, 0, 25 * MIB), at[0] + 60 * MIB);
    assert_int_equal(get(r, 0, 2 * MIB - 512), at[0] + 85 * MIB); /* it cannot grow, 30 can */
    assert_int_equal(get(r, 0, MIB), at[3] - 2 * MIB);
    assert_int_equal(get(r, 0, MIB), at[3] - MIB);
    assert_int_equal(reserved(r), 104 * MIB);
    rig_end(r);
}

/* 40 MiB find room from 30 to 96, of which only the hole is mapped; 27 are more than what is left
 * up to 96, and come behind the last stretch. */
TEST(segments_grow_on)
{
    tp_addr at[MIXED];
    struct rig *r = open_mixed(GROWING, at);
    assert_int_equal(get(r, 0, 40 * MIB), at[0] + 30 * MIB);
    assert_int_equal(reserved(r), 124 * MIB);
    assert_int_equal(get(r, 0, 27 * MIB), at[0] + 100 * MIB);
    assert_int_equal(reserved(r), 164 * MIB);
    rig_end(r);
}

/* Where segments do not grow any more, only what is free in ordinary ones serves. */
TEST(a_setting_that_was_turned_off)
{
    tp_addr at[MIXED];
    struct rig *r = open_mixed(NULL, at);
    assert_int_equal(at[2], at[0] + 96 * MIB);
    assert_int_equal(get(r, 0, 12 * MIB), at[4] + 8 * MIB);
    assert_int_equal(reserved(r), 104 * MIB);
    get(r, 0, 10 * MIB);
    assert_int_equal(reserved(r), 114 * MIB);
    get(r, 0, 1);
    assert_int_equal(reserved(r), 116 * MIB);
    trim(r); /* 60 .. 80 of X, and 0 .. 2 of Y */
    assert_int_equal(reserved(r), 94 * MIB);
    rig_end(r);
}

/* | 8 live, whose rest of less than 1 MiB is part of it | 11 free | */
TEST_OPENED(a_setting_that_was_turned_on, open_torch(GROWING))
{
    static const struct tp_heap_segment one[] = {{.base = Z, .size = UNIT, .blocks = 2}};
    static const struct tp_heap_block two[] = {{.at = Z, .requested = 8 * MIB},
                                               {.at = Z + 9 * MIB, .requested = MIB + 1}};
    assert_int_equal(start(r, &(struct tp_heap){one, two, 1, 2}), TP_OK);
    tp_addr a = get(r, 0, 8 * MIB), b = get(r, 0, MIB + 1);
    assert_int_equal(b, a + 9 * MIB);
    assert_int_equal(r->s->usable(r->st, a), 9 * MIB);
    assert_int_equal(r->s->usable(r->st, b), MIB + 512);
    assert_int_equal(get(r, 0, 4 * MIB), b + MIB + 512);
    get(r, 0, 7 * MIB);
    assert_int_equal(reserved(r), 2 * UNIT);
    assert_int_equal(tp_torch_segments(r->st), 2);
}

/* What lies between two stretches shows that these are of two segments, and so does another stream.
 * Requests find their blocks by the order of the recording. */
TEST_OPENED(what_parts_segments, open_torch(GROWING))
{
    static const struct tp_heap_segment s[] = {
        {.base = X, .size = UNIT, .blocks = 1, .flags = GROWS},
        {.base = X + 2 * UNIT, .size = 2 * MIB, .blocks = 1, .flags = SMALL_GROWS},
        {.base = X + 4 * UNIT, .size = UNIT, .blocks = 1, .flags = GROWS},
        {.base = X + 5 * UNIT, .size = UNIT, .blocks = 1, .flags = GROWS, .stream = 1},
        {.base = X + 6 * UNIT, .size = UNIT, .blocks = 1},
        {.base = X + 7 * UNIT, .size = UNIT, .blocks = 1, .flags = GROWS, .stream = 1},
    };
    enum { COUNT = 6 };
    struct tp_heap_block b[COUNT];
    for (uint64_t i = 0; i < COUNT; i++)
        b[i] =
            (struct tp_heap_block){.at = s[i].base + (i + 1) * 1024, .requested = 1024 * (i + 1)};
    assert_int_equal(start(r, &(struct tp_heap){s, b, COUNT, COUNT}), TP_OK);
    assert_int_equal(tp_torch_segments(r->st), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        struct tp_block got = get_block(r, s[i].stream, b[i].requested);
        assert_int_equal(got.allocated, b[i].requested);
    }
}

/* Stretches of a private pool are of a segment of their own, which serves that pool alone. */
TEST_OPENED(private_pools, open_torch(GROWING))
{
    static const struct tp_heap_segment s[] = {
        {.base = X, .size = UNIT, .blocks = 1, .flags = GROWS},
        {.base = X + UNIT, .size = UNIT, .blocks = 1, .pool = {0, 1}, .flags = GROWS},
        {.base = X + 2 * UNIT, .size = UNIT, .pool = {0, 1}, .flags = GROWS},
    };
    static const struct tp_heap_block b[] = {{.at = X, .requested = UNIT},
                                             {.at = X + UNIT, .requested = UNIT}};
    assert_int_equal(start(r, &(struct tp_heap){s, b, 3, 2}), TP_OK);
    assert_int_equal(tp_torch_segments(r->st), 2);
    get(r, 0, UNIT);
    tp_addr own = get(r, 0, UNIT);
    get(r, 0, UNIT);
    assert_int_equal(reserved(r), 4 * UNIT);
    assert_int_equal(tp_torch_choose_pool(r->st, 1), TP_OK);
    assert_int_equal(get(r, 0, UNIT), own + UNIT);
    assert_int_equal(reserved(r), 4 * UNIT);
}

/* Two stretches that touch: what is free at the end of one and at the beginning of the other is one
 * block. A stretch beyond the addresses of the device is of another segment. */
TEST(stretches_that_touch)
{
    static const struct tp_heap_segment s[] = {
        {.base = X, .size = UNIT, .blocks = 1, .flags = GROWS},
        {.base = X + UNIT, .size = UNIT, .blocks = 1, .flags = GROWS},
        {.base = X + 50 * UNIT, .size = UNIT, .blocks = 1, .flags = GROWS},
    };
    static const struct tp_heap_block b[] = {{.at = X, .requested = 10 * MIB},
                                             {.at = X + 35 * MIB, .requested = 5 * MIB},
                                             {.at = X + 50 * UNIT, .requested = UNIT}};
    for (int limited = 0; limited < 2; limited++) {
        struct rig *r = open_limited(GROWING, limited ? "capacity=100MiB" : NULL);
        assert_int_equal(start(r, &(struct tp_heap){s, b, 3, 3}), TP_OK);
        assert_int_equal(tp_torch_segments(r->st), limited ? 2 : 1);
        assert_int_equal(tp_torch_stretches(r->st), 2);
        tp_addr a = get(r, 0, 10 * MIB);
        assert_int_equal(get(r, 0, 5 * MIB), a + 35 * MIB);
        tp_addr far = get(r, 0, UNIT);
        assert_int_equal(far == a + 50 * UNIT, !limited);
        assert_int_equal(get(r, 0, 25 * MIB), a + 10 * MIB);
        assert_int_equal(reserved(r), 3 * UNIT);
        rig_end(r);
    }
}

/* Units that hold live blocks: 60 MiB of X, 2 of Y; and Z. On a device without room for more idle
 * ones are left out; then the objects that come last have no place. */
TEST(short_memory)
{
    static const struct {
        const char *options, *limit;
        uint64_t reserved; /* MiB */
        size_t placed;
    } cases[] = {
        {GROWING, "capacity=104MiB", 104, 5},
        {GROWING, "capacity=103MiB", 102, 5},
        {GROWING, "capacity=82MiB", 82, 5},
        {GROWING, "capacity=81MiB", 62, 4},
        {GROWING, "capacity=59MiB", 40, 2},
        {GROWING, "capacity=19MiB", 0, 0},
        {"conf={expandable_segments:True,per_process_memory_fraction:0.5}", "capacity=164MiB", 82,
         5},
        {"conf={expandable_segments:True,per_process_memory_fraction:0.5}", "capacity=162MiB", 62,
         4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig *r = open_limited(cases[i].options, cases[i].limit);
        assert_int_equal(start(r, &mixed), TP_OK);
        assert_int_equal(reserved(r), cases[i].reserved * MIB);
        for (size_t k = 0; k < MIXED; k++)
            if (k < cases[i].placed)
                get(r, 0, mixed_blocks[k].requested);
            else
                refuse(r, 0, mixed_blocks[k].requested);
        get(r, 0, 5); /* and then as ever */
        rig_end(r);
    }
}

/* All goes back: nothing is left of the addresses either. */
TEST(all_goes_back)
{
    tp_addr at[MIXED];
    struct rig *r = open_mixed(GROWING, at);
    for (size_t i = 0; i < MIXED; i++)
        put(r, 0, at[i], mixed_blocks[i].requested);
    trim(r);
    assert_int_equal(reserved(r), 0);
    assert_int_equal(tp_torch_segments(r->st), 0);
    rig_end(r);
}

/* No whole units of the setting, or of the memory that the device maps, or more than any device
 * has: nothing is taken. */
TEST(what_is_not_known_is_refused)
{
    for (int i = 0; i < 6; i++) {
        struct tp_heap_segment s[MIXED_SEGMENTS];
        memcpy(s, mixed_segments, sizeof s);
        s[1].size -= i == 0 ? MIB : 0;
        s[1].base -= i == 1 ? MIB : 0;
        s[1].size += i == 1 ? UNIT : 0;
        s[2].size += i == 2 ? MIB : 0;
        s[2].size += i == 5 ? UINT64_C(1) << 42 : 0;
        struct rig_cfg cfg = device_cfg(&tp_strategy_torch, GROWING, NULL);
        if (i == 3)
            cfg.options = "conf={expandable_segments:True,large_segment_size_mb:32}";
        if (i == 4) {
            cfg.options = NULL;
            cfg.base_options = "page=4MiB";
        }
        struct rig *r = calloc(1, sizeof *r);
        assert_non_null(r);
        assert_int_equal(rig_open(r, &cfg), TP_OK);
        assert_int_equal(start(r, &(struct tp_heap){s, mixed_blocks, MIXED_SEGMENTS, MIXED}),
                         TP_EUNSUP);
        assert_int_equal(r->account.gets, 0);
        get(r, 0, 5);
        rig_end(r);
    }
}

/* Bookkeeping memory fails at the first, second, ... call: nothing leaks. */
TEST(bookkeeping_fails)
{
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        struct rig *r = open_torch(GROWING);
        r->meta.fail_at = r->meta.calls + n;
        int rc = r->s->start(r->st, &mixed);
        failed = rc == TP_ENOMEM;
        r->meta.fail_at = 0;
        for (size_t i = 0; rc == TP_OK && i < MIXED; i++)
            get(r, 0, mixed_blocks[i].requested);
        assert_true(rc == TP_OK || rc == TP_ENOMEM);
        rig_close(r);
        free(r);
        assert_true(n < 100);
    }
}
