/* Conditions of --fail-on: what they mean, what is refused. */
#include "cmd/results/condition.h"
#include "tests/unit/test.h"

#include <math.h>
#include <string.h>

static struct tp_condition parse(const char *text)
{
    struct tp_condition c;
    struct tp_err err;
    if (tp_condition_parse(text, &c, &err))
        fail_msg("'%s': %s", text, err.text);
    return c;
}

static bool holds(const char *text, double value, double base)
{
    const struct tp_condition c = parse(text);
    return tp_condition_holds(&c, value, base, true);
}

TEST(test_absolute)
{
    assert_true(holds("failed_allocations>0", 1, NAN));
    assert_false(holds("failed_allocations>0", 0, NAN));
    assert_true(holds("oom", 3, NAN));
    assert_false(holds("oom", 0, NAN));
    assert_true(holds("peak_reserved >= 1MiB", 1048576, NAN));
    assert_false(holds("peak_reserved>1MiB", 1048576, NAN));
    assert_true(holds("PEAK_RESERVED<=1MiB", 1048576, NAN));
    assert_false(holds("peak_reserved<1MiB", 1048576, NAN));
    assert_true(holds("ns_per_call>14.5ns", 14.6, NAN));
    assert_true(holds("ns_per_op>14.5", 14.6, NAN));
    assert_true(holds("alloc.max<2ms", 1999999, NAN));
    assert_true(holds("unused_reserved>20%", 0.21, NAN));
    assert_true(holds("unused_reserved>0.2", 0.21, NAN));
    assert_false(holds("overhead>1.2x", 1.2, NAN));
    assert_false(holds("overhead>1.2", NAN, 1));
}

TEST(test_relative)
{
    assert_true(holds("peak_reserved>+2%", 103, 100));
    assert_false(holds("peak_reserved>+2%", 102, 100));
    assert_true(holds("peak_reserved>=+2%", 102, 100));
    assert_false(holds("peak_reserved>+2%", 103, NAN));
    assert_true(holds("peak_reserved>+1KiB", 2049, 1024));
    assert_false(holds("peak_reserved>+1KiB", 2048, 1024));
    assert_true(holds("ns_per_op<-10%", 80, 100));
    assert_false(holds("ns_per_op<-10%", 95, 100));
    assert_true(holds("unused_reserved>+50%", 0.31, 0.2));  /* of the base, no points */
    assert_false(holds("end_partly_free>+5%", 8192, 4096)); /* a few pages */
    assert_false(holds("end_partly_free>+5%", 65536, 0));
    assert_true(holds("end_partly_free>+5%", 65537, 0));
    assert_false(holds("end_partly_free<-5%", 0, 65536));
    assert_false(holds("end_partly_free>+5%", 10500000, 10000000));
    assert_true(holds("end_partly_free>+5%", 10500001, 10000000));
    assert_true(holds("end_partly_free>+4KiB", 8193, 4096));
    const struct tp_condition c = parse("ns_per_op>+5%");
    assert_false(tp_condition_holds(&c, 200, 100, false)); /* may be noise */
    const struct tp_condition value = parse("ns_per_op>150");
    assert_true(tp_condition_holds(&value, 200, 100, false));
}

static void refused(const char *text, const char *message)
{
    struct tp_condition c;
    struct tp_err err = {0};
    assert_int_equal(tp_condition_parse(text, &c, &err), TP_EUSAGE);
    assert_string_equal(err.text, message);
}

TEST(test_refused)
{
    refused("", "'' is nothing that --fail-on knows");
    refused("rain", "'rain' is nothing that --fail-on knows");
    refused(">0", "'>0' is nothing that --fail-on knows");
    refused("peak_reservd>0", "unknown metric 'peak_reservd'");
    refused("peak_reserved>", "--fail-on 'peak_reserved>': '' is not a size (8GiB, +1MiB, +2%)");
    refused("peak_reserved>2%",
            "--fail-on 'peak_reserved>2%': '2%' is not a size (8GiB, +1MiB, +2%)");
    refused("peak_reserved>+", "--fail-on 'peak_reserved>+': '+' is not a size (8GiB, +1MiB, +2%)");
    refused("peak_reserved>nan",
            "--fail-on 'peak_reserved>nan': 'nan' is not a size (8GiB, +1MiB, +2%)");
    refused("ns_per_op>1e999", "--fail-on 'ns_per_op>1e999': '1e999' is not a time (100ns, +2%)");
    refused("ns_per_op>5 parsecs",
            "--fail-on 'ns_per_op>5 parsecs': '5 parsecs' is not a time (100ns, +2%)");
    refused("ns_per_op>1.2.3", "--fail-on 'ns_per_op>1.2.3': '1.2.3' is not a time (100ns, +2%)");
    refused("overhead==1", "'overhead==1' is nothing that --fail-on knows");
}

