/* `bfc` with its heap put where a recording had it: chunks lie where they are put, regions become
 * larger as more is known of them, and requests choose by address from then on. */
#include "tests/unit/bfc_rig.h"

enum { SEEN_MOST = 16 };

/* What a look shows of the chunks, as offsets from a base. */
struct seen {
    tp_addr base;
    size_t count;
    struct tp_bfc_at chunks[SEEN_MOST];
};

static int see(void *ctx, const struct tp_bfc_range *region, const struct tp_bfc_at *chunk)
{
    struct seen *s = ctx;
    assert_in_range(chunk->addr, region->base, region->base + region->size - chunk->size);
    assert_true(s->count < SEEN_MOST);
    s->chunks[s->count] = *chunk;
    s->chunks[s->count++].addr -= s->base;
    return TP_OK;
}

/* Compares all chunks with {offset, size, requested or 0}. */
static void assert_chunks(struct rig *r, tp_addr base, const struct tp_bfc_at *want, size_t count)
{
    struct seen s = {.base = base};
    assert_int_equal(tp_bfc_look(r->st, see, &s), TP_OK);
    assert_int_equal(s.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(s.chunks[i].addr, want[i].addr);
        assert_int_equal(s.chunks[i].size, want[i].size);
        assert_int_equal(s.chunks[i].requested, want[i].requested);
    }
    rig_check(r);
}
#define ASSERT_CHUNKS(r, base, ...)                                                                \
    assert_chunks(r, base, (const struct tp_bfc_at[]){__VA_ARGS__},                                \
                  sizeof((const struct tp_bfc_at[]){__VA_ARGS__}) / sizeof(struct tp_bfc_at))

/* | free 1K | 2K | 256 | free 1K-256 | 4K | free ... |  of 64 KiB */
static struct rig *place_some(tp_addr *base)
{
    struct rig *r = open_placed("", 64 * KIB, base);
    const struct tp_bfc_at live[] = {
        {*base + KIB, 2 * KIB, 2000}, {*base + 3 * KIB, 256, 1}, {*base + 4 * KIB, 4 * KIB, 4096}};
    const struct tp_bfc_range region = {.base = *base, .size = 64 * KIB};
    assert_int_equal(tp_bfc_place(r->st, &region, live, 3), TP_OK);
    return r;
}

TEST(chunks_lie_where_they_are_put)
{
    tp_addr base = 0;
    struct rig *r = place_some(&base);
    ASSERT_CHUNKS(r, base, {0, KIB, 0}, {KIB, 2 * KIB, 2000}, {3 * KIB, 256, 1},
                  {3 * KIB + 256, KIB - 256, 0}, {4 * KIB, 4 * KIB, 4096}, {8 * KIB, 56 * KIB, 0});
    struct tp_bfc_bytes b = tp_bfc_bytes_of(r->st);
    assert_fields(b, pool, 64 * KIB, in_use, 6 * KIB + 256, largest, 56 * KIB);
    assert_int_equal(tp_bfc_regions(r->st), 1);
    put(r, 0, base + KIB, 2000);
    ASSERT_CHUNKS(r, base, {0, 3 * KIB, 0}, {3 * KIB, 256, 1}, {3 * KIB + 256, KIB - 256, 0},
                  {4 * KIB, 4 * KIB, 4096}, {8 * KIB, 56 * KIB, 0});
    rig_end(r);
}

TEST(what_overlaps_is_refused)
{
    tp_addr base = 0;
    struct rig *r = place_some(&base);
    const struct tp_bfc_range over = {.base = base + KIB, .size = 256};
    const struct tp_bfc_range beside = {.base = base + 64 * KIB, .size = KIB};
    const struct tp_bfc_at outside[] = {{base + 64 * KIB, 2 * KIB, 1}};
    const struct tp_bfc_at twice[] = {{base + 64 * KIB, 512, 1}, {base + 64 * KIB + 256, 256, 1}};
    assert_int_equal(tp_bfc_follow(r->st), TP_EINVAL);
    assert_int_equal(tp_bfc_place(r->st, &over, NULL, 0), TP_EINVAL);
    assert_int_equal(tp_bfc_place(r->st, &beside, outside, 1), TP_EINVAL);
    assert_int_equal(tp_bfc_place(r->st, &beside, twice, 2), TP_EINVAL);
    assert_false(tp_bfc_is_vacant(r->st, base + 63 * KIB, 2 * KIB));
    assert_false(tp_bfc_is_vacant(r->st, base - KIB, 2 * KIB));
    assert_false(tp_bfc_is_vacant(r->st, UINT64_MAX - 10, 256));
    assert_true(tp_bfc_is_vacant(r->st, base + 64 * KIB, KIB));
    assert_int_equal(tp_bfc_regions(r->st), 1);
    rig_end(r);
}

