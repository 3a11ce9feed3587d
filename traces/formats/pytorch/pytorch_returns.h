/* For whom segments went back to the driver: because the program called empty_cache(), or because
 * cudaMalloc failed and the allocator freed its cache to try once more. */
#ifndef TP_PYTORCH_RETURNS_H
#define TP_PYTORCH_RETURNS_H

#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/formats/pytorch/pytorch_places.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

struct tp_pytorch_returns {
    const struct tp_pytorch *snapshot;
    struct tp_pytorch_places *places;   /* may be NULL */
    const struct tp_pytorch_heap *heap; /* at the start */
    uint64_t collections; /* devices of which garbage was collected: idle segments stayed */
    bool collects;        /* the settings have garbage_collection_threshold */
    bool framed;          /* what frees has stack frames, so that empty_cache() would be in them */
    struct {
        uint64_t highest; /* most bytes of its segments in the whole recording */
        bool giving;      /* the last event gave a segment back */
        bool looked;      /* at the first group that may be garbage */
        uint64_t freed;   /* address of the block that it freed; 0: none */
    } devices[TP_PYTORCH_LISTS];
};

/* `highest`, of the devices in the caller's order, is filled in by the caller. */
int tp_pytorch_returns_begin(struct tp_pytorch_returns *r, const struct tp_pytorch *s,
                             const struct tp_pytorch_heap *heap, struct tp_pytorch_places *places,
                             struct tp_err *err);

/* Looks at the next event of a device, `number` in the snapshot, before which `reserved` bytes
 * were; `now` is a cursor that stands behind it. *asked: the event is the first of a group that
 * empty_cache() gave back. */
int tp_pytorch_returned(struct tp_pytorch_returns *r, uint32_t device, uint32_t number,
                        const struct tp_spill_cursor *now, const struct tp_pytorch_event *ev,
                        uint64_t reserved, bool *asked, struct tp_err *err);

#endif
