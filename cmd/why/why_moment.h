/* Which event of a device is looked at, and the request that failed there. */
#ifndef TP_WHY_MOMENT_H
#define TP_WHY_MOMENT_H

#include "alloc/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct tp_explained;

/* What an event does to the memory of its device. */
enum tp_why_action {
    TP_WHY_OTHER, /* nothing */
    TP_WHY_ALLOCS,
    TP_WHY_FREES,
    TP_WHY_TAKES,   /* memory from the driver */
    TP_WHY_RETURNS, /* memory to it */
    TP_WHY_FAILS    /* a request fails for good */
};

/* An event of a recording. */
struct tp_why_event {
    enum tp_why_action action;
    uint64_t size;  /* bytes */
    uint64_t taken; /* bytes that the allocator took from the driver for an alloc */
    int64_t time;   /* in the unit of the recording (ns_between); the times need not ascend */
    uint64_t from;  /* where it came from, as its explainer knows it */
    /* of a failed request */
    int64_t stream;
    uint64_t pool;        /* number of its private pool; 0: that of all others */
    uint64_t device_free; /* bytes that were free on the device */
    bool has_time, has_free;
};

enum tp_why_when {
    TP_WHY_AUTO, /* the last out of memory, else the peak */
    TP_WHY_OOM,
    TP_WHY_PEAK, /* reserved memory is highest; of those events, most is live */
    TP_WHY_END,
    TP_WHY_AT, /* an event that is given */
};
extern const char *const tp_why_when_words[]; /* all but the last */

struct tp_why_moment {
    enum tp_why_when when;    /* which it is; never TP_WHY_AUTO */
    uint64_t event;           /* its number among the device's, from 1; 0: before the first */
    uint64_t events;          /* of the device */
    uint64_t ooms;            /* of them are an out of memory */
    struct tp_why_event what; /* the event; zeros for event 0 */
    bool failed;              /* it is an out of memory */
    int64_t time;             /* of the event, or of the last one before it that has a time */
    int64_t begin;            /* of the first event that has one */
    uint64_t since_ns;        /* from there to `time` */
    bool has_time;
};

/* TP_EUSAGE: there is no such event. `at` is used for TP_WHY_AT. */
int tp_why_moment(const struct tp_explained *x, uint32_t device, enum tp_why_when when, uint64_t at,
                  struct tp_why_moment *out, struct tp_err *err);

/* Bytes more than before the first event; below 0 they are less. */
struct tp_why_levels {
    int64_t reserved, live;
};

/* Whether an event changes them, and what they are then. */
bool tp_why_follow(struct tp_why_levels *l, const struct tp_why_event *ev);

#endif