TEST(a_chunk_is_forced_out_of_the_middle)
{
    tp_addr base = 0;
    struct rig *r = place_some(&base);
    const struct tp_bfc_at middle = {base + 10 * KIB, 3 * KIB, 1000};
    const struct tp_bfc_at live = {base + 3 * KIB, 512, 1};
    struct tp_bfc_free_chunk around = {0, 0};
    struct tp_bfc_at found = {0, 0, 0};
    assert_true(tp_bfc_is_free(r->st, base + 10 * KIB, 3 * KIB, &around));
    assert_fields(around, addr, base + 8 * KIB, size, 56 * KIB);
    assert_int_equal(tp_bfc_force(r->st, &middle), TP_OK);
    assert_int_equal(tp_bfc_force(r->st, &middle), TP_EINVAL);
    assert_int_equal(tp_bfc_force(r->st, &live), TP_EINVAL);
    assert_true(tp_bfc_is_live(r->st, base + 10 * KIB, &found));
    assert_fields(found, size, 3 * KIB, requested, 1000);
    assert_false(tp_bfc_is_live(r->st, base + 8 * KIB, &found));
    assert_false(tp_bfc_is_free(r->st, base + 9 * KIB, 2 * KIB, &around));
    ASSERT_CHUNKS(r, base, {0, KIB, 0}, {KIB, 2 * KIB, 2000}, {3 * KIB, 256, 1},
                  {3 * KIB + 256, KIB - 256, 0}, {4 * KIB, 4 * KIB, 4096}, {8 * KIB, 2 * KIB, 0},
                  {10 * KIB, 3 * KIB, 1000}, {13 * KIB, 51 * KIB, 0});
    rig_end(r);
}

/* The rules would choose the smaller chunk; of equal ones the lower address. */
TEST(requests_choose_by_size_and_address)
{
    tp_addr base = 0;
    struct rig *r = place_some(&base);
    struct tp_bfc_free_chunk c[4] = {{0, 0}};
    assert_int_equal(tp_bfc_choices(r->st, 700, 0, c, 4), 3);
    assert_int_equal(c[0].addr, base + 3 * KIB + 256);
    assert_int_equal(c[1].addr, base);
    assert_int_equal(c[2].addr, base + 8 * KIB);
    assert_int_equal(tp_bfc_choices(r->st, 700, 0, c, 1), 1);
    assert_int_equal(tp_bfc_serves(r->st, 769, 0), base);
    assert_int_equal(tp_bfc_serves(r->st, 57 * KIB, 0), 0);
    assert_int_equal(get(r, 0, 769), base);
    rig_end(r);
}

/* The region that is placed later lies lower, and serves first. */
TEST(the_order_is_that_of_addresses)
{
    tp_addr low = 0, high = 0;
    struct rig *r = open_placed("", 4 * KIB, &low);
    assert_int_equal(tp_src_get(r->env.source, 4 * KIB, 256, &high), TP_OK);
    assert_int_equal(
        tp_bfc_place(r->st, &(struct tp_bfc_range){.base = high, .size = 4 * KIB}, NULL, 0), TP_OK);
    assert_int_equal(
        tp_bfc_place(r->st, &(struct tp_bfc_range){.base = low, .size = 4 * KIB}, NULL, 0), TP_OK);
    assert_int_equal(tp_bfc_serves(r->st, 4 * KIB, 0), low);
    tp_bfc_rules_of(r->st)->fit = TP_BFC_HIGHEST;
    assert_int_equal(tp_bfc_serves(r->st, 4 * KIB, 0), high);
    tp_bfc_rules_of(r->st)->fit = TP_BFC_BEST;
    assert_int_equal(get(r, 0, KIB), low);
    assert_int_equal(tp_bfc_serves(r->st, 4 * KIB, 0), high);
    assert_int_equal(tp_bfc_drop(r->st, low, 4 * KIB), TP_EINVAL);
    assert_int_equal(tp_bfc_drop(r->st, high, 2 * KIB), TP_EINVAL);
    assert_int_equal(tp_bfc_drop(r->st, high, 4 * KIB), TP_OK);
    assert_int_equal(tp_bfc_regions(r->st), 1);
    rig_end(r);
}

/* A start that becomes known piece by piece: the free end becomes larger, and behind a live chunk
 * one is added. */
