/* Why a request found no room, and what would have made some.
 *
 * PyTorch serves a request from one free block of its pool and stream, or from a new segment.
 * Before it fails it gives the segments back that serve nothing, so that there are two ways to
 * room:
 *
 *     | live | free | live | free |     the live blocks between two others, in one segment of the
 *            '---- a hole ---'          request's pool and stream
 *
 *     | live |  | live |                all blocks of segments side by side, of whatever pool:
 *     '------'  '------'                the driver then has their bytes, and those that are free on
 *                                       it
 *
 * Where segments grow, why_growing.h has the ways. */
#ifndef TP_WHY_ROOM_H
#define TP_WHY_ROOM_H

#include "alloc/strategies/torch/torch_rules.h"
#include "cmd/why/why_layout.h"
#include "cmd/why/why_verdict.h"

/* `out` must be released in every case (tp_why_room_release). */
int tp_why_room(const struct tp_why_layout *l, const struct tp_torch_rules *rules,
                const struct tp_why_request *rq, struct tp_why_room *out, struct tp_err *err);

#endif
