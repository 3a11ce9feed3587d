/* The heap of the recorded allocator when the recording began, while its segments and blocks come
 * in. */
#ifndef TP_LOWER_HEAP_H
#define TP_LOWER_HEAP_H

#include "alloc/base/budget.h"
#include "traces/event.h"
#include "traces/lower/lower_ids.h"

struct tp_lower_heap {
    struct tp_heap_segment *segments;
    struct tp_heap_block *blocks; /* one for each object of the prologue */
    size_t segment_count, segment_room, block_count, block_room;
    bool placed;     /* some block has a place */
    bool incomplete; /* some block has none */
    bool given;      /* the prologue is over */
    struct tp_budget *budget;
};

/* Adds a segment of a stream, or the place of an object of `size` bytes. */
int tp_lower_heap_segment(struct tp_lower_heap *h, const struct tp_streams *streams, int64_t stream,
                          const struct tp_heap_segment *segment, struct tp_err *err);
int tp_lower_heap_block(struct tp_lower_heap *h, const struct tp_event *ev, uint64_t size,
                        struct tp_err *err);

/* Gives the heap to the program, once, when the prologue is over. TP_EINPUT: it contradicts itself;
 * with `why`, of TP_ERR_TEXT bytes, that is TP_OK and says so there. */
int tp_lower_heap_give(struct tp_lower_heap *h, struct tp_builder *b, char *why,
                       struct tp_err *err);
void tp_lower_heap_release(struct tp_lower_heap *h);

#endif