/* Shares of several devices are the share of their sums: 1 of 4 and 90 of 100 are 91 of 104. */
TEST(test_devices)
{
    double values[3 * TP_METRIC_MAX], weights[3 * TP_METRIC_MAX];
    struct tp_err err = {0};
    for (size_t i = 0; i < 3 * TP_METRIC_MAX; i++)
        values[i] = weights[i] = NAN;
    const struct tp_record run = {.label = (char[]){"a"},
                                  .trace_name = (char[]){"t"},
                                  .devices = 3,
                                  .values = values,
                                  .weights = weights};
    for (size_t m = 0; m < tp_metric_count; m++) {
        const double shares[3] = {1 / 4.0, NAN, 90 / 100.0}, of[3] = {4, 0, 100};
        for (size_t d = 0; d < 3; d++) { /* on the second one nothing happens */
            values[d * tp_metric_count + m] = tp_metrics[m].share_of ? shares[d] : 1;
            weights[d * tp_metric_count + m] = of[d];
        }
        double total = tp_record_total(&run, &tp_metrics[m]);
        double expected = tp_metrics[m].per_device ? 3 : 1;
        expected = tp_metrics[m].share_of ? 91 / 104.0 : expected;
        if (fabs(total - expected) > 1e-12)
            fail_msg("%s adds up to %g, not %g", tp_metrics[m].name, total, expected);
        bool share = tp_metrics[m].unit == TP_UNIT_SHARE || tp_metrics[m].unit == TP_UNIT_RATIO;
        assert_int_equal(share && tp_metrics[m].per_device, tp_metrics[m].share_of != NULL);
    }
    struct tp_condition list[] = {parse("hit_rate<50%"), parse("hit_rate<90%")};
    assert_int_equal(tp_conditions_check_runs(list, 1, &run, 1, &err), TP_OK);
    assert_int_equal(tp_conditions_check_runs(list, 2, &run, 1, &err), TP_EFOUND);
    weights[tp_metric_count + (size_t)(tp_metric_find("hit_rate", NULL) - tp_metrics)] = 1;
    assert_true(isnan(tp_record_total(&run, tp_metric_find("hit_rate", NULL))));
}

TEST(test_runs)
{
    double one[TP_METRIC_MAX], two[2 * TP_METRIC_MAX];
    struct tp_err err = {0};
    for (size_t i = 0; i < TP_METRIC_MAX; i++)
        one[i] = two[i] = two[i + TP_METRIC_MAX] = NAN;
    size_t peak = (size_t)(tp_metric_find("peak_reserved", NULL) - tp_metrics);
    size_t unused = (size_t)(tp_metric_find("unused_reserved", NULL) - tp_metrics);
    one[peak] = 100;
    two[peak] = 60, two[peak + tp_metric_count] = 50;
    two[unused] = two[unused + tp_metric_count] = 0.5;
    const struct tp_record runs[] = {
        {.label = (char[]){"a"}, .trace_name = (char[]){"t"}, .devices = 1, .values = one},
        {.label = (char[]){"b"}, .trace_name = (char[]){"t"}, .devices = 2, .values = two}};
    assert_true(tp_record_total(&runs[1], &tp_metrics[peak]) == 110);
    assert_true(isnan(tp_record_total(&runs[1], &tp_metrics[unused]))); /* of what, is not known */
    struct tp_condition list[] = {parse("peak_reserved>120B"), parse("peak_reserved>105B")};
    assert_int_equal(tp_conditions_check_runs(list, 1, runs, 2, &err), TP_OK);
    assert_int_equal(tp_conditions_check_runs(list, 2, runs, 2, &err), TP_EFOUND);
    assert_string_equal(err.text, "peak_reserved>105B: 'b' has 110 B on t");
    list[0] = parse("peak_reserved>50B");
    assert_int_equal(tp_conditions_check_runs(list, 1, runs, 2, &err), TP_EFOUND);
    assert_string_equal(err.text, "peak_reserved>50B: 'a' has 100 B on t; so does 1 more");
    list[0] = parse("min_capacity>50B"); /* would be green for ever */
    assert_int_equal(tp_conditions_check_runs(list, 1, runs, 2, &err), TP_EUSAGE);
}
