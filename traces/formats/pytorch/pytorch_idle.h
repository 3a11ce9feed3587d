/* Whether segments that serve nothing stay when others go back: garbage collection leaves some, and
 * a failed cudaMalloc none. */
#ifndef TP_PYTORCH_IDLE_H
#define TP_PYTORCH_IDLE_H

#include "traces/formats/pytorch/pytorch_heap.h"

/* Looks at the segments of a device that do not grow and are of no private pool, after the events
 * of the list up to, but not including, `until`. `heap` is that of the start. Takes time for a sort
 * of these events. */
int tp_pytorch_leaves_idle(const struct tp_pytorch *s, uint32_t device,
                           const struct tp_pytorch_heap *heap, uint64_t until, bool *idle,
                           struct tp_err *err);

#endif
