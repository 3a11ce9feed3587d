/* The steps of a program: stretches in which it requests nearly the same, one after the other.
 *
 *     marks     step 1 ......... step 2 ......... step 3 .........     from mark to mark
 *     no marks  w w w a b c d e a b c d e a b c d e a b                the longest stretch of
 * requests
 *                     |<-P->|                                         that comes twice, at distance
 * P
 *
 * A mark begins steps if its name, numbers aside, comes twice, and it is the first such. Without
 * one, two requests are the same if size, alignment and stream are. The distance of the two places
 * at which the longest such stretch begins (they may overlap) is the period. It counts if the
 * stretch has half a period at least, and both together half of all requests. A step then begins
 * within the first period where the fewest bytes are live: what lives on from one step to the next
 * cannot be planned. */
#ifndef TP_STEP_FINDER_H
#define TP_STEP_FINDER_H

#include "alloc/program/lives.h"

struct tp_step {
    uint64_t begin, end; /* instructions of the program: what lives beyond `end` is kept */
    uint64_t first_event, last_event;
    size_t first, behind; /* requests */
};

struct tp_program_steps {
    /* in their order; none of the initial heap or of a private pool */
    struct tp_life *requests;
    size_t count, room;
    struct tp_step *steps;
    size_t step_count, steps_room;
    struct tp_step last; /* the end of the program, as that of a step */
    const char *mark;    /* of the first step; NULL: they have a period. Borrowed of the program */
};

enum { TP_STEP_REQUESTS = 1 << 22 }; /* at most */

enum tp_steps_by { TP_STEPS_AUTO, TP_STEPS_BY_MARK, TP_STEPS_BY_PERIOD };

/* Finds the steps of a device. `mark`: the one that begins them; NULL: as above, or by one way.
 * TP_EINPUT: there are none. To be released in every case. */
int tp_program_steps_find(struct tp_program *p, uint16_t device, enum tp_steps_by by,
                          const char *mark, struct tp_program_steps *out, struct tp_err *err);
/* The step behind one of them, or NULL. */
static inline const struct tp_step *tp_step_behind(const struct tp_program_steps *s,
                                                   const struct tp_step *step)
{
    return step + 1 < s->steps + s->step_count ? step + 1 : NULL;
}

void tp_program_steps_release(struct tp_program_steps *s);

#endif
