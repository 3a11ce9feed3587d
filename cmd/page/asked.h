/* Who asked for what changed at the points of the curves of a page, and for the blocks in its
 * frames: both have their places from one table, that of their trace.
 *
 *     struct tp_asked a = {0};
 *     tp_json_frames(..., &a.frames);         for each result
 *     tp_asked_curves(&a, ..., err);          for the curves of each device, as they are written
 *     tp_json_asked(..., &a, ...);
 *     tp_asked_drop(&a); */
#ifndef TP_ASKED_H
#define TP_ASKED_H

#include "alloc/base/err.h"
#include "alloc/program/program.h"
#include "cmd/page/places_json.h"
#include "traces/trace.h"

/* Bytes that the events of a page may take beside those of frames: for each point of a curve, and
 * for the names of their places. */
enum { TP_ASKED_POINT = 8, TP_ASKED_NAMES = 40000 };

struct tp_asked {
    struct tp_placed_list frames;
    const struct tp_place_table
        *table;       /* borrowed, of the texts of `frames`; NULL: there are none */
    uint64_t *points; /* events, in any order */
    size_t count, room;
};

int tp_asked_point(struct tp_asked *a, uint64_t event, struct tp_err *err);

/* Adds all points of the curves that are members of `in`: objects with a list `events`, which is
 * the first one and then by how much each is above the one before it. TP_ENOMEM. */
int tp_asked_curves(struct tp_asked *a, const cJSON *in, struct tp_err *err);
void tp_asked_drop(struct tp_asked *a); /* a zeroed one is fine */

/* Adds the table of places to `in`; for a point that frees, that is where what is freed was asked
 * for, if that is known. Of the points as many have a place as fit into what the enum above says,
 * the first ones. What cannot be looked up has none, which is no error. TP_ENOMEM. */
int tp_json_asked(struct tp_json *j, cJSON *in, const struct tp_trace *t, struct tp_asked *a,
                  int (*stop)(struct tp_err *err), struct tp_err *err);

/* What the events that free were about: the events that asked for what they freed. */

/* For each of `count` events, which ascend: the event that gave the block that it frees its size.
 * 0: it frees none, or asks for one too, or frees some that several events asked for, or the block
 * was live before the first event. `born` has room for all. One pass over the program, in eight
 * bytes for each of its slots. TP_ENOMEM, or an error of reading the program. */
int tp_freed_events(struct tp_program *p, const uint64_t *events, size_t count, uint64_t *born,
                    struct tp_err *err);

#endif
