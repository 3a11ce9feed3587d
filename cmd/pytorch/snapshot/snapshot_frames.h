/* The call stacks of a snapshot, as PyTorch writes them: a list of frames, the innermost first.
 *
 *     [{"filename": "model.py", "line": 31, "name": "forward"}, {"filename": "train.py", ...}]
 *
 * A frame and a list are written once and then referred to, so that a file grows with the number of
 * its stacks, not with that of its events. */
#ifndef TP_SNAPSHOT_FRAMES_H
#define TP_SNAPSHOT_FRAMES_H

#include "cmd/pytorch/snapshot/pickler.h"
#include "traces/places/place_table.h"

struct tp_snapshot_frames {
    struct tp_place_table *table; /* owned: the places of all events; NULL: none is known */
    /* Numbers in the file + 1 of what was written; 0: not yet. Owned. */
    uint32_t *frames;              /* by text of the table */
    uint32_t *alone;               /* by text: the list of that frame alone */
    uint32_t *stacks;              /* by stack of the table */
    uint32_t empty;                /* the list without frames */
    unsigned filename, line, name; /* the words of the pickler that are the keys */
};

/* Collects the places of the events 1 to `events` with their callers; `stop` as for
 * tp_place_table_gather_stacks. The keys are the caller's to set. */
int tp_snapshot_frames_open(struct tp_snapshot_frames *f, const struct tp_places *places,
                            uint64_t events, int (*stop)(struct tp_err *err), struct tp_err *err);
void tp_snapshot_frames_close(struct tp_snapshot_frames *f); /* a zeroed one is fine */

/* Writes the list for an item of the table; the empty one for NULL, or where no place is known. */
void tp_snapshot_frames_put(struct tp_snapshot_frames *f, struct tp_pickler *w,
                            const struct tp_place_item *item);

#endif
