/* The live blocks of a layout with what is known of them: who asked for them, when, in which
 * phase. */
#ifndef TP_WHY_HELD_H
#define TP_WHY_HELD_H

#include "cmd/pytorch/why/why_layout.h"
#include "cmd/pytorch/why/why_moment.h"
#include "traces/formats/pytorch/pytorch_places.h"
#include "traces/places/site_groups.h"

/* The places of blocks, which are numbered from 1 as they are added. */
struct tp_why_places {
    struct tp_pytorch_places *from; /* NULL: the file has none, or can be read only once */
    struct tp_places places;        /* owns them */
    uint64_t count;
};

int tp_why_places_open(struct tp_pytorch *s, struct tp_why_places *out, struct tp_err *err);
void tp_why_places_close(struct tp_why_places *p);

struct tp_why_held {
    struct tp_held_list list; /* in the order of the layout */
    uint64_t *born;           /* event that allocated each of them; 0: live from the start */
    size_t room, born_room;
    uint64_t event; /* number of the place of the moment's event */
};

/* Sorts the annotations of the snapshot. `out` is zeroed and must be released in every case; it
 * uses the snapshot and the places. */
int tp_why_held(struct tp_pytorch *s, uint32_t device, const struct tp_why_moment *m,
                const struct tp_why_layout *l, struct tp_why_places *places,
                struct tp_why_held *out, struct tp_err *err);
void tp_why_held_release(const struct tp_reading *r, struct tp_why_held *h);

#endif
