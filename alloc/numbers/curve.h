/* A curve of three byte values over the events of a program, in bounded memory.
 *
 *     samples   . . : . ' . . | . . . : . ' . | ...      groups of `per` consecutive samples
 *     points    min and max of each value in each group, and what held longest, in the order of
 *               their events
 *
 * Up to TP_CURVE_POINTS samples are kept as they are. Beyond that, samples are grouped, and groups
 * double in length as needed; a group keeps only the samples in which a value is lowest or highest,
 * and the one that held longest, seven at most. So no extreme is ever lost, a pause within a group
 * has its height, and every point is a sample that took place. */
#ifndef TP_CURVE_H
#define TP_CURVE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TP_CURVE_POINTS 4096

enum { TP_CURVE_REQUESTED, TP_CURVE_ALLOCATED, TP_CURVE_RESERVED, TP_CURVE_VALUES };
enum { TP_CURVE_GETS, TP_CURVE_PUTS, TP_CURVE_CALLS };

/* The values from `event` until the next point; event 0 is before the first event. The clock is the
 * caller's: in a replay of a trace with times, ns since the trace began. */
struct tp_curve_point {
    uint64_t event;
    uint64_t bytes[TP_CURVE_VALUES];
    uint64_t calls[TP_CURVE_CALLS]; /* of the source since the first event, up to this one */
    uint64_t clock;                 /* at the event */
    uint64_t held; /* how long, by the clock; of the last point 0. tp_curve_add sets it */
};

/* TP_CURVE_KEPT: points kept per group. TP_CURVE_GROUP: points merged into one group when the curve
 * is full. */
enum { TP_CURVE_KEPT = 2 * TP_CURVE_VALUES + 1, TP_CURVE_GROUP = 2 * TP_CURVE_KEPT };

/* The samples of a stretch in which a value is lowest or highest, and the one that held longest. */
struct tp_curve_group {
    uint64_t samples;
    /* for each value in turn: lowest, highest; then the longest */
    struct tp_curve_point extreme[TP_CURVE_KEPT];
};

/* Zeroed memory is an empty curve. */
struct tp_curve {
    uint32_t count; /* points so far, without those of the open group */
    uint64_t per;   /* samples per group; 0: every sample is a point */
    struct tp_curve_group open;
    struct tp_curve_point last; /* the last sample, in no group before the next one comes */
    bool begun;                 /* there is a last sample */
    struct tp_curve_point points[TP_CURVE_POINTS];
};

/* Would tp_curve_add leave this sample out? */
static inline bool tp_curve_is_last(const struct tp_curve *c, const uint64_t bytes[TP_CURVE_VALUES])
{
    return c->begun && !memcmp(c->last.bytes, bytes, sizeof c->last.bytes);
}

/* Events must not fall, nor must the clock. A sample that changes no bytes is left out. */
void tp_curve_add(struct tp_curve *c, const struct tp_curve_point *sample);

/* Closes the open group; then `points` and `count` are the curve. */
void tp_curve_finish(struct tp_curve *c);

#endif
