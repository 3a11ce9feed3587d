/* The profiles `fleet-N` against their tables: allocations, live objects and live bytes of every
 * size and of every range of sizes between two powers of two, with and without ageing. */
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

/* ---- ageing ---- */

enum { AGE = 5, FREQUENT = 100, EVERY = 500 };

struct ageing_seen {
    const struct tp_fleet_table *table;
    const char *phase; /* a string constant */
    uint64_t events;
    uint64_t live[MOST_ROWS], filled[MOST_ROWS], allocs[MOST_ROWS]; /* `allocs` since 'fill' */
    uint64_t old[MOST_ROWS];                                        /* live since 'fill' */
    uint64_t looks, off, off_at_end; /* frequent sizes that are not near their shares */
    double bytes[RANGES], expected[RANGES], objects[RANGES]; /* `bytes` over all looks */
    size_t row_of[4 * COUNT];
};

static const char *phase_of(const char *name)
{
    static const char *const phases[] = {"fill", "age", "steady"};
    for (size_t i = 0; i < 3; i++)
        if (!strcmp(name, phases[i]))
            return phases[i];
    fail_msg("phase '%s'", name);
    return NULL;
}

static bool is_off(double is, double expected, double least)
{
    return fabs(is - expected) > fmax(0.02 * expected, least);
}

static void look_at_live(struct ageing_seen *s)
{
    double bytes[RANGES] = {0}, live = 0;
    s->off_at_end = 0;
    for (size_t i = 0; i < s->table->count; i++)
        live += s->table->rows[i].live;
    for (size_t i = 0; i < s->table->count; i++) {
        const struct tp_fleet_row *row = &s->table->rows[i];
        double share = row->live / live * LIVE, size = (double)row->size;
        int range = 63 - __builtin_clzll(row->size);
        s->off_at_end += share >= FREQUENT && is_off((double)s->live[i], share, 2);
        bytes[range] += (double)s->live[i] * size;
        s->expected[range] += s->looks ? 0 : share * size;
        s->objects[range] += s->looks ? 0 : share;
    }
    for (int i = 0; i < RANGES; i++) {
        /* Rare sizes come and go, and matter in a range of few objects. */
        if (s->objects[i] >= 10 * FREQUENT && is_off(bytes[i], s->expected[i], 0))
            fail_msg("%s, at event %" PRIu64 ": bytes of size 2^%d: %f, expected %f", s->phase,
                     s->events, i, bytes[i], s->expected[i]);
        s->bytes[i] += bytes[i];
    }
    s->looks++;
    s->off += s->off_at_end;
}

static int see_ageing(void *ctx, const struct tp_event *ev, struct tp_err *err)
{
    struct ageing_seen *s = ctx;
    (void)err;
    if (ev->op == TP_EV_MARK) {
        if (s->phase && !strcmp(ev->name, "steady"))
            look_at_live(s);
        s->phase = phase_of(ev->name);
        return TP_OK;
    }
    size_t *row = &s->row_of[ev->id];
    if (ev->op == TP_EV_FREE) {
        s->live[*row]--;
        s->old[*row] -= ev->id < LIVE;
    } else {
        assert_in_range(ev->id, 0, 4 * COUNT - 1);
        *row = row_of(s->table, ev->size);
        s->live[*row]++;
        s->filled[*row] += ev->id < LIVE;
        s->old[*row] += ev->id < LIVE;
        s->allocs[*row] += ev->id >= LIVE;
    }
    if (++s->events % EVERY == 0 && strcmp(s->phase, "fill"))
        look_at_live(s);
    return TP_OK;
}

static void see_profile(struct ageing_seen *s, size_t n, const char *options)
{
    char name[16];
    struct tp_err err = {0};
    snprintf(name, sizeof name, "fleet-%zu", n);
    const struct tp_profile *p = tp_find_profile(name, &err);
    const struct tp_event_sink sink = {see_ageing, s};
    void *opts = profile_options(p, options);
    memset(s, 0, sizeof *s);
    s->table = &tp_fleet_tables[n];
    assert_int_equal(p->generate(opts, 1, &sink, &err), TP_OK);
    tp_profile_opts_free(p, opts);
}

/* Objects of frequent sizes that live since 'fill', over what a distribution of lifetimes leaves:
 * 1 / (1 + n) of those replaced n times by the one of ageing, exp(-n) by an exponential one. */
static double left_over(const struct ageing_seen *s, bool exponential)
{
    double old = 0, expected = 0;
    for (size_t i = 0; i < s->table->count; i++) {
        if (s->filled[i] < FREQUENT)
            continue;
        double n = (double)s->allocs[i] / (double)s->filled[i];
        old += (double)s->old[i];
        expected += (double)s->filled[i] * (exponential ? exp(-n) : 1 / (1 + n));
    }
    return old / expected;
}

static void average_must_be_near(const struct ageing_seen *s, size_t n)
{
    for (int i = 0; i < RANGES; i++) {
        double average = s->bytes[i] / (double)s->looks;
        if (s->objects[i] >= FREQUENT && is_off(average, s->expected[i], 2 * ldexp(2, i)))
            fail_msg("fleet-%zu, on average: bytes of size 2^%d: %f, expected %f", n, i, average,
                     s->expected[i]);
    }
}

static void must_be_between(const char *what, size_t n, double is, double low, double high)
{
    if (is < low || is > high)
        fail_msg("fleet-%zu, %s: %f, not from %f to %f", n, what, is, low, high);
}

/* Each range of sizes keeps its bytes, and at the end each size has its objects again. In between
 * sizes shift and old objects remain. Without ageing neither is the case. */
TEST(test_ageing)
{
    struct ageing_seen *s = malloc(sizeof *s);
    char aged[64], steady[64];
    assert_non_null(s);
    snprintf(aged, sizeof aged, "live=%d,count=%d,age=%d", LIVE, LIVE, AGE);
    snprintf(steady, sizeof steady, "live=%d,count=%d", LIVE, 3 * LIVE);
    for (size_t n = 0; n < TP_FLEET_PROFILES; n++) {
        see_profile(s, n, aged);
        average_must_be_near(s, n);
        assert_int_equal(s->off_at_end, 0);
        must_be_between("sizes off", n, (double)s->off / (double)s->looks, 8, 40);
        must_be_between("left over", n, left_over(s, false), 0.85, 1.05);
        see_profile(s, n, steady);
        average_must_be_near(s, n);
        must_be_between("steady sizes off", n, (double)s->off / (double)s->looks, 0, 0.1);
        must_be_between("left over in 'steady'", n, left_over(s, true), 0.98, 1.02);
        must_be_between("left over, as if aged", n, left_over(s, false), 0.3, 0.84);
    }
    free(s);
}
