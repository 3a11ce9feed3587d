/* What lies where on a device at one event: the segments with all their blocks, and their sum. */
#ifndef TP_WHY_LAYOUT_H
#define TP_WHY_LAYOUT_H

#include "alloc/memory.h"
#include "traces/format.h"

struct tp_why_block {
    tp_addr addr;
    uint64_t size;
    uint64_t requested; /* 0: the block is free */
};

/* What was taken from the driver; all sizes in bytes. */
struct tp_why_span {
    tp_addr base;
    uint64_t size;
    uint64_t pool; /* number of the private pool that it serves alone; 0: that of all others */
    uint16_t stream;
    bool small; /* of the pool of small blocks */
};

/* Where one grows: the addresses that it reserves, and the bytes that it grows by. */
struct tp_why_space {
    tp_addr base;
    uint64_t unit; /* 0, as the base: it does not grow */
};

struct tp_why_segment {
    struct tp_why_span at;
    struct tp_why_space space;
    size_t first, count; /* its blocks in the list of all, which follow each other without a gap */
    size_t live;         /* of them */
};

struct tp_why_layout {
    const struct tp_reading *reading; /* its budget pays */
    struct tp_why_segment *segments;
    struct tp_why_block *blocks;
    size_t segment_count, segment_room, count, room;
    bool grows;      /* some segments grow: each stretch that is mapped stands for one */
    uint16_t stream; /* of the moment's event, where that is a failed request */
};

/* Adds a block at the end of the layout, whose segment begins with it where `at` has its address.
 * TP_EINPUT: it needs more memory than reading may take. */
int tp_why_layout_add(struct tp_why_layout *l, const struct tp_why_span *at,
                      const struct tp_why_space *space, const struct tp_why_block *block,
                      struct tp_err *err);
void tp_why_layout_release(struct tp_why_layout *l);

/* requested + rounding + hole_bytes + free_bytes = reserved; all in bytes. */
struct tp_why_sum {
    uint64_t requested, rounding;
    uint64_t hole_bytes, holes;  /* free blocks of segments that serve others too */
    uint64_t free_bytes, unused; /* segments that serve nothing */
    uint64_t free_units; /* of segments that grow, in the unused bytes and not in `unused` */
    uint64_t reserved, segments;
    uint64_t live;    /* blocks */
    uint64_t largest; /* hole */
};

struct tp_why_sum tp_why_sum(const struct tp_why_layout *l);

/* Bytes that live blocks take, with their rounding. */
static inline uint64_t tp_why_taken(const struct tp_why_sum *s)
{
    return s->requested + s->rounding;
}

#endif
