/* The heap of the recorded allocator when the recording began, with all addresses. */
#ifndef TP_PYTORCH_HEAP_H
#define TP_PYTORCH_HEAP_H

#include "traces/formats/pytorch/pytorch_pools.h"

/* Both lists ascend by device and address. */
struct tp_pytorch_heap {
    struct tp_pytorch_blocks segments;
    struct tp_pytorch_blocks blocks; /* live ones; `behind` is filled in too */
};

/* A segment was there if the first event about it frees it, or if it is there at the end and no
 * event made it; blocks are those of tp_pytorch_initial. A freed segment is taken for one of the
 * small pool if it has the size of those. Of segments that grow each stretch that was mapped is one
 * (pytorch_growing.h). Only devices with `taken` set are looked at. The heap
 * must be released in every case. */
int tp_pytorch_heap_at_start(const struct tp_pytorch *s, const bool *taken,
                             struct tp_pytorch_heap *out, struct tp_err *err);
void tp_pytorch_heap_release(const struct tp_pytorch *s, struct tp_pytorch_heap *heap);

#endif
