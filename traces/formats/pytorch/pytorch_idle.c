/* See pytorch_idle.h. */
#include "traces/formats/pytorch/pytorch_idle.h"

#include "alloc/base/ascending.h"
#include "alloc/base/id_map.h"

#define GONE UINT64_MAX

/* Addresses of what is there, each at the index that the map has for it. */
struct idle_list {
    struct tp_id_map map;
    uint64_t *addresses; /* GONE: it is not there any more */
    uint64_t *sizes;     /* of segments, bytes */
    size_t count, room, size_room;
};

struct idle_look {
    const struct tp_reading *reading;
    struct idle_list segments, blocks;
};

static int add(struct idle_look *k, struct idle_list *to, uint64_t address, uint64_t size,
               struct tp_err *err)
{
    struct tp_id_entry *entry = tp_id_map_find(&to->map, (int64_t)address);
    uint32_t index = entry ? entry->index : (uint32_t)to->count;
    int rc = TP_READ_GROW(k->reading, &to->addresses, &to->room, to->count + 1, "addresses", err);
    if (rc == TP_OK)
        rc = TP_READ_GROW(k->reading, &to->sizes, &to->size_room, to->count + 1, "sizes", err);
    if (rc == TP_OK && !entry)
        rc = tp_id_map_put(&to->map, (int64_t)address, index, err);
    if (rc != TP_OK)
        return rc;
    to->addresses[index] = address;
    to->sizes[index] = size;
    to->count += !entry;
    return TP_OK;
}

static void drop(struct idle_list *from, uint64_t address)
{
    struct tp_id_entry *entry = tp_id_map_find(&from->map, (int64_t)address);
    if (entry)
        from->addresses[entry->index] = GONE;
}

static int add_start(struct idle_look *k, struct idle_list *to,
                     const struct tp_pytorch_blocks *blocks, uint32_t device, struct tp_err *err)
{
    int rc = TP_OK;
    for (size_t i = 0; rc == TP_OK && i < blocks->count; i++) {
        const struct tp_pytorch_block *b = &blocks->items[i];
        if (b->device == device && !b->expandable && !b->pool)
            rc = add(k, to, b->address, b->size, err);
    }
    return rc;
}

static int look_at(struct idle_look *k, const struct tp_pytorch_event *ev,
                   enum tp_pytorch_action freeing, struct tp_err *err)
{
    if (ev->action == TP_PYTORCH_SEGMENT_ALLOC && !ev->pool)
        return add(k, &k->segments, ev->address, ev->size, err);
    if (ev->action == TP_PYTORCH_ALLOC)
        return add(k, &k->blocks, ev->address, ev->size, err);
    if (ev->action == TP_PYTORCH_SEGMENT_FREE)
        drop(&k->segments, ev->address);
    else if (ev->action == freeing)
        drop(&k->blocks, ev->address);
    return TP_OK;
}

/* The number of addresses below a limit, of a list in ascending order. */
static size_t below(const uint64_t *list, size_t count, uint64_t limit)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before = list[middle] < limit;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

static bool has_idle(struct idle_look *k)
{
    size_t live = tp_ascending(k->blocks.addresses, k->blocks.count);
    for (size_t i = 0; i < k->segments.count; i++) {
        uint64_t base = k->segments.addresses[i], size = k->segments.sizes[i];
        if (base != GONE &&
            below(k->blocks.addresses, live, base) == below(k->blocks.addresses, live, base + size))
            return true;
    }
    return false;
}

static void release(struct idle_look *k)
{
    struct idle_list *const lists[] = {&k->segments, &k->blocks};
    for (size_t i = 0; i < 2; i++) {
        tp_id_map_release(&lists[i]->map);
        TP_GROW_END(&lists[i]->addresses, &lists[i]->room, .budget = k->reading->budget);
        TP_GROW_END(&lists[i]->sizes, &lists[i]->size_room, .budget = k->reading->budget);
    }
}

int tp_pytorch_leaves_idle(const struct tp_pytorch *s, uint32_t device,
                           const struct tp_pytorch_heap *heap, uint64_t until, bool *idle,
                           struct tp_err *err)
{
    struct idle_look k = {.reading = s->reading};
    const struct tp_pytorch_event *ev = NULL;
    struct tp_spill_cursor c = {.list = &s->events, .next = s->devices[device].first, .end = until};
    k.segments.map.how = k.blocks.map.how = tp_reading_growth(s->reading, "addresses");
    int rc = add_start(&k, &k.segments, &heap->segments, device, err);
    if (rc == TP_OK)
        rc = add_start(&k, &k.blocks, &heap->blocks, device, err);
    while (rc == TP_OK && (ev = tp_spill_next(&c, &rc, err)))
        rc = look_at(&k, ev, tp_pytorch_freeing(s, device), err);
    *idle = rc == TP_OK && has_idle(&k);
    release(&k);
    return rc;
}
