/* See range_table.h. */
#include "alloc/base/range_table.h"

#include "alloc/base/err.h"
#include "alloc/base/own.h"
#include "alloc/base/steps.h"

#include <assert.h>
#include <stdlib.h>

enum { RANGE_CHUNK = 64, RANGE_CHUNK_OWN = 1024 /* whole pages, each a call of the kernel */ };

struct tp_range_slot {
    struct tp_address_range item; /* must be first: the addresses of item and slot are equal */
    struct tp_tree_node node;     /* in a free slot `low` links to the next free one */
};

struct tp_range_chunk {
    struct tp_range_chunk *next;
    struct tp_range_slot slots[];
};

void tp_ranges_fini(struct tp_range_table *t)
{
    for (struct tp_range_chunk *chunk = t->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        if (t->own)
            tp_own_free(chunk);
        else
            free(chunk);
    }
    *t = (struct tp_range_table){.own = t->own};
}

static struct tp_range_slot *range_slot_of(struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct tp_range_slot, node, n);
}

static bool range_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct tp_range_slot, node, a)->item.addr <
           TP_TREE_ITEM(const struct tp_range_slot, node, b)->item.addr;
}

/* The last range that begins at `addr` or before, or NULL. */
static const struct tp_address_range *tp_ranges_seek(const struct tp_range_table *t, uint64_t addr)
{
    const struct tp_address_range *found = NULL;
    for (struct tp_tree_node *at = t->root; at;) {
        const struct tp_address_range *item = &range_slot_of(at)->item;
        bool above = item->addr > addr;
        TP_STEP();
        found = above ? found : item;
        at = above ? at->low : at->high;
    }
    return found;
}

const struct tp_address_range *tp_ranges_from(const struct tp_range_table *t, uint64_t addr)
{
    const struct tp_address_range *found = NULL;
    for (struct tp_tree_node *at = t->root; at;) {
        const struct tp_address_range *item = &range_slot_of(at)->item;
        bool below = item->addr < addr;
        TP_STEP();
        found = below ? found : item;
        at = below ? at->high : at->low;
    }
    return found;
}

const struct tp_address_range *tp_ranges_find(const struct tp_range_table *t, uint64_t addr)
{
    const struct tp_address_range *item = tp_ranges_seek(t, addr);
    return item && addr - item->addr < item->size ? item : NULL;
}

bool tp_ranges_hold(const struct tp_range_table *t, uint64_t addr, uint64_t size)
{
    const struct tp_address_range *item = tp_ranges_find(t, addr);
    return item && size <= item->size - (addr - item->addr);
}

const struct tp_address_range *tp_ranges_exact(const struct tp_range_table *t, uint64_t addr,
                                               uint64_t size)
{
    const struct tp_address_range *item = tp_ranges_find(t, addr);
    return item && item->addr == addr && item->size == size ? item : NULL;
}

const struct tp_address_range *tp_ranges_any(const struct tp_range_table *t)
{
    return t->root ? &range_slot_of(t->root)->item : NULL;
}

const struct tp_address_range *tp_ranges_overlap(const struct tp_range_table *t, uint64_t addr,
                                                 uint64_t size)
{
    const struct tp_address_range *item = tp_ranges_seek(t, addr + size - 1);
    /* the last one may end where addresses do */
    return item && item->addr + (item->size - 1) >= addr ? item : NULL;
}

static void tp_ranges_spare(struct tp_range_table *t, struct tp_range_slot *slot)
{
    slot->node.low = t->spare;
    t->spare = &slot->node;
}

int tp_ranges_reserve(struct tp_range_table *t)
{
    if (t->spare)
        return TP_OK;
    const unsigned room = t->own ? RANGE_CHUNK_OWN : RANGE_CHUNK;
    const size_t bytes = sizeof *t->chunks + room * sizeof *t->chunks->slots;
    struct tp_range_chunk *chunk = t->own ? tp_own_zeroed(1, bytes) : malloc(bytes);
    if (!chunk)
        return TP_ENOMEM;
    chunk->next = t->chunks;
    t->chunks = chunk;
    t->room += room;
    for (unsigned i = room; i-- > 0;)
        tp_ranges_spare(t, &chunk->slots[i]);
    return TP_OK;
}

void tp_ranges_insert(struct tp_range_table *t, struct tp_address_range item)
{
    assert(t->spare);
    assert(!tp_ranges_overlap(t, item.addr, item.size));
    struct tp_range_slot *slot = range_slot_of(t->spare);
    t->spare = slot->node.low;
    slot->item = item;
    tp_tree_insert(&t->root, &slot->node, range_less, NULL);
}

void tp_ranges_remove(struct tp_range_table *t, const struct tp_address_range *item)
{
    struct tp_range_slot *slot = (struct tp_range_slot *)(uintptr_t)item;
    tp_tree_remove(&t->root, &slot->node, NULL);
    tp_ranges_spare(t, slot);
}

void tp_ranges_widen(struct tp_range_table *t, uint64_t addr, uint64_t size, uint64_t tag)
{
    const struct tp_address_range *before = tp_ranges_find(t, addr - 1);
    const struct tp_address_range *behind = tp_ranges_find(t, addr + size);
    struct tp_address_range all = {.addr = addr, .size = size, .tag_addr = tag};
    if (before && before->tag_addr == tag) {
        all.addr = before->addr;
        all.size += before->size;
        tp_ranges_remove(t, before);
    }
    if (behind && behind->tag_addr == tag) {
        all.size += behind->size;
        tp_ranges_remove(t, behind);
    }
    tp_ranges_insert(t, all);
}

void tp_ranges_narrow(struct tp_range_table *t, uint64_t addr, uint64_t size)
{
    const struct tp_address_range *whole = tp_ranges_find(t, addr);
    struct tp_address_range low = *whole, high = *whole;
    low.size = addr - low.addr;
    high.addr = addr + size;
    high.size = whole->addr + whole->size - high.addr;
    tp_ranges_remove(t, whole);
    if (low.size)
        tp_ranges_insert(t, low);
    if (high.size)
        tp_ranges_insert(t, high);
}
