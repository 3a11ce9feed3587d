/* Which request of a plan the next request of the program is. Rules, with `next` the request of the
 * plan that is expected:
 *
 *  - a request fits one of the plan that has its size, alignment and stream;
 *  - it is `next` if it fits; behind a request that deviated also the one behind `next`, which is
 *    tried first: there was one request of another size, or one more;
 *  - else it is the nearest one within TP_PLANNED_REACH if the request before it fits there too, on
 *    either side: requests were left out, or more came;
 *  - else it deviates, and `next` stays.
 *
 * After fewer than TP_PLANNED_TRUSTED requests in a row the place is not trusted, and a new one is
 * taken only if two requests before it fit. A mark puts `next` back to the first request of a step;
 * without a mark the first request follows the last, and before so many have followed in a row a
 * step is told by its first three requests alone: weights come in the order in which an optimizer
 * has them in the middle of a step. */
#ifndef TP_PLANNED_MATCH_H
#define TP_PLANNED_MATCH_H

#include "alloc/strategies/planned/planned_plan.h"

enum { TP_PLANNED_REACH = 64, TP_PLANNED_TRUSTED = 3, TP_PLANNED_BEFORE = 2 };

struct planned_match {
    const struct planned_plan *plan;
    uint32_t next;    /* the plan's count: behind the last */
    uint32_t row;     /* requests in a row that followed */
    bool on;          /* in a step */
    bool deviated;    /* the last request */
    bool trusted;     /* the place before it did */
    bool known_place; /* so many have followed in a row once, or a mark was there */
    uint32_t known;   /* how many of `before` there are, the latest first */
    struct tp_req before[TP_PLANNED_BEFORE];
};

/* Begins with a program, outside of a step where marks begin them. */
void tp_planned_begin(struct planned_match *m, const struct planned_plan *plan);

/* A step begins. */
void tp_planned_step(struct planned_match *m);

/* The request of the plan that this one is; NULL: it deviates, or is in no step (m->on). */
const struct planned_row *tp_planned_next(struct planned_match *m, const struct tp_req *rq);

#endif
