/* Figures of a run on a real device: ranges over the passes, calls of the driver, what is not
 * known; and beside them those of a run that is exact. */
#include "cmd/results/figures.h"
#include "tests/unit/test.h"

#include <stdlib.h>

enum { MIB = 1 << 20 };

static struct tp_run *make_run(uint32_t devices, uint32_t flags)
{
    struct tp_run *run = calloc(1, tp_run_size(devices));
    assert_non_null(run);
    run->device_count = devices;
    run->flags = flags;
    for (uint32_t d = 0; d < devices; d++) {
        run->devices[d].peak_reserved = 10 * MIB;
        run->devices[d].trace_peak_requested = 10 * MIB;
        run->devices[d].gets = 3;
        run->devices[d].puts = 2;
        run->devices[d].measured.peak_reserved = (struct tp_range){9 * MIB, 20 * MIB};
        run->devices[d].measured.driver.calls = 70;
    }
    return run;
}

TEST(test_exact)
{
    struct tp_run *run = make_run(2, 0);
    assert_int_equal(tp_run_reserved(run).low, 20 * MIB);
    assert_int_equal(tp_run_reserved(run).high, 20 * MIB);
    assert_int_equal(tp_run_calls(run), 10);
    assert_true(tp_run_needed(run, tp_run_peak_reserved(run)) == 1);
    free(run);
}

TEST(test_device)
{
    struct tp_run *run = make_run(2, TP_RUN_DEVICE);
    assert_int_equal(tp_run_reserved(run).low, 18 * MIB);
    assert_int_equal(tp_run_reserved(run).high, 40 * MIB);
    assert_int_equal(tp_run_peak_reserved(run), 40 * MIB);
    assert_int_equal(tp_run_calls(run), 140);
    assert_true(tp_run_needed(run, tp_run_peak_reserved(run)) == 2);
    free(run);
}

/* A pool whose marks could not be read: nothing is made up, and nothing is added to it. */
TEST(test_unknown)
{
    struct tp_run *run = make_run(2, TP_RUN_DEVICE | TP_RUN_POOL);
    run->devices[1].measured.peak_reserved = (struct tp_range){TP_NONE, TP_NONE};
    run->devices[1].peak_reserved = TP_NONE;
    assert_int_equal(tp_run_peak_reserved(run), TP_NONE);
    assert_true(isnan(tp_run_needed(run, tp_run_peak_reserved(run))));
    free(run);
}

static const char *text_of(uint64_t low, uint64_t high, bool exact)
{
    static struct tp_text text;
    text = tp_range_text(&(struct tp_range){low, high}, exact);
    return text.s;
}

TEST(test_text)
{
    assert_string_equal(text_of(5 * MIB, 5 * MIB, false), "5 MiB");
    assert_string_equal(text_of(5 * MIB, 5 * MIB + 1, false), "5 MiB"); /* as far as digits go */
    assert_string_equal(text_of(5 * MIB, 5 * MIB + 1, true), "5,242,880 to 5,242,881 B");
    assert_string_equal(text_of(5 * MIB, 6 * MIB, false), "5 to 6 MiB");
    assert_string_equal(text_of(512 << 10, 6 * MIB, false), "512 KiB to 6 MiB");
    assert_string_equal(text_of(0, 6, false), "0 to 6 B");
    assert_string_equal(text_of(TP_NONE, TP_NONE, false), "-");
    assert_string_equal(text_of(UINT64_C(1) << 47, (UINT64_C(1) << 47) + 1, true),
                        "140,737,488,355,328 to 140,737,488,355,329 B");
}
