/* Events spread over columns, and curves thinned to them: against a slow count, and at the edges.
 */
#include "alloc/numbers/columns.h"

#include "tests/unit/programs.h"
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>

enum { EVENTS = 1000 };

static struct tp_columns spread(struct tp_program *p, uint32_t count)
{
    struct tp_columns c;
    assert_int_equal(tp_columns_spread(p, count, &c, NULL), TP_OK);
    assert_fields(c, count, count, first[count], c.events + 1);
    for (uint32_t i = 0; i < count; i++)
        assert_true(c.first[i] <= c.first[i + 1]);
    return c;
}

/* Allocations whose gaps are given; without gaps the program has no times. */
static struct tp_program *program_of(const uint32_t *gaps, size_t count)
{
    static struct tp_insn insns[EVENTS];
    for (size_t i = 0; i < count; i++) {
        insns[i] = (struct tp_insn)ALLOC_INSN((uint32_t)i, 64, 0);
        insns[i].gap_ns = gaps ? gaps[i] : 0;
    }
    return test_program(insns, count, gaps != NULL);
}

TEST(without_times_columns_have_equally_many_events)
{
    for (size_t events = 1; events <= 60; events++) {
        struct tp_program *p = program_of(NULL, events);
        for (uint32_t count = 1; count <= 70; count++) {
            struct tp_columns c = spread(p, count);
            assert_int_equal(c.time_ns, 0);
            for (uint64_t e = 1; e <= events; e++)
                assert_int_equal(tp_columns_find(&c, e), (e - 1) * count / events);
            assert_int_equal(tp_columns_find(&c, 0), 0);
            assert_int_equal(tp_columns_find(&c, UINT64_MAX), count - 1);
        }
        tp_program_release(p);
    }
}

TEST(with_times_columns_span_equal_times)
{
    uint32_t gaps[EVENTS];
    uint64_t total = 0, random = 7;
    for (size_t i = 0; i < EVENTS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        gaps[i] = random >> 60 ? (uint32_t)(random >> 52) : 4000000000u; /* some long pauses */
        total += gaps[i];
    }
    struct tp_program *p = program_of(gaps, EVENTS);
    for (uint32_t count = 1; count <= TP_COLUMNS_MAX; count += 93) {
        struct tp_columns c = spread(p, count);
        uint64_t time = 0;
        assert_int_equal(c.time_ns, total);
        for (uint64_t e = 1; e <= EVENTS; e++) {
            time += gaps[e - 1];
            uint64_t column = time * count / total;
            assert_int_equal(tp_columns_find(&c, e), column < count ? column : count - 1);
        }
    }
    tp_program_release(p);
}

/* ---- thinning ---- */

static struct tp_curve curve;

static void point(uint64_t event, uint64_t bytes)
{
    tp_curve_add(&curve,
                 &(struct tp_curve_point){event, {bytes, 2 * bytes, 3 * bytes}, {0}, event, 0});
}

static void same_stretch(const struct tp_stretch *s, uint64_t low, uint64_t high, uint64_t last)
{
    assert_fields(*s, low, low, high, high, last, last);
}

/* Ten events in five columns. */
TEST(a_column_has_the_extremes_of_its_points)
{
    struct tp_program *p = program_of(NULL, 10);
    struct tp_columns c = spread(p, 5);
    struct tp_stretch at[5];
    memset(&curve, 0, sizeof curve);
    point(3, 10);
    point(4, 90);
    point(4, 20);
    point(9, 5);
    tp_curve_finish(&curve);
    tp_columns_thin(&c, &curve, TP_CURVE_REQUESTED, at);
    same_stretch(&at[0], 0, 0, 0);
    same_stretch(&at[1], 0, 90, 20); /* what it begins with is in it */
    same_stretch(&at[2], 20, 20, 20);
    same_stretch(&at[3], 20, 20, 20);
    same_stretch(&at[4], 5, 20, 5);
    assert_int_equal(tp_columns_peak(at, 5), 1);
    tp_columns_thin(&c, &curve, TP_CURVE_RESERVED, at);
    same_stretch(&at[1], 0, 270, 60);
    tp_program_release(p);
}

TEST(what_was_held_before_the_first_event_is_in_the_first_column)
{
    struct tp_program *p = program_of(NULL, 10);
    struct tp_columns c = spread(p, 5);
    struct tp_stretch at[5];
    memset(&curve, 0, sizeof curve);
    point(0, 70); /* for a moment of the initial heap */
    point(0, 30);
    point(1, 40);
    tp_curve_finish(&curve);
    tp_columns_thin(&c, &curve, TP_CURVE_REQUESTED, at);
    same_stretch(&at[0], 30, 70, 40); /* and nothing of it was ever 0 */
    same_stretch(&at[4], 40, 40, 40);
    memset(&curve, 0, sizeof curve);
    tp_curve_finish(&curve);
    tp_columns_thin(&c, &curve, TP_CURVE_REQUESTED, at);
    for (int i = 0; i < 5; i++)
        same_stretch(&at[i], 0, 0, 0);
    tp_program_release(p);
}

/* Single peaks and valleys at every place of a program, thinned to every number of columns. */
TEST(no_extreme_is_lost)
{
    struct tp_program *p = program_of(NULL, EVENTS);
    static struct tp_stretch at[TP_COLUMNS_MAX];
    for (uint64_t peak = 1; peak < EVENTS; peak += 37) {
        memset(&curve, 0, sizeof curve);
        point(0, 500);
        point(peak, 900);
        point(peak, 1);
        point(peak + 1, 500);
        tp_curve_finish(&curve);
        for (uint32_t count = 1; count <= TP_COLUMNS_MAX; count = count * 2 + 1) {
            struct tp_columns c = spread(p, count);
            uint32_t column = tp_columns_find(&c, peak);
            tp_columns_thin(&c, &curve, TP_CURVE_REQUESTED, at);
            assert_int_equal(tp_columns_peak(at, count), column);
            assert_fields(at[column], high, 900, low, 1);
            assert_int_equal(at[count - 1].last, 500);
        }
    }
    tp_program_release(p);
}

TEST(columns_are_thinned_to_fewer)
{
    static struct tp_stretch in[TP_COLUMNS_MAX], out[TP_COLUMNS_MAX];
    for (uint32_t from = 1; from <= 40; from++)
        for (uint32_t to = 1; to <= from; to++)
            for (uint32_t odd = 0; odd < from; odd++) {
                for (uint32_t i = 0; i < from; i++)
                    in[i] = (struct tp_stretch){10, 20, 15};
                in[odd] = (struct tp_stretch){1, 99, 50};
                tp_stretch_thin(in, from, out, to);
                uint32_t at = odd * to / from;
                same_stretch(&out[at], 1, 99, (odd + 1) * to / from == at ? 15 : 50);
                for (uint32_t i = 0; i < to; i++)
                    if (i != at)
                        same_stretch(&out[i], 10, 20, 15);
            }
}

TEST(a_scale_is_exact_at_its_ends)
{
    static const uint64_t of[] = {1, 3, 1000, UINT64_C(1) << 43, UINT64_C(3) << 60, UINT64_MAX};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        for (uint64_t to = 1; to <= UINT64_C(1) << 20; to = to * 3 + 1) {
            assert_int_equal(tp_scaled(0, of[i], to), 0);
            assert_int_equal(tp_scaled(of[i], of[i], to), to);
            assert_true(tp_scaled(of[i] / 2, of[i], to) <= to / 2);
        }
    assert_int_equal(tp_scaled(7, 10, 5), 3);
    assert_int_equal(tp_scaled(0, 0, 5), 0);
}
