/* The largest free piece in the segments of the recorded allocator, when the program needed most.
 */
#ifndef TP_PYTORCH_HOLES_H
#define TP_PYTORCH_HOLES_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* What is live and reserved on a device while its events pass, and when most was needed. Zeroed but
 * for `reserved` at first. Bytes. */
struct tp_pytorch_moment {
    uint64_t live, blocks; /* requested; the same rounded up to what a block may measure */
    uint64_t reserved;
    uint64_t passed; /* events of the device so far */
    /* when most was needed, for the first time */
    uint64_t demand, event; /* event 0: before the first */
    uint64_t at_passed, at_blocks, at_reserved;
};

/* A block that was live before the first event. */
void tp_pytorch_moment_begin(struct tp_pytorch_moment *m, uint64_t size);

/* The next event of the device, which has that number among all. */
void tp_pytorch_moment_follow(struct tp_pytorch_moment *m, const struct tp_pytorch_event *ev,
                              enum tp_pytorch_action freeing, uint64_t event);

/* Rebuilds where segments and blocks lay at that moment, and measures. TP_RECORDED_UNKNOWN: the
 * file does not say, what it says does not add up, or it is too much for the memory of reading. */
int tp_pytorch_largest(const struct tp_pytorch *s, uint32_t device, enum tp_pytorch_action freeing,
                       const struct tp_pytorch_moment *m, uint64_t *largest, struct tp_err *err);

#endif
