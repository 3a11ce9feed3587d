/* Series with values that are not known. */
#include "cmd/stats/known_values.h"
#include "tests/unit/test.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

TEST(what_is_not_known_is_left_out)
{
    const double some[] = {3, NAN, 1, INFINITY, 2}, none[] = {NAN, NAN};
    double out[COUNT(some)];
    assert_int_equal(tp_known_values(some, COUNT(some), out), 3);
    assert_true(out[0] == 3 && out[1] == 1 && out[2] == 2);
    assert_true(tp_known_median(some, COUNT(some)) == 2);
    assert_true(isnan(tp_known_median(none, COUNT(none))));
}

/* Of logarithms -s, 0 and s the deviation is s; with fewer than two nothing can be said. */
TEST(a_spread_needs_two_times)
{
    const double three[] = {10 * exp(-0.02), 10, 10 * exp(0.02)}, holes[] = {NAN, 5, 0, 5, -1},
                 one[] = {0, 7, NAN};
    assert_true(fabs(tp_known_spread(three, 3) - 0.02) < 1e-12);
    assert_true(tp_known_spread(holes, COUNT(holes)) == 0);
    assert_true(isnan(tp_known_spread(one, COUNT(one))));
    assert_true(isnan(tp_known_spread(one, 0)));
}
