/* The heap of the recorded allocator when the recording began, with all addresses. */
#ifndef TP_PYTORCH_HEAP_H
#define TP_PYTORCH_HEAP_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Both lists ascend by device and address. */
struct tp_pytorch_heap {
    struct tp_pytorch_blocks segments;
    struct tp_pytorch_blocks blocks; /* live ones; `behind` is filled in too */
};

/* A segment was there if the first event about it frees it, or if it is there at the end and no
 * event made it; blocks are those of tp_pytorch_initial. A freed segment is taken for one of the
 * small pool if it has the size of those. Of segments that grow each stretch that was mapped is
 * one. Only devices with `taken` set are looked at. The heap must be released in every case. */
int tp_pytorch_heap_at_start(const struct tp_pytorch *s, const bool *taken,
                             struct tp_pytorch_heap *out, struct tp_err *err);
void tp_pytorch_heap_release(const struct tp_pytorch *s, struct tp_pytorch_heap *heap);

/* What was mapped of segments that grow (expandable_segments) when the recording began. */

/* Adds each stretch that was mapped, with `expandable` set; they ascend. */
int tp_pytorch_growing_at_start(const struct tp_pytorch *s, uint32_t device,
                                struct tp_pytorch_blocks *out, struct tp_err *err);

/* What was live when the recording began. */

/* What was live when the recording began, sorted by device and address: blocks that are freed and
 * were not allocated before, and blocks live at the end that were never allocated. Only devices
 * with `taken` set, one for each of TP_PYTORCH_LISTS, are looked at. The caller frees
 * out->items. */
int tp_pytorch_initial(const struct tp_pytorch *s, const bool *taken, struct tp_pytorch_blocks *out,
                       struct tp_err *err);

/* Private pools of requests whose events do not name them: older files say the pool of the segments
 * at the end alone. */

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
