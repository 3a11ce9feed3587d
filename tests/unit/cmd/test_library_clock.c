/* The clock that libraries see: ahead of the system's, never behind what it was, and nobody else's.
 */
#include "cmd/jobs/child.h"
#include "tests/unit/test.h"

#include <stdbool.h>
#include <stddef.h>

#define S INT64_C(1000000000)

static int64_t ns_of(const struct timespec *t)
{
    return (int64_t)t->tv_sec * S + t->tv_nsec;
}

/* How far the clock is ahead; the reading between two of the system's tells it to their distance.
 */
static void expect_ahead(clockid_t id, int64_t ns)
{
    struct timespec before, seen, after;
    assert_int_equal(tp_unmoved_time(id, &before), 0);
    assert_int_equal(clock_gettime(id, &seen), 0);
    assert_int_equal(tp_unmoved_time(id, &after), 0);
    assert_in_range(seen.tv_nsec, 0, S - 1);
    assert_true(ns_of(&before) + ns <= ns_of(&seen) && ns_of(&seen) <= ns_of(&after) + ns);
}

TEST(libraries_are_ahead)
{
    static const clockid_t moved[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE},
                           others[] = {CLOCK_REALTIME, CLOCK_PROCESS_CPUTIME_ID};
    static const uint64_t steps[] = {0, 999999999, 12345678901, 5, 12345678902};
    uint64_t most = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        tp_library_clock_ahead(steps[i]);
        most = steps[i] > most ? steps[i] : most;
        for (size_t k = 0; k < sizeof moved / sizeof *moved; k++)
            expect_ahead(moved[k], (int64_t)most);
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            expect_ahead(others[k], 0);
    }
    struct timespec now;
    assert_int_equal(tp_unmoved_time(CLOCK_MONOTONIC, &now), 0);
    assert_int_equal(clock_gettime(12345, &now), -1);
}

/* The last test: nothing starts the clock again. */
TEST(a_stopped_clock_stands_still)
{
    struct timespec first, second;
    tp_library_clock_stop();
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &first), 0);
    tp_library_clock_ahead(0);
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &second), 0);
    assert_int_equal(ns_of(&first), ns_of(&second));
    expect_ahead(CLOCK_REALTIME, 0);
}
