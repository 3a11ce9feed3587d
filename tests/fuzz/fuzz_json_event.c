/* Fuzz target: one event of a JSON trace. The first byte decides: odd, and it must end on its line.
 * What the short way reads of the rest is what cJSON reads of it. */
#include "tests/fuzz/json_event_twice.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && differs_twice(data + 1, size - 1, data[0] & 1))
        abort();
    return 0;
}
