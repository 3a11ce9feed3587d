/* See merge_sort.h. */
#include "alloc/base/merge_sort.h"

#include <string.h>

struct merge_sort {
    size_t count, size;
    tp_before_fn *before;
};

/* The end of the stretch in order that begins at `i`. */
static size_t stretch_end(const struct merge_sort *m, const char *items, size_t i)
{
    if (i == m->count)
        return i;
    for (i++; i < m->count; i++)
        if (m->before(items + i * m->size, items + (i - 1) * m->size))
            break;
    return i;
}

/* Merges first..middle and middle..end of one array into the other. */
static void merge(const struct merge_sort *m, const char *from, const size_t bounds[3], char *to)
{
    size_t low = bounds[0], high = bounds[1];
    for (size_t i = bounds[0]; i < bounds[2]; i++) {
        bool takes_low = high == bounds[2] || (low < bounds[1] && !m->before(from + high * m->size,
                                                                             from + low * m->size));
        memcpy(to + i * m->size, from + (takes_low ? low++ : high++) * m->size, m->size);
    }
}

void tp_merge_sort(void *items, void *spare, size_t count, size_t size, tp_before_fn *before)
{
    const struct merge_sort m = {count, size, before};
    char *from = items, *to = spare;
    while (stretch_end(&m, from, 0) < count) {
        for (size_t bounds[3] = {0}; bounds[0] < count; bounds[0] = bounds[2]) {
            bounds[1] = stretch_end(&m, from, bounds[0]);
            bounds[2] = stretch_end(&m, from, bounds[1]);
            merge(&m, from, bounds, to);
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != items)
        memcpy(items, from, count * size);
}
