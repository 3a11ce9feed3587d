/* The bounded curve: whole while it is short, and no extreme lost when it is long. */
#include "alloc/numbers/curve.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

static struct tp_curve c;

static int clear(void **state)
{
    (void)state;
    memset(&c, 0, sizeof c);
    return 0;
}

static void add(uint64_t event, uint64_t requested, uint64_t allocated, uint64_t reserved)
{
    tp_curve_add(
        &c, &(struct tp_curve_point){
                event, {requested, allocated, reserved}, {event / 2, event / 3}, 10 * event, 0});
}

TEST_WITH(an_empty_curve_has_no_points, clear, NULL)
{
    tp_curve_finish(&c);
    assert_int_equal(c.count, 0);
}

TEST_WITH(a_short_curve_keeps_every_change, clear, NULL)
{
    for (uint64_t e = 1; e <= 4000; e++)
        add(e, e % 7, e % 5, 10 + e / 100);
    tp_curve_finish(&c);
    assert_int_equal(c.count, 4000);
    for (uint64_t e = 1; e <= 4000; e++) {
        assert_fields(c.points[e - 1], event, e, bytes[TP_CURVE_REQUESTED], e % 7);
    }
}

TEST_WITH(what_changes_nothing_is_left_out, clear, NULL)
{
    for (uint64_t e = 1; e <= 100; e++)
        add(e, e > 50, 1, 1);
    tp_curve_finish(&c);
    assert_fields(c, count, 2, points[1].event, 51);
}

/* A long curve whose every event holds more for a moment than it leaves. */
TEST_WITH(a_moment_comes_before_what_it_leaves, clear, NULL)
{
    unsigned pairs = 0;
    for (uint64_t e = 1; e <= 100000; e++) {
        uint64_t requested = e % 5 ? 100 + e * 7919 % 800 : 500;
        uint64_t left = e % 5 ? 1000 : 500;    /* the least of its group, and ... */
        uint64_t moment = e % 5 ? 1001 : 5000; /* ... the most */
        add(e, requested, moment, moment);
        add(e, requested, left, left);
    }
    tp_curve_finish(&c);
    for (uint32_t i = 1; i < c.count; i++) {
        if (c.points[i].event != c.points[i - 1].event)
            continue;
        assert_true(c.points[i].bytes[TP_CURVE_RESERVED] <
                    c.points[i - 1].bytes[TP_CURVE_RESERVED]);
        pairs++;
    }
    assert_true(pairs > 100);
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    return z ^ (z >> 27);
}

/* Single peaks and valleys at odd places of a long curve must all be there, exactly. */
TEST_WITH(no_extreme_is_lost, clear, NULL)
{
    for (uint64_t samples = 5000; samples < 1000000; samples = samples * 3 + 1) {
        uint64_t low[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX}, high[3] = {0}, got_low[3], got[3];
        memset(&c, 0, sizeof c);
        for (uint64_t e = 1; e <= samples; e++) {
            struct tp_curve_point p = {.event = e, .clock = e};
            uint64_t *b = p.bytes;
            for (unsigned v = 0; v < 3; v++) {
                b[v] = 1000000 + mix(e * 3 + v) % 1000;
                if (e == samples * (v + 2) / 7)
                    b[v] = 9000000 + v;
                if (e == samples * (v + 3) / 11)
                    b[v] = 10 + v;
                low[v] = b[v] < low[v] ? b[v] : low[v];
                high[v] = b[v] > high[v] ? b[v] : high[v];
            }
            tp_curve_add(&c, &p);
        }
        tp_curve_finish(&c);
        assert_in_range(c.count, TP_CURVE_POINTS / 4, TP_CURVE_POINTS);
        memset(got_low, 0xff, sizeof got_low);
        memset(got, 0, sizeof got);
        for (uint32_t i = 0; i < c.count; i++)
            for (int v = 0; v < 3; v++) {
                uint64_t b = c.points[i].bytes[v];
                got_low[v] = b < got_low[v] ? b : got_low[v];
                got[v] = b > got[v] ? b : got[v];
                assert_true(!i || c.points[i].event >= c.points[i - 1].event);
            }
        assert_memory_equal(got_low, low, sizeof low);
        assert_memory_equal(got, high, sizeof high);
        assert_int_equal(c.points[c.count - 1].event, samples);
    }
}

/* Long pauses at odd places of a long curve have the height that held through them, which is
 * neither the lowest nor the highest of its group. */
TEST_WITH(what_held_long_is_kept, clear, NULL)
{
    for (uint64_t samples = 5000; samples < 1000000; samples = samples * 3 + 1) {
        uint64_t clock = 0;
        unsigned found = 0;
        memset(&c, 0, sizeof c);
        for (uint64_t e = 1; e <= samples; e++) {
            uint64_t pause = e % (samples / 10) == 77;
            uint64_t b = pause ? 1500000 + e : 1000000 + mix(e) % 1000000;
            tp_curve_add(&c, &(struct tp_curve_point){e, {b, b, b}, {0}, clock, 0});
            clock += pause ? 1000000 : 1 + mix(e + 1) % 1000;
        }
        tp_curve_finish(&c);
        for (uint32_t i = 0; i < c.count; i++)
            if (c.points[i].event % (samples / 10) == 77) {
                assert_fields(c.points[i], bytes[0], 1500000 + c.points[i].event, held, 1000000);
                found++;
            }
        assert_in_range(found, 10, 11);
    }
}

/* Every point is a sample that took place, not a mean or a mixture of several. */
TEST_WITH(points_are_samples, clear, NULL)
{
    for (uint64_t e = 1; e <= 300000; e++)
        add(e, mix(e), mix(e + 1), mix(e + 2));
    tp_curve_finish(&c);
    for (uint32_t i = 0; i < c.count; i++) {
        uint64_t e = c.points[i].event;
        const uint64_t expected[] = {mix(e), mix(e + 1), mix(e + 2)};
        assert_memory_equal(c.points[i].bytes, expected, sizeof expected);
        assert_fields(c.points[i], clock, 10 * e, calls[TP_CURVE_GETS], e / 2, calls[TP_CURVE_PUTS],
                      e / 3);
    }
}
