/* Fuzz target: glibc's mtrace. The first byte decides: odd ('S') reads strictly, even ('R')
 * repairs. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_mtrace;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        fuzz_format(&tp_format_mtrace, data[0] & 1, data + 1, size - 1);
    return 0;
}
