/* Ranges of addresses, as a source holds them, found by any address inside them.
 *
 *     chunks of 64 items -> | item | item | ... |      the items form a tree by address, those that
 *                                                      hold no range a list
 *
 * Inserting, finding and removing a range takes at most as many steps as the tree is deep. The
 * memory of items is kept until the table is closed. */
#ifndef TP_RANGE_TABLE_H
#define TP_RANGE_TABLE_H

#include "alloc/base/tree.h"
#include "alloc/source.h"

#include <assert.h>
#include <stdlib.h>

enum { RANGE_CHUNK = 64 };

struct range_item {
    tp_addr addr;
    uint64_t size;
    uint64_t tag_addr, tag_size; /* for the owner: the mapping or the range behind this one */
};

struct range_slot {
    struct range_item item;   /* must be first: the addresses of item and slot are equal */
    struct tp_tree_node node; /* in a free slot `low` links to the next free one */
};

struct range_chunk {
    struct range_chunk *next;
    struct range_slot slots[RANGE_CHUNK];
};

struct range_table {
    struct tp_tree_node *root, *spare;
    struct range_chunk *chunks;
};

static inline void range_table_fini(struct range_table *t)
{
    for (struct range_chunk *chunk = t->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *t = (struct range_table){0};
}

static inline struct range_slot *range_slot_of(struct tp_tree_node *n)
{
    return TP_TREE_ITEM(struct range_slot, node, n);
}

static inline bool range_less(const struct tp_tree_node *a, const struct tp_tree_node *b)
{
    return TP_TREE_ITEM(const struct range_slot, node, a)->item.addr <
           TP_TREE_ITEM(const struct range_slot, node, b)->item.addr;
}

/* The last range that begins at `addr` or before, or NULL. */
static inline const struct range_item *range_table_seek(const struct range_table *t, tp_addr addr)
{
    const struct range_item *found = NULL;
    for (struct tp_tree_node *at = t->root; at;) {
        const struct range_item *item = &range_slot_of(at)->item;
        bool above = item->addr > addr;
        TP_STEP();
        found = above ? found : item;
        at = above ? at->low : at->high;
    }
    return found;
}

/* The first range that begins at `addr` or behind, or NULL: a walk goes on at the end of each. */
static inline const struct range_item *range_table_from(const struct range_table *t, tp_addr addr)
{
    const struct range_item *found = NULL;
    for (struct tp_tree_node *at = t->root; at;) {
        const struct range_item *item = &range_slot_of(at)->item;
        bool below = item->addr < addr;
        TP_STEP();
        found = below ? found : item;
        at = below ? at->high : at->low;
    }
    return found;
}

/* The range that holds `addr`, or NULL. Valid until it is removed. */
static inline const struct range_item *range_table_find(const struct range_table *t, tp_addr addr)
{
    const struct range_item *item = range_table_seek(t, addr);
    return item && addr - item->addr < item->size ? item : NULL;
}

/* The range that begins at `addr` and has exactly `size` bytes, or NULL. */
static inline const struct range_item *range_table_exact(const struct range_table *t, tp_addr addr,
                                                         uint64_t size)
{
    const struct range_item *item = range_table_find(t, addr);
    return item && item->addr == addr && item->size == size ? item : NULL;
}

/* Any range of the table, or NULL; for removing all of them one by one. */
static inline const struct range_item *range_table_any(const struct range_table *t)
{
    return t->root ? &range_slot_of(t->root)->item : NULL;
}

static inline bool range_table_overlaps(const struct range_table *t, tp_addr addr, uint64_t size)
{
    const struct range_item *item = range_table_seek(t, addr + size - 1);
    return item && item->addr + item->size > addr;
}

static inline void range_table_spare(struct range_table *t, struct range_slot *slot)
{
    slot->node.low = t->spare;
    t->spare = &slot->node;
}

/* Makes sure that the next insertion cannot fail. TP_ENOMEM. */
static inline int range_table_reserve(struct range_table *t)
{
    if (t->spare)
        return TP_OK;
    struct range_chunk *chunk = malloc(sizeof *chunk);
    if (!chunk)
        return TP_ENOMEM;
    chunk->next = t->chunks;
    t->chunks = chunk;
    for (unsigned i = RANGE_CHUNK; i-- > 0;)
        range_table_spare(t, &chunk->slots[i]);
    return TP_OK;
}

static inline void range_table_insert(struct range_table *t, struct range_item item)
{
    assert(t->spare);
    assert(!range_table_overlaps(t, item.addr, item.size));
    struct range_slot *slot = range_slot_of(t->spare);
    t->spare = slot->node.low;
    slot->item = item;
    tp_tree_insert(&t->root, &slot->node, range_less, NULL);
}

static inline void range_table_remove(struct range_table *t, const struct range_item *item)
{
    struct range_slot *slot = (struct range_slot *)(uintptr_t)item;
    tp_tree_remove(&t->root, &slot->node, NULL);
    range_table_spare(t, slot);
}

/* ---- ranges that grow: those with the same tag_addr, not 0, become one where they touch ---- */

/* Adds bytes that no range has; one insertion was reserved. */
static inline void range_table_widen(struct range_table *t, tp_addr addr, uint64_t size,
                                     uint64_t tag)
{
    const struct range_item *before = range_table_find(t, addr - 1);
    const struct range_item *behind = range_table_find(t, addr + size);
    struct range_item all = {.addr = addr, .size = size, .tag_addr = tag};
    if (before && before->tag_addr == tag) {
        all.addr = before->addr;
        all.size += before->size;
        range_table_remove(t, before);
    }
    if (behind && behind->tag_addr == tag) {
        all.size += behind->size;
        range_table_remove(t, behind);
    }
    range_table_insert(t, all);
}

/* Takes bytes away that lie in one range; what is left before and behind them stays. One insertion
 * was reserved. */
static inline void range_table_narrow(struct range_table *t, tp_addr addr, uint64_t size)
{
    const struct range_item *whole = range_table_find(t, addr);
    struct range_item low = *whole, high = *whole;
    low.size = addr - low.addr;
    high.addr = addr + size;
    high.size = whole->addr + whole->size - high.addr;
    range_table_remove(t, whole);
    if (low.size)
        range_table_insert(t, low);
    if (high.size)
        range_table_insert(t, high);
}

#endif
