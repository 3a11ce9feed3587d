/* Fuzz target: the PyTorch profiler's Chrome traces. The first byte decides: odd reads strictly,
 * even repairs; its second bit takes all devices instead of the largest. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_kineto;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const struct tp_read_opts opts = {
        .space = data[0] & 2 ? "all" : NULL, .device = -1, .max_memory = UINT64_C(1) << 20};
    fuzz_format_with(&tp_format_kineto, data[0] & 1, &opts, data + 1, size - 1);
    return 0;
}
