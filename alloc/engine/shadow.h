/* The live blocks by address, one set per device, kept independently of every strategy. The
 * verifying pass uses it to find a block that overlaps another one.
 *
 * A tree node lies inside each block's record, and records are indexed by slot, so nothing is
 * allocated while a program is played. */
#ifndef TP_SHADOW_H
#define TP_SHADOW_H

#include "alloc/base/tree.h"
#include "alloc/strategy.h"

#define TP_SHADOW_NONE UINT32_MAX

struct tp_shadow_block {
    tp_addr addr;
    uint64_t size;            /* granted, bytes; 0: not live */
    uint64_t event;           /* event that made the block */
    struct tp_tree_node node; /* position in the tree of its device, by address */
};

struct tp_shadow {
    struct tp_shadow_block *blocks; /* by slot */
    struct tp_tree_node **roots;    /* by device */
    uint32_t slots, devices;
};

int tp_shadow_open(struct tp_shadow *s, uint32_t slots, uint32_t devices, struct tp_err *err);
void tp_shadow_close(struct tp_shadow *s); /* a zeroed struct is fine */

/* The slot of a live block that shares a byte with [addr, addr + size), or TP_SHADOW_NONE. */
uint32_t tp_shadow_overlap(const struct tp_shadow *s, uint32_t device, tp_addr addr, uint64_t size);

/* Adds a block. The slot must be free, and no live block may overlap the new one. */
void tp_shadow_insert(struct tp_shadow *s, uint32_t device, uint32_t slot, tp_addr addr,
                      uint64_t size);

/* Removes a block. The slot must be live on that device. */
void tp_shadow_remove(struct tp_shadow *s, uint32_t device, uint32_t slot);

#endif
