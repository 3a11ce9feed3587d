/* Held memory as a sum of its parts, the first of the parts that `why` prints of a GPU and of a
 * host:
 *
 *        26 MiB   31,002 live blocks        13%   requested and not freed
 *     +   3 MiB   rounding                   1%
 *     =  29 MiB   resident, 9,011 pages */
#ifndef TP_MEMORY_SUM_H
#define TP_MEMORY_SUM_H

#include "cmd/ui/text.h"

struct tp_sum_part {
    const char *sign; /* " ", "+", and "=" for the whole */
    uint64_t bytes;
    struct tp_text label, note;
    const char *look; /* its class in HTML, as in the maps; NULL: of the whole */
};

enum { TP_SUM_LABEL = 3 }; /* columns from the end of the bytes to the label */

/* The column where the bytes end. */
int tp_sum_end(const struct tp_page *page);

/* Prints the parts, with their shares of the last one, the whole. `share` is the head of those. */
void tp_sum_print(const struct tp_sum_part *parts, int count, const char *share,
                  struct tp_page *page);

#endif
