/* Packing: results are compared with all placements of small instances, and checked pair by pair on
 * larger ones. */
#include "alloc/packing/offline.h"

#include "alloc/base/random.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define STEPS UINT64_C(3000000)

static struct tp_offline_object object(uint64_t begin, uint64_t end, uint64_t size)
{
    return (struct tp_offline_object){.begin = begin, .end = end, .size = size, .align = 1};
}

static struct tp_offline pack(struct tp_offline_object *objects, size_t count, uint64_t steps)
{
    struct tp_offline p = {0, 0};
    struct tp_err err = {.status = TP_OK};
    struct tp_offline_budget budget = {.steps = steps};
    assert_int_equal(tp_offline_pack(objects, count, &budget, &p, &err), TP_OK);
    assert_true(budget.steps <= steps);
    return p;
}

static bool live_together(const struct tp_offline_object *a, const struct tp_offline_object *b)
{
    return a->begin < b->end && b->begin < a->end;
}

/* No two that live together overlap, all are aligned, and the highest ends at `best`. */
static void check_placement(const struct tp_offline_object *objects, size_t count, uint64_t best)
{
    uint64_t height = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tp_offline_object *a = &objects[i];
        assert_int_equal(a->offset % a->align, 0);
        height = a->offset + a->size > height ? a->offset + a->size : height;
        for (size_t k = 0; k < i; k++) {
            const struct tp_offline_object *b = &objects[k];
            assert_true(!live_together(a, b) || a->offset + a->size <= b->offset ||
                        b->offset + b->size <= a->offset);
        }
    }
    assert_int_equal(height, best);
}

static uint64_t peak_of(const struct tp_offline_object *objects, size_t count)
{
    uint64_t peak = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += objects[k].begin <= objects[i].begin && objects[i].begin < objects[k].end
                       ? objects[k].size
                       : 0;
        peak = sum > peak ? sum : peak;
    }
    return peak;
}

/* ---- all placements ---- */

/* The lowest height over all orders, each object at the lowest place: any placement is such a one
 * after everything in it was pushed down. */
static uint64_t least_height(struct tp_offline_object *objects, size_t placed, size_t count,
                             uint64_t height)
{
    uint64_t best = UINT64_MAX;
    if (placed == count)
        return height;
    for (size_t i = placed; i < count; i++) {
        struct tp_offline_object chosen = objects[i];
        objects[i] = objects[placed];
        objects[placed] = chosen;
        uint64_t at = 0;
        for (size_t k = 0; k < placed; k++) { /* start again where one is in the way */
            const struct tp_offline_object *b = &objects[k];
            bool apart = !live_together(&chosen, b) || at + chosen.size <= b->offset ||
                         b->offset + b->size <= at;
            if (apart)
                continue;
            at = (b->offset + b->size + chosen.align - 1) / chosen.align * chosen.align;
            k = SIZE_MAX;
        }
        objects[placed].offset = at;
        uint64_t top = at + chosen.size > height ? at + chosen.size : height;
        uint64_t rest = least_height(objects, placed + 1, count, top);
        best = rest < best ? rest : best;
        objects[placed] = objects[i];
        objects[i] = chosen;
    }
    return best;
}

TEST(test_against_all_placements)
{
    enum { COUNT = 6, ROUNDS = 300 };
    struct tp_random random;
    size_t above_peak = 0;
    tp_random_seed(&random, 7);
    for (int round = 0; round < ROUNDS; round++) {
        struct tp_offline_object objects[COUNT], copy[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t begin = tp_random_below(&random, 8), size = 1 + tp_random_below(&random, 9);
            objects[i] = object(begin, begin + 1 + tp_random_below(&random, 6), size);
            objects[i].align = UINT64_C(1) << (round % 2 ? tp_random_below(&random, 3) : 0);
        }
        memcpy(copy, objects, sizeof copy);
        struct tp_offline p = pack(objects, COUNT, STEPS);
        uint64_t least = least_height(copy, 0, COUNT, 0);
        check_placement(objects, COUNT, p.best);
        assert_int_equal(p.best, least);
        assert_int_equal(p.least, least); /* so few can be searched to the end */
        above_peak += least > peak_of(objects, COUNT);
    }
    assert_true(above_peak > ROUNDS / 20);
}

