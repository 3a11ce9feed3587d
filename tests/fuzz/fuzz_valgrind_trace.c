/* Fuzz target: valgrind's --trace-malloc=yes. The first byte decides: odd ('S') reads strictly,
 * even
 * ('R') repairs; with the next bit ('P') all processes are read. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_valgrind;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct tp_read_opts opts = {
        .space = data[0] & 2 ? NULL : "all", .device = -1, .max_memory = UINT64_C(64) << 20};
    fuzz_format_with(&tp_format_valgrind, data[0] & 1, &opts, data + 1, size - 1);
    return 0;
}
