/* The events of a program side by side in columns, for pictures of memory over time, and curves
 * thinned to such columns.
 *
 *     events    1 2 3 4 5 6 7 8 9 10        of equal times, where the trace has times,
 *     columns   [ 0 |   1   |2|    3  ]     otherwise of equal numbers of events
 *
 * What lies before the first event belongs to the first column. No extreme of a curve is lost: a
 * column keeps the lowest and the highest value of its points. */
#ifndef TP_COLUMNS_H
#define TP_COLUMNS_H

#include "alloc/numbers/curve.h"
#include "alloc/program/program.h"

enum { TP_COLUMNS_MAX = 1024 };

struct tp_columns {
    uint32_t count;  /* 1..TP_COLUMNS_MAX */
    uint64_t events; /* of the program */
    /* The time that all columns span together, each as much of it; 0: times are not known, and
     * columns have equal numbers of events. */
    uint64_t time_ns;
    /* The first event of each column, never falling: a column without events begins with that of
     * the next one. first[count] is above every event. */
    uint64_t first[TP_COLUMNS_MAX + 1];
};

/* Spreads the events of a program over `count` columns, in one pass over it if it has times. Errors
 * are those of reading the program. */
int tp_columns_spread(struct tp_program *p, uint32_t count, struct tp_columns *out,
                      struct tp_err *err);

/* Spreads so many events over `count` columns evenly. */
void tp_columns_evenly(uint64_t events, uint32_t count, struct tp_columns *out);

/* The column of an event; one above every event is in the last column. */
uint32_t tp_columns_find(const struct tp_columns *c, uint64_t event);

/* The lowest and the highest value in a column, the value at its begin included, and the value at
 * its end. */
struct tp_stretch {
    uint64_t low, high, last;
};

static inline void tp_stretch_add(struct tp_stretch *s, uint64_t bytes)
{
    s->low = bytes < s->low ? bytes : s->low;
    s->high = bytes > s->high ? bytes : s->high;
    s->last = bytes;
}

/* Thins `from` columns to `to` of them, at most as many. Where `from` is no multiple of `to`, a
 * column of `to` gets those that begin in it. */
void tp_stretch_thin(const struct tp_stretch *in, uint32_t from, struct tp_stretch *out,
                     uint32_t to);

/* Thins one of the values of a curve (TP_CURVE_...) to `out`, c->count elements. Before its first
 * point a curve is 0. */
void tp_columns_thin(const struct tp_columns *c, const struct tp_curve *curve, int value,
                     struct tp_stretch *out);

/* The first column with the highest value of all. */
uint32_t tp_columns_peak(const struct tp_stretch *s, uint32_t count);

/* value * to / of, rounded down: where `value`, at most `of`, lies on a scale of `to` steps. `to`
 * is at most 2^20. Values beyond 2^43 lose their last bits; the result is exact at both ends, and
 * the same on every machine. */
uint64_t tp_scaled(uint64_t value, uint64_t of, uint64_t to);

#endif
