/* Fuzz target: the JSON trace readers. The first byte decides: odd ('S') reads strictly, even ('R')
 * repairs. The rest is read in both forms of JSON. */
#include "tests/fuzz/fuzz_format.h"

extern const struct tp_format tp_format_json, tp_format_jsonl;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    fuzz_format(&tp_format_json, data[0] & 1, data + 1, size - 1);
    fuzz_format(&tp_format_jsonl, data[0] & 1, data + 1, size - 1);
    return 0;
}
