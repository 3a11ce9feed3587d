/* How far the strategy `torch` agrees with a snapshot: the figures of `tapool verify`, for reports.
 */
#ifndef TP_FIDELITY_H
#define TP_FIDELITY_H

#include "cmd/verify/verified.h"

/* Adds up all devices with events, or the one with number `device`, if that is not negative.
 * TP_EINPUT: the rules do not know what is in the file. */
int tp_fidelity_of(const char *path, int64_t device, uint64_t max_memory,
                   struct tp_agreement *addresses, struct tp_agreement *segments,
                   struct tp_err *err);

#endif
