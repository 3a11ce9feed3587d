/* Live memory by allocation site, and how two moments differ: what is random against a reckoning
 * that knows nothing of sites, what is estimated, what is left out, and the order of rows. */
#include "cmd/info/named_sites.h"

#include "alloc/base/random.h"
#include "tests/unit/test.h"
#include "traces/places/place_table.h"

#include <stdio.h>
#include <string.h>

enum { BLOCKS = 200, SITES = 7 };

/* A moment: a block of each number has the place "site k", where k is given; k of SITES: none. */
struct moment {
    struct tp_places places;
    struct tp_held_block blocks[BLOCKS];
    unsigned site[BLOCKS];
    struct tp_held_list list;
};

static int never(struct tp_err *err)
{
    (void)err;
    return TP_OK;
}

static void begin(struct moment *m)
{
    memset(m, 0, sizeof *m);
    m->list = (struct tp_held_list){.blocks = m->blocks, .places = &m->places};
}

static void add(struct moment *m, unsigned site, uint64_t size, bool initial)
{
    char name[16];
    size_t i = m->list.count++;
    struct tp_place_table *table = NULL;
    m->site[i] = site;
    m->blocks[i] =
        (struct tp_held_block){.size = size, .place = i + 1, .phase = 9, .from_start = initial};
    assert_int_equal(tp_place_table_of(&m->places, &table, NULL), TP_OK);
    snprintf(name, sizeof name, "site %u", site);
    if (site < SITES)
        assert_int_equal(tp_places_add(&m->places, i + 1, name, strlen(name), NULL), TP_OK);
}

static void end(struct moment *m)
{
    if (m->places.release)
        m->places.release(m->places.ctx);
}

static const struct tp_named_sites_cfg apart = {.apart = true, .most = TP_SITES_ALL, .stop = never};

static void sites_of(struct moment *m, const struct tp_named_sites_cfg *cfg,
                     struct tp_named_sites *out)
{
    assert_int_equal(tp_named_sites_of(&m->list, cfg, out, NULL), TP_OK);
}

/* ---- random moments ---- */

/* Bytes and blocks of a site, from the blocks themselves. Sorting changed their order. */
static void reckon(const struct moment *m, unsigned site, bool initial, uint64_t *bytes,
                   uint64_t *blocks)
{
    *bytes = *blocks = 0;
    for (size_t i = 0; i < m->list.count; i++) {
        const struct tp_held_block *b = &m->blocks[i];
        bool is = m->site[b->place - 1] == site && b->from_start == initial;
        *bytes += is ? b->size : 0;
        *blocks += is;
    }
}

static unsigned number_of(const struct tp_site_row *row)
{
    unsigned site = SITES;
    return row->name && sscanf(row->name, "site %u", &site) == 1 ? site : SITES;
}

TEST(rows_are_those_of_the_blocks)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct tp_random random;
        struct moment m[2];
        struct tp_named_sites sites[2];
        struct tp_site_rows rows;
        tp_random_seed(&random, seed);
        for (int side = 0; side < 2; side++) {
            begin(&m[side]);
            for (uint64_t count = tp_random_below(&random, BLOCKS); count; count--)
                add(&m[side], (unsigned)tp_random_below(&random, SITES + 1),
                    1 + tp_random_below(&random, 3), tp_random_below(&random, 3) == 0);
            sites_of(&m[side], &apart, &sites[side]);
        }
        assert_int_equal(tp_site_rows_of(&sites[0], &sites[1], &rows, NULL), TP_OK);
        uint64_t sum[2] = {0}, blocks[2] = {0}, changed = 0;
        for (size_t i = 0; i < rows.count; i++) {
            const struct tp_site_row *row = &rows.rows[i];
            bool initial = row->kind >= TP_SITE_INITIAL;
            for (int side = 0; side < 2; side++) {
                uint64_t of = 0, number = 0;
                reckon(&m[side], number_of(row), initial, &of, &number);
                if (row->bytes[side] != of || row->blocks[side] != number)
                    fail_msg("seed %d: a row that the blocks do not have", (int)seed);
                sum[side] += of;
                blocks[side] += number;
            }
            int64_t growth = (int64_t)row->bytes[1] - (int64_t)row->bytes[0];
            if (i && growth > (int64_t)row[-1].bytes[1] - (int64_t)row[-1].bytes[0])
                fail_msg("seed %d: row %d grew more than the one before", (int)seed, (int)i);
            changed += tp_site_changed(row);
        }
        for (int side = 0; side < 2; side++) {
            assert_int_equal(sum[side], rows.bytes[side]);
            assert_int_equal(blocks[side], m[side].list.count);
            assert_int_equal(rows.blocks[side], m[side].list.count);
            tp_sites_release(&sites[side]);
            end(&m[side]);
        }
        assert_int_equal(changed, rows.changed);
        tp_site_rows_release(&rows);
    }
}

