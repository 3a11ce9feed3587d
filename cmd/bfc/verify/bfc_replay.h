/* A capture of BFC, replayed by the rules of the strategy `bfc` and compared event by event. */
#ifndef TP_BFC_REPLAY_H
#define TP_BFC_REPLAY_H

#include "alloc/strategies/bfc/bfc_place.h"
#include "cmd/verify/certifier.h"
#include "cmd/verify/verified.h"
#include "traces/formats/xplane/xplane_start.h"

/* The heap that an allocator began with, inferred when it is first asked for. */
struct tp_bfc_begun {
    bool known;
    struct tp_xplane_start start;
};

/* The state of the certifier: a capture, and the rules that it is compared with. */
struct tp_bfc_file {
    struct tp_xplane x;
    struct tp_bfc_begun *begun; /* by allocator */
    struct tp_bfc_rules rules;
    struct tp_texts steps; /* names of steps; filled by who asks for them */
};

struct tp_bfc_replay;

/* What an allocator began with, which lives as long as the file. *out is NULL if it fails. */
int tp_bfc_start_of(const struct tp_bfc_file *f, uint32_t allocator,
                    const struct tp_xplane_start **out, struct tp_err *err);

/* Begins with what an allocator began with. `out` is zeroed. *replay must always be stopped. */
int tp_bfc_begin(const struct tp_bfc_file *f, uint32_t allocator, struct tp_verified *out,
                 struct tp_bfc_replay **replay, struct tp_err *err);

/* Replays up to and with an event, of which the first is 1. */
int tp_bfc_until(struct tp_bfc_replay *replay, uint64_t event, struct tp_err *err);

/* The instance of `bfc` (alloc/strategies/bfc/bfc_place.h). */
void *tp_bfc_instance(struct tp_bfc_replay *replay);

/* Bytes of all regions behind the events that were replayed; 0: not known. */
uint64_t tp_bfc_pool(const struct tp_bfc_replay *replay);
void tp_bfc_stop(struct tp_bfc_replay *replay); /* NULL is fine */

#endif
