/* Which event of a device is looked at, and the request that failed there. */
#ifndef TP_WHY_MOMENT_H
#define TP_WHY_MOMENT_H

#include "traces/formats/pytorch/pytorch_snapshot.h"

enum tp_why_when {
    TP_WHY_AUTO, /* the last out of memory, else the peak */
    TP_WHY_OOM,
    TP_WHY_PEAK, /* reserved memory is highest; of those events, most is live */
    TP_WHY_END,
    TP_WHY_AT, /* an event that is given */
};
extern const char *const tp_why_when_words[]; /* all but the last */

struct tp_why_moment {
    enum tp_why_when when;        /* which it is; never TP_WHY_AUTO */
    uint64_t event;               /* its number among the device's, from 1; 0: before the first */
    uint64_t events;              /* of the device */
    uint64_t ooms;                /* of them are an out of memory */
    struct tp_pytorch_event what; /* the event; a snapshot of nothing for event 0 */
    bool failed;                  /* it is an out of memory */
    int64_t time_us;              /* of the event, or of the last one before it that has a time */
    int64_t begin_us;
    bool has_time;
};

/* TP_EUSAGE: there is no such event. `at` is used for TP_WHY_AT. */
int tp_why_moment(const struct tp_pytorch *s, uint32_t device, enum tp_why_when when, uint64_t at,
                  struct tp_why_moment *out, struct tp_err *err);

/* Bytes more than before the first event; below 0 they are less. */
struct tp_why_levels {
    int64_t reserved, live;
};

/* Whether an event changes them, and what they are then. `freeing` is the action that ends a block
 * (tp_pytorch_freeing). */
bool tp_why_follow(struct tp_why_levels *l, enum tp_pytorch_action freeing,
                   const struct tp_pytorch_event *ev);

#endif
