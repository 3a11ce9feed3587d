/* A stable sort that takes no memory of its own: where a malloc is measured, qsort may not be
 * called (own.h). Stretches that are in order already are found and merged two by two:
 *
 *     1 4 7 | 2 3 9 | 5 8      items that are sorted take one look each, n others
 *     1 2 3 4 7 9 | 5 8        n log n steps at most
 *     1 2 3 4 5 7 8 9 */
#ifndef TP_MERGE_SORT_H
#define TP_MERGE_SORT_H

#include <stdbool.h>
#include <stddef.h>

typedef bool tp_before_fn(const void *a, const void *b); /* does `a` stand before `b`? */

/* Sorts `count` items of `size` bytes. `spare` has as much room as they, and is borrowed. */
void tp_merge_sort(void *items, void *spare, size_t count, size_t size, tp_before_fn *before);

#endif
