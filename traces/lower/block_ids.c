/* There are two maps, because the key is a pair of 32 and 64 bits and must be exact:
 *
 *     address --> dense number;   space << 32 | number --> id, live or gone
 *
 * Known weakness: addresses are never removed, and each one that occurs takes about 50 bytes. */
#include "traces/lower/block_ids.h"

void tp_block_ids_init(struct tp_block_ids *b, struct tp_budget *budget)
{
    const struct tp_growth how = {.what = "addresses", .budget = budget};
    *b = (struct tp_block_ids){.addresses.how = how, .blocks.how = how};
}

void tp_block_ids_release(struct tp_block_ids *b)
{
    tp_id_map_release(&b->addresses);
    tp_id_map_release(&b->blocks);
}

static int64_t key_of(uint32_t space, uint32_t number)
{
    return (int64_t)((uint64_t)space << 32 | number);
}

static struct tp_id_entry *find(const struct tp_block_ids *b, uint32_t space, uint64_t address)
{
    const struct tp_id_entry *number = tp_id_map_find(&b->addresses, (int64_t)address);
    return number ? tp_id_map_find(&b->blocks, key_of(space, number->index)) : NULL;
}

enum tp_block_state tp_block_ids_look(const struct tp_block_ids *b, uint32_t space,
                                      uint64_t address, int64_t *id)
{
    const struct tp_id_entry *entry = find(b, space, address);
    *id = entry ? (int64_t)entry->index : 0;
    if (!entry)
        return TP_BLOCK_NEVER_SEEN;
    return entry->refs == 1 ? TP_BLOCK_GONE : TP_BLOCK_LIVE;
}

int tp_block_ids_fresh(struct tp_block_ids *b, int64_t *id, struct tp_err *err)
{
    if (b->last == UINT32_MAX)
        return tp_fail(err, TP_EINPUT, "more than %u blocks", UINT32_MAX);
    *id = ++b->last;
    return TP_OK;
}

/* Finds the entry of an address, or makes it. */
static int need_entry(struct tp_block_ids *b, uint32_t space, uint64_t address,
                      struct tp_id_entry **entry, struct tp_err *err)
{
    int rc =
        tp_id_map_need(&b->addresses, (int64_t)address, (uint32_t)b->addresses.used, entry, err);
    return rc == TP_OK ? tp_id_map_need(&b->blocks, key_of(space, (*entry)->index), 0, entry, err)
                       : rc;
}

int tp_block_ids_bind(struct tp_block_ids *b, uint32_t space, uint64_t address, int64_t id,
                      struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = need_entry(b, space, address, &entry, err);
    if (rc != TP_OK)
        return rc;
    entry->index = (uint32_t)id;
    entry->refs = 2;
    return TP_OK;
}

int tp_block_ids_end(struct tp_block_ids *b, uint32_t space, uint64_t address, struct tp_err *err)
{
    struct tp_id_entry *entry = NULL;
    int rc = need_entry(b, space, address, &entry, err);
    if (rc == TP_OK)
        entry->refs = 1;
    return rc;
}
