/* What a page draws of one event: the heap, the blocks that are in the way, and what was reserved
 * and live over the whole recording. */
#ifndef TP_WHY_PICTURE_H
#define TP_WHY_PICTURE_H

#include "alloc/heapmap/frames.h"
#include "alloc/numbers/curve.h"
#include "cmd/why/why_held.h"
#include "cmd/why/why_layout.h"
#include "cmd/why/why_moment.h"
#include "cmd/why/why_verdict.h"

enum { TP_WHY_MARKS = 256 }; /* blocks in the way that are drawn */

/* A block in the way; bytes. */
struct tp_why_mark {
    uint64_t at; /* from the begin of the first segment, if all of them lay side by side */
    uint64_t size;
};

struct tp_why_picture {
    /* Owned: one frame of one device. Its ranges are the segments, numbered from 1 in the order of
     * the layout, and its rows name a live block by the number of its place in place of an event.
     */
    struct tp_frames *frames;
    uint64_t
        *born; /* owned: of each live block, the event that allocated it; 0: before the first */
    uint64_t first; /* number of the place of the first of them; those of the others follow */
    size_t live;
    struct tp_why_mark marks[TP_WHY_MARKS];
    size_t mark_count;
    struct tp_curve curve; /* requested is what is live; allocated is the same */
    uint64_t end_clock;    /* of the last event, as that of the curve */
};

/* Draws the heap of a moment. `shares` is how many pictures one page has, at least 1: each is the
 * coarser. `out` is NULL on an error, and else owned by the caller. TP_ENOMEM. */
int tp_why_picture(const struct tp_why_moment *m, const struct tp_why_layout *l,
                   const struct tp_why_held *held, const struct tp_why_room *room, uint32_t shares,
                   struct tp_why_picture **out, struct tp_err *err);
void tp_why_picture_free(struct tp_why_picture *p); /* NULL is fine */

/* What was reserved and live over all events, as the recorded allocator did: so much as `sum` says
 * at the moment, and at other events as much more or less as the events between them say. The
 * clock is ns since the first event, or events where times are not known. Errors are those of
 * reading the events. */
int tp_why_curve(const struct tp_explained *x, uint32_t device, const struct tp_why_moment *m,
                 const struct tp_why_sum *sum, struct tp_why_picture *out, struct tp_err *err);

#endif
