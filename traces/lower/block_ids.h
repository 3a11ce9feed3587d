/* Ids for traces that name a block by its memory space and its address: an address comes back after
 * a free, and means something else in another space. */
#ifndef TP_BLOCK_IDS_H
#define TP_BLOCK_IDS_H

#include "alloc/base/budget.h"
#include "alloc/base/err.h"
#include "alloc/base/id_map.h"

#include <stdbool.h>

enum tp_block_state { TP_BLOCK_NEVER_SEEN, TP_BLOCK_GONE, TP_BLOCK_LIVE };

struct tp_block_ids {
    struct tp_id_map addresses; /* address -> dense number */
    struct tp_id_map blocks;    /* (space, that number) -> id; refs 1: gone, 2: live */
    uint32_t last;              /* id given */
};

void tp_block_ids_init(struct tp_block_ids *b, struct tp_budget *budget);
void tp_block_ids_release(struct tp_block_ids *b);

/* What is at an address; *id is that of the block, live or gone. */
enum tp_block_state tp_block_ids_look(const struct tp_block_ids *b, uint32_t space,
                                      uint64_t address, int64_t *id);

/* An id, from 1, that no block ever had. TP_EINPUT: there are no more. Sentences have no place. */
int tp_block_ids_fresh(struct tp_block_ids *b, int64_t *id, struct tp_err *err);

/* From now on the block `id` is at the address, whatever was there. TP_EINPUT: too many addresses
 * for what reading may take. */
int tp_block_ids_bind(struct tp_block_ids *b, uint32_t space, uint64_t address, int64_t id,
                      struct tp_err *err);

/* The block at the address is gone; an address that was never seen is seen now. */
int tp_block_ids_end(struct tp_block_ids *b, uint32_t space, uint64_t address, struct tp_err *err);

#endif
