/* What was mapped of segments that grow (expandable_segments) when the recording began. */
#ifndef TP_PYTORCH_GROWING_H
#define TP_PYTORCH_GROWING_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Adds each stretch that was mapped, with `expandable` set; they ascend. */
int tp_pytorch_growing_at_start(const struct tp_pytorch *s, uint32_t device,
                                struct tp_pytorch_blocks *out, struct tp_err *err);

#endif
