/* A capture of BFC, replayed by the rules of the strategy `bfc` and compared event by event. */
#ifndef TP_BFC_REPLAY_H
#define TP_BFC_REPLAY_H

#include "alloc/strategies/bfc/bfc_place.h"
#include "cmd/verify/verified.h"
#include "traces/formats/xplane/xplane_start.h"

struct tp_bfc_replay;

/* Begins with the heap at the start, which is borrowed. `out` is zeroed. *replay: to be stopped in
 * every case, NULL where there is none. TP_EINPUT: the events have no addresses. */
int tp_bfc_begin(const struct tp_xplane *x, uint32_t allocator, const struct tp_xplane_start *start,
                 const struct tp_bfc_rules *rules, struct tp_verified *out,
                 struct tp_bfc_replay **replay, struct tp_err *err);

/* Replays up to and with an event, of which the first is 1. */
int tp_bfc_until(struct tp_bfc_replay *replay, uint64_t event, struct tp_err *err);

/* The instance of `bfc` (alloc/strategies/bfc/bfc_place.h). */
void *tp_bfc_instance(struct tp_bfc_replay *replay);

/* Bytes of all regions behind the events that were replayed; 0: not known. */
uint64_t tp_bfc_pool(const struct tp_bfc_replay *replay);
void tp_bfc_stop(struct tp_bfc_replay *replay); /* NULL is fine */

#endif
