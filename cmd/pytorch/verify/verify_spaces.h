/* Where the segments that grow begin which were there at the start of a recording. */
#ifndef TP_VERIFY_SPACES_H
#define TP_VERIFY_SPACES_H

#include "alloc/base/id_map.h"
#include "alloc/memory.h"
#include "traces/formats/pytorch/pytorch_snapshot.h"

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

#endif
