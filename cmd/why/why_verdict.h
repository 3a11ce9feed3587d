/* What is asked about a request that failed, and what is found. */
#ifndef TP_WHY_VERDICT_H
#define TP_WHY_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct tp_why_request {
    uint64_t size; /* bytes asked for */
    uint64_t pool; /* the number of its private pool; 0: that of all others */
    uint16_t stream;
    bool has_free; /* the file says what is free on the device */
    uint64_t free; /* bytes */
};

enum tp_why_verdict {
    TP_WHY_NO_REQUEST,  /* nothing failed at this event */
    TP_WHY_TOO_BIG,     /* live blocks and the request are more than the device has */
    TP_WHY_FRAGMENTED,  /* enough was there, but not contiguous */
    TP_WHY_NO_CAPACITY, /* the file does not say what the device has */
    TP_WHY_REFUSED,     /* the driver had room: another limit, or another process took it */
    TP_WHY_HAD_ROOM,    /* by the rules a free block serves the request */
    TP_WHY_VERDICTS
};

enum tp_why_way { TP_WHY_NO_WAY, TP_WHY_HOLE, TP_WHY_SEGMENTS, TP_WHY_UNITS };

struct tp_why_room {
    enum tp_why_verdict verdict;
    uint64_t need;    /* bytes of the block for the request */
    uint64_t segment; /* bytes that the driver was asked for: a segment, or units of one */
    bool grows;       /* it was units */
    bool untold;      /* what would have made room is not looked for: segments grow, and blocks
                       * from a size on are not split */
    uint64_t there;   /* bytes that serve nothing: on the device, in holes and in unused segments */
    uint64_t capacity; /* bytes that the process could have; 0: not known */
    uint64_t largest;  /* hole of the request's pool and stream; 0: none */
    uint64_t fitting;  /* the largest request of its pool that finds room; 0: none, or untold */
    /* the fewest live blocks side by side without which the request finds room */
    enum tp_why_way way;
    size_t *blocks; /* owned: numbers in the layout, ascending */
    size_t block_count;
    uint64_t segments; /* that they lie in */
    uint64_t bytes;    /* of the blocks */
};

static inline void tp_why_room_release(struct tp_why_room *r)
{
    free(r->blocks);
    r->blocks = NULL;
}

#endif
