/* Quantities: what reads, to what, and what must not read. */
#include "alloc/base/units.h"
#include "tests/unit/test.h"

#include <stddef.h>

struct good {
    const char *text;
    uint64_t value;
};

static const struct good sizes[] = {
    {"0", 0},
    {"1", 1},
    {"1536", 1536},
    {"0017", 17},
    {"12B", 12},
    {"12b", 12},
    {"4K", 4096},
    {"4k", 4096},
    {"4KiB", 4096},
    {"4kib", 4096},
    {"4KB", 4000},
    {"4kB", 4000},
    {"64MiB", UINT64_C(64) << 20},
    {"64M", UINT64_C(64) << 20},
    {"3MB", 3000000},
    {"80G", UINT64_C(80) << 30},
    {"80GiB", UINT64_C(80) << 30},
    {"80GB", UINT64_C(80000000000)},
    {"2T", UINT64_C(2) << 40},
    {"2TiB", UINT64_C(2) << 40},
    {"2TB", UINT64_C(2000000000000)},
    {"64 MiB", UINT64_C(64) << 20},
    {"1.5K", 1536},
    {"0.1GB", 100000000},
    {"0.3KB", 300},
    {".5K", 512},
    {"0.0009765625K", 1},
    {"1.0000000000000000000000000000000", 1},
    {"2.50KiB", 2560},
    {"18446744073709551615", UINT64_MAX},
    {"3.65GiB", UINT64_C(3919157657)},
    {"8.1G", UINT64_C(8697308774)},
    {"0.001K", 1},
    {"16777215.99609375T", UINT64_C(18446744069414584320)},
};

static const char *const bad_sizes[] = {
    "",
    " ",
    "-1",
    "+1",
    "1.5",
    "1.5B",
    "K",
    ".",
    "5.",
    ".K",
    "1..5K",
    "1,5K",
    "0x10",
    "1e3",
    "1 2",
    "1KK",
    "1Ki",
    "1PiB",
    "1K ",
    " 1K",
    "0.0001K",
    "1/2K",
    "nan",
    "infK",
    "1\n",
    "1KBi",
    "--",
    "1.K",
    "18446744073709551616",
    "16777216T",
    "16777216TiB",
    "18446744.073709551616TB",
    "99999999999999999999999999999",
    "0.3333333333333333333333333K",
};

static const struct good durations[] = {
    {"0", 0},
    {"0s", 0},
    {"50us", 50000},
    {"50US", 50000},
    {"1ns", 1},
    {"1.5us", 1500},
    {"1.0007us", 1000},
    {"0.5s", 500000000},
    {"2ms", 2000000},
    {"3s", UINT64_C(3000000000)},
    {"2min", UINT64_C(120000000000)},
    {"1.5h", UINT64_C(5400000000000)},
};

static const char *const bad_durations[] = {"",  "1",    "50", "-1s", "0.5ns",    "1m",
                                            "s", "1sec", "00", "0 ",  "5124096h", "1d"};

TEST(read_sizes)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t value = 77;
        if (!tp_parse_size(sizes[i].text, &value) || value != sizes[i].value)
            fail_msg("'%s' reads as %llu", sizes[i].text, (unsigned long long)value);
    }
    for (size_t i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++) {
        uint64_t value = 77;
        if (tp_parse_size(bad_sizes[i], &value) || value != 77)
            fail_msg("'%s' reads as %llu", bad_sizes[i], (unsigned long long)value);
    }
}

TEST(read_durations)
{
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        uint64_t value = 77;
        if (!tp_parse_duration(durations[i].text, &value) || value != durations[i].value)
            fail_msg("'%s' reads as %llu", durations[i].text, (unsigned long long)value);
    }
    for (size_t i = 0; i < sizeof bad_durations / sizeof *bad_durations; i++) {
        uint64_t value = 77;
        if (tp_parse_duration(bad_durations[i], &value) || value != 77)
            fail_msg("'%s' reads as %llu", bad_durations[i], (unsigned long long)value);
    }
}

TEST(read_integers)
{
    uint64_t value = 77;
    assert_true(tp_parse_uint("0", &value) && value == 0);
    assert_true(tp_parse_uint("18446744073709551615", &value) && value == UINT64_MAX);
    assert_true(tp_parse_uint("007", &value) && value == 7);
    static const char *const bad[] = {"",
                                      "-1",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "0x1",
                                      "1k",
                                      "18446744073709551616",
                                      "28446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        value = 77;
        if (tp_parse_uint(bad[i], &value) || value != 77)
            fail_msg("'%s' reads as %llu", bad[i], (unsigned long long)value);
    }
}
