/* Live objects: a hash map over an array of records, with the free slots as a stack inside it and
 * the live ones of each device as a list, so that a reset costs what it removes and not what ever
 * lived.
 *
 *     ids:  id -> slot, references        records[slot]: id, size, event, ...    live[device] ->
 * list */
#include "traces/lower/lower_objects.h"

#include <stdlib.h>

void tp_objects_init(struct tp_objects *o)
{
    *o = (struct tp_objects){.free_head = TP_NO_SLOT};
    for (size_t i = 0; i < TP_MAX_DEVICES; i++)
        o->live[i] = TP_NO_SLOT;
}

void tp_objects_release(struct tp_objects *o)
{
    tp_id_map_release(&o->ids);
    free(o->records);
    o->records = NULL;
}

static uint64_t next_room(const struct tp_objects *o)
{
    uint64_t room = o->capacity ? (uint64_t)o->capacity * 2 : 256;
    return room < TP_LEFT_OUT ? room : TP_LEFT_OUT;
}

uint64_t tp_objects_next_bytes(const struct tp_objects *o)
{
    bool full = o->free_head == TP_NO_SLOT && o->slots == o->capacity;
    return (full ? next_room(o) : o->capacity) * sizeof *o->records + tp_id_map_next_bytes(&o->ids);
}

static int grow(struct tp_objects *o)
{
    uint64_t room = next_room(o);
    if (room == o->capacity)
        return -1;
    void *bigger = realloc(o->records, (size_t)room * sizeof *o->records);
    if (!bigger)
        return -1;
    o->records = bigger;
    o->capacity = (uint32_t)room;
    return 0;
}

uint32_t tp_objects_take_slot(struct tp_objects *o)
{
    uint32_t slot = o->free_head;
    if (slot != TP_NO_SLOT) {
        o->free_head = o->records[slot].next;
        return slot;
    }
    if (o->slots == o->capacity && grow(o) != 0)
        return TP_NO_SLOT;
    return o->slots++;
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
    object->device = device;
    object->prev = TP_NO_SLOT;
    object->next = head;
    if (head != TP_NO_SLOT)
        o->records[head].prev = slot;
    o->live[device] = slot;
}

static void unlink_live(struct tp_objects *o, uint32_t slot)
{
    const struct tp_object *object = &o->records[slot];
    if (object->next != TP_NO_SLOT)
        o->records[object->next].prev = object->prev;
    if (object->prev != TP_NO_SLOT)
        o->records[object->prev].next = object->next;
    else
        o->live[object->device] = object->next;
}

struct tp_object *tp_objects_add(struct tp_objects *o, int64_t id, uint16_t device)
{
    uint32_t slot = tp_objects_take_slot(o);
    if (slot == TP_NO_SLOT)
        return NULL;
    if (!tp_id_map_put(&o->ids, id, slot)) {
        tp_objects_give_slot(o, slot);
        return NULL;
    }
    o->records[slot] = (struct tp_object){.id = id};
    link_live(o, slot, device);
    return &o->records[slot];
}

void tp_objects_remove(struct tp_objects *o, struct tp_id_entry *entry)
{
    uint32_t slot = entry->index;
    tp_id_map_remove(&o->ids, entry);
    if (!tp_has_slot(slot))
        return;
    unlink_live(o, slot);
    tp_objects_give_slot(o, slot);
}

void tp_objects_reset(struct tp_objects *o, uint16_t device)
{
    while (o->live[device] != TP_NO_SLOT) {
        const struct tp_object *object = &o->records[o->live[device]];
        tp_objects_remove(o, tp_id_map_find(&o->ids, object->id));
    }
}
