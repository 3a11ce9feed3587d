/* What is known of one event of a device: the answer of tapool why. */
#ifndef TP_WHY_ANSWER_H
#define TP_WHY_ANSWER_H

#include "cmd/pytorch/verify/verified.h"
#include "cmd/pytorch/why/why_layout.h"
#include "cmd/pytorch/why/why_moment.h"
#include "cmd/pytorch/why/why_try.h"
#include "cmd/pytorch/why/why_verdict.h"
#include "traces/places/holder_groups.h"

enum { TP_WHY_NAMED = 6 };

/* A block in the way of the failed request. */
struct tp_why_named {
    uint64_t bytes;
    char place[TP_PLACE_TEXT]; /* "": not known */
};

struct tp_why_picture; /* why_picture.h */

struct tp_why {
    uint32_t device;
    const char *silence;         /* why there are no events, where there are none */
    struct tp_verified verified; /* what was compared up to the event */
    struct tp_why_moment moment;
    struct tp_why_sum sum;
    struct tp_why_room room;    /* only where the event is a failed request */
    struct tp_holders *holders; /* owned; NULL: not known */
    char place[TP_PLACE_TEXT];  /* of the event; "": not known */
    /* of room.blocks those that take most, the largest first */
    struct tp_why_named named[TP_WHY_NAMED];
    size_t named_count;
    struct tp_why_recording recording;
    struct tp_why_tries tries;
    bool replayed;                  /* nobody recorded it: the rules made it */
    const char *remarks;            /* borrowed: of the trace that was played; NULL: none */
    struct tp_why_picture *picture; /* owned; NULL: none is wanted */
};

#endif
