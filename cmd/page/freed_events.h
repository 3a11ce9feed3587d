/* What the events that free were about: the events that asked for what they freed. */
#ifndef TP_FREED_EVENTS_H
#define TP_FREED_EVENTS_H

#include "alloc/base/err.h"
#include "alloc/program/program.h"

/* For each of `count` events, which ascend: the event that gave the block that it frees its size.
 * 0: it frees none, or asks for one too, or frees some that several events asked for, or the block
 * was live before the first event. `born` has room for all. One pass over the program, in eight
 * bytes for each of its slots. TP_ENOMEM, or an error of reading the program. */
int tp_freed_events(struct tp_program *p, const uint64_t *events, size_t count, uint64_t *born,
                    struct tp_err *err);

#endif
