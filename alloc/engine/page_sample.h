/* Sums over all pages, estimated from those of sampled runs (own_pages.h), with standard errors.
 *
 *     of n runs one is sampled, each with the same probability and for itself
 *     sum        n * sum of the sampled runs                 all parts still add up exactly
 *     error      square root of n * (n - 1) * sum of their squares (Horvitz and Thompson) */
#ifndef TP_PAGE_SAMPLE_H
#define TP_PAGE_SAMPLE_H

#include "alloc/engine/run.h"

/* Begin with a zeroed one. */
struct tp_page_sample {
    uint64_t run;                /* of the last page */
    struct tp_page_parts before; /* the sums before its first page */
    double squares[TP_PAGE_PARTS];
};

/* Call it before the page `number` is added to the sums, and in the order of pages. */
void tp_page_sample_at(struct tp_page_sample *s, uint64_t number, const struct tp_page_parts *sum);

/* Scales the sums by n = 2^shift, and gives their errors; all are 0 without sampling. */
struct tp_page_errors tp_page_sample_end(struct tp_page_sample *s, unsigned shift,
                                         struct tp_page_parts *sum);

#endif
