/* Fuzz target: PyTorch snapshots. What is read must be a program whose events can all be asked for
 * their place; bit 0 of the first byte decides whether dirty events are errors, the others choose a
 * device or none. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_pytorch;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const struct tp_read_opts opts = {.device = (int64_t)(data[0] >> 1 & 3) - 1,
                                      .max_memory = UINT64_C(4) << 20};
    fuzz_format_with(&tp_format_pytorch, data[0] & 1, &opts, data + 1, size - 1);
    return 0;
}
