/* The course of a figure that is read now and then: the readings themselves, in bounded memory.
 *
 *     readings  . : ' . | . : . ' | ...      stretches of four
 *     points    the lowest and the highest of each, in the order of their events
 *
 * Up to TP_COURSE_POINTS readings are kept as they are. Then they are thinned to about half, and
 * again when there is no room. So no extreme is ever lost, and every point is a reading that took
 * place. Between two readings nothing is known. */
#ifndef TP_COURSE_H
#define TP_COURSE_H

#include <stdbool.h>
#include <stdint.h>

#define TP_COURSE_POINTS 512

/* A reading after `event`, which is numbered as in struct tp_curve_point; 0: before the first
 * event. */
struct tp_course_point {
    uint64_t bytes;
    uint64_t event;
    uint64_t clock; /* ns since the trace began, at the event; 0 in a trace without times */
};

/* Zeroed memory is an empty course. Plain memory without pointers. */
struct tp_course {
    uint32_t count;
    struct tp_course_point points[TP_COURSE_POINTS]; /* valid: the first `count` */
};

/* Adds a reading; events must not fall. Of two readings after one event the higher one stays.
 * Returns whether the course was thinned for that. */
bool tp_course_add(struct tp_course *c, const struct tp_course_point *reading);

#endif
