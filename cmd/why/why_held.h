/* The live blocks of a layout with what is known of them: who asked for them, when, in which
 * phase. */
#ifndef TP_WHY_HELD_H
#define TP_WHY_HELD_H

#include "alloc/base/grow.h"
#include "traces/places/site_groups.h"

/* The places of blocks, which are numbered from 1 as they are added. */
struct tp_why_places {
    void *from;              /* of the explainer; NULL: the file has none, or is read only once */
    struct tp_places places; /* owns them */
    uint64_t count;
};

static inline void tp_why_places_close(struct tp_why_places *p)
{
    if (p->places.release)
        p->places.release(p->places.ctx);
}

struct tp_why_held {
    struct tp_held_list list; /* in the order of the layout */
    uint64_t *born;           /* event that allocated each of them; 0: live from the start */
    size_t room, born_room;
    uint64_t event; /* number of the place of the moment's event */
};

static inline void tp_why_held_release(const struct tp_reading *r, struct tp_why_held *h)
{
    TP_GROW_END(&h->list.blocks, &h->room, .budget = r->budget);
    TP_GROW_END(&h->born, &h->born_room, .budget = r->budget);
}

#endif
