/* Why the memory of a device was full: what lay where at one event of a PyTorch snapshot, who held
 * it, and what would have made room for the request that failed.
 *
 *     snapshot --> the event (why_moment.h)
 *              --> played up to it by the rules (cmd/pytorch/verify/verify.h) --> layout and sum
 *                                                                         (why_layout.h)
 *              --> its blocks by who asked for them (why_held.h, traces/places/holders.h)
 *              --> the verdict, the smallest set of blocks in the way (why_room.h) */
#ifndef TP_WHY_H
#define TP_WHY_H

#include "cmd/pytorch/why/why_answer.h"
#include "cmd/pytorch/why/why_held.h"

struct tp_why_cfg {
    const struct tp_torch_rules *rules;
    enum tp_why_when when;
    uint64_t at; /* event, for TP_WHY_AT */
    struct tp_holders_cfg holders;
    uint32_t pictures; /* that one page has; 0: none is wanted */
    uint64_t limit;    /* bytes that a limit of the process allows at most; 0: there is none */
    int (*stop)(struct tp_err *err);
    bool replayed;       /* nobody recorded the snapshot (why_replayed.h) */
    const char *remarks; /* of what it was made from; borrowed by the answer; NULL: none */
};

/* `out` must be released in every case. TP_EUSAGE: there is no such event. TP_EINPUT: the rules do
 * not cover the file. */
int tp_why(struct tp_pytorch *s, uint32_t device, const struct tp_why_cfg *cfg,
           struct tp_why_places *places, struct tp_why *out, struct tp_err *err);
void tp_why_release(struct tp_why *w);

#endif
