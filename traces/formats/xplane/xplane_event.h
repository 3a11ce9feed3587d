/* A memory event of the profiler as its values: the statistics of a capture's event, or the members
 * of a memory profile's snapshot. */
#ifndef TP_XPLANE_EVENT_H
#define TP_XPLANE_EVENT_H

#include "traces/formats/xplane/xplane_file.h"

/* The statistics of a memory event that are read. */
enum tp_xplane_stat {
    TP_XPLANE_ALLOCATOR,
    TP_XPLANE_ADDRESS,
    TP_XPLANE_REQUESTED,
    TP_XPLANE_CHUNK,
    TP_XPLANE_IN_USE,
    TP_XPLANE_AVAILABLE,
    TP_XPLANE_RESERVED,
    TP_XPLANE_FRAGMENTATION,
    TP_XPLANE_OPERATION,
    TP_XPLANE_STEP,
    TP_XPLANE_REGION,
    TP_XPLANE_DATA_TYPE,
    TP_XPLANE_SHAPE,
    TP_XPLANE_ORDINAL,
    TP_XPLANE_HOST_INDEX,
    TP_XPLANE_STATS
};

struct tp_xplane_text {
    const char *at;
    size_t size;
};

/* One statistic's value: a number, or a text. */
struct tp_xplane_value {
    enum { TP_XPLANE_ABSENT, TP_XPLANE_WHOLE, TP_XPLANE_REAL, TP_XPLANE_TEXT } kind;
    uint64_t whole;
    double real;
    struct tp_xplane_text text;
};

/* Adds an event with what its values say: allocator, address, sizes, step, and its place in the
 * program: `thread`, which may be empty, where no operation is named. One without a size, or with a
 * value of another type than it has, is counted as unreadable. */
int tp_xplane_add(struct tp_xplane *x, struct tp_xplane_event ev,
                  const struct tp_xplane_value values[TP_XPLANE_STATS],
                  struct tp_xplane_text thread, struct tp_err *err);

#endif
