/* The beginning and the end of a comparison: the recorded heap is placed on an instance, and the
 * instance's heap compared with the recorded one. */
#ifndef TP_VERIFY_HEAP_H
#define TP_VERIFY_HEAP_H

#include "alloc/base/id_map.h"
#include "alloc/strategies/torch/torch_place.h"
#include "cmd/verify/verified.h"
#include "traces/formats/pytorch/pytorch_heap.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

/* Where the segments that grow begin which were there at the start of a recording. */

struct tp_verify_space {
    tp_addr base;    /* the lowest address in the file */
    uint64_t mapped; /* bytes at the event that is looked at */
};

/* One for each stream, private pool, and pool of small or large blocks. */
struct tp_verify_spaces {
    struct tp_id_map of; /* of stream and pool */
    struct tp_verify_space *items;
    size_t count, room;
};

/* `segments`: those of the device at the start. `small`: bytes of a page of the small pool. Must be
 * released in every case. */
int tp_verify_find_spaces(const struct tp_pytorch *s, uint32_t device, uint64_t small,
                          const struct tp_pytorch_blocks *segments, struct tp_verify_spaces *out,
                          struct tp_err *err);
void tp_verify_spaces_release(const struct tp_pytorch *s, struct tp_verify_spaces *spaces);

/* Where the segment of a stretch begins. */
tp_addr tp_verify_base_of(const struct tp_verify_spaces *spaces,
                          const struct tp_pytorch_block *stretch);

/* The number of a stream on the instance, from 0 in the order of appearance. */
int tp_verify_stream(struct tp_id_map *streams, int64_t stream, uint16_t *out, struct tp_err *err);

/* What is placed or compared, with the place of the result. */
struct tp_verify_heap {
    const struct tp_pytorch *snapshot;
    const struct tp_torch_rules *rules; /* of the file */
    void *st;                           /* the instance */
    struct tp_id_map *streams;
    struct tp_verified *out;
};

/* What was there when the recording began, and what the events show of it. It can be placed on
 * several instances. */
struct tp_verify_start {
    struct tp_pytorch_heap heap;
    struct tp_verify_spaces spaces;
    bool takes;   /* memory was taken later on */
    bool expands; /* ... and the first of it in a segment that grows */
};

/* `small`: bytes of a page of the small pool. To be closed in every case. */
int tp_verify_start_open(const struct tp_pytorch *s, uint32_t device, uint64_t small,
                         struct tp_verify_start *out, struct tp_err *err);
void tp_verify_start_close(const struct tp_pytorch *s, struct tp_verify_start *start);

int tp_verify_place(const struct tp_verify_heap *h, const struct tp_verify_start *start,
                    struct tp_err *err);
int tp_verify_end(const struct tp_verify_heap *h, struct tp_err *err);

/* Keeps a difference if it is the first one. */
void tp_verify_differs(struct tp_verified *v, const struct tp_verify_difference *d);

#endif
