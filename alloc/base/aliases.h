/* Memory that is mapped at several places (ALIASES in alloc/source.h), for those who check that no
 * two live blocks have the same memory.
 *
 *     first mapping   | A | B | C | D |        a live block over B and D, mapped side by side in
 *     second mapping  | B | D |                another space, claims both where they are first
 *
 * Whoever keeps the live blocks claims the memory of each; a claim that another block has is
 * refused, whatever their addresses are. */
#ifndef TP_ALIASES_H
#define TP_ALIASES_H

#include "alloc/base/addr_map.h"
#include "alloc/base/range_table.h"

struct tp_aliases {
    struct tp_range_table second; /* tag_addr: where the memory is mapped first */
    /* where it is first; tag_addr: the block, tag_size: its next claim, 0: none */
    struct tp_range_table claimed;
    struct tp_addr_map first; /* block -> its first claim, where that is not the block's address */
};

void tp_aliases_init(struct tp_aliases *t);
int tp_aliases_reserve(struct tp_aliases *t); /* makes sure that the next add cannot fail */
void tp_aliases_add(struct tp_aliases *t, uint64_t addr, uint64_t size, uint64_t of);

/* Takes out what was added there, each as a whole. */
void tp_aliases_drop(struct tp_aliases *t, uint64_t addr, uint64_t size);

/* Claims the memory of a block. TP_EINVAL: another live block has some of it; TP_ENOMEM. After
 * either it has no claims. */
int tp_aliases_claim(struct tp_aliases *t, uint64_t addr, uint64_t size);

/* The block is gone; a block without claims is fine. */
void tp_aliases_disclaim(struct tp_aliases *t, uint64_t addr);

void tp_aliases_fini(struct tp_aliases *t);

#endif
