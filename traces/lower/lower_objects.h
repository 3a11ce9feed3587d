/* The live objects of a trace while it is lowered: a map from id to slot, and what the trace says
 * of each slot. Size, alignment, stream and device are in the builder (tp_builder_object). */
#ifndef TP_LOWER_OBJECTS_H
#define TP_LOWER_OBJECTS_H

#include "alloc/base/id_map.h"
#include "alloc/program/program.h"

/* Instead of a slot, for ids that are live in the trace but not in the program. */
#define TP_NO_SLOT  UINT32_MAX
#define TP_LEFT_OUT (UINT32_MAX - 1) /* left out, with all later events on it */

static inline bool tp_has_slot(uint32_t slot)
{
    return slot < TP_LEFT_OUT;
}

struct tp_object {
    int64_t id;
    uint64_t event, line; /* event and line of its allocation */
    /* slots in the list of live objects of the device; `next` also links free slots */
    uint32_t next, prev;
};

/* All objects. The entries of `ids` count their references. */
struct tp_objects {
    struct tp_id_map ids;
    struct tp_object *records; /* indexed by slot */
    uint32_t slots;            /* slots that were ever used */
    size_t room;
    /* slot freed last, which is used first, so that few slots are needed */
    uint32_t free_head;
    /* slot of the newest live object of each device; TP_NO_SLOT: none */
    uint32_t live[TP_MAX_DEVICES];
};

void tp_objects_init(struct tp_objects *o, struct tp_budget *budget);
void tp_objects_release(struct tp_objects *o);

/* Adds an object for an id that is not in the map, with one reference. TP_EINPUT: the budget is
 * spent; TP_ENOMEM. */
int tp_objects_add(struct tp_objects *o, int64_t id, uint16_t device, uint32_t *slot,
                   struct tp_err *err);

/* Take and give back a slot for an object without an id. */
int tp_objects_take_slot(struct tp_objects *o, uint32_t *slot, struct tp_err *err);
void tp_objects_give_slot(struct tp_objects *o, uint32_t slot);

/* Removes an entry of `ids` and frees its slot, if it has one, which is on that device. */
void tp_objects_remove(struct tp_objects *o, struct tp_id_entry *entry, uint16_t device);

/* Removes all objects of a device. Ids without a slot are kept. */
void tp_objects_reset(struct tp_objects *o, uint16_t device);

#endif
