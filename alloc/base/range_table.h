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

#include <stdbool.h>
#include <stdint.h>

struct tp_address_range {
    uint64_t addr;
    uint64_t size;
    uint64_t tag_addr, tag_size; /* for the owner, such as the mapping behind this one */
};

struct tp_range_table {
    struct tp_tree_node *root, *spare;
    struct tp_range_chunk *chunks;
    uint64_t room; /* ranges that memory is held for */
    bool own;      /* memory of own.h, not malloc's; set it before the first reservation */
};
void tp_ranges_fini(struct tp_range_table *t);

/* The first range that begins at `addr` or behind, or NULL: a walk goes on at the end of each. */
const struct tp_address_range *tp_ranges_from(const struct tp_range_table *t, uint64_t addr);

/* The range that holds `addr`, or NULL. Valid until it is removed. */
const struct tp_address_range *tp_ranges_find(const struct tp_range_table *t, uint64_t addr);

/* Whether one range has all these bytes. */
bool tp_ranges_hold(const struct tp_range_table *t, uint64_t addr, uint64_t size);

/* The range that begins at `addr` and has exactly `size` bytes, or NULL. */
const struct tp_address_range *tp_ranges_exact(const struct tp_range_table *t, uint64_t addr,
                                               uint64_t size);

/* Any range of the table, or NULL; for removing all of them one by one. */
const struct tp_address_range *tp_ranges_any(const struct tp_range_table *t);

/* The last range that shares a byte with these, of which there is at least one, or NULL. */
const struct tp_address_range *tp_ranges_overlap(const struct tp_range_table *t, uint64_t addr,
                                                 uint64_t size);

/* Makes sure that the next insertion cannot fail. TP_ENOMEM. */
int tp_ranges_reserve(struct tp_range_table *t);
void tp_ranges_insert(struct tp_range_table *t, struct tp_address_range item);
void tp_ranges_remove(struct tp_range_table *t, const struct tp_address_range *item);

/* ---- ranges that grow: those with the same tag_addr, not 0, become one where they touch ---- */

/* Adds bytes that no range has; one insertion was reserved. */
void tp_ranges_widen(struct tp_range_table *t, uint64_t addr, uint64_t size, uint64_t tag);

/* Takes bytes away that lie in one range; what is left before and behind them stays. One insertion
 * was reserved. */
void tp_ranges_narrow(struct tp_range_table *t, uint64_t addr, uint64_t size);

#endif
