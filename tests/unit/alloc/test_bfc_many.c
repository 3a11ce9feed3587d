/* `bfc` where there are thousands of chunks, of regions, or of requests that fail: what looks for
 * them is compiled into this test, so that its steps are counted. */
#include "tests/unit/counted_steps.h"

#include "alloc/strategies/bfc/bfc_bins.c"
#include "alloc/strategies/bfc/bfc_regions.c"

#include "tests/unit/device_calls.h"
#include "tests/unit/many_rig.h"

static struct rig *open_many(const char *options)
{
    return open_device(&tp_strategy_bfc, options, NULL);
}

/* Chunks of one size, of which every second one is freed. */
static void make_holes(struct rig *r, tp_addr *blocks, uint64_t size)
{
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = take(r, 0, size);
    for (unsigned i = 0; i < MANY; i += 2)
        give(r, 0, blocks[i], size);
}

TEST_OPENED(a_chunk_is_found_among_many, open_many("limit=1GiB"))
{
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    assert_non_null(blocks);
    make_holes(r, blocks, KIB);
    is_linear("to set up");
    for (unsigned i = 0; i < MANY; i++)
        give(r, 0, take(r, 0, 2 * KIB), 2 * KIB);
    is_linear("requests that no hole serves");
    for (unsigned i = 0; i < MANY; i += 2)
        assert_int_equal(take(r, 0, KIB), blocks[i]);
    is_linear("requests that holes serve");
    free(blocks);
}

/* Each has a region of its own, and what is asked for fits in none. */
TEST_OPENED(regions_are_not_looked_at_in_vain,
            open_many("arena_extend_strategy=kSameAsRequested,limit=16MiB"))
{
    tp_addr *blocks = calloc(MANY, sizeof *blocks);
    assert_non_null(blocks);
    for (unsigned i = 0; i < MANY; i++)
        blocks[i] = take(r, 0, KIB);
    steps = 0;
    for (unsigned i = 0; i < MANY; i++) {
        assert_int_equal(take(r, 0, 16 * MIB), 0);
        give(r, 0, take(r, 0, 3 * KIB), 3 * KIB);
        assert_int_equal(r->s->trim(r->st, 0), TP_OK);
    }
    is_linear("trims of one region");
    assert_int_equal(r->account.puts, MANY);
    free(blocks);
}
