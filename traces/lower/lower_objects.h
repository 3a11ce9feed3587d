/* The live objects of a trace while it is lowered: id -> slot, and what is known of each slot. */
#ifndef TP_LOWER_OBJECTS_H
#define TP_LOWER_OBJECTS_H

#include "alloc/base/id_map.h"
#include "alloc/program/program.h"

/* Of ids that live in the trace but not in the program. */
#define TP_NO_SLOT  UINT32_MAX
#define TP_LEFT_OUT (UINT32_MAX - 1) /* on purpose: nor does what becomes of it */

static inline bool tp_has_slot(uint32_t slot)
{
    return slot < TP_LEFT_OUT;
}

struct tp_object {
    int64_t id;
    uint64_t size;        /* bytes, as they are now */
    uint64_t event, line; /* of its allocation */
    uint32_t next, prev;  /* slots: live objects of the device; next also links free slots */
    uint16_t stream, device;
    uint8_t align_log2;
};

/* References are counted in the entries of the map. */
struct tp_objects {
    struct tp_id_map ids;
    struct tp_object *records; /* by slot */
    uint32_t slots;            /* ever used */
    size_t room;
    uint32_t free_head;            /* the slot freed last is used first: the lowest peak */
    uint32_t live[TP_MAX_DEVICES]; /* the newest object of each device */
};

void tp_objects_init(struct tp_objects *o, struct tp_budget *budget);
void tp_objects_release(struct tp_objects *o);

/* Makes an object of an id that is not there, with one reference. TP_EINPUT: the budget is spent;
 * TP_ENOMEM. */
int tp_objects_add(struct tp_objects *o, int64_t id, uint16_t device, uint32_t *slot,
                   struct tp_err *err);

/* A slot for an object that no id names, and the way back. */
int tp_objects_take_slot(struct tp_objects *o, uint32_t *slot, struct tp_err *err);
void tp_objects_give_slot(struct tp_objects *o, uint32_t slot);

/* Removes the entry and frees its slot, if it has one. */
void tp_objects_remove(struct tp_objects *o, struct tp_id_entry *entry);

/* Removes all objects of a device. Ids without a slot stay. */
void tp_objects_reset(struct tp_objects *o, uint16_t device);

#endif
