/* Lists of whole numbers that ascend, each number once. */
#ifndef TP_ASCENDING_H
#define TP_ASCENDING_H

#include <stddef.h>
#include <stdint.h>

/* For qsort and bsearch: two uint64_t. */
int tp_by_number(const void *a, const void *b);

/* Sorts `count` numbers and keeps each once; returns how many these are. `list` may be NULL where
 * there are none. */
size_t tp_ascending(uint64_t *list, size_t count);

#endif
