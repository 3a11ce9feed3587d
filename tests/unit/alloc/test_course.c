/* The bounded course: whole while it is short, and no extreme lost when it is long. */
#include "alloc/numbers/series.h"
#include "tests/unit/test.h"

#include <stddef.h>
#include <string.h>

static struct tp_course c;

static int clear(void **state)
{
    (void)state;
    memset(&c, 0, sizeof c);
    return 0;
}

static bool add(uint64_t event, uint64_t bytes)
{
    return tp_course_add(&c, &(struct tp_course_point){bytes, event, 10 * event});
}

TEST_WITH(a_short_course_keeps_every_reading, clear, NULL)
{
    for (uint64_t e = 0; e < TP_COURSE_POINTS; e++)
        assert_false(add(e, e % 7));
    assert_int_equal(c.count, TP_COURSE_POINTS);
    for (uint64_t e = 0; e < TP_COURSE_POINTS; e++) {
        assert_int_equal(c.points[e].event, e);
        assert_int_equal(c.points[e].bytes, e % 7);
        assert_int_equal(c.points[e].clock, 10 * e);
    }
}

/* One high and one low reading among 100,000 others, wherever they are. */
TEST_WITH(a_long_course_keeps_its_extremes_and_its_order, clear, NULL)
{
    enum { READINGS = 100000, USUAL = 500, HIGH = 1000, LOW = 3 };
    for (uint64_t high = 0; high < READINGS; high += 7919) {
        uint64_t low = READINGS - 1 - high, seen[2] = {0};
        clear(NULL);
        for (uint64_t e = 0; e < READINGS; e++) {
            uint64_t usual = e == low ? LOW : USUAL + e % 11;
            add(e, e == high ? HIGH : usual);
        }
        assert_in_range(c.count, TP_COURSE_POINTS / 4, TP_COURSE_POINTS);
        assert_int_equal(c.points[0].event, 0);
        assert_int_equal(c.points[c.count - 1].event, READINGS - 1);
        for (uint32_t i = 0; i < c.count; i++) {
            const struct tp_course_point *p = &c.points[i];
            assert_true(!i || p->event > p[-1].event);
            assert_int_equal(p->clock, 10 * p->event);
            seen[0] += p->bytes == HIGH && p->event == high;
            seen[1] += p->bytes == LOW && p->event == low;
        }
        assert_true(seen[0] == 1 && seen[1] == 1);
    }
}

TEST_WITH(of_two_readings_after_an_event_the_higher_one_stays, clear, NULL)
{
    add(0, 4);
    add(7, 20);
    add(7, 10);
    add(9, 10);
    add(9, 30);
    assert_int_equal(c.count, 3);
    assert_true(c.points[1].event == 7 && c.points[1].bytes == 20);
    assert_true(c.points[2].event == 9 && c.points[2].bytes == 30);
}

TEST_WITH(it_says_when_it_is_thinned_to_half, clear, NULL)
{
    for (uint64_t e = 0; e < TP_COURSE_POINTS; e++)
        add(e, e & 1);
    assert_true(add(TP_COURSE_POINTS, 1));
    assert_int_equal(c.count, 1 + TP_COURSE_POINTS / 2 + 1);
    clear(NULL);
    for (uint64_t e = 0; e < TP_COURSE_POINTS; e++)
        add(e, 5); /* of equal ones the first of each stretch stays */
    assert_true(add(TP_COURSE_POINTS, 5));
    assert_int_equal(c.count, 1 + TP_COURSE_POINTS / 4 + 1);
}
