/* The order of whole numbers, and lists of them that ascend, each number once. */
#ifndef TP_ASCENDING_H
#define TP_ASCENDING_H

#include <stddef.h>
#include <stdint.h>

/* What a comparator of qsort returns: below 0, 0 or above 0 as x is less than, equal to or more
 * than y. */
static inline int tp_order(uint64_t x, uint64_t y)
{
    if (x < y)
        return -1;
    return x > y ? 1 : 0;
}

/* For qsort and bsearch: two uint64_t. */
int tp_by_number(const void *a, const void *b);

/* Sorts `count` numbers and keeps each once; returns how many these are. `list` may be NULL where
 * there are none. */
size_t tp_ascending(uint64_t *list, size_t count);

#endif
