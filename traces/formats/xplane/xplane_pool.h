/* The bytes of all regions of an allocator, from the fragmentation that its events say.
 *
 *     fragmentation f = (free - largest) / free,  free = pool - in use
 *
 * Of two events with one largest chunk, or between which it lost what was allocated, both equations
 * have the same two unknowns, so that each such pair votes for a pool. Pools that are a multiple of
 * 2 MiB, or the limit, count. */
#ifndef TP_XPLANE_POOL_H
#define TP_XPLANE_POOL_H

#include "traces/formats/xplane/xplane_file.h"

#define TP_XPLANE_GRAIN UINT64_C(256) /* bytes that chunks and the pool are multiples of */
/* bytes of the smallest region; regions are a multiple of it, but for the last one */
#define TP_XPLANE_UNIT (UINT64_C(2) << 20)

/* Events of one allocator in order. */
struct tp_xplane_row {
    const struct tp_xplane_event *events;
    size_t count;
    uint64_t limit; /* as rounded down; 0: not recorded */
};

/* A pool that became larger. */
struct tp_xplane_step {
    size_t event; /* index: it was larger before this event was served */
    uint64_t by;  /* bytes */
};

struct tp_xplane_pool {
    uint64_t end;                 /* bytes behind the last event; 0: not known */
    bool whole;                   /* it is the limit */
    struct tp_xplane_step *steps; /* owned; in the order of events */
    size_t step_count, step_room;
};

/* Finds the pool, where it may have grown before the events at `places`, which ascend. To be
 * released in every case. */
int tp_xplane_find_pool(const struct tp_reading *r, const struct tp_xplane_row *row,
                        const size_t *places, size_t place_count, struct tp_xplane_pool *out,
                        struct tp_err *err);
/* Nothing is known of it then. */
void tp_xplane_pool_release(const struct tp_reading *r, struct tp_xplane_pool *p);

/* The pool behind an event. */
uint64_t tp_xplane_pool_at(const struct tp_xplane_pool *p, size_t event);

/* The largest free chunk that an event says with such a pool, and how exactly: it lies within
 * *within bytes of it. False: the event does not say it. */
bool tp_xplane_largest(const struct tp_xplane_event *ev, uint64_t pool, double *largest,
                       double *within);

/* Whether an event says this largest chunk, to the six digits that it has. */
bool tp_xplane_says(const struct tp_xplane_event *ev, uint64_t pool, uint64_t largest);

#endif
