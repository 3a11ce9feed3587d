/* Fuzz target: one event of a JSON trace. The first byte decides: odd, and it must end on its line.
 * What is read of the rest is what cJSON reads of it. */
#include "tests/fuzz/json_event_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && event_differs(data + 1, size - 1, data[0] & 1))
        abort();
    return 0;
}
