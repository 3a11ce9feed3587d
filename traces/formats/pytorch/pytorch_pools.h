/* Private pools of requests whose events do not name them: older files say the pool of the segments
 * at the end alone. */
#ifndef TP_PYTORCH_POOLS_H
#define TP_PYTORCH_POOLS_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Whether a block lies in a segment. */
static inline bool tp_pytorch_is_in(const struct tp_pytorch_block *b,
                                    const struct tp_pytorch_block *segment)
{
    return b->device == segment->device && b->address >= segment->address &&
           b->address - segment->address < segment->size;
}

/* Finds out since when the segments at the end are there, where pools are to be taken from them. */
int tp_pytorch_date_segments(struct tp_pytorch *s, struct tp_err *err);

/* The private pool of an event; 0: none. Where the event does not say it, it is that of the segment
 * that has the event's address from then to the end. */
uint64_t tp_pytorch_pool_of(const struct tp_pytorch *s, uint32_t device,
                            const struct tp_pytorch_event *ev);

#endif
