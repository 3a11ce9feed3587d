/* Who holds the memory at peak demand: live bytes by the code place that asked for them. A block
 * belongs to the call that gave it its size: its allocation, or its last realloc.
 *
 * Where only a share of the allocations has places, the figures are estimated: of the live blocks
 * of a size class (powers of two), those with a place stand for all. What each class holds is
 * known, so that the estimates add up to the peak. */
#ifndef TP_HOLDERS_H
#define TP_HOLDERS_H

#include "traces/trace.h"

enum { TP_HOLDERS_MOST = 20, TP_HOLDER_CALLERS = 4, TP_HOLDER_LARGEST = 3 };

/* A place that called, and what was asked for from there. */
struct tp_holder_caller {
    const char *place;
    double bytes;
};

struct tp_holder {
    const char *place;
    double bytes;
    uint64_t blocks; /* live ones that have this place; not estimated */
    /* From where most of it was asked for: the caller, its caller, and so on, as long as more than
     * half of the bytes come from there. */
    struct tp_holder_caller callers[TP_HOLDER_CALLERS];
    unsigned caller_count;
    struct tp_holder_caller largest[TP_HOLDER_LARGEST]; /* of those that called it themselves */
    unsigned largest_count;
};

struct tp_holders {
    struct tp_place_table *table; /* owned: the texts */
    struct tp_place_sampling sampling;
    uint64_t bytes;  /* live at the peak */
    double unknown;  /* of them without a place, or of a class of which no block has one */
    bool estimated;  /* some of `bytes` is */
    uint32_t places; /* all that hold something */
    unsigned count;  /* of the rows, the largest first */
    struct tp_holder rows[TP_HOLDERS_MOST];
};

/* Finds the holders of a device. *out is NULL where the trace has no places, and where no live
 * block has one. */
int tp_holders_find(const struct tp_trace *t, uint16_t device, int (*stop)(struct tp_err *err),
                    struct tp_holders **out, struct tp_err *err);
void tp_holders_free(struct tp_holders *h); /* NULL is fine */

#endif
