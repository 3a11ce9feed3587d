/* See ascending.h. */
#include "alloc/base/ascending.h"

#include <stdlib.h>

int tp_by_number(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return tp_order(*x, *y);
}

size_t tp_ascending(uint64_t *list, size_t count)
{
    size_t kept = 0;
    if (count)
        qsort(list, count, sizeof *list, tp_by_number);
    for (size_t i = 0; i < count; i++)
        if (!kept || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}
