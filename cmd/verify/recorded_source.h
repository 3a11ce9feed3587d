/* A source whose ranges lie where a recording says: those that the recorded allocator got next, and
 * what it mapped next in spaces, whose bases are the first addresses that were mapped there. */
#ifndef TP_RECORDED_SOURCE_H
#define TP_RECORDED_SOURCE_H

#include "alloc/base/grow.h"
#include "alloc/source.h"

/* Addresses from here on are no device's: ranges lie there that are in no file. */
#define TP_INVENTED (UINT64_C(1) << 62)

/* What allocators take from the driver are multiples of this at least. */
#define TP_RECORDED_PAGE 256

struct tp_coming_range {
    tp_addr base;
    uint64_t size;
    int64_t stream;
    bool mapped; /* in a space */
    uint64_t pool;
};

/* Its state. */
struct tp_recorded_source {
    struct tp_coming_range *coming; /* in the order of the file */
    size_t count, room;
    uint64_t given; /* ranges that were in the list */
    /* the last range that was not: it lies where no device has memory */
    struct tp_coming_range invented;
    uint64_t inventions;
    tp_addr next_invented;
    uint64_t given_maps;  /* what was mapped as in the list */
    uint64_t wanted_maps; /* what was not, while `strict`: refused as if the system failed */
    bool strict;
};

extern const struct tp_source_ops tp_source_recorded;

static inline struct tp_recorded_source *tp_recorded_source_of(struct tp_source *src)
{
    return src->state;
}

int tp_recorded_source_add(struct tp_source *src, const struct tp_coming_range *range,
                           struct tp_err *err);

#endif
