/* The least memory that objects need when all their lives are known in advance: a placement of
 * every object at one address for its whole life, so that no two that live together overlap.
 *
 *     address |        +--C--+         peak of live bytes <= least possible height <= best found
 *             |  +--B--+-----+--D--+
 *             +--+--A--------+-----+--> time
 *
 * The problem (dynamic storage allocation) is NP-hard. `steps` bounds the work and nothing else
 * does, so a result is the same on every machine. Files: offline_rounds.c is the way from rough to
 * fine, offline_time.c places in the order of time, offline_fit.c in any order, offline_search.c
 * looks for a placement below a height. */
#ifndef TP_OFFLINE_H
#define TP_OFFLINE_H

#include "alloc/base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Steps that a core of today does in a second: a bound on time, as users give it, in steps. */
#define TP_OFFLINE_STEPS_PER_SECOND UINT64_C(1000000000)

#define TP_OFFLINE_OBJECTS ((size_t)1 << 27) /* at most */

/* The object lives in [begin, end). The sizes of all together stay below 2^62. */
struct tp_offline_object {
    uint64_t begin, end;
    uint64_t size;          /* bytes, above 0 */
    uint64_t align;         /* bytes, a power of two up to 2^30 */
    uint64_t offset;        /* the result: its place in the best placement */
    uint32_t first, behind; /* for tp_offline_pack to use: the sections of its life */
};

struct tp_offline {
    uint64_t least; /* bytes: no placement is lower. At least the peak of live bytes */
    uint64_t best;  /* bytes: the height of the best placement found; equal to `least`: optimal */
};

/* What several packings share. */
struct tp_offline_budget {
    uint64_t steps; /* left */
    /* a value other than 0 ends the search with TP_ESTOP; may be NULL */
    const volatile sig_atomic_t *interrupted;
};

/* Places objects as low as the steps of the budget allow, and takes off it those that were needed;
 * with 0 in the order of time alone, which takes n log n steps. TP_EINVAL: an object is out of
 * range. TP_EBROKEN: objects of the result overlap, which would be an error of this module. */
int tp_offline_pack(struct tp_offline_object *objects, size_t count,
                    struct tp_offline_budget *budget, struct tp_offline *out, struct tp_err *err);

#endif
