/* Ranges that a source holds, found by any address inside them.
 *
 *     items  | 0x7f..9000, 8K | 0x7f..4000, 4K | 0x7f..1000, 4K |      highest address first
 *
 * One sorted array and a binary search. The highest address comes first because mmap hands out
 * falling addresses: then a new range is appended and nothing moves. The weakness: taking out or
 * inserting elsewhere moves what follows, some 10 us with 10,000 ranges. */
#ifndef TP_RANGE_TABLE_H
#define TP_RANGE_TABLE_H

#include "alloc/source.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct range_item {
    tp_addr addr;
    uint64_t size;
    uint64_t tag_addr, tag_size; /* the owner's: the mapping or the range behind it */
};

struct range_table {
    struct range_item *items; /* falling by address, disjoint */
    size_t count, room;
};

static inline void range_table_fini(struct range_table *t)
{
    free(t->items);
    *t = (struct range_table){0};
}

/* Index of the first item that does not lie wholly above `addr`, or count. */
static inline size_t range_table_seek(const struct range_table *t, tp_addr addr)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->items[mid].addr > addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The range that holds `addr`, or NULL. Valid until the table changes. */
static inline const struct range_item *range_table_find(const struct range_table *t, tp_addr addr)
{
    size_t i = range_table_seek(t, addr);
    if (i == t->count || addr - t->items[i].addr >= t->items[i].size)
        return NULL;
    return &t->items[i];
}

/* The range that begins at `addr` and has exactly `size` bytes, or NULL. */
static inline const struct range_item *range_table_exact(const struct range_table *t, tp_addr addr,
                                                         uint64_t size)
{
    const struct range_item *item = range_table_find(t, addr);
    return item && item->addr == addr && item->size == size ? item : NULL;
}

static inline bool range_table_overlaps(const struct range_table *t, tp_addr addr, uint64_t size)
{
    size_t i = range_table_seek(t, addr + size - 1);
    return i < t->count && t->items[i].addr + t->items[i].size > addr;
}

/* After TP_OK the next insertion cannot fail. */
static inline int range_table_reserve(struct range_table *t)
{
    if (t->count < t->room)
        return TP_OK;
    size_t room = t->room ? t->room * 2 : 32;
    struct range_item *items = realloc(t->items, room * sizeof *items);
    if (!items)
        return TP_ENOMEM;
    t->items = items;
    t->room = room;
    return TP_OK;
}

static inline void range_table_insert(struct range_table *t, struct range_item item)
{
    assert(t->count < t->room);
    assert(!range_table_overlaps(t, item.addr, item.size));
    size_t i = range_table_seek(t, item.addr);
    memmove(&t->items[i + 1], &t->items[i], (t->count - i) * sizeof *t->items);
    t->items[i] = item;
    t->count++;
}

static inline void range_table_remove(struct range_table *t, const struct range_item *item)
{
    size_t i = (size_t)(item - t->items);
    assert(i < t->count);
    t->count--;
    memmove(&t->items[i], &t->items[i + 1], (t->count - i) * sizeof *t->items);
}

#endif
