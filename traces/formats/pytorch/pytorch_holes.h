/* Finds the largest free piece in the segments of the recorded allocator at peak demand. */
#ifndef TP_PYTORCH_HOLES_H
#define TP_PYTORCH_HOLES_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Bytes live and reserved on a device while its events pass, and the moment of peak demand. At
 * first all members are 0, except `reserved`. */
struct tp_pytorch_moment {
    uint64_t live, blocks; /* bytes requested; bytes with each block rounded up to a block size */
    uint64_t reserved;
    uint64_t passed; /* events of the device that were followed */
    /* the first moment of peak demand */
    uint64_t demand, event; /* bytes requested; the event, 0: before the first one */
    uint64_t at_passed, at_blocks, at_reserved;
};

/* Counts a block that was live before the first event; `size` in bytes. */
void tp_pytorch_moment_begin(struct tp_pytorch_moment *m, uint64_t size);

/* Counts the next event of the device. `event` is its number among the events of all devices. */
void tp_pytorch_moment_follow(struct tp_pytorch_moment *m, const struct tp_pytorch_event *ev,
                              enum tp_pytorch_action freeing, uint64_t event);

/* Rebuilds the layout of segments and blocks at the moment of peak demand, and sets *largest to the
 * largest free piece in bytes. TP_RECORDED_UNKNOWN: the file does not say, contradicts itself, or
 * needs more memory than reading may take. */
int tp_pytorch_largest(const struct tp_pytorch *s, uint32_t device, enum tp_pytorch_action freeing,
                       const struct tp_pytorch_moment *m, uint64_t *largest, struct tp_err *err);

#endif
