/* Live objects: a hash map over an array of records. The free slots are a stack inside the array,
 * and the live ones of each device a list, so the cost of a reset depends only on what it removes.
 *
 *     ids: id -> slot, references     records[slot]: id, event, line     live[device] -> list
 */
#include "traces/lower/lower_objects.h"

#include <stdlib.h>

void tp_objects_init(struct tp_objects *o, struct tp_budget *budget)
{
    *o = (struct tp_objects){.free_head = TP_NO_SLOT,
                             .ids.how = {.what = "live objects", .budget = budget}};
    for (size_t i = 0; i < TP_MAX_DEVICES; i++)
        o->live[i] = TP_NO_SLOT;
}

void tp_objects_release(struct tp_objects *o)
{
    TP_GROW_END(&o->records, &o->room, .budget = o->ids.how.budget);
    tp_id_map_release(&o->ids);
}

int tp_objects_take_slot(struct tp_objects *o, uint32_t *slot, struct tp_err *err)
{
    *slot = o->free_head;
    if (*slot != TP_NO_SLOT) {
        o->free_head = o->records[*slot].next;
        return TP_OK;
    }
    int rc = TP_GROW(&o->records, &o->room, o->slots + (size_t)1, err, .what = "live objects",
                     TP_MOST(TP_LEFT_OUT), .budget = o->ids.how.budget);
    if (rc == TP_OK)
        *slot = o->slots++;
    return rc;
}

void tp_objects_give_slot(struct tp_objects *o, uint32_t slot)
{
    o->records[slot].next = o->free_head;
    o->free_head = slot;
}

static void link_live(struct tp_objects *o, uint32_t slot, uint16_t device)
{
    struct tp_object *object = &o->records[slot];
    uint32_t head = o->live[device];
    object->prev = TP_NO_SLOT;
    object->next = head;
    if (head != TP_NO_SLOT)
        o->records[head].prev = slot;
    o->live[device] = slot;
}

static void unlink_live(struct tp_objects *o, uint32_t slot, uint16_t device)
{
    const struct tp_object *object = &o->records[slot];
    if (object->next != TP_NO_SLOT)
        o->records[object->next].prev = object->prev;
    if (object->prev != TP_NO_SLOT)
        o->records[object->prev].next = object->next;
    else
        o->live[device] = object->next;
}

int tp_objects_add(struct tp_objects *o, int64_t id, uint16_t device, uint32_t *slot,
                   struct tp_err *err)
{
    int rc = tp_objects_take_slot(o, slot, err);
    if (rc != TP_OK)
        return rc;
    rc = tp_id_map_put(&o->ids, id, *slot, err);
    if (rc != TP_OK) {
        tp_objects_give_slot(o, *slot);
        return rc;
    }
    o->records[*slot] = (struct tp_object){.id = id};
    link_live(o, *slot, device);
    return TP_OK;
}

void tp_objects_remove(struct tp_objects *o, struct tp_id_entry *entry, uint16_t device)
{
    uint32_t slot = entry->index;
    tp_id_map_remove(&o->ids, entry);
    if (!tp_has_slot(slot))
        return;
    unlink_live(o, slot, device);
    tp_objects_give_slot(o, slot);
}

void tp_objects_reset(struct tp_objects *o, uint16_t device)
{
    while (o->live[device] != TP_NO_SLOT) {
        const struct tp_object *object = &o->records[o->live[device]];
        tp_objects_remove(o, tp_id_map_find(&o->ids, object->id), device);
    }
}
