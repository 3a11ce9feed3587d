/* A hash map from numbers in the input (ids, addresses, hashes of texts) to indices: addr_map.h
 * with a secret factor from the first entry on, a budget, and 0 among the keys. No result depends
 * on the order of entries. */
#ifndef TP_ID_MAP_H
#define TP_ID_MAP_H

#include "alloc/base/addr_map.h"
#include "alloc/base/grow.h"

struct tp_id_entry { /* as struct tp_addr_entry */
    int64_t id;
    uint32_t index; /* the caller's */
    uint32_t refs;  /* the caller's, at least 1 */
};
static_assert(sizeof(struct tp_id_entry) == sizeof(struct tp_addr_entry), "one is the other");

/* A zeroed map is empty. */
struct tp_id_map {
    struct tp_addr_map map;  /* of the ids but 0 */
    struct tp_id_entry zero; /* of id 0; refs 0: it is not in the map */
    size_t used;             /* ids in the map */
    struct tp_growth how;    /* the budget that the table is charged to, and words for an error */
};

void tp_id_map_release(struct tp_id_map *m);

/* The entry of an id, valid until the next put or remove; NULL: the id is not in the map. */
struct tp_id_entry *tp_id_map_find(const struct tp_id_map *m, int64_t id);

/* Adds an id that the map lacks, with refs 1. TP_EINPUT: the budget is spent. TP_ENOMEM. */
int tp_id_map_put(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_err *err);

/* The entry of an id; adds the id if the map lacks it. Errors are those of tp_id_map_put. */
int tp_id_map_need(struct tp_id_map *m, int64_t id, uint32_t index, struct tp_id_entry **entry,
                   struct tp_err *err);

/* The number of an id: ids are numbered from 0 in the order of their first appearance. The map must
 * have no other indices, and lose none. Errors are those of tp_id_map_put. */
int tp_id_map_number(struct tp_id_map *m, int64_t id, uint32_t *number, struct tp_err *err);

/* Two numbers as one id. */
static inline int64_t tp_id_pair(uint32_t high, uint32_t low)
{
    return (int64_t)((uint64_t)high << 32 | low);
}

/* Walks all entries: `for (uint64_t at = 0; (e = tp_id_map_next(map, &at));)`. NULL at the end. */
const struct tp_id_entry *tp_id_map_next(const struct tp_id_map *m, uint64_t *at);

void tp_id_map_remove(struct tp_id_map *m, struct tp_id_entry *entry);

#endif
