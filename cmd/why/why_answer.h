/* What is known of one event of a device: the answer of tapool why. */
#ifndef TP_WHY_ANSWER_H
#define TP_WHY_ANSWER_H

#include "cmd/verify/verified.h"
#include "cmd/why/why_layout.h"
#include "cmd/why/why_moment.h"
#include "cmd/why/why_verdict.h"
#include "traces/places/site_groups.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What some other settings of the recorded allocator would do to the program. */

enum { TP_WHY_TRIES = 5, TP_WHY_RETRIES_TEXT = 300 };

struct tp_why_try {
    const char *conf; /* "": as recorded */
    uint64_t peak_reserved, failed;
    bool recorded;  /* the recorded setting: the first row, and from a compacted start the second */
    bool compacted; /* it began compacted, although the initial heap is recorded */
};

struct tp_why_tries {
    struct tp_why_try rows[TP_WHY_TRIES];
    size_t count;      /* 0: not tried, or it could not be replayed */
    uint64_t capacity; /* bytes that the allocator had in them; 0: no limit */
    bool given;        /* other settings stand for the recorded ones */
};

/* What the recording tells of the device. */
struct tp_why_recording {
    uint64_t retries, first_retry; /* times that cudaMalloc failed; event of the first one */
    uint64_t capacity;             /* bytes that the allocator could have at least; 0: not known */
    uint64_t limit; /* of a limit of the process, bytes that it has at most; 0: there is none */
    bool ran_out;   /* requests failed for good */
    uint64_t peak;  /* most bytes that it reserved; 0: not known */
    char
        retries_text[TP_WHY_RETRIES_TEXT]; /* "cudaMalloc failed 39 times, ..."; "": it never did */
};

enum { TP_WHY_NAMED = 6 };

/* A block in the way of the failed request. */
struct tp_why_named {
    uint64_t bytes;
    char place[TP_PLACE_TEXT]; /* "": not known */
};

struct tp_why_picture; /* why_picture.h */

struct tp_explainer;

struct tp_why {
    const struct tp_explainer *by; /* whose words it is told in */
    uint32_t device;
    const char *name;            /* of the device; borrowed from the file; NULL: its number */
    const char *silence;         /* why there are no events, where there are none */
    struct tp_verified verified; /* what was compared up to the event */
    struct tp_why_moment moment;
    struct tp_why_sum sum;
    bool judged;             /* the event is a failed request, and its explainer judges such */
    struct tp_why_room room; /* only then */
    struct tp_sites *sites;  /* owned; NULL: not known */
    /* Owned: live memory by site over time, and the sites that it names; NULL: not known, or no
     * picture is wanted. */
    struct tp_site_curve *site_curve;
    struct tp_sites *curve_sites;
    bool curve_timed;          /* the times of its points are known */
    char place[TP_PLACE_TEXT]; /* of the event; "": not known */
    /* of room.blocks those that take most, the largest first */
    struct tp_why_named named[TP_WHY_NAMED];
    size_t named_count;
    struct tp_why_recording recording;
    struct tp_why_tries tries;
    struct tp_verified whole;       /* what was compared to the end, where settings may be tried */
    bool replayed;                  /* nobody recorded it: the rules made it */
    const char *remarks;            /* borrowed: of the trace that was replayed; NULL: none */
    struct tp_why_picture *picture; /* owned; NULL: none is wanted */
};

#endif