/* One large object is in the way of small ones whose sizes are no multiples of their alignment: a
 * search that raises floors by small sizes alone would count for ever up to the large one. */
TEST(test_small_beside_large)
{
    enum { COUNT = 5, ROUNDS = 200 };
    struct tp_random random;
    size_t above_peak = 0;
    tp_random_seed(&random, 11);
    for (int round = 0; round < ROUNDS; round++) {
        struct tp_offline_object objects[COUNT + 1], copy[COUNT + 1];
        objects[COUNT] = object(2, 6, UINT64_C(1) << 33);
        objects[COUNT].size += tp_random_below(&random, 1000);
        for (size_t i = 0; i < COUNT; i++) {
            uint64_t begin = tp_random_below(&random, 8);
            objects[i] = object(begin, begin + 1 + tp_random_below(&random, 6),
                                1 + tp_random_below(&random, 2000));
            objects[i].align = 512;
        }
        memcpy(copy, objects, sizeof copy);
        struct tp_offline p = pack(objects, COUNT + 1, STEPS);
        uint64_t least = least_height(copy, 0, COUNT + 1, 0);
        check_placement(objects, COUNT + 1, p.best);
        assert_fields(p, best, least, least, least);
        above_peak += least > peak_of(objects, COUNT + 1);
    }
    assert_true(above_peak > ROUNDS / 20);
}

/* ---- without gaps ---- */

/* Cuts an object in two across or along its life, or in five, of which each one of the outer four
 * reaches beyond the next:
 *
 *     +--+-----+
 *     |  +--+--+     returns how many there are in its place
 *     |  |  |  |
 *     +--+--+  |
 *     +-----+--+ */
static size_t cut(struct tp_offline_object *o, struct tp_random *random, uint64_t how)
{
    struct tp_offline_object all = *o;
    uint64_t t = (all.end - all.begin) / 3, third = all.size / 3;
    uint64_t a = all.begin + 1 + tp_random_below(random, t);
    uint64_t b = a + 1 + tp_random_below(random, t);
    uint64_t low = 1 + tp_random_below(random, third), high = 1 + tp_random_below(random, third);
    if (how == 0) {
        o[0].end = a;
        o[1] = object(a, all.end, all.size);
        return 2;
    }
    o[0].size = low;
    if (how == 1) {
        o[1] = object(all.begin, all.end, all.size - low);
        return 2;
    }
    o[0].end = b;
    o[1] = object(b, all.end, all.size - high);
    o[2] = object(a, all.end, high);
    o[3] = object(all.begin, a, all.size - low);
    o[4] = object(a, b, all.size - low - high);
    return 5;
}

/* A rectangle that was cut into 300 objects, which fit without a gap: nearly every section is full
 * at the least height. */
TEST(test_without_gaps)
{
    enum { COUNT = 300, SEEDS = 4, LONGEST = 12, HIGHEST = 64 };
    static struct tp_offline_object objects[COUNT + 4];
    const uint64_t height = UINT64_C(1) << 20;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct tp_random random;
        size_t count = 1;
        tp_random_seed(&random, seed);
        objects[0] = object(0, 4000, height);
        for (size_t tries = 0; count < COUNT; tries++) {
            assert_true(tries < 100 * (size_t)COUNT);
            size_t i = (size_t)tp_random_below(&random, count);
            struct tp_offline_object pieces[5] = {objects[i]};
            if (pieces[0].end - pieces[0].begin < LONGEST || pieces[0].size < HIGHEST)
                continue;
            size_t n = cut(pieces, &random, tp_random_below(&random, 3));
            objects[i] = pieces[0];
            memcpy(&objects[count], &pieces[1], (n - 1) * sizeof *pieces);
            count += n - 1;
        }
        struct tp_offline p = pack(objects, count, 100 * STEPS);
        check_placement(objects, count, p.best);
        assert_fields(p, least, height, best, height);
    }
}

/* ---- larger ---- */

static void make_random(struct tp_offline_object *objects, size_t count, uint64_t seed)
{
    struct tp_random random;
    tp_random_seed(&random, seed);
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = tp_random_below(&random, count);
        objects[i] = object(begin, begin + 1 + tp_random_below(&random, count / 4 + 1),
                            1 + tp_random_below(&random, 100000));
        objects[i].align = UINT64_C(1) << tp_random_below(&random, 9);
    }
}

