/* Fuzz target: buffers with lifetimes (minimalloc CSV), repaired as imported captures are. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_minimalloc;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_format(&tp_format_minimalloc, false, data, size);
    return 0;
}
