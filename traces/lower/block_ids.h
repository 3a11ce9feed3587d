/* Ids for traces that identify a block by memory space and address. An address can be used again
 * after a free, and means another block in another space. */
#ifndef TP_BLOCK_IDS_H
#define TP_BLOCK_IDS_H

#include "alloc/base/budget.h"
#include "alloc/base/err.h"
#include "alloc/base/id_map.h"

#include <stdbool.h>

enum tp_block_state { TP_BLOCK_NEVER_SEEN, TP_BLOCK_GONE, TP_BLOCK_LIVE };

struct tp_block_ids {
    struct tp_id_map addresses; /* address -> dense number */
    struct tp_id_map blocks;    /* (space, number of the address) -> id; refs 1: gone, 2: live */
    uint32_t last;              /* id given last */
};

void tp_block_ids_init(struct tp_block_ids *b, struct tp_budget *budget);
void tp_block_ids_release(struct tp_block_ids *b);

/* State of the block at an address. *id is set if it is live or gone. */
enum tp_block_state tp_block_ids_look(const struct tp_block_ids *b, uint32_t space,
                                      uint64_t address, int64_t *id);

/* Gives an id, from 1, that was never given before. TP_EINPUT: no id is left; the message has no
 * place. */
int tp_block_ids_fresh(struct tp_block_ids *b, int64_t *id, struct tp_err *err);

/* Puts the block `id` at the address and replaces what was there. TP_EINPUT: the addresses need
 * more memory than reading may take. */
int tp_block_ids_bind(struct tp_block_ids *b, uint32_t space, uint64_t address, int64_t id,
                      struct tp_err *err);

/* Marks the block at the address as gone. An address that was never seen counts as seen after
 * that. */
int tp_block_ids_end(struct tp_block_ids *b, uint32_t space, uint64_t address, struct tp_err *err);

#endif
