/* The shares of shards: each cell is in one of them, and they cost about the same. */
#include "cmd/sweep/shard_share.h"

#include "tests/unit/test.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_TRACES = 1000 };

static struct tp_sweep_trace traces[MOST_TRACES];

/* Sizes from 1 KB to 1 GB, as many of each octave. */
static struct tp_sweep_plan plan_of(size_t trace_count, size_t setting_count)
{
    struct tp_sweep_plan p = {.traces = traces,
                              .trace_count = trace_count,
                              .settings.count = setting_count,
                              .group_count = 1};
    uint64_t state = 1;
    for (size_t i = 0; i < trace_count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        traces[i].bytes = UINT64_C(1000) << (state >> 33) % 20;
    }
    return p;
}

struct shares {
    double largest, mean; /* costs */
};

static struct shares share_all(const struct tp_sweep_plan *p, uint64_t shards)
{
    uint64_t cells = tp_sweep_cells(p);
    uint8_t *times = calloc(cells, 1);
    struct shares out = {0};
    struct tp_err err;
    for (uint64_t shard = 1; shard <= shards; shard++) {
        bool *mine;
        double cost = 0;
        assert_int_equal(tp_sweep_share(p, shard, shards, NULL, &mine, &err), TP_OK);
        for (uint64_t c = 0; c < cells; c++) {
            times[c] = (uint8_t)(times[c] + mine[c]);
            cost += mine[c] ? (double)traces[c / p->settings.count].bytes : 0;
        }
        out.largest = fmax(out.largest, cost);
        out.mean += cost / (double)shards;
        free(mine);
    }
    for (uint64_t c = 0; c < cells; c++)
        assert_int_equal(times[c], 1);
    free(times);
    return out;
}

static void test_each_cell_is_in_one_share(void **state)
{
    (void)state;
    const struct tp_sweep_plan p = plan_of(200, 14);
    struct shares s = share_all(&p, 8);
    assert_true(s.largest <= 1.2 * s.mean);
    s = share_all(&p, 1);
    assert_true(s.largest <= s.mean && s.largest > 0);
}

static void test_many_shards_stay_balanced(void **state)
{
    (void)state;
    const struct tp_sweep_plan p = plan_of(MOST_TRACES, 100);
    struct shares s = share_all(&p, 100);
    assert_true(s.largest <= 1.2 * s.mean);
}

static void test_more_shards_than_cells_leave_some_without(void **state)
{
    (void)state;
    const struct tp_sweep_plan p = plan_of(2, 2);
    struct shares s = share_all(&p, 50);
    assert_true(s.largest > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cell_is_in_one_share),
        cmocka_unit_test(test_many_shards_stay_balanced),
        cmocka_unit_test(test_more_shards_than_cells_leave_some_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
