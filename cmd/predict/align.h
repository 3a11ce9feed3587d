/* Pairs the allocations of two recordings of one program: a longest common subsequence of their
 * keys, which say by what code an allocation was made.
 *
 *     first   a b c     d e        second  a b c x y d e
 *     pairs   0 1 2     5 6        what has no partner is TP_UNPAIRED */
#ifndef TP_ALIGN_H
#define TP_ALIGN_H

#include "alloc/base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TP_UNPAIRED SIZE_MAX

/* Sets pairs[i] to the index in `second` that is paired with first[i]; pairs ascend. Takes
 * (first + second) (unpaired + 1) steps, in linear memory. TP_ENOMEM. TP_EUNSUP: the two differ so
 * much that it would take more than 2^26 steps, and `pairs` is not set. */
int tp_align(const uint64_t *first, size_t first_count, const uint64_t *second, size_t second_count,
             size_t *pairs, struct tp_err *err);

#endif