TEST(test_placements_are_sound)
{
    enum { MOST = 3000 };
    static const uint64_t steps[] = {0, 1, 1000, STEPS};
    static const size_t counts[] = {1, 2, 50, 400, MOST}; /* the last one is not searched */
    struct tp_offline_object *objects = calloc(MOST, sizeof *objects);
    assert_non_null(objects);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        uint64_t before = UINT64_MAX;
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            make_random(objects, counts[c], c);
            struct tp_offline p = pack(objects, counts[c], steps[s]);
            check_placement(objects, counts[c], p.best);
            assert_true(p.least >= peak_of(objects, counts[c]) && p.least <= p.best);
            assert_true(p.best <= before); /* more steps never make it worse */
            before = p.best;
        }
    }
    free(objects);
}

TEST(test_same_steps_same_result)
{
    enum { COUNT = 200 };
    struct tp_offline_object a[COUNT], b[COUNT];
    make_random(a, COUNT, 3);
    make_random(b, COUNT, 3);
    struct tp_offline first = pack(a, COUNT, STEPS), second = pack(b, COUNT, STEPS);
    assert_fields(first, best, second.best, least, second.least);
    assert_memory_equal(a, b, sizeof a);
}

/* Two blocks of 2 that never live together, and one of 3 across both: stacked at the bottom, it
 * needs 5, and so it does everywhere. An object that is freed as another begins leaves its place.
 */
TEST(test_small_ones)
{
    struct tp_offline_object cross[] = {object(0, 4, 2), object(4, 8, 2), object(2, 6, 3)};
    struct tp_offline_object chain[] = {object(0, 1, 7), object(1, 2, 7), object(2, 3, 7)};
    struct tp_offline p = pack(cross, 3, STEPS);
    assert_fields(p, best, 5, least, 5);
    assert_int_equal(pack(chain, 3, 0).best, 7);
    assert_int_equal(pack(NULL, 0, STEPS).best, 0);
}

TEST(test_refuses)
{
    struct tp_offline_object good = object(1, 2, 3), bad[] = {good, good, good, good, good};
    bad[0].end = 1;
    bad[1].size = 0;
    bad[2].size = UINT64_MAX;
    bad[3].align = 3;
    bad[4].align = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct tp_offline_object objects[] = {good, bad[i]};
        struct tp_offline p = {1, 1};
        struct tp_err err = {.status = TP_OK};
        struct tp_offline_budget budget = {.steps = STEPS};
        assert_int_equal(tp_offline_pack(objects, 2, &budget, &p, &err), TP_EINVAL);
        assert_int_equal(p.best, 0);
    }
}

enum { COUNT_SHARED = 3000 };

/* What one packing leaves is for the next. */
TEST(test_takes_steps_off_the_budget)
{
    struct tp_offline_object *objects = calloc(COUNT_SHARED, sizeof *objects);
    struct tp_offline_object easy[] = {object(0, 1, 8), object(1, 2, 8)};
    struct tp_offline_budget budget = {.steps = STEPS};
    struct tp_offline p;
    struct tp_err err = {.status = TP_OK};
    assert_non_null(objects);
    make_random(objects, COUNT_SHARED, 7);
    assert_int_equal(tp_offline_pack(easy, 2, &budget, &p, &err), TP_OK);
    assert_int_equal(p.best, 8);
    assert_int_equal(budget.steps, STEPS); /* the order of time is best, and takes none */
    assert_int_equal(tp_offline_pack(objects, COUNT_SHARED, &budget, &p, &err), TP_OK);
    assert_true(p.best > p.least);
    assert_int_equal(budget.steps, 0);
    free(objects);
}

/* A search that would take days ends when the user asks it to. */
TEST(test_ends_when_interrupted)
{
    volatile sig_atomic_t asked = 1;
    struct tp_offline_object *objects = calloc(COUNT_SHARED, sizeof *objects);
    struct tp_offline_budget budget = {.steps = UINT64_MAX, .interrupted = &asked};
    struct tp_offline p;
    struct tp_err err = {.status = TP_OK};
    assert_non_null(objects);
    make_random(objects, COUNT_SHARED, 7);
    assert_int_equal(tp_offline_pack(objects, COUNT_SHARED, &budget, &p, &err), TP_ESTOP);
    free(objects);
}
