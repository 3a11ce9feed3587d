/* Fuzz target: Umpire's replay logs. Each input is read twice: repaired, the largest allocator
 * alone; and strictly, all of them. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_umpire;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct tp_read_opts one = {.device = -1, .max_memory = UINT64_C(1) << 20};
    const struct tp_read_opts all = {.space = "all", .device = -1, .max_memory = UINT64_C(1) << 20};
    fuzz_format_with(&tp_format_umpire, false, &one, data, size);
    fuzz_format_with(&tp_format_umpire, true, &all, data, size);
    return 0;
}