/* ---- cases ---- */

TEST(the_same_twice_differs_nowhere)
{
    struct moment m;
    struct tp_named_sites sites[2];
    struct tp_site_rows rows;
    begin(&m);
    add(&m, 1, 100, false);
    add(&m, SITES, 7, false);
    add(&m, 1, 30, true);
    sites_of(&m, &apart, &sites[0]);
    sites_of(&m, &apart, &sites[1]);
    assert_int_equal(tp_site_rows_of(&sites[0], &sites[1], &rows, NULL), TP_OK);
    assert_fields(rows, count, 3, changed, 0, bytes[0], 137, initial_bytes[1], 30,
                  initial_blocks[1], 1);
    for (int side = 0; side < 2; side++)
        tp_sites_release(&sites[side]);
    tp_site_rows_release(&rows);
    end(&m);
}

/* Together, the block of the start is one of its site; apart it is a site of its own. */
TEST(the_initial_heap_together_and_apart)
{
    struct moment m;
    struct tp_named_sites s;
    struct tp_named_sites_cfg together = apart;
    together.apart = false;
    begin(&m);
    add(&m, 1, 30, true);
    add(&m, 1, 100, false);
    sites_of(&m, &together, &s);
    assert_fields(s, count, 1, list[0].bytes, 130, list[0].kind, TP_SITE_KNOWN);
    tp_sites_release(&s);
    sites_of(&m, &apart, &s);
    assert_fields(s, count, 2, list[0].bytes, 100, list[1].bytes, 30, list[1].kind,
                  TP_SITE_INITIAL);
    tp_sites_release(&s);
    end(&m);
}

/* Of sites that are as large as the smallest that is kept, only so many are. */
TEST(the_largest_are_kept)
{
    static const uint64_t sizes[] = {10, 50, 20, 20, 20};
    struct tp_named_sites_cfg three = apart;
    struct moment m;
    struct tp_named_sites s;
    three.most = 3;
    begin(&m);
    for (unsigned i = 0; i < 5; i++)
        add(&m, i, sizes[i], false);
    sites_of(&m, &three, &s);
    assert_fields(s, count, 4, left_out, 2, list[0].bytes, 50, list[1].bytes, 20, list[2].bytes, 20,
                  list[3].kind, TP_SITE_UNKNOWN, list[3].bytes, 30, list[3].blocks, 2);
    assert_int_equal(s.bytes, 120);
    tp_sites_release(&s);
    end(&m);
}

/* One block of 64 to 127 bytes has a stack and stands for three; thirds of bytes are cut, and the
 * rest keeps the sum whole. */
TEST(estimates_add_up)
{
    struct moment m;
    struct tp_named_sites s;
    begin(&m);
    add(&m, 0, 100, false);
    add(&m, 1, 70, false);
    add(&m, SITES, 71, false);
    add(&m, 2, 5000, false);
    tp_place_table_sample(m.places.ctx, (struct tp_place_sampling){.size = 1000, .every = 2});
    sites_of(&m, &apart, &s);
    uint64_t sum = 0, blocks = 0;
    for (size_t i = 0; i < s.count; i++) {
        sum += s.list[i].bytes;
        blocks += s.list[i].blocks;
    }
    assert_true(s.estimated);
    assert_int_equal(sum, 5241);
    assert_int_equal(s.bytes, 5241);
    assert_int_equal(blocks, 4);
    assert_int_equal(s.list[0].bytes, 141); /* 100 * 241 / 170 */
    assert_int_equal(s.list[1].bytes, 99);  /* 70 * 241 / 170 */
    assert_int_equal(s.list[2].bytes, 5000);
    tp_sites_release(&s);
    end(&m);
}

TEST(growth_of_bytes_beyond_half_a_number)
{
    const uint64_t most[] = {0, UINT64_MAX}, least[] = {UINT64_MAX, 0}, none[] = {5, 5};
    const uint64_t one[] = {0, 1}, less[] = {1, 0};
    assert_true(tp_compare_growth(most, one) < 0);
    assert_true(tp_compare_growth(one, none) < 0);
    assert_true(tp_compare_growth(none, less) < 0);
    assert_true(tp_compare_growth(less, least) < 0);
    assert_true(tp_compare_growth(least, most) > 0);
    assert_int_equal(tp_compare_growth(one, one), 0);
}
