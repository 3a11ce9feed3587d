/* Fuzz target of a trace format, compiled for each: FUZZ_FORMAT is its tp_format_NAME. An input is
 * read repaired and strictly, with every choice that the format knows: all memory spaces, one
 * device. A format that needs more has a fuzz_NAME_trace.c of its own. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format FUZZ_FORMAT;

/* Memory is kept small, so that what a length claims is not believed. */
#define MOST (UINT64_C(4) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tp_format *format = &FUZZ_FORMAT;
    const struct tp_read_opts usual = {.device = -1, .max_memory = MOST};
    const struct tp_read_opts all = {.space = "all", .device = -1, .max_memory = MOST};
    const struct tp_read_opts second = {.device = 1, .max_memory = MOST};
    for (int strict = 0; strict < 2; strict++) {
        fuzz_format_with(format, strict, &usual, data, size);
        if (format->has_spaces)
            fuzz_format_with(format, strict, &all, data, size);
        if (format->has_devices)
            fuzz_format_with(format, strict, &second, data, size);
    }
    return 0;
}