TEST(a_region_becomes_longer)
{
    tp_addr base = 0;
    struct rig *r = open_placed("", 64 * KIB, &base);
    const struct tp_bfc_range known = {.base = base, .size = 8 * KIB};
    const struct tp_bfc_at live = {base + 4 * KIB, 4 * KIB, 4000};
    assert_int_equal(tp_bfc_place(r->st, &known, &live, 1), TP_OK);
    assert_int_equal(tp_bfc_lengthen(r->st, base + KIB, KIB), TP_EINVAL);
    assert_int_equal(tp_bfc_lengthen(r->st, base, 2 * KIB), TP_OK);
    ASSERT_CHUNKS(r, base, {0, 4 * KIB, 0}, {4 * KIB, 4 * KIB, 4000}, {8 * KIB, 2 * KIB, 0});
    assert_int_equal(tp_bfc_lengthen(r->st, base, 54 * KIB), TP_OK);
    ASSERT_CHUNKS(r, base, {0, 4 * KIB, 0}, {4 * KIB, 4 * KIB, 4000}, {8 * KIB, 56 * KIB, 0});
    put(r, 0, base + 4 * KIB, 4000);
    ASSERT_CHUNKS(r, base, {0, 64 * KIB, 0});
    rig_end(r);
}

TEST(two_regions_become_one)
{
    tp_addr base = 0;
    struct rig *r = open_placed("", 64 * KIB, &base);
    const struct tp_bfc_range low = {.base = base, .size = 8 * KIB};
    const struct tp_bfc_range high = {.base = base + 8 * KIB, .size = 56 * KIB};
    const struct tp_bfc_at first = {base, 4 * KIB, 4000};
    const struct tp_bfc_at last = {base + 60 * KIB, 4 * KIB, 4000};
    assert_int_equal(tp_bfc_place(r->st, &low, &first, 1), TP_OK);
    assert_int_equal(tp_bfc_lengthen(r->st, base, 256), TP_OK);
    assert_int_equal(tp_bfc_unite(r->st, base), TP_EINVAL);
    assert_int_equal(tp_bfc_place(r->st, &high, &last, 1), TP_EINVAL);
    rig_check(r);
    const struct tp_bfc_range rest = {.base = base + 8 * KIB + 256, .size = 56 * KIB - 256};
    assert_int_equal(tp_bfc_place(r->st, &rest, &last, 1), TP_OK);
    assert_int_equal(tp_bfc_lengthen(r->st, base, 256), TP_EINVAL);
    assert_int_equal(tp_bfc_unite(r->st, base), TP_OK);
    ASSERT_CHUNKS(r, base, {0, 4 * KIB, 4000}, {4 * KIB, 56 * KIB, 0}, {60 * KIB, 4 * KIB, 4000});
    assert_int_equal(tp_bfc_regions(r->st), 1);
    put(r, 0, base, 4000);
    put(r, 0, base + 60 * KIB, 4000);
    ASSERT_CHUNKS(r, base, {0, 64 * KIB, 0});
    rig_end(r);
}

/* Whichever of them is in use. */
TEST(regions_become_one_in_any_state)
{
    for (unsigned used = 0; used < 4; used++) {
        tp_addr base = 0;
        struct rig *r = open_placed("", 64 * KIB, &base);
        const struct tp_bfc_range low = {.base = base, .size = 8 * KIB};
        const struct tp_bfc_range high = {.base = base + 8 * KIB, .size = 56 * KIB};
        const struct tp_bfc_at first = {base, 4 * KIB, 1}, last = {base + 60 * KIB, 4 * KIB, 1};
        assert_int_equal(tp_bfc_place(r->st, &low, &first, used & 1), TP_OK);
        assert_int_equal(tp_bfc_place(r->st, &high, &last, used >> 1), TP_OK);
        assert_int_equal(tp_bfc_unite(r->st, base), TP_OK);
        rig_check(r);
        assert_int_equal(tp_bfc_drop(r->st, base, 64 * KIB), used ? TP_EINVAL : TP_OK);
        rig_end(r);
    }
}

/* Chunks of one stream serve no other. */
TEST(regions_of_ort_are_of_a_stream)
{
    tp_addr base = 0;
    struct rig *r = open_placed("flavour=ort", 64 * KIB, &base);
    const struct tp_bfc_range region = {.base = base, .size = 64 * KIB, .stream = 2};
    assert_int_equal(tp_bfc_place(r->st, &region, NULL, 0), TP_OK);
    assert_int_equal(tp_bfc_serves(r->st, KIB, 2), base);
    assert_int_equal(tp_bfc_serves(r->st, KIB, 1), 0);
    assert_int_equal(tp_bfc_bytes_of(r->st).largest, 64 * KIB);
    rig_end(r);
}
