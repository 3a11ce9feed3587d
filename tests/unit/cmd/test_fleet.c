/* The profiles `fleet-N` against their tables: allocations, live objects and live bytes of every
 * size and of every range of sizes between two powers of two. */
#include "cmd/jobs/catalog.h"
#include "tests/unit/profile_rig.h"
#include "traces/profiles/common/fleet_table.h"

#include <math.h>

enum { LIVE = 20000, COUNT = 400000, MOST_ROWS = 2048, RANGES = 64 };

struct fleet_seen {
    const struct tp_fleet_table *table;
    bool steady;
    uint64_t steps;
    size_t row_of[COUNT];
    uint64_t allocs[MOST_ROWS], live[MOST_ROWS];
    uint64_t live_steps[MOST_ROWS]; /* the sum of `live` over all steps up to step `since` */
    uint64_t since[MOST_ROWS];
};

static size_t row_of(const struct tp_fleet_table *table, uint64_t size)
{
    size_t low = 0, high = table->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        *(table->rows[middle].size <= size ? &low : &high) = middle;
    }
    assert_int_equal(table->rows[low].size, size);
    return low;
}

static void change_live(struct fleet_seen *s, size_t row, uint64_t by)
{
    s->live_steps[row] += s->live[row] * (s->steps - s->since[row]);
    s->since[row] = s->steps;
    s->live[row] += by;
}

static int see_fleet(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct fleet_seen *s = ctx;
    (void)err;
    if (ev->op == TP_EV_MARK) {
        s->steady = !strcmp(ev->name, "steady");
        return TP_OK;
    }
    if (ev->op == TP_EV_FREE) {
        change_live(s, s->row_of[ev->id], UINT64_MAX);
        return TP_OK;
    }
    size_t row = row_of(s->table, ev->size);
    s->row_of[ev->id] = row;
    s->steps += s->steady;
    s->allocs[row] += s->steady;
    change_live(s, row, 1);
    return TP_OK;
}

/* Within 2%, or `least` where that is more: rare sizes come as whole objects. */
static void must_be_near(const char *what, size_t n, uint64_t size, double is, double expected,
                         double least)
{
    if (fabs(is - expected) > fmax(0.02 * expected, least))
        fail_msg("fleet-%zu, %s of size %" PRIu64 ": %f, expected %f", n, what, size, is, expected);
}

static void compare_with_table(struct fleet_seen *s, size_t n)
{
    double allocs = 0, live = 0, bytes[RANGES] = {0}, expected[RANGES] = {0}, largest[RANGES] = {0};
    for (size_t i = 0; i < s->table->count; i++) {
        allocs += s->table->rows[i].allocs;
        live += s->table->rows[i].live;
    }
    for (size_t i = 0; i < s->table->count; i++) {
        const struct tp_fleet_row *row = &s->table->rows[i];
        double size = (double)row->size, share = row->live / live * LIVE;
        change_live(s, i, 0);
        double average = (double)s->live_steps[i] / (double)s->steps;
        must_be_near("allocations", n, row->size, (double)s->allocs[i],
                     row->allocs / allocs * (COUNT - LIVE), 1);
        must_be_near("live objects", n, row->size, average, share, 1);
        int range = 63 - __builtin_clzll(row->size);
        bytes[range] += average * size;
        expected[range] += share * size;
        largest[range] = size;
    }
    for (int i = 0; i < RANGES; i++)
        must_be_near("live bytes", n, UINT64_C(1) << i, bytes[i], expected[i], 2 * largest[i]);
}

TEST(test_tables)
{
    struct fleet_seen *s = malloc(sizeof *s);
    char name[16], text[64];
    struct tp_err err = {0};
    assert_non_null(s);
    snprintf(text, sizeof text, "live=%d,count=%d", LIVE, COUNT);
    for (size_t n = 0; n < TP_FLEET_PROFILES; n++) {
        snprintf(name, sizeof name, "fleet-%zu", n);
        const struct tp_profile *p = tp_find_profile(name, &err);
        assert_non_null(p);
        for (uint64_t seed = 1; seed < 3; seed++) {
            const struct tp_event_sink sink = {see_fleet, s};
            void *opts = profile_options(p, text);
            memset(s, 0, sizeof *s);
            s->table = &tp_fleet_tables[n];
            assert_int_equal(p->generate(opts, seed, &sink, &err), TP_OK);
            assert_int_equal(s->steps, COUNT - LIVE);
            compare_with_table(s, n);
            tp_profile_opts_free(p, opts);
        }
    }
    free(s);
}
