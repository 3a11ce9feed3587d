/* Fuzz target: raw traces of glibc's malloc-trace-utils. Both ways with dirty input: what repairs
 * make of ids that move is the larger part of the reader. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_malloc_raw;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(&tp_format_malloc_raw, false, data, size);
    fuzz_format(&tp_format_malloc_raw, true, data, size);
    return 0;
}
